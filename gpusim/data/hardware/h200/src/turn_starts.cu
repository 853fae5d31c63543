// Whose turn at the tensor pipe it is of two warps that wait (turn_waits.cu) when one of them has just issued something
// else. Warps 0, 4 and 8, in one sub-partition: the first one has 224 HMMA.16816.F32; the other two each spend turns in
// two loops, then have a clock, a load from L2, COUNT instructions of KIND, each of which needs the one before, 32 HMMA
// that need the last one, a clock. The lower one of them comes long before, the load of the higher one comes up to 350
// cycles before the end of the first one. Cycles from the first clock on.
// nvcc -O3 -std=c++17 -arch=sm_90a turn_starts.cu -o turn_starts; ./turn_starts > turn_starts.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int ILP = 16, LEN = 224;
enum { FFMA, HFMA2, MUFU, LDS, LDSM, SHFL };
char const *const NAMES[] = {"FFMA","HFMA2","MUFU","LDS","LDSM","SHFL"};
__device__ __forceinline__ void hmma(float *c, uint32_t const *a, uint32_t const *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); }
template<int KIND> __device__ __forceinline__ void other(uint32_t &v) {
  if (KIND == FFMA) asm volatile("fma.rn.f32 %0,%0,%0,%0;" : "+r"(v));
  if (KIND == HFMA2) asm volatile("fma.rn.f16x2 %0,%0,%0,%0;" : "+r"(v));
  if (KIND == MUFU) asm volatile("ex2.approx.ftz.f32 %0,%0;" : "+r"(v));
  if (KIND == LDS) asm volatile("ld.shared.u32 %0,[%0+256];" : "+r"(v));
  if (KIND == LDSM) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0},[%0+256];" : "+r"(v));
  if (KIND == SHFL) asm volatile("shfl.sync.bfly.b32 %0,%0,0,31,-1;" : "+r"(v)); }
template<int KIND, int COUNT> __global__ void starts(int *out, uint32_t const *in, int first, int d0, int d1, int d2, int e0, int e1, int e2) {
  __shared__ __align__(128) int clocks[1024]; int warp = threadIdx.x >> 5; float c[ILP][4] = {}; uint32_t a[4], b[2], x = threadIdx.x;
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) clocks[i] = 0;
  for (int i = 0; i < 4; i++) asm volatile("ld.global.u32 %0,[%1];" : "=r"(a[i]) : "l"(in + 1024 * i + threadIdx.x));
  for (int i = 0; i < 2; i++) asm volatile("ld.global.u32 %0,[%1];" : "=r"(b[i]) : "l"(in + 1024 * i + 512 + threadIdx.x));
  int const delay = warp < 4 ? d0 : warp < 8 ? d1 : d2, more = warp < 4 ? e0 : warp < 8 ? e1 : e2;
  for (int again = 0; again < 2; again++) {   // the first time without code in the caches
    __syncthreads();
    #pragma unroll 1
    for (int i = 0; i < delay; i++) asm volatile("mad.lo.u32 %0,%0,%1,%1;" : "+r"(x) : "r"(a[1]));
    #pragma unroll 1
    for (int i = 0; i < more; i++) asm volatile("mad.lo.u32 %0,%0,%1,%1;mad.lo.u32 %0,%0,%1,%1;" : "+r"(x) : "r"(a[1]));
    clocks[warp * 4] = clock64();
    if (warp / 4 == first) {
      #pragma unroll
      for (int i = 0; i < LEN; i++) hmma(c[i % ILP], a, b);
    } else {
      asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(a[0]) : "l"(in + threadIdx.x));
      #pragma unroll
      for (int i = 0; i < COUNT; i++) other<KIND>(a[0]);
      #pragma unroll
      for (int i = 0; i < 32; i++) hmma(c[i % ILP], a, b);
    }
    clocks[warp * 4 + 1] = clock64();
  }
  __syncthreads(); if (threadIdx.x < 48) out[threadIdx.x] = clocks[threadIdx.x];
  float s = 0; for (int j = 0; j < ILP; j++) s += c[j][0] + c[j][1]; ((float *)out)[1024 + threadIdx.x] = s; out[2048 + threadIdx.x] = x; }
template<int KIND, int COUNT> void go(int *out, uint32_t *in) { static int h[48];
  srand(1); int const low_of[3] = {1, 0, 0};
  for (int i = 0; i < 180; i++) {
    int first = i % 3, t = 1180 / 32 - i / 15 - rand() % 2, u = rand() % 8, low = low_of[first], high = 3 - first - low;
    int d[3] = {}, e[3] = {}; d[low] = 2; d[high] = t - u; e[high] = u;
    starts<KIND, COUNT><<<1, 384>>>(out, in, first, d[0], d[1], d[2], e[0], e[1], e[2]); CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)); int zero = h[0]; for (int w : {16, 32}) if (h[w] - zero < 0) zero = h[w];
    printf("%s,%d,%d,%d,%d,%d,%d,%d,%d", NAMES[KIND], COUNT, first * 4, d[0], d[1], d[2], e[0], e[1], e[2]); for (int w : {0, 16, 32}) printf(",%d,%d", h[w] - zero, h[w + 1] - zero); puts(""); } }
int main() { int *out; uint32_t *in; CK(cudaMalloc(&out, 1 << 16)); CK(cudaMalloc(&in, 1 << 16)); CK(cudaMemset(in, 0, 1 << 16));
  puts("kind,count,first,turns_0,turns_4,turns_8,more_0,more_4,more_8,begin_0,end_0,begin_4,end_4,begin_8,end_8");
  go<FFMA, 0>(out, in); go<FFMA, 1>(out, in); go<FFMA, 2>(out, in); go<FFMA, 3>(out, in); go<FFMA, 4>(out, in); go<FFMA, 6>(out, in); go<FFMA, 8>(out, in); go<FFMA, 12>(out, in); go<FFMA, 16>(out, in); go<FFMA, 32>(out, in);
  go<HFMA2, 1>(out, in); go<MUFU, 1>(out, in); go<LDS, 1>(out, in); go<LDSM, 1>(out, in); go<SHFL, 1>(out, in); go<MUFU, 4>(out, in); go<LDS, 4>(out, in); go<LDSM, 4>(out, in);
  return 0; }
