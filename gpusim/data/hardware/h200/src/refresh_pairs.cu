// Which lines of DRAM refresh together: two warps load a cold line each at the same time, `distance` bytes apart (aligned: from a multiple of 1 MiB plus `offset`); how often the
// first one waits (is late by more than 780 cycles: 60 more than the farthest that does not wait), and the second one when the first does. Independent: as often; together: nearly always.
#include <cstdio>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
__global__ void pairs(const char* base, const unsigned* where, unsigned* out, int trials, size_t distance, size_t span) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5; unsigned x = 0; for (size_t p = (size_t)threadIdx.x * (2u << 20); p < span; p += (size_t)64 * (2u << 20)) { unsigned v; asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(v) : "l"(base + p + 1999872) : "memory"); x += v; }
  for (int t = 0; t < trials; t++) { const char* p = base + (size_t)where[t] * 128 + warp * distance; for (int i = 0; i < (t * 7919 & 1023); i++) asm volatile("" ::: "memory"); __syncthreads(); unsigned t0 = clock(), v = 0; if (!lane) asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory"); v = __shfl_sync(~0u, v, 0); unsigned t1 = clock() + (v & 0); if (!lane) out[t * 2 + warp] = t1 - t0; x += v; }
  if (x == 12345) out[0] = x; }
char *d, *junk; unsigned *o, *w;
int main() { size_t span = (size_t)48 << 30; cudaMalloc(&d, span); cudaMemset(d, 1, span); cudaMalloc(&junk, (size_t)256 << 20); cudaMalloc(&o, 1 << 20); cudaMalloc(&w, 1 << 20); const int T = 4000; uint64_t r = 88172645463325252ull;
  printf("distance_bytes,trials,first_waits,second_waits,second_when_first_waits\n");
  for (size_t dist : {(size_t)128, (size_t)256, (size_t)512, (size_t)1024, (size_t)2048, (size_t)3072, (size_t)4096, (size_t)5120, (size_t)8192, (size_t)12288, (size_t)16384, (size_t)32768, (size_t)49152, (size_t)65536, (size_t)98304, (size_t)131072, (size_t)196608, (size_t)262144, (size_t)524288, (size_t)1048576, (size_t)2097152, (size_t)4194304, (size_t)8388608, (size_t)16777216, (size_t)268435456}) {
    std::vector<unsigned> h(T), c(2 * T); for (int t = 0; t < T; t++) { r ^= r << 13; r ^= r >> 7; r ^= r << 17; size_t block = r % ((span >> 20) - 300); size_t line = dist < (1u << 19) ? (r >> 40) % (((1u << 20) - dist) / 128 > 0 ? ((1u << 20) - dist) / 128 : 1) : (r >> 40) % 8192; if (dist < 65536) { size_t in = (65536 - dist) / 128; line = ((r >> 40) % 16) * 512 + (r >> 20) % in; } h[t] = block * 8192 + line; }
    cudaMemcpy(w, h.data(), T * 4, cudaMemcpyHostToDevice); cudaMemset(junk, 1, (size_t)256 << 20); cudaDeviceSynchronize(); pairs<<<1, 64>>>(d, w, o, T, dist, span); cudaDeviceSynchronize(); cudaMemcpy(c.data(), o, 8 * T, cudaMemcpyDeviceToHost);
    int a = 0, b = 0, ab = 0; for (int t = 0; t < T; t++) { bool x = c[2 * t] > 790, y = c[2 * t + 1] > 790; a += x; b += y; ab += x && y; } printf("%zu,%d,%.3f,%.3f,%.3f\n", dist, T, a / double(T), b / double(T), ab / double(a)); }
  if (cudaDeviceSynchronize()) printf("error\n"); }
