// Bytes a cycle that all SMs read of what L2 holds, lines in any order out of `pages` pages that stand `pitch` bytes
// apart, `lines` of each (from line 0 on): how few places it takes to slow L2 down.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
constexpr int TURNS = 400, WARPS = 16, EACH = 4;
__global__ void read(const char* data, long pitch, unsigned pages, unsigned lines, unsigned* out, int* cycles) {
  unsigned x = (blockIdx.x * WARPS + threadIdx.x / 32) * 2654435761u + 12345u; uint4 sum = {0, 0, 0, 0};
  const int lane = threadIdx.x & 31;
  x += (lane >> 3) * 40503u;
  __syncthreads(); int t0, t1; asm volatile("mov.u32 %0,%%clock;" : "=r"(t0)::"memory");
  for (int i = 0; i < TURNS; i++) {
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      x = x * 1664525u + 1013904223u; unsigned r = x >> 8; r ^= r >> 11;
      const char* p = data + (long)((r >> 5) & (pages - 1)) * pitch + (r & (lines - 1)) * 128 + (lane & 7) * 16;
      uint4 v; asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
      sum.x ^= v.x ^ v.y ^ v.z ^ v.w;
    }
  }
  if (sum.x == 12345) *out = 1;
  __syncthreads(); asm volatile("mov.u32 %0,%%clock;" : "=r"(t1)::"memory");
  if (threadIdx.x == 0) cycles[blockIdx.x] = t1 - t0;
}
int main() {
  char* d; unsigned* out; int* cy; cudaMalloc(&d, 256l << 20); cudaMemset(d, 0, 256l << 20); cudaMalloc(&out, 4); cudaMalloc(&cy, 132 * 4);
  printf("pitch_bytes,pages,lines,bytes_per_cycle\n");
  for (long pitch : {4096l, 65536l, 131072l, 262144l}) for (int lines : {1, 2, 4, 8, 32}) for (int pages = 1; pages <= 4096 && (long)pages * pitch <= 128l << 20; pages *= 2) {
    std::vector<int> h(132); double best = 0;
    for (int r = 0; r < 3; r++) { read<<<132, 32 * WARPS>>>(d, pitch, pages, lines, out, cy); cudaDeviceSynchronize(); cudaMemcpy(h.data(), cy, 528, cudaMemcpyDeviceToHost); double s = 0; for (int x : h) s += x; best = 132.0 * WARPS * TURNS * EACH * 512 / (s / 132); }
    printf("%ld,%d,%d,%.0f\n", pitch, pages, lines, best);
  }
}
