// One load from global memory, a hit in L2 (and no line of the stores), behind `stores` stores to global memory of
// `bytes` a lane (rows of 32 lanes in a row) by its warp and `pause` cycles: cycles from the load's issue until its word
// is there, least of the last four of eight rounds. others: how many more warps store as well, without loads.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
constexpr int ROUNDS = 8;
template <int STORES, int BYTES, int WIDE> __global__ void rounds(char* to, const char* from, int* out, int pause, int zero) {
  extern __shared__ char shared[]; int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  char* p = to + warp * 65536 + lane * BYTES; const char* q = from + lane * 16;
  unsigned sum = 0;
#pragma unroll 1
  for (int r = 0; r < ROUNDS; r++) {
    int t0, t1, t2; unsigned v[4] = {};
    __syncthreads();
    CLOCK(t0);
#pragma unroll
    for (int i = 0; i < STORES; i++) {
      if (BYTES == 16) asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};" ::"l"(p + i * 32 * BYTES), "r"(sum) : "memory");
      else asm volatile("st.global.b32 [%0],%1;" ::"l"(p + i * 32 * BYTES), "r"(sum) : "memory");
    }
    if (warp == 0) {
      if (pause) { do CLOCK(t1); while (t1 - t0 < pause); }
      CLOCK(t1);
      if (WIDE == 2) asm volatile("{.reg .u32 s; mov.u32 s,%1; cp.async.cg.shared.global [s],[%0],16; cp.async.commit_group; cp.async.wait_group 0;}" :: "l"(q), "r"(1024 + lane * 16) : "memory");
      else if (WIDE) asm volatile("ld.global.v4.b32 {%0,%1,%2,%3},[%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(q) : "memory");
      else asm volatile("ld.global.b32 %0,[%1];" : "=r"(v[0]) : "l"(q) : "memory");
      sum = (v[0] + v[1] + v[2] + v[3]) & zero;
      asm volatile("" :: "r"(sum) : "memory");
      CLOCK(t2); t2 += sum;
      if (lane == 0) out[r] = t2 - t1, out[ROUNDS + r] = t1 - t0;
    }
    p += STORES * 32 * BYTES; q += 512;
    for (int k = 0; k < 40; k++) asm volatile("nanosleep.u32 100;");
  }
}
char *to, *from; int* out;
template <int S, int B, int W> void run() {
  for (int others : {0, 3}) for (int pause : {0, 100, 200, 400}) { int h[2 * ROUNDS];
    for (int r = 0; r < 2; r++) { rounds<S, B, W><<<1, 32 * (1 + others), 1024>>>(to, from, out, pause, 0); cudaDeviceSynchronize(); }
    cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
    printf("%d,%d,%d,%d,%d,%d,%d,%d\n", S, B, W ? 16 : 4, W == 2, others, pause, *std::min_element(h + 4, h + ROUNDS), *std::min_element(h + ROUNDS + 4, h + 2 * ROUNDS)); } }
int main() {
  cudaMalloc(&to, 8 << 20); cudaMalloc(&from, 8 << 20); cudaMalloc(&out, 256); cudaMemset(from, 0, 8 << 20); cudaMemset(to, 0, 8 << 20);
  printf("stores,bytes,load_bytes,copy,others,pause,load_cycles,issued_after\n");
#define ALL(S) run<S, 16, 0>(); run<S, 4, 0>(); run<S, 16, 1>(); run<S, 16, 2>(); run<S, 4, 2>();
  ALL(0) ALL(1) ALL(2) ALL(3) ALL(4) ALL(6) ALL(8) ALL(16)
  printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
