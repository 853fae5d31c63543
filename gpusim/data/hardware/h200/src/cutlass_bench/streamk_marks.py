"""Puts clocks into a copy of CUTLASS 4.2's gemm/kernel/gemm_universal_streamk.h and prints them: streamk_marks.csv.

In a copy of bench.h and main.cu with CUTLASS 4.2's headers in inc/: python streamk_marks.py, then nvcc -O3 -std=c++17
-arch=sm_90a -I inc main.cu k_1.cu, and NAME M N K. Each run launches four times; of the last one, by block and tile of
it, thread 0's clocks from the first one of its SM: work blocks (kind 0) at their begin, behind the main loop, behind
the stores of their partial sums and behind the signal; reduction blocks (kind 1) at their begin, behind the wait,
behind sums and epilogue (twice).
"""
from pathlib import Path

from edits import edit

Path("k_1.cu").write_text('#include "bench.h"\nSTREAMK("h_128x128x32", CONFIG(F16, F16, float, TN, '
                          'SHAPE(128, 128, 32), SHAPE(64, 64, 32), SHAPE(16, 8, 16), 4))\n')
MARKS = "struct Marks { long long clocks[4]; int sm, kind; };\nstatic __device__ Marks marks[4096];\n"
NAMESPACES = "namespace cutlass {\nnamespace gemm {\nnamespace kernel {"
SAVE = """if (thread_idx == 0) {{ int sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm)); int slot = {index};
      marks[slot] = Marks{{{{t0, t1, t2, clock64()}}, sm, {kind}}}; }}
"""
MMA = "    mma(tile_work.k_iters_remaining, accumulator_tile, iterator_A, iterator_B, accumulator_tile);\n"
ARRIVE = "        Epilogue::kAccumulatorFragments);\n    }\n  }\n"
edit(Path("inc/cutlass/gemm/kernel/gemm_universal_streamk.h"), (NAMESPACES, MARKS + NAMESPACES),
     ("    // Initialize input iterators\n    typename Mma::IteratorA iterator_A = init_iterator_A(tile_work, params.mode);",
      "    long long t0 = clock64(), t1, t2;\n    typename Mma::IteratorA iterator_A = init_iterator_A(tile_work, params.mode);"),
     (MMA, MMA + "    t1 = clock64(); t2 = t1;\n"),
     ("      // Signal arrival\n      Barrier::arrive_range_inc(", "      t2 = clock64();\n      Barrier::arrive_range_inc("),
     (ARRIVE, ARRIVE[:-4] + "    " + SAVE.format(index="2 * block_idx + !tile_work.tile_started()", kind=0) + "  }\n"),
     ("    int peer_idx_begin, peer_idx_last, reduce_tile_idx, reduce_fragment_idx;\n",
      "    long long t0 = clock64(), t1, t2;\n    int peer_idx_begin, peer_idx_last, reduce_tile_idx, reduce_fragment_idx;\n"),
     ("    /// The location of this tile (in threadblock-tile coordinates) in the output matrix\n    GemmCoord tiled_coord = params.block_mapping.get_tile_offset(reduce_tile_idx);",
      "    t1 = clock64();\n    GemmCoord tiled_coord = params.block_mapping.get_tile_offset(reduce_tile_idx);"))
text = Path("inc/cutlass/gemm/kernel/gemm_universal_streamk.h").read_text()
begin = text.index("    // Execute the epilogue operator to update the destination tensor.\n    epilogue.reduce(")
end = text.index(");\n", begin) + 3
text = text[:end] + "    t2 = clock64();\n    " + SAVE.format(index="2048 + reduce_idx", kind=1) + text[end:]
Path("inc/cutlass/gemm/kernel/gemm_universal_streamk.h").write_text(text)
RUN = '  check(gemm(), "run");\n  check(cudaDeviceSynchronize(), "kernel");\n}\n// alpha 1'
PRINT = """  for (int turn = 0; turn < 4; ++turn) {
    check(gemm(), "run"); check(cudaDeviceSynchronize(), "kernel");
    static Marks m[4096]; check(cudaMemcpyFromSymbol(m, marks, sizeof m), "marks");
    long long first[132]; std::fill(first, first + 132, 1ll << 62);
    for (int i = 0; i < 4096; ++i) if (m[i].clocks[3]) first[m[i].sm] = std::min(first[m[i].sm], m[i].clocks[0]);
    for (int i = 0; i < 4096 && turn == 3; ++i) if (m[i].clocks[3]) {
      std::printf("%d,%d,%d,%d", m[i].kind, m[i].kind ? i - 2048 : i / 2, m[i].kind ? 0 : i % 2, m[i].sm);
      for (int j = 0; j < 4; ++j) std::printf(",%lld", m[i].clocks[j] - first[m[i].sm]);
      std::puts("");
    }
  }
}
// alpha 1"""
edit(Path("bench.h"), (RUN, PRINT), ("#include <random>", "#include <random>\n#include <algorithm>"))
