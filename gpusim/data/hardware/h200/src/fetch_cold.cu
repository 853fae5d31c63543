// What code costs that an SM has not run yet: a straight line of FFMA in segments, the clock after every 16; before a segment the warps
// may wait for memory (about 1,000 cycles). Then chains, jumps, constants. Before the launch: the kernel itself, other code of 160 KiB, or whatever
// a profiler does. Argument "once": launch each way once, without warm-up (to run under ncu).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
__device__ __forceinline__ uint32_t clk() { uint32_t c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
constexpr int SEGMENTS = 4, PARTS = 16;
struct Params { float const *g; uint32_t *out; float *sink; int jump; int pad[249]; };
#define F4 asm volatile("fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %1,%1,%1,%1; fma.rn.f32 %2,%2,%2,%2; fma.rn.f32 %3,%3,%3,%3;" : "+f"(v0), "+f"(v1), "+f"(v2), "+f"(v3));
#define F16 F4 F4 F4 F4
template <int WAY> __global__ void k(Params const p) {
  float v0 = threadIdx.x, v1 = 1, v2 = 2, v3 = 3; uint32_t t[SEGMENTS][PARTS + 1]; size_t at = blockIdx.x;
  uint32_t start = clk();
#pragma unroll
  for (int s = 0; s < SEGMENTS; s++) {
    if (WAY == 1) { float x; asm volatile("ld.global.cv.f32 %0, [%1];" : "=f"(x) : "l"(p.g + at + s * 65536) : "memory"); v0 += x; asm volatile("" : "+f"(v0)); at += (v0 == 12345.f); }
    t[s][0] = clk();
#pragma unroll
    for (int q = 0; q < PARTS; q++) { F16 t[s][q + 1] = clk(); }
  }
  if (v0 + v1 + v2 + v3 == 1234567.f) *p.sink = v0 + at;
  if (threadIdx.x % 32 == 0 && blockIdx.x == 0) { uint32_t *o = p.out + threadIdx.x / 32 * 128; o[127] = start;
    for (int s = 0; s < SEGMENTS; s++) for (int q = 0; q < PARTS; q++) o[s * PARTS + q] = t[s][q + 1] - t[s][q]; }
}
// As above, but every FFMA needs the one ACC before it: 4 / ACC cycles each.
#define C4 asm volatile("fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %0,%0,%0,%0;" : "+f"(v0));
#define D4 asm volatile("fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %1,%1,%1,%1; fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %1,%1,%1,%1;" : "+f"(v0), "+f"(v1));
template <int ACC> __global__ void chain(Params const p) {
  float v0 = threadIdx.x, v1 = 1; uint32_t t[49];
  t[0] = clk();
#pragma unroll
  for (int q = 0; q < 48; q++) { if (ACC == 1) { C4 C4 C4 C4 } else { D4 D4 D4 D4 } t[q + 1] = clk(); }
  if (v0 + v1 == 1234567.f) *p.sink = v0;
  if (threadIdx.x % 32 == 0 && blockIdx.x == 0) for (int s = 0; s < 48; s++) p.out[threadIdx.x / 32 * 128 + s] = t[s + 1] - t[s];
}
// Jumps: 32 FFMA, a branch over 96 that never run.
__global__ void jumps(Params const p) {
  float v0 = threadIdx.x, v1 = 1, v2 = 2, v3 = 3; uint32_t t[13];
  t[0] = clk();
#define OVER(i) F16 F16 if (p.jump == i) { F16 F16 F16 F16 F16 F16 } t[i + 1] = clk();
  OVER(0) OVER(1) OVER(2) OVER(3) OVER(4) OVER(5) OVER(6) OVER(7) OVER(8) OVER(9) OVER(10) OVER(11)
  if (v0 + v1 + v2 + v3 == 1234567.f) *p.sink = v0;
  if (threadIdx.x % 32 == 0 && blockIdx.x == 0) for (int s = 0; s < 12; s++) p.out[threadIdx.x / 32 * 128 + s] = t[s + 1] - t[s];
}
// Constants: a word of each of eight lines of 64 bytes, one after the other, then again.
__global__ void constants(Params const p) {
  uint32_t t[17]; int sum = threadIdx.x;
  t[0] = clk();
#pragma unroll
  for (int s = 0; s < 16; s++) { asm volatile("add.s32 %0, %0, %1;" : "+r"(sum) : "r"(p.pad[(s % 8) * 16 + 12])); asm volatile("xor.b32 %0, %0, %1;" : "+r"(sum) : "r"((int)threadIdx.y)); t[s + 1] = clk(); }
  if (sum == 123456789) *p.sink = sum;
  if (threadIdx.x % 32 == 0 && blockIdx.x == 0) for (int s = 0; s < 16; s++) p.out[threadIdx.x / 32 * 128 + s] = t[s + 1] - t[s];
}
// The first constant of a kernel, by a uniform load and by an indexed one, in either order; then S2R of the block's number.
template <int INDEXED> __global__ void first(Params const p) {
  uint32_t t[5]; int a = 0, b = 0, z;
  asm volatile("mov.u32 %0, %%tid.y;" : "=r"(z));
  t[0] = clk();
  if (INDEXED) asm volatile("add.s32 %0, %1, %2;" : "=r"(a) : "r"(p.pad[z + 40]), "r"(z)); else asm volatile("add.s32 %0, %1, %2;" : "=r"(a) : "r"(p.pad[40]), "r"(z));
  asm volatile("xor.b32 %0, %0, %1;" : "+r"(z) : "r"(a)); t[1] = clk();
  if (INDEXED) asm volatile("add.s32 %0, %1, %2;" : "=r"(b) : "r"(p.pad[120]), "r"(z)); else asm volatile("add.s32 %0, %1, %2;" : "=r"(b) : "r"(p.pad[z + 120]), "r"(z));
  asm volatile("xor.b32 %0, %0, %1;" : "+r"(z) : "r"(b)); t[2] = clk();
  asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(b)); asm volatile("xor.b32 %0, %0, %1;" : "+r"(z) : "r"(b)); t[3] = clk();
  asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(b)); asm volatile("xor.b32 %0, %0, %1;" : "+r"(z) : "r"(b)); t[4] = clk();
  if (z == 123456789) *p.sink = z;
  if (threadIdx.x % 32 == 0 && blockIdx.x == 0) for (int s = 0; s < 4; s++) p.out[threadIdx.x / 32 * 128 + s] = t[s + 1] - t[s];
}
// Indexed constants: a word of each of eight lines of 64 bytes, one after the other, then again.
__global__ void indexed(Params const p) {
  uint32_t t[17]; int z;
  asm volatile("mov.u32 %0, %%tid.y;" : "=r"(z));
  t[0] = clk();
#pragma unroll
  for (int s = 0; s < 16; s++) { asm volatile("and.b32 %0, %1, %0;" : "+r"(z) : "r"(p.pad[z + (s % 8) * 16 + 12])); t[s + 1] = clk(); }
  if (z == 123456789) *p.sink = z;
  if (threadIdx.x % 32 == 0 && blockIdx.x == 0) for (int s = 0; s < 16; s++) p.out[threadIdx.x / 32 * 128 + s] = t[s + 1] - t[s];
}
template <int N> __global__ void other(float *p) { float v0 = 1, v1 = 2, v2 = 3, v3 = threadIdx.x;
#define F256 F16 F16 F16 F16 F16 F16 F16 F16 F16 F16 F16 F16 F16 F16 F16 F16
#define F2K F256 F256 F256 F256 F256 F256 F256 F256
  F2K F2K F2K F2K F2K p[blockIdx.x * blockDim.x + threadIdx.x] = v0 + v1 + v2 + v3; }
