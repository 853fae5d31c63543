// Main loops with two stages by four warps of a CTA, data in L2, with parts left out: each turn loads LOADS LDG.128 (rows of row_bytes, 4 KiB apart; new
// lines each turn, or with HALVES the 64 bytes beside those of the turn before), multiplies (8: two HMMA.16816 behind each load and 32 behind the last),
// stores what has come to shared memory (1), waits for the other warps (2) and loads four fragments (4), which it waits for. Without 1 a LOP3 waits for
// each load. Cycles of a turn, mean over warps and 48 turns, behind a first launch.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
#define HMMA(c) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]) : "memory")
template <int LOADS, int PARTS, int HALVES> __global__ void __launch_bounds__(128) loops(const char* data, int* out, int row_bytes, int turns, int zero) {
  extern __shared__ __align__(1024) char sm[]; int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, t0, t1;
  unsigned base = (unsigned)__cvta_generic_to_shared(sm); int per = row_bytes / 16, rows = 32 / per;
  const char* p = data + (size_t)(warp * LOADS * rows + lane / per) * 4096 + (lane % per) * 16; size_t step = (size_t)rows * 4096;
  unsigned w = base + (warp * LOADS * 32 + lane) * 16, r = base + (lane % 8) * 16 + (lane / 8) * 128; unsigned x = 0, a[6]; float c[16][4];
  for (int i = 0; i < 6; i++) a[i] = zero; for (int i = 0; i < 16; i++) for (int j = 0; j < 4; j++) c[i][j] = 0;
  __syncthreads(); CLOCK(t0);
#pragma unroll 1
  for (int k = 0; k < turns; k++) { unsigned v[LOADS][4]; int m = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) { asm volatile("ld.global.L2::128B.v4.b32 {%0,%1,%2,%3},[%4];" : "=r"(v[i][0]), "=r"(v[i][1]), "=r"(v[i][2]), "=r"(v[i][3]) : "l"(p + step * i) : "memory");
      if (PARTS & 8) { HMMA(c[m % 16]); m++; HMMA(c[m % 16]); m++; } }
    if (PARTS & 8) {
#pragma unroll
      for (int g = 0; g < 32; g++, m++) HMMA(c[m % 16]); }
#pragma unroll
    for (int i = 0; i < LOADS; i++) { if (PARTS & 1) asm volatile("st.shared.v4.b32 [%0],{%1,%2,%3,%4};" ::"r"(w + i * 512), "r"(v[i][0]), "r"(v[i][1]), "r"(v[i][2]), "r"(v[i][3]) : "memory"); else asm volatile("xor.b32 %0,%0,%1;" : "+r"(x) : "r"(v[i][0]) : "memory"); }
    if (PARTS & 2) __syncthreads();
    if (PARTS & 4) { unsigned f[4][4];
#pragma unroll
      for (int i = 0; i < 4; i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(f[i][0]), "=r"(f[i][1]), "=r"(f[i][2]), "=r"(f[i][3]) : "r"(r + i * 512) : "memory");
#pragma unroll
      for (int i = 0; i < 4; i++) asm volatile("xor.b32 %0,%0,%1;" : "+r"(x) : "r"(f[i][0]) : "memory"); }
    p += HALVES ? 64 : row_bytes < 128 ? 128 : row_bytes; }
  CLOCK(t1); float s = 0; for (int i = 0; i < 16; i++) for (int j = 0; j < 4; j++) s += c[i][j];
  if (lane == 0) { out[warp] = t1 - t0; out[1000 + warp] = x; ((float*)out)[1010 + warp] = s; } }
char* data; int* out;
template <int L, int P, int H> void run(int row) { int shared = 64 << 10; cudaFuncSetAttribute(loops<L, P, H>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared); int turns = H ? 63 : row < 128 ? 31 : 4096 / row - 1; if (turns > 48) turns = 48;
  for (int i = 0; i < 4; i++) loops<L, P, H><<<1, 128, shared>>>(data, out, row, turns, 0); cudaDeviceSynchronize();
  int h[4]; cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost); printf("%d,%d,%d,%d,%d,%.1f\n", L, P, H, row, turns, (h[0] + h[1] + h[2] + h[3]) / 4. / turns); }
template <int L, int P> void all() { for (int row : {64, 128, 256}) run<L, P, 0>(row); run<L, P, 1>(64); }
int main() { cudaMalloc(&data, 64 << 20); cudaMalloc(&out, 8192); cudaMemset(data, 0, 64 << 20); printf("loads,parts,halves,row_bytes,turns,cycles\n");
  all<1, 0>(); all<1, 2>(); all<1, 3>(); all<1, 7>(); all<1, 10>(); all<1, 15>(); all<4, 0>(); all<4, 2>(); all<4, 3>(); all<4, 7>(); all<4, 8>(); all<4, 10>(); all<4, 11>(); all<4, 15>(); all<8, 0>(); all<8, 2>(); all<8, 3>(); all<8, 7>(); all<8, 8>(); all<8, 10>(); all<8, 11>(); all<8, 15>(); if (cudaDeviceSynchronize()) printf("error\n"); }
