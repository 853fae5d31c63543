// Cold rows of 64 bytes by one CTA: cycles from its first cp.async until `rows` of them are there, by their distance (0: anywhere), with L2's prefetch of 128 bytes or without, and
// in rows of 256 bytes (`wide`). Deciles of 400 trials, each with new lines, at any time. A line of every 2 MiB was read before.
#include <cstdio>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
template <int HINT> __global__ void __launch_bounds__(128) tile(const char* base, const unsigned* where, unsigned* out, int rows, int trials, int wide, size_t span) {
  extern __shared__ __align__(1024) char sm[]; uint32_t s = (uint32_t)__cvta_generic_to_shared(sm) + threadIdx.x * 16; int tid = threadIdx.x; unsigned h = 12345u, x = 0; float f = tid;
  for (size_t p = (size_t)tid * (2u << 20); p < span; p += (size_t)128 * (2u << 20)) { unsigned v; asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(v) : "l"(base + p) : "memory"); x += v; }
  int per = wide ? 16 : 4; 
  for (int t = 0; t < trials; t++) { h = h * 1664525u + 1013904223u; int n = h >> 23;
    for (int i = 0; i < n; i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;" : "+f"(f));
    int copies = (rows * per + 127) / 128; const char* p[16];
#pragma unroll
    for (int i = 0; i < 16; i++) { int r = tid / per + i * 128 / per; p[i] = base + (size_t)where[t * 256 + (r < rows ? r : 0)] * 128 + (tid % per) * 16; }
    __syncthreads(); unsigned t0 = clock();
#pragma unroll
    for (int i = 0; i < 16; i++) if (i < copies && tid / per + i * 128 / per < rows) { if (HINT) asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;" ::"r"(s + i * 2048), "l"(p[i]) : "memory"); else asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(s + i * 2048), "l"(p[i]) : "memory"); }
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory"); __syncthreads(); unsigned t1 = clock(); if (tid == 0) out[t] = t1 - t0; }
  if (f == 1.f) out[5000] = x; }
char *d, *junk; unsigned *o, *w;
template <int H> void run(int rows, long dist, int wide, bool hot) { const int T = 400; size_t span = (size_t)8 << 30, total = span / 128; std::vector<unsigned> h(T * 256); static uint64_t r = 88172645463325252ull;
  for (int t = 0; t < T; t++) { r ^= r << 13; r ^= r >> 7; r ^= r << 17; size_t at = (r % (total / 2)) & ~(size_t)1023; for (int k = 0; k < 256; k++) { r ^= r << 13; r ^= r >> 7; r ^= r << 17; h[t * 256 + k] = dist ? at + k * (dist / 128) : r % (total - 2); } }
  cudaMemcpy(w, h.data(), h.size() * 4, cudaMemcpyHostToDevice); cudaMemset(junk, rows, (size_t)256 << 20); cudaDeviceSynchronize();
  tile<H><<<1, 128, 65536>>>(d, w, o, rows, T, wide, span); if (hot) tile<H><<<1, 128, 65536>>>(d, w, o, rows, T, wide, span); cudaDeviceSynchronize(); std::vector<unsigned> c(T); cudaMemcpy(c.data(), o, T * 4, cudaMemcpyDeviceToHost); std::sort(c.begin(), c.end());
  double m = 0; for (unsigned v : c) m += v; printf("%d,%ld,%d,%d,%d,%.0f", rows, dist, wide, H, hot, m / T); for (int q : {2, 10, 25, 50, 75, 90, 98}) printf(",%u", c[T * q / 100]); printf("\n"); }
int main() { cudaMalloc(&d, (size_t)8 << 30); cudaMemset(d, 1, (size_t)8 << 30); cudaMalloc(&junk, (size_t)256 << 20); cudaMalloc(&o, 1 << 20); cudaMalloc(&w, 1 << 22); cudaFuncSetAttribute(tile<0>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536); cudaFuncSetAttribute(tile<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  printf("rows,distance_bytes,wide,hint,hot,mean,p2,p10,p25,p50,p75,p90,p98\n");
  for (int rows : {8, 32, 64, 128, 256}) { for (long dist : {0L, 1024L, 2048L, 4096L, 8192L}) { run<1>(rows, dist, 0, false); } run<0>(rows, 4096, 0, false); run<0>(rows, 0, 0, false); run<1>(rows, 4096, 0, true); if (rows <= 128) { run<1>(rows, 1024, 1, false); run<1>(rows, 4096, 1, false); } }
  if (cudaDeviceSynchronize()) printf("error\n"); }
