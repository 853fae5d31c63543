// Turns of a main loop with two stages, without its tensor instructions: warps of a CTA load from L2 (LDG.128, rows of
// row_bytes, 2 KiB apart, new lines each turn), store what has come to shared memory (parts 1), wait for each other
// (2) and load it as fragments (4). Clocks of each warp's last turn of four, from its first clock on: behind the last
// load, the first and the last use of what was loaded (an STS.128, without parts 1 a LOP3), the barrier, the fragments.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
template <int LOADS, int PARTS> __global__ void __launch_bounds__(256) turns(const char* data, int* out, int row_bytes) {
  extern __shared__ __align__(1024) char sm[]; int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, t[4][6];
  unsigned base = (unsigned)__cvta_generic_to_shared(sm); int per = row_bytes / 16, rows = 32 / per;
  const char* p = data + (size_t)(warp * LOADS * rows + lane / per) * 2048 + (lane % per) * 16; size_t step = (size_t)rows * 2048, turn = step * LOADS * warps;
  unsigned w = base + (warp * LOADS * 32 + lane) * 16, r = base + (lane % 8) * 16 + (lane / 8) * 128; unsigned x = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) { unsigned v[LOADS][4]; const char* q = p + turn * k;
    __syncthreads(); CLOCK(t[k][0]);
#pragma unroll
    for (int i = 0; i < LOADS; i++) asm volatile("ld.global.L2::128B.v4.b32 {%0,%1,%2,%3},[%4];" : "=r"(v[i][0]), "=r"(v[i][1]), "=r"(v[i][2]), "=r"(v[i][3]) : "l"(q + step * i) : "memory");
    CLOCK(t[k][1]);
#pragma unroll
    for (int i = 0; i < LOADS; i++) { if (PARTS & 1) asm volatile("st.shared.v4.b32 [%0],{%1,%2,%3,%4};" ::"r"(w + i * 512), "r"(v[i][0]), "r"(v[i][1]), "r"(v[i][2]), "r"(v[i][3]) : "memory"); else asm volatile("xor.b32 %0,%0,%1;" : "+r"(x) : "r"(v[i][0]) : "memory"); if (i == 0) CLOCK(t[k][2]); }
    CLOCK(t[k][3]);
    if (PARTS & 2) __syncthreads();
    CLOCK(t[k][4]);
    if (PARTS & 4) { unsigned f[4][4];
#pragma unroll
      for (int i = 0; i < 4; i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(f[i][0]), "=r"(f[i][1]), "=r"(f[i][2]), "=r"(f[i][3]) : "r"(r + i * 512) : "memory");
#pragma unroll
      for (int i = 0; i < 4; i++) asm volatile("xor.b32 %0,%0,%1;" : "+r"(x) : "r"(f[i][0]) : "memory"); }
    CLOCK(t[k][5]); }
  if (lane == 0) { for (int k = 0; k < 4; k++) for (int i = 0; i < 6; i++) out[(warp * 4 + k) * 6 + i] = t[k][i]; out[1000 + warp] = x; } }
char* data; int* out;
template <int L, int P> void run(int warps, int row) { int shared = 64 << 10; cudaFuncSetAttribute(turns<L, P>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  for (int i = 0; i < 4; i++) turns<L, P><<<1, 32 * warps, shared>>>(data, out, row); cudaDeviceSynchronize();
  static int h[192]; cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost); int first = 1 << 30; (void)first;
  for (int w = 0; w < warps; w++) { int* t = h + (w * 4 + 3) * 6; printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\n", L, P, warps, row, w, t[0] - h[18], t[1] - t[0], t[2] - t[0], t[3] - t[0], t[4] - t[0], t[5] - t[0]); } }
template <int L> void all() { for (int warps : {1, 4, 8}) for (int row : {32, 64, 128, 256, 512}) { run<L, 0>(warps, row); run<L, 1>(warps, row); run<L, 3>(warps, row); run<L, 7>(warps, row); } }
int main() { cudaMalloc(&data, 64 << 20); cudaMalloc(&out, 8192); cudaMemset(data, 0, 64 << 20); printf("loads,parts,warps,row_bytes,warp,begun,issued,first,last,met,fragments\n"); all<1>(); all<2>(); all<4>(); all<8>(); if (cudaDeviceSynchronize()) printf("error\n"); }
