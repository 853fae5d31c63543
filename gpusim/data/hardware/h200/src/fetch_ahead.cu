// How far ahead instructions are fetched: a warp waits for a load of memory (about 1,000 cycles), then runs a straight line of FFMA for the
// first time; the clock after every 16. Segments of one kernel, one after the other, by one warp or four. Cycles for 16 FFMA and the clock.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
__device__ uint32_t clk() { uint32_t c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
constexpr int SEGMENTS = 4, PARTS = 24;
__global__ void k(float const *g, uint32_t *out, float *sink, int wait) {
  float v0 = threadIdx.x, v1 = 1, v2 = 2, v3 = 3; uint32_t t[SEGMENTS][PARTS + 1]; size_t at = blockIdx.x;
#pragma unroll
  for (int s = 0; s < SEGMENTS; s++) {
    if (wait) { float x; asm volatile("ld.global.cv.f32 %0, [%1];" : "=f"(x) : "l"(g + at + s * 65536) : "memory"); v0 += x; asm volatile("" : "+f"(v0)); at += (v0 == 12345.f); __syncwarp(); if (v0 == 54321.f) at++; }
    t[s][0] = clk();
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
#pragma unroll
      for (int q = 0; q < 4; q++) asm volatile("fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %1,%1,%1,%1; fma.rn.f32 %2,%2,%2,%2; fma.rn.f32 %3,%3,%3,%3;" : "+f"(v0), "+f"(v1), "+f"(v2), "+f"(v3));
      t[s][p + 1] = clk();
    }
  }
  if (v0 + v1 + v2 + v3 == 1234567.f) *sink = v0 + at;
  if (threadIdx.x == 0) for (int s = 0; s < SEGMENTS; s++) for (int p = 0; p < PARTS; p++) out[s * PARTS + p] = t[s][p + 1] - t[s][p];
}
__global__ void other(float *p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
int main() {
  float *g, *s; uint32_t *o; CK(cudaMalloc(&g, 64 << 20)); CK(cudaMalloc(&s, 4)); CK(cudaMallocManaged(&o, 4096)); CK(cudaMemset(g, 0, 64 << 20));
  puts("wait,warps,launch,segment,cycles");
  for (int wait : {0, 1}) for (int warps : {1, 4}) for (int launch = 0; launch < 2; launch++) {
    other<<<4096, 1024>>>(g + (4 << 20)); k<<<1, warps * 32>>>(g, o, s, wait); CK(cudaDeviceSynchronize());
    for (int i = 0; i < SEGMENTS; i++) { printf("%d,%d,%d,%d,", wait, warps, launch, i); for (int p = 0; p < PARTS; p++) printf("%u%c", o[i * PARTS + p], p + 1 < PARTS ? ' ' : '\n'); } }
}
