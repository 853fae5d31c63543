"""Ten clocks in each warp of three CUTLASS kernels whose CTAs share SMs: cta_prologues.csv.

In a copy of bench.h and main.cu with CUTLASS 4.2's headers in inc/: python cta_prologues.py, then nvcc -O3 -std=c++17
-arch=sm_90a -I inc main.cu k_1.cu, and NAME 3072 1024 512 under ncu --clock-control none with --cache-control all and
none. Of the last of four launches: means over warps and SMs by the order in which CTAs came to an SM, from its first
clock to a CTA's first one, then between clocks: behind the test for the tile, the offsets, the iterators of A and B,
the warp's number, the loop's set-up, the first stages' copies, their wait, the loop, the epilogue.
"""
from pathlib import Path
exec((Path(__file__).parent / 'gen.py').read_text().split("G = {}")[0])
lines=[plain(H,(64,128,64),(32,64,64),3,"nn"),plain(H,(64,64,32),(32,32,32),10,"tt"),plain(H,(64,256,32),(64,64,32),4,"nt")]
open("k_1.cu","w").write('#include "bench.h"\n' + "\n".join(lines) + "\n")
def edit(path, *changes):
    text = Path(path).read_text()
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    Path(path).write_text(text)
NM=10
MARKS=f"struct Marks {{ long long c[{NM}]; int sm, pad; }};\nstatic __device__ Marks marks[65536];\n"
NAMESPACES = "namespace cutlass {\nnamespace gemm {\nnamespace kernel {"
C=lambda i: f"    long long c{i}; asm volatile(\"mov.u64 %0,%%clock64;\":\"=l\"(c{i})::\"memory\");\n"
edit('inc/cutlass/gemm/kernel/gemm.h',(NAMESPACES,MARKS+NAMESPACES),
 ("    // Compute threadblock location\n    ThreadblockSwizzle threadblock_swizzle;",C(0)+"    // Compute threadblock location\n    ThreadblockSwizzle threadblock_swizzle;"),
 ("    // Compute initial location in logical coordinates\n",C(1)+"    // Compute initial location in logical coordinates\n"),
 ("    // Construct iterators to A and B operands\n",C(2)+"    // Construct iterators to A and B operands\n"),
 ("    // Broadcast the warp_id",C(3)+"    // Broadcast the warp_id"),
 ("    int lane_idx = threadIdx.x % 32;\n",C(4)+"    int lane_idx = threadIdx.x % 32;\n"),
 ("    if (!kSplitKSerial || gemm_k_iterations > 0) {\n      // Compute",C(5)+"    if (!kSplitKSerial || gemm_k_iterations > 0) {\n      // Compute"),
 ("    OutputOp output_op(params.output_op);\n",C(8)+"    OutputOp output_op(params.output_op);\n"),
 ("    epilogue(output_op, iterator_D, accumulators, iterator_C); \n","    epilogue(output_op, iterator_D, accumulators, iterator_C); \n"+C(9)+"""
    { int sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
      if (lane_idx == 0) marks[(blockIdx.x + blockIdx.y * gridDim.x) * (blockDim.x / 32) + warp_idx] =
          Marks{{c0,c1,c2,c3,c4,c5,mma.c6,mma.c7,c8,c9}, sm, 0}; }
"""))
edit('inc/cutlass/gemm/threadblock/mma_multistage.h',
 ("    prologue(iterator_A, iterator_B, gemm_k_iterations);\n\n    // Wait until",'    prologue(iterator_A, iterator_B, gemm_k_iterations);\n    asm volatile("mov.u64 %0,%%clock64;":"=l"(c6)::"memory");\n    // Wait until'),
 ("    gmem_wait();\n\n    // Initialize destination",'    gmem_wait();\n    asm volatile("mov.u64 %0,%%clock64;":"=l"(c7)::"memory");\n    // Initialize destination'),
 ("  /// Perform a threadblock-scoped matrix multiply-accumulate\n","  long long c6, c7;\n  /// Perform a threadblock-scoped matrix multiply-accumulate\n"))
RUN = '  check(gemm(), "run");\n  check(cudaDeviceSynchronize(), "kernel");\n}\n// alpha 1'
PRINT = """  for (int turn = 0; turn < 4; ++turn) {
    check(gemm(), "run"); check(cudaDeviceSynchronize(), "kernel");
    static Marks m[65536]; check(cudaMemcpyFromSymbol(m, marks, sizeof m), "marks");
    for (int i = 0; i < 65536 && m[i].c[9]; ++i) if (turn > 1) {
      std::printf("c,%d,%d,%d", turn, i, m[i].sm); for (int k = 0; k < 10; ++k) std::printf(",%lld", m[i].c[k]); std::puts(""); }
  }
}
// alpha 1"""
edit('bench.h', (RUN, PRINT), ("#include <random>", "#include <random>\n#include <cmath>"))
