// What gpc__cycles_elapsed.max counts when some SMs go on multiplying after the others have ended: one CTA on each SM issues `first` mma.sync a warp,
// the first `sms` of them `second` more. Per CTA that goes on its SM, and the clock and the global timer over the second part.
// nvcc -O3 -std=c++17 -arch=sm_90a tail_clock.cu -o tail_clock; ./tail_clock SMS FIRST SECOND [all: print each CTA]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
__device__ unsigned long long gtime() { unsigned long long t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ __forceinline__ void multiply(float *d, const uint32_t *r, int times) {
#pragma unroll 1
  for (int n = 0; n < times; n += 16) {
#pragma unroll
    for (int i = 0; i < 16; i++) { int j = i % 8 * 4; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[j]), "+f"(d[j + 1]), "+f"(d[j + 2]), "+f"(d[j + 3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5])); }
  } }
__global__ void __launch_bounds__(128, 1) work(int sms, int first, int second, long long *out, float *sink) {
  float d[32]; uint32_t r[6];
  for (int i = 0; i < 32; i++) d[i] = threadIdx.x * 0.37f + i;
  for (int i = 0; i < 6; i++) { uint32_t x = (threadIdx.x * 6 + i) * 2654435761u + 7; x ^= x >> 15; x *= 2246822519u; r[i] = (x & 0x83ff83ffu) | 0x38003800u; }
  multiply(d, r, first);
  if (blockIdx.x < sms) {
    unsigned long long t = gtime(); long long c = clock64();
    multiply(d, r, second);
    if (threadIdx.x == 0) { unsigned smid; asm volatile("mov.u32 %0, %%smid;" : "=r"(smid)); out[blockIdx.x * 3] = smid; out[blockIdx.x * 3 + 1] = clock64() - c; out[blockIdx.x * 3 + 2] = gtime() - t; }
  }
  float sum = 0; for (int i = 0; i < 32; i++) sum += d[i];
  if (sum == 1.2345f) *sink = sum;
}
int main(int argc, char **argv) {
  int sms = atoi(argv[1]), first = atoi(argv[2]), second = atoi(argv[3]); long long *out, h[132 * 3] = {}; float *sink;
  CK(cudaMalloc(&out, sizeof h)); CK(cudaMalloc(&sink, 4)); CK(cudaMemset(out, 0, sizeof h)); CK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  work<<<132, 128, 200 << 10>>>(sms, first, second, out, sink); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
  if (argc > 4) for (int i = 0; i < sms; i++) printf("sm %lld cycles %lld ns %lld mhz %.0f\n", h[3 * i], h[3 * i + 1], h[3 * i + 2], h[3 * i + 1] * 1e3 / h[3 * i + 2]);
  return 0;
}
