// What a taken branch costs a sub-partition whose other warps could issue: loops of n FFMA or IMAD, four chains or one, all warps from one barrier to the next.
// Rows whose clock was read before the barrier (less than an instruction a cycle) are left out of the table.
// nvcc -O3 -arch=sm_90a branch_loss.cu && ./a.out > branch_loss.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
__device__ uint32_t clk() { unsigned long long c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return uint32_t(c); }
template <int N, int WHAT> __global__ void loop(int iterations, uint32_t *out, float *sink) {
  float v0 = threadIdx.x, v1 = 1, v2 = 2, v3 = 3; int i0 = threadIdx.x, i1 = 1, i2 = 2, i3 = 3; uint32_t t0 = 0;
  for (int pass = 0; pass < 2; pass++) {
    __syncthreads(); t0 = clk();
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
#pragma unroll
      for (int k = 0; k < N / 4; k++) {
        if (WHAT == 0) asm volatile("fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %1,%1,%1,%1; fma.rn.f32 %2,%2,%2,%2; fma.rn.f32 %3,%3,%3,%3;" : "+f"(v0), "+f"(v1), "+f"(v2), "+f"(v3));
        else if (WHAT == 1) asm volatile("mad.lo.u32 %0,%0,%0,%0; mad.lo.u32 %1,%1,%1,%1; mad.lo.u32 %2,%2,%2,%2; mad.lo.u32 %3,%3,%3,%3;" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3));
        else asm volatile("fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %0,%0,%0,%0;" : "+f"(v0));
      }
    }
    __syncthreads(); t0 = clk() - t0;
  }
  sink[threadIdx.x] = v0 + v1 + v2 + v3 + (i0 + i1 + i2 + i3);
  if (threadIdx.x == 0) *out = t0;
}
uint32_t *o; float *s;
template <int N, int W> void go() {
  for (int warps : {4, 8, 12, 16, 24, 32}) { double best = 1e30; for (int r = 0; r < 5; r++) { loop<N, W><<<1, warps * 32>>>(64, o, s); CK(cudaDeviceSynchronize()); if (*o < best) best = *o; } printf("%s,%d,%d,%.2f\n", W == 0 ? "ffma" : W == 1 ? "imad" : "ffma one chain", N, warps, best / 64); }
}
template <int W> void all() { go<8, W>(); go<16, W>(); go<24, W>(); go<32, W>(); go<48, W>(); go<64, W>(); go<96, W>(); go<128, W>(); go<192, W>(); go<256, W>(); go<512, W>(); }
int main() { CK(cudaMallocManaged(&o, 4096)); CK(cudaMalloc(&s, 4096)); puts("what,n,warps,cycles_per_iteration"); all<0>(); all<1>(); all<2>(); }