int main(int argc, char **argv) {
  bool once = argc > 1 && !strcmp(argv[1], "once");
  Params p; memset(&p, 0, sizeof p); float *g, *s; uint32_t *o; CK(cudaMalloc(&g, 64 << 20)); CK(cudaMalloc(&s, 4)); CK(cudaMalloc(&o, 16384)); CK(cudaMemset(g, 0, 64 << 20));
  p.g = g; p.sink = s; p.out = o; p.jump = -1; static uint32_t h[4096];
  puts("kernel,before,ctas,warps,warp,segment,cycles");
  char const *names[] = {"line", "line after a load", "jumps", "constants", "chain of 4 cycles", "chains of 2 cycles", "uniform then indexed constant then block number", "indexed then uniform constant then block number", "indexed constants"};
  for (int way = 0; way < 9; way++) for (int ctas : {1, 132}) for (int warps : {1, 4, 8}) for (int launch = 0; launch < (once ? 1 : 3); launch++) {
    if (!once && launch == 2) { other<0><<<132 * 8, 128>>>(g + (8 << 20)); other<0><<<132 * 8, 128>>>(g + (8 << 20)); }
    p.pad[0] = launch;
    if (way == 0) k<0><<<ctas, warps * 32>>>(p); else if (way == 1) k<1><<<ctas, warps * 32>>>(p); else if (way == 2) jumps<<<ctas, warps * 32>>>(p); else if (way == 3) constants<<<ctas, warps * 32>>>(p); else if (way == 6) first<0><<<ctas, warps * 32>>>(p); else if (way == 7) first<1><<<ctas, warps * 32>>>(p); else if (way == 8) indexed<<<ctas, warps * 32>>>(p); else if (way == 4) chain<1><<<ctas, warps * 32>>>(p); else chain<2><<<ctas, warps * 32>>>(p);
    CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h, o, 16384, cudaMemcpyDeviceToHost));
    for (int w = 0; w < warps; w += warps > 4 ? 4 : 3) { int segs = way < 2 ? SEGMENTS : 1, parts = way < 2 ? PARTS : way == 2 ? 12 : way == 3 || way == 8 ? 16 : way == 6 || way == 7 ? 4 : 48;
      for (int i = 0; i < segs; i++) { printf("%s,%s,%d,%d,%d,%d,", names[way], once ? "profiler" : launch == 0 ? "nothing" : launch == 1 ? "itself" : "other code", ctas, warps, w, i);
        for (int q = 0; q < parts; q++) printf("%u%c", h[w * 128 + i * parts + q], q + 1 < parts ? ' ' : '\n'); } } }
}
