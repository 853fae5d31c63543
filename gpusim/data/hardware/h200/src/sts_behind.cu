// Four warps that store N times 16 bytes a lane to global memory (eight lines each, half of each sector) and then, all or the first one, K times
// 8 bytes a lane to shared memory, load once and store that: cycles from the start until the last store to global memory is issued, the last one to
// shared memory, and what has been loaded, by warp. A clock read behind the first ones may come early, as what stores needs it.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
template <int N, int K, int ALL> __global__ void __launch_bounds__(128) behind(char* data, int* out) {
  extern __shared__ __align__(16) char sm[]; int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, t0, t1, t2, t3, x = 0, v[16];
  char* p = data + (size_t)(warp * 4 + lane / 8) * 2048 + (lane & 7) * 32; unsigned w = (unsigned)__cvta_generic_to_shared(sm) + threadIdx.x * 8;
  for (int i = 0; i < 16; i++) v[i] = out[lane + i * 32];
  for (int r = 0; r < 3; r++) { __syncthreads(); for (int k = 0; k < 40; k++) asm volatile("nanosleep.u32 20;"); __syncthreads();
    CLOCK(t0);
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("st.global.v4.b32 [%0],{%1,%2,%3,%4};" ::"l"(p + (i & 1) * 16 + (i / 2) * 32768), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
    CLOCK(t1);
    if (ALL || warp == 0) {
#pragma unroll
      for (int i = 0; i < K; i++) asm volatile("st.shared.v2.b32 [%0],{%1,%2};" ::"r"(w + i * 1024), "r"(v[i] + t1), "r"(v[i + 1]) : "memory"); }
    CLOCK(t2);
    if (ALL || warp == 0) asm volatile("ld.shared.b32 %0,[%1]; st.shared.b32 [%1+32768],%0;" : "=r"(x) : "r"(w) : "memory");
    CLOCK(t3);
    __syncthreads(); }
  if (lane == 0) { out[512 + warp * 3] = t1 - t0; out[513 + warp * 3] = t2 - t0; out[514 + warp * 3] = t3 - t0; } }
char* data; int* out;
template <int N, int K, int A> void run() { cudaFuncSetAttribute(behind<N, K, A>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10); for (int i = 0; i < 2; i++) behind<N, K, A><<<1, 128, 64 << 10>>>(data, out); cudaDeviceSynchronize(); int h[12]; cudaMemcpy(h, out + 512, 48, cudaMemcpyDeviceToHost); printf("%d,%d,%d", N, K, A); for (int x : h) printf(",%d", x); printf("\n"); }
template <int N, int A> void ks() { run<N, 0, A>(); run<N, 1, A>(); run<N, 2, A>(); run<N, 4, A>(); run<N, 8, A>(); run<N, 12, A>(); }
int main() { cudaMalloc(&data, 8 << 20); cudaMalloc(&out, 8192); cudaMemset(data, 0, 8 << 20); cudaMemset(out, 0, 8192); printf("stores,shared,all,w0_global,w0_shared,w0_loaded,w1_global,w1_shared,w1_loaded,w2_global,w2_shared,w2_loaded,w3_global,w3_shared,w3_loaded\n");
  ks<0, 0>(); ks<1, 0>(); ks<2, 0>(); ks<3, 0>(); ks<4, 0>(); ks<6, 0>(); ks<8, 0>(); ks<0, 1>(); ks<1, 1>(); ks<2, 1>(); ks<3, 1>(); ks<4, 1>(); ks<6, 1>(); ks<8, 1>(); printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
