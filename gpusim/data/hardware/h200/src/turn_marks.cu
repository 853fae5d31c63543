// Where a turn of cp.async, commit, wait, barrier and ldmatrix spends its time: as copy_pitch.cu with its tiles dense, four
// warps; the last TURNS turns read the clock behind the first copy, the last one, the commit, the wait, and the first and
// last use of what was loaded. A clock that is read behind a barrier does not wait for it, one behind a copy does.
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
constexpr int WARM = 64, TURNS = 6, MARKS = 6, PITCH = 4096;
__device__ uint32_t place(int bytes, int row, int chunk, int pitch) {
  return bytes == 64 ? (row >> 1) * pitch + (((((row & 1) << 2) | chunk) ^ ((row >> 1) & 3)) << 4)
                     : row * pitch + ((chunk ^ (row & 7)) << 4);
}
#define CLOCK(x) asm volatile("mov.u32 %0,%%clock;" : "=r"(x)::"memory")
template <int LOADS, int COPIES> __global__ void turn(const uint8_t* g, int* out, int bytes, int pitch, uint32_t step) {
  extern __shared__ __align__(1024) uint8_t sm[];
  uint32_t base = (uint32_t)__cvta_generic_to_shared(sm), x = 0, to[COPIES + 1], from[LOADS + 1], w = 0, r = step, off = 0;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, chunks = bytes / 16, rows = 32 / chunks, marks[TURNS][MARKS] = {};
  const uint8_t* src = g + (warp * rows + lane / chunks) * PITCH + lane % chunks * 16;
  #pragma unroll
  for (int i = 0; i < COPIES; i++) to[i] = base + place(bytes, (i * 4 + warp) * rows + lane / chunks, lane % chunks, pitch);
  #pragma unroll
  for (int i = 0; i < LOADS; i++) from[i] = base + place(bytes, (warp & 1) * 32 + i % 4 * 16 % 32 + (lane & 15), (lane >> 4) + 2 * (i & 1), pitch);
  __syncthreads();
  #define TURN(MARK) { \
    _Pragma("unroll") for (int i = 0; i < COPIES; i++) { \
      asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(to[i] + w), "l"(src + off + (size_t)i * 4 * rows * PITCH) : "memory"); \
      if (!i) MARK(0); } \
    MARK(1); asm volatile("cp.async.commit_group;" ::: "memory"); MARK(2); \
    asm volatile("cp.async.wait_group 2;" ::: "memory"); MARK(3); \
    __syncthreads(); \
    uint32_t v[4 * LOADS + 1]; \
    _Pragma("unroll") for (int i = 0; i < LOADS; i++) \
      asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(v[4 * i]), "=r"(v[4 * i + 1]), "=r"(v[4 * i + 2]), "=r"(v[4 * i + 3]) : "r"(from[i] + r) : "memory"); \
    if (LOADS) { asm volatile("xor.b32 %0,%0,%1;" : "+r"(x) : "r"(v[0]) : "memory"); MARK(4); } \
    _Pragma("unroll") for (int i = 1; i < 4 * LOADS; i++) x ^= v[i]; \
    if (LOADS) { asm volatile("xor.b32 %0,%0,1;" : "+r"(x) :: "memory"); MARK(5); } \
    w = w == 3 * step ? 0 : w + step; r = r == 3 * step ? 0 : r + step; off = (off + bytes) & 2047; }
  #define NONE(m)
  #pragma unroll 1
  for (int it = 0; it < WARM; it++) TURN(NONE)
  #pragma unroll
  for (int it = 0; it < TURNS; it++) {
    #define HERE(m) CLOCK(marks[it][m])
    TURN(HERE)
  }
  for (int it = 0; it < TURNS; it++) for (int m = 0; m < MARKS; m++) if (lane == 0) out[(warp * TURNS + it) * MARKS + m] = marks[it][m];
  if (bytes < 0) out[0] = x;
}
uint8_t* g; int* out;
template <int L, int C> void go(int bytes, int pitch) {
  auto k = turn<L, C>;
  uint32_t step = pitch == 512 ? 128 : 4 * C * 512;
  cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024);
  for (int i = 0; i < 3; i++) k<<<1, 128, 200 * 1024>>>(g, out, bytes, pitch, step), cudaDeviceSynchronize();
  int h[4 * TURNS * MARKS]; cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  int zero = h[MARKS]; for (int w = 1; w < 4; w++) if (h[(w * TURNS + 1) * MARKS] < zero) zero = h[(w * TURNS + 1) * MARKS];
  for (int w = 0; w < 4; w++) for (int t = 1; t < TURNS; t++) {
    printf("%d,%d,%d,%d,%d,%d", C, L, bytes, pitch, w, t);
    for (int m = 0; m < MARKS; m++) printf(",%d", h[(w * TURNS + t) * MARKS + m] ? h[(w * TURNS + t) * MARKS + m] - zero : 0);
    printf("\n");
  }
}
int main() {
  cudaMalloc(&g, 64 << 20); cudaMemset(g, 1, 64 << 20); cudaMalloc(&out, 65536);
  printf("copies,loads,row_bytes,pitch,warp,turn,first_copy,last_copy,commit,wait,first_use,last_use\n");
  for (int b : {64, 128}) for (int p : {128, 512}) { go<0, 8>(b, p); go<8, 8>(b, p); go<0, 4>(b, p); go<4, 4>(b, p); go<8, 4>(b, p); if (p == 128 && b == 64) { go<4, 0>(b, p); go<8, 0>(b, p); } }
  return cudaDeviceSynchronize() != cudaSuccess;
}
