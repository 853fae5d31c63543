"""Puts four clocks into a copy of CUTLASS 4.2's gemm/kernel/gemm.h and prints them from bench.h: cutlass_marks.csv.

python marks.py CUTLASS_INCLUDE_COPY BENCH_H_COPY, then nvcc -O3 -std=c++17 -arch=sm_90a -I CUTLASS_INCLUDE_COPY
main.cu k_*.cu as always. Each run launches four times; the last one, with code and data in place, is kept: means over
warps of the cycles in front of the main loop, in it and behind it, the standard deviation of those in it, and from the
first to the last clock of a CTA (of WARPS warps). Under ncu all four count: cutlass_marks_profiled.csv.
"""
import sys
from pathlib import Path

from edits import edit

MARKS = "struct Marks { long long entry, mma, epilogue, end; int sm, pad; };\nstatic __device__ Marks marks[65536];\n"
STORE = """
    { long long end = clock64(); int sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
      if (lane_idx == 0) marks[(blockIdx.x + blockIdx.y * gridDim.x) * (blockDim.x / 32) + warp_idx] =
          Marks{entry_clock, mma_clock, epilogue_clock, end, sm, 0}; }
"""
NAMESPACES = "namespace cutlass {\nnamespace gemm {\nnamespace kernel {"
ENTRY = "    // Compute threadblock location\n    ThreadblockSwizzle threadblock_swizzle;"
MMA = "    if (!kSplitKSerial || gemm_k_iterations > 0) {\n      // Compute"
EPILOGUE, LAST = "    OutputOp output_op(params.output_op);\n", "    epilogue(output_op, iterator_D, accumulators, iterator_C); \n"
edit(Path(sys.argv[1]) / "cutlass/gemm/kernel/gemm.h", (NAMESPACES, MARKS + NAMESPACES),
     (ENTRY, "    long long entry_clock = clock64();\n" + ENTRY), (MMA, "    long long mma_clock = clock64();\n" + MMA),
     (EPILOGUE, "    long long epilogue_clock = clock64();\n" + EPILOGUE), (LAST, LAST + STORE))
RUN = '  check(gemm(), "run");\n  check(cudaDeviceSynchronize(), "kernel");\n}\n// alpha 1'
PRINT = """  for (int turn = 0; turn < 4; ++turn) {
    check(gemm(), "run"); check(cudaDeviceSynchronize(), "kernel");
    static Marks m[65536]; check(cudaMemcpyFromSymbol(m, marks, sizeof m), "marks");
    int n = 0; while (n < 65536 && m[n].end) ++n;
    double pro = 0, loop = 0, epi = 0, square = 0, span = 0; int per = getenv("WARPS") ? atoi(getenv("WARPS")) : 4;
    for (int i = 0; i < n; i += per) {
      long long first = m[i].entry, end = 0;
      for (int k = 0; k < per; ++k) { first = std::min(first, m[i + k].entry); end = std::max(end, m[i + k].end); }
      span += end - first;
    }
    for (int i = 0; i < n; ++i) {
      double l = m[i].epilogue - m[i].mma; loop += l; square += l * l;
      pro += m[i].mma - m[i].entry; epi += m[i].end - m[i].epilogue;
    }
    std::printf("%d,%d,%.0f,%.0f,%.0f,%.0f,%.0f\\n", turn, n, pro / n, loop / n, epi / n,
                std::sqrt(square / n - loop / n * (loop / n)), span * per / n);
  }
}
// alpha 1"""
edit(Path(sys.argv[2]), (RUN, PRINT), ("#include <random>", "#include <random>\n#include <cmath>"))
