// Who goes next of two warps that wait while a third one of their CTA and sub-partition keeps the tensor pipe. Warps 0, 4
// and 8 each spend turns in two loops, then have a clock, MMAs, a clock. The first one spends none and has MMAS of them,
// the other two 32 HMMA (16816, f32); late ones come up to 400 cycles before its end, both of them or the higher one
// alone. Kinds of the first one: 0 HMMA.16816.F32, 1 the same (but the other two wait for a load from L2 before), 2
// HMMA.1688.F32, 4 IMMA.16832.S8. Cycles from the first clock on.
// nvcc -O3 -std=c++17 -arch=sm_90a turn_waits.cu -o turn_waits; ./turn_waits > turn_waits.csv
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int ILP = 16;
__device__ __forceinline__ void hmma(float *c, uint32_t const *a, uint32_t const *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); }
__device__ __forceinline__ void half(float *c, uint32_t const *a, uint32_t const *b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0])); }
__device__ __forceinline__ void imma(float *c, uint32_t const *a, uint32_t const *b) { int *d = reinterpret_cast<int *>(c);
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); }
template<int LEN, int KIND> __global__ void waits(int *out, uint32_t const *in, int first, int d0, int d1, int d2, int e0, int e1, int e2) {
  __shared__ int clocks[12 * 4]; int warp = threadIdx.x >> 5; float c[ILP][4] = {}; uint32_t a[4], b[2], x = threadIdx.x;
  for (int i = 0; i < 4; i++) asm volatile("mov.u32 %0,%1;" : "=r"(a[i]) : "r"(first));
  for (int i = 0; i < 2; i++) asm volatile("mov.u32 %0,%1;" : "=r"(b[i]) : "r"(first));
  int const delay = warp < 4 ? d0 : warp < 8 ? d1 : d2, more = warp < 4 ? e0 : warp < 8 ? e1 : e2;
  for (int again = 0; again < 2; again++) {   // the first time without code in the caches
    __syncthreads();
    #pragma unroll 1
    for (int i = 0; i < delay; i++) asm volatile("mad.lo.u32 %0,%0,%1,%1;" : "+r"(x) : "r"(a[0]));
    #pragma unroll 1
    for (int i = 0; i < more; i++) asm volatile("mad.lo.u32 %0,%0,%1,%1;mad.lo.u32 %0,%0,%1,%1;" : "+r"(x) : "r"(a[0]));
    clocks[warp * 4] = clock64();
    if (warp / 4 == first) {
      #pragma unroll
      for (int i = 0; i < LEN; i++) { if (KIND == 2) half(c[i % ILP], a, b); else if (KIND == 4) imma(c[i % ILP], a, b); else hmma(c[i % ILP], a, b); }
    } else {
      if (KIND == 1) asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(a[0]) : "l"(in + threadIdx.x));
      #pragma unroll
      for (int i = 0; i < 32; i++) hmma(c[i % ILP], a, b);
    }
    clocks[warp * 4 + 1] = clock64();
  }
  __syncthreads(); if (threadIdx.x < 48) out[threadIdx.x] = clocks[threadIdx.x];
  float s = 0; for (int j = 0; j < ILP; j++) s += c[j][0] + c[j][1]; ((float *)out)[1024 + threadIdx.x] = s; out[2048 + threadIdx.x] = x; }
template<int LEN, int KIND> void one(int *out, uint32_t *in, int first, int low, int t0, int u0, int t1, int u1) { static int h[48];
  int d[3] = {}, e[3] = {}; int high = 3 - first - low; d[low] = t0; e[low] = u0; d[high] = t1; e[high] = u1;
  waits<LEN, KIND><<<1, 384>>>(out, in, first, d[0], d[1], d[2], e[0], e[1], e[2]); CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)); int zero = h[0]; for (int w : {16, 32}) if (h[w] - zero < 0) zero = h[w];
  printf("%d,%d,%d,%d,%d,%d,%d,%d,%d", LEN, KIND, first * 4, d[0], d[1], d[2], e[0], e[1], e[2]); for (int w : {0, 16, 32}) printf(",%d,%d", h[w] - zero, h[w + 1] - zero); puts(""); }
template<int LEN, int KIND> void go(int *out, uint32_t *in, int end) {
  srand(1); int const low[3] = {1, 0, 0};
  for (int i = 0; i < 300; i++) { int first = i % 3, t = end / 32 - rand() % 12, u = rand() % 8;
    if (i % 6 < 3) one<LEN, KIND>(out, in, first, low[first], 2, 0, t - u, u);   // the lower one long before
    else { int t2 = t + rand() % 4 - 1, u2 = rand() % 8; one<LEN, KIND>(out, in, first, low[first], t - u, u, t2 - u2, u2); } } }
int main() { int *out; uint32_t *in; CK(cudaMalloc(&out, 1 << 16)); CK(cudaMalloc(&in, 1 << 16)); CK(cudaMemset(in, 0, 1 << 16));
  puts("mmas,kind,first,turns_0,turns_4,turns_8,more_0,more_4,more_8,begin_0,end_0,begin_4,end_4,begin_8,end_8");
  go<192, 0>(out, in, 1280); go<256, 2>(out, in, 1190); go<192, 4>(out, in, 1280); go<192, 1>(out, in, 1200); return 0; }
