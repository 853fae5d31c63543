"""Puts clocks into a copy of CUTLASS 4.2's gemm/kernel/gemm.h and semaphore.h and prints them by CTA: split_marks.csv.

In a copy of bench.h and main.cu with CUTLASS 4.2's headers in inc/: python split_marks.py, then nvcc -O3 -std=c++17
-arch=sm_90a -I inc main.cu k_1.cu, and NAME M N K SLICES. Each run launches four times; of the last one, by CTA, from
the first clock of its SM's first CTA: means over warps of the clocks at the begin, in front of the main loop, behind
it, behind the wait for the semaphore, the epilogue, the barrier behind that and the release; and how often it polled.
Lines that begin with w are a CTA's warps.
"""
from pathlib import Path

from edits import edit

CONFIG = "CONFIG(F16, F16, float, TN, SHAPE({}), SHAPE({}), SHAPE(16, 8, 16), 4)"
Path("k_1.cu").write_text('#include "bench.h"\n' + "\n".join(
    f'SERIAL("{name}", 4, {CONFIG.format(tile, warp)})' for name, tile, warp in (
        ("h_128x128x32", "128, 128, 32", "64, 64, 32"), ("h_128x64x32", "128, 64, 32", "64, 32, 32"))) + "\n")
MARKS = "struct Marks { long long clocks[8]; int sm, pad; };\nstatic __device__ Marks marks[65536];\n"
STORE = """
    { long long end = clock64(); int sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
      if (lane_idx == 0) marks[(blockIdx.x + blockIdx.y * gridDim.x + blockIdx.z * gridDim.x * gridDim.y) *
          (blockDim.x / 32) + warp_idx] = Marks{{entry_clock, mma_clock, epilogue_clock, wait_clock, done_clock, semaphore.sync_clock, end, semaphore.polls}, sm, 0}; }
"""
NAMESPACES = "namespace cutlass {\nnamespace gemm {\nnamespace kernel {"
ENTRY = "    // Compute threadblock location\n    ThreadblockSwizzle threadblock_swizzle;"
MMA = "    if (!kSplitKSerial || gemm_k_iterations > 0) {\n      // Compute"
EPILOGUE, LAST = "    OutputOp output_op(params.output_op);\n", "    epilogue(output_op, iterator_D, accumulators, iterator_C); \n"
RELEASE = "      semaphore.release(lock);\n    }\n"
clock = "    long long {}_clock = clock64();\n".format
edit(Path("inc/cutlass/gemm/kernel/gemm.h"), (NAMESPACES, MARKS + NAMESPACES), (ENTRY, clock("entry") + ENTRY),
     (MMA, clock("mma") + MMA), (EPILOGUE, clock("epilogue") + EPILOGUE), (LAST, clock("wait") + LAST + clock("done")),
     (RELEASE, RELEASE + STORE))
edit(Path("inc/cutlass/semaphore.h"), ("  int state;", "  int state;\n  long long sync_clock = 0, polls = 0;"),
     ("    __syncthreads();\n\n    if (wait_thread)", "    __syncthreads();\n    sync_clock = clock64();\n    if (wait_thread)"),
     ("      fetch();\n    }\n\n    __syn", "      fetch(); ++polls;\n    }\n\n    __syn"))
RUN = '  check(gemm(), "run");\n  check(cudaDeviceSynchronize(), "kernel");\n}\n// alpha 1'
PRINT = """  for (int turn = 0; turn < 4; ++turn) {
    check(gemm(), "run"); check(cudaDeviceSynchronize(), "kernel");
    static Marks m[65536]; check(cudaMemcpyFromSymbol(m, marks, sizeof m), "marks");
    int n = 0, per = 4; while (n < 65536 && m[n].clocks[6]) ++n;
    long long first[132]; std::fill(first, first + 132, 1ll << 62);
    for (int i = 0; i < n; ++i) first[m[i].sm] = std::min(first[m[i].sm], m[i].clocks[0]);
    for (int i = 0; i < n && turn == 3; i += per) {
      double mean[8] = {};
      for (int k = 0; k < per; ++k) for (int j = 0; j < 8; ++j) mean[j] += double(m[i + k].clocks[j] - (j < 7 ? first[m[i].sm] : 0)) / per;
      std::printf("%d,%d", i / per, m[i].sm);
      for (double x : mean) std::printf(",%.0f", x);
      std::puts("");
      if (n <= 1024) for (int k = 0; k < per; ++k) { std::printf("w%d", k); for (int j = 0; j < 7; ++j) std::printf(",%lld", m[i + k].clocks[j] - first[m[i].sm]); std::puts(""); }
    }
  }
}
// alpha 1"""
edit(Path("bench.h"), (RUN, PRINT), ("#include <random>", "#include <random>\n#include <algorithm>"))
