// How long a load takes while the clock of SMs is at its maximum or lowered by tensor instructions: one warp of SM 0 chases pointers through L2 or DRAM, other warps of all SMs multiply (mma.sync) or not.
// nvcc -O3 -arch=sm_90a clock_latency.cu; ./a.out
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t; using u64 = unsigned long long;
__device__ u64 gtime() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__global__ void __launch_bounds__(256, 1) work(int multiply, int steps, const u32 *g, u64 *out, volatile int *stop, float *sink) {
  __shared__ int done; if (threadIdx.x == 0) done = 0; __syncthreads();
  if (threadIdx.x < 128) { if (!multiply) return; float d[64]; for (int j = 0; j < 64; j++) d[j] = threadIdx.x * .37f + j; u32 r = 0x38003a00 + threadIdx.x * 77;
    while (!*stop) {
#pragma unroll
      for (int i = 0; i < 64; i++) { int j = i % 16 * 4; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[j]), "+f"(d[j + 1]), "+f"(d[j + 2]), "+f"(d[j + 3]) : "r"(r), "r"(r + 9), "r"(r + 5), "r"(r + 7), "r"(r + 1), "r"(r + 3)); } }
    float s = 0; for (int j = 0; j < 64; j++) s += d[j]; sink[blockIdx.x * 128 + threadIdx.x] = s; return; }
  if (blockIdx.x != 0 || threadIdx.x != 128) return;
  u64 b = gtime(); while (gtime() < b + 100000); u32 p = 0; for (int i = 0; i < 64; i++) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(p) : "l"(g + p));
  u64 t0 = gtime(); long long c0 = clock64(); for (int i = 0; i < steps; i++) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(p) : "l"(g + p)); long long c1 = clock64(); u64 t1 = gtime();
  out[0] = c1 - c0; out[1] = t1 - t0; out[2] = p; *stop = 1; __threadfence_system(); }
int main() { size_t n = (size_t)1 << 28; u32 *g; CK(cudaMalloc(&g, n * 4)); u64 *out; CK(cudaMallocManaged(&out, 64)); int *stop; CK(cudaMalloc(&stop, 4)); float *sink; CK(cudaMalloc(&sink, 132 * 512)); std::vector<u32> h(n);
  puts("lines,where,multiply,cycles,sm_mhz,nanoseconds");
  for (int where = 0; where < 2; where++) { size_t lines = where ? (n / 32) : 4096; std::vector<u32> order(lines); for (size_t i = 0; i < lines; i++) order[i] = i; u64 s = 12345; for (size_t i = lines - 1; i > 0; i--) { s = s * 6364136223846793005ull + 1442695040888963407ull; std::swap(order[i], order[(s >> 33) % (i + 1)]); } for (size_t i = 0; i < lines; i++) h[(size_t)order[i] * 32] = order[(i + 1) % lines] * 32; CK(cudaMemcpy(g, h.data(), n * 4, cudaMemcpyHostToDevice));
    for (int rep = 0; rep < 3; rep++) for (int multiply = 0; multiply < 2; multiply++) { CK(cudaMemset(stop, 0, 4)); int steps = where ? 4000 : 8192; work<<<132, 256>>>(multiply, steps, g, out, stop, sink); CK(cudaDeviceSynchronize()); printf("%zu,%s,%d,%.1f,%.0f,%.1f\n", lines, where ? "dram" : "l2", multiply, double(out[0]) / steps, 1000.0 * out[0] / out[1], double(out[1]) / steps); } } }
