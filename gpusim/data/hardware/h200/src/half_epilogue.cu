// Four warps that store halves of sectors as an epilogue of f32 sums does: rounds of STS.64, a barrier, LDS.128 and STG.128
// (eight lines each: 4 rows of 256 bytes, 16 of each 32 bytes by one store, the rest by the next), a barrier; by which parts a round has.
// parts: 1 STS, 2 LDS, 4 barriers. Cycles of each warp for its rounds; sectors of L2 and bytes of the SM's port by ncu.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
template <int PARTS, int STORES> __global__ void __launch_bounds__(128) half(char* data, int* out, int rounds, int delay) {
  extern __shared__ __align__(16) char sm[]; int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, t0, t1;
  char* p = data + (size_t)blockIdx.x * (1 << 16) + (size_t)(warp * 4 + lane / 8) * 2048 + (lane & 7) * 32;
  unsigned w = (unsigned)__cvta_generic_to_shared(sm) + (lane / 4) * 528 + (lane & 3) * 8 + (warp & 1) * 256 + (warp >> 1) * 4224, r = (unsigned)__cvta_generic_to_shared(sm) + (warp * 4 + lane / 8) * 528 + (lane & 7) * 32;
  int v[16]; for (int i = 0; i < 16; i++) v[i] = lane + i;
  __syncthreads(); CLOCK(t0);
  for (int k = 0; k < rounds; k++) {
    if (PARTS & 1) {
#pragma unroll
      for (int i = 0; i < 8; i++) asm volatile("st.shared.v2.b32 [%0],{%1,%2};" ::"r"(w + i * 32), "r"(v[i]), "r"(v[i + 8]) : "memory"); }
    if (PARTS & 4) __syncthreads();
    int q[4][4];
#pragma unroll
    for (int i = 0; i < STORES; i++) { if (PARTS & 2) asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3},[%4];" : "=r"(q[i][0]), "=r"(q[i][1]), "=r"(q[i][2]), "=r"(q[i][3]) : "r"(r + (i & 1) * 16 + (i >> 1) * 256) : "memory"); else for (int j = 0; j < 4; j++) q[i][j] = v[j]; }
#pragma unroll
    for (int i = 0; i < STORES; i++) asm volatile("st.global.v4.b32 [%0],{%1,%2,%3,%4};" ::"l"(p + (k & 1) * 32768 + (i & 1) * 16 + (i >> 1) * 256), "r"(q[i][0]), "r"(q[i][1]), "r"(q[i][2]), "r"(q[i][3]) : "memory");
    if (PARTS & 4) __syncthreads(); }
  CLOCK(t1); if (lane == 0) out[blockIdx.x * 4 + warp] = t1 - t0; }
char* data; int* out;
template <int P, int S> void run(int ctas, int rounds) { cudaFuncSetAttribute(half<P, S>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10); for (int i = 0; i < 3; i++) half<P, S><<<ctas, 128, 64 << 10>>>(data, out, rounds, 0); cudaDeviceSynchronize(); int h[4]; cudaMemcpy(h, out, 16, cudaMemcpyDeviceToHost); printf("%d,%d,%d,%d,%d,%d,%d,%d\n", P, S, ctas, rounds, h[0], h[1], h[2], h[3]); }
int main() { cudaMalloc(&data, 132 << 16); cudaMalloc(&out, 8192); cudaMemset(data, 0, 132 << 16); printf("parts,stores,ctas,rounds,w0,w1,w2,w3\n");
  for (int rounds : {1, 8, 32}) for (int c : {1}) { run<0, 4>(c, rounds); run<4, 4>(c, rounds); run<2, 4>(c, rounds); run<6, 4>(c, rounds); run<1, 4>(c, rounds); run<5, 4>(c, rounds); run<7, 4>(c, rounds); run<7, 2>(c, rounds); run<6, 2>(c, rounds); run<4, 2>(c, rounds); run<0, 2>(c, rounds); } }
