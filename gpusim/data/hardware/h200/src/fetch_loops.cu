// Instruction fetch of loops: n FFMA (four chains) and a branch, by 1 to 16 warps of one SM. Cycles per iteration of warp 0, after 16 iterations.
// Once: the same code run a single time behind other code of 64 KiB (first), to see a straight line that other warps of the sub-partition run, too.
// nvcc -O3 -arch=sm_90a fetch_loops.cu && ./a.out > fetch_loops.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
__device__ uint32_t clk() { uint32_t c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
template <int N> __global__ void loop(int iterations, uint32_t *out, float *sink) {
  float v0 = threadIdx.x, v1 = 1, v2 = 2, v3 = 3; uint32_t t0 = 0;
#pragma unroll 1
  for (int i = -16; i < iterations; i++) {
    if (i == 0) t0 = clk();
#pragma unroll
    for (int k = 0; k < N / 4; k++) asm volatile("fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %1,%1,%1,%1; fma.rn.f32 %2,%2,%2,%2; fma.rn.f32 %3,%3,%3,%3;" : "+f"(v0), "+f"(v1), "+f"(v2), "+f"(v3));
  }
  uint32_t t1 = clk();
  if (v0 + v1 + v2 + v3 == 1234567.f) *sink = v0;
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = t1 - t0;
}
uint32_t *o; float *s;
template <int N> void go() {
  for (int warps : {1, 4, 8, 16}) { double best = 1e30; for (int r = 0; r < 5; r++) { loop<N><<<1, warps * 32>>>(64, o, s); CK(cudaDeviceSynchronize()); double m = 0; for (int w = 0; w < warps; w++) m = o[w] > m ? o[w] : m; if (m < best) best = m; } printf("%d,%d,%.1f\n", N, warps, best / 64); }
}
int main() {
  CK(cudaMallocManaged(&o, 4096)); CK(cudaMalloc(&s, 4)); puts("ffma,warps,cycles_per_iteration");
  go<16>(); go<32>(); go<64>(); go<96>(); go<112>(); go<128>(); go<160>(); go<192>(); go<224>(); go<256>(); go<320>(); go<384>(); go<448>(); go<512>(); go<640>(); go<768>(); go<896>(); go<1024>(); go<1536>(); go<2048>(); go<4096>();
}
