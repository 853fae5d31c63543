// cp.async of rows that begin inside lines and sectors, beside ldmatrix: as copy_pitch.cu with its tiles dense (rows of
// 128 bytes, or of 64 in pairs), but the distance of rows in global memory is a parameter, 4096 plus `offset`: 0, 32
// (rows begin on sectors) or 16 (in the middle of sectors). Four warps a CTA, `ctas` of them, one or two to an SM.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
constexpr int ITERATIONS = 512;
__device__ uint32_t place(int bytes, int row, int chunk) {
  return bytes == 64 ? (row >> 1) * 128 + (((((row & 1) << 2) | chunk) ^ ((row >> 1) & 3)) << 4)
                     : row * 128 + ((chunk ^ (row & 7)) << 4);
}
template <int LOADS, int COPIES> __global__ void mixed(const uint8_t* g, int* out, int bytes, long pitch, int same) {
  extern __shared__ __align__(1024) uint8_t sm[];
  uint32_t base = (uint32_t)__cvta_generic_to_shared(sm), x = 0, to[COPIES + 1], from[LOADS + 1], w = 0, r, off = 0;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, chunks = bytes / 16, rows = 32 / chunks, start, end;
  const uint32_t step = 4 * COPIES * 512;
  const uint8_t* src = g + ((size_t)(same ? 0 : blockIdx.x) * 4 * COPIES * rows + warp * rows + lane / chunks) * pitch + lane % chunks * 16;
  #pragma unroll
  for (int i = 0; i < COPIES; i++) to[i] = base + place(bytes, (i * 4 + warp) * rows + lane / chunks, lane % chunks);
  #pragma unroll
  for (int i = 0; i < LOADS; i++) from[i] = base + place(bytes, (warp & 1) * 32 + i % 4 * 16 % 32 + (lane & 15), (lane >> 4) + 2 * (i & 1));
  r = step;
  __syncthreads();
  asm volatile("mov.u32 %0,%%clock;" : "=r"(start)::"memory");
  #pragma unroll 1
  for (int it = 0; it < ITERATIONS; it++) {
    #pragma unroll
    for (int i = 0; i < COPIES; i++)
      asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(to[i] + w), "l"(src + off + (size_t)i * 4 * rows * pitch) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 2;" ::: "memory");
    __syncthreads();
    uint32_t v[4 * LOADS + 1];
    #pragma unroll
    for (int i = 0; i < LOADS; i++)
      asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];"
                   : "=r"(v[4 * i]), "=r"(v[4 * i + 1]), "=r"(v[4 * i + 2]), "=r"(v[4 * i + 3]) : "r"(from[i] + r) : "memory");
    #pragma unroll
    for (int i = 0; i < 4 * LOADS; i++) x ^= v[i];
    w = w == 3 * step ? 0 : w + step;
    r = r == 3 * step ? 0 : r + step;
    off = (off + bytes) & 1023;
  }
  asm volatile("mov.u32 %0,%%clock;" : "=r"(end)::"memory");
  if (threadIdx.x == 0) out[blockIdx.x] = end - start, out[1024 + blockIdx.x] = x;
}
uint8_t* g; int* out;
template <int L, int C> void go(int bytes) {
  auto k = mixed<L, C>;
  cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024);
  for (int ctas : {1, 8, 132, 264}) for (int same : {0, 1}) for (int offset : {0, 32, 16}) {
    if (ctas == 1 && same) continue;
    int shared = ctas > 132 ? 100 * 1024 : 200 * 1024, h[264]; double mean = 0;
    for (int i = 0; i < 2; i++) k<<<ctas, 128, shared>>>(g, out, bytes, 4096 + offset, same), cudaDeviceSynchronize();
    cudaMemcpy(h, out, 4 * ctas, cudaMemcpyDeviceToHost);
    for (int i = 0; i < ctas; i++) mean += h[i] / (double)ctas;
    printf("%d,%d,%d,%d,%d,%d,%.1f\n", C, L, bytes, offset, ctas, same, mean / ITERATIONS); fflush(stdout);
  }
}
int main() {
  cudaMalloc(&g, 1l << 30); cudaMemset(g, 1, 1l << 30); cudaMalloc(&out, 65536);
  printf("copies,loads,row_bytes,offset,ctas,same,cycles\n");
  for (int b : {64, 128}) { go<0, 4>(b); go<4, 4>(b); go<8, 4>(b); go<0, 8>(b); go<4, 8>(b); go<8, 8>(b); }
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
}
