// Bytes a cycle that the SMs of one GPC receive from L2 by bulk copies, each its own data: one cluster of 1 to 16 CTAs, which is in one GPC.
// nvcc -O3 -gencode arch=compute_90a,code=sm_90a gpc_bulk.cu && ./a.out > gpc_bulk.csv
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t; using u64 = uint64_t;
__device__ u64 clk() { u64 c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return c; }
__global__ void k(char const *g, int region, int chunk, int stages, int turns, int group, u64 *cycles, u32 *bar) {
  extern __shared__ __align__(1024) char s[]; __shared__ __align__(8) u64 full[16];
  u32 sb = (u32)__cvta_generic_to_shared(s), fb = (u32)__cvta_generic_to_shared(full);
  if (threadIdx.x == 0) { for (int i = 0; i < stages; i++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(fb + 8 * i)); asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory"); }
  __syncthreads();
  char const *from = g + (size_t)(blockIdx.x / group) * region; u64 t0 = 0;
  for (int pass = 0; pass < 2; pass++) {
    if (threadIdx.x == 0) { atomicAdd(bar + pass, 1); while (*(u32 volatile *)(bar + pass) < gridDim.x) {} }
    __syncthreads(); t0 = clk();
    int n = region / chunk * turns, slot = 0, at = 0; u32 phase = 0;
#pragma unroll 1
    for (int i = 0; i < n + stages; i++) {
      u32 b = fb + 8 * slot;
      if (i >= stages) asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase ^ 1) : "memory");
      if (i < n && threadIdx.x == 0) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%2], [%3], %1, [%0];" :: "r"(b), "r"(chunk), "r"(sb + slot * chunk), "l"(from + at) : "memory");
      __syncwarp();
      at += chunk; if (at == region) at = 0;
      if (++slot == stages) { slot = 0; phase ^= 1; }
    }
    t0 = clk() - t0;
  }
  if (threadIdx.x == 0) cycles[blockIdx.x] = t0;
}
int main() {
  char *g; u64 *c; u32 *bar; CK(cudaMalloc(&g, 256 << 20)); CK(cudaMemset(g, 1, 256 << 20)); CK(cudaMallocManaged(&c, 8 * 256)); CK(cudaMalloc(&bar, 8));
  CK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10)); CK(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  puts("ctas,chunk_bytes,stages,region_bytes,slowest_bytes_per_cycle_per_sm,bytes_per_cycle");
  for (int chunk : {16384, 32768, 65536}) for (int ctas : {1, 2, 4, 6, 8, 10, 12, 14, 16}) {
    int stages = 196608 / chunk, region = 196608 * 4; double best = 0;
    for (int r = 0; r < 4; r++) {
      CK(cudaMemset(bar, 0, 8));
      cudaLaunchConfig_t cfg = {}; cfg.gridDim = dim3(ctas); cfg.blockDim = dim3(32); cfg.dynamicSmemBytes = stages * chunk;
      cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = ctas; at[0].val.clusterDim.y = 1; at[0].val.clusterDim.z = 1; cfg.attrs = at; cfg.numAttrs = 1;
      cudaError_t e = cudaLaunchKernelEx(&cfg, k, (char const *)g, region, chunk, stages, 8, 1, c, bar); if (e != cudaSuccess) { cudaGetLastError(); break; }
      if (cudaDeviceSynchronize() != cudaSuccess) { cudaGetLastError(); break; }
      double m = 0; for (int i = 0; i < ctas; i++) m = std::max(m, double(c[i])); best = std::max(best, region * 8.0 / m); }
    printf("%d,%d,%d,%d,%.2f,%.0f\n", ctas, chunk, stages, region, best, best * ctas);
  }
}
