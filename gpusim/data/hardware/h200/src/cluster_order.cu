// Where clusters go: SM and GPC of each CTA of the first wave, CTAs that fill an SM. GPCs are sets of SMs that were seen in one cluster, in the order of their first SM.
// nvcc -O3 -gencode arch=compute_90a,code=sm_90a cluster_order.cu && ./a.out > cluster_order.csv
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u64 = unsigned long long;
__device__ u64 clk() { u64 c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return c; }
__global__ void k(unsigned *sm, int work) { extern __shared__ char s[]; u64 t = clk(); unsigned i; asm volatile("mov.u32 %0, %%smid;" : "=r"(i)); if (threadIdx.x == 0) sm[blockIdx.x] = i; while (clk() - t < (u64)work) {} }
unsigned *sm; int parent[160]; int root(int a) { return parent[a] == a ? a : parent[a] = root(parent[a]); }
void launch(int cluster, int ctas) {
  cudaLaunchConfig_t c = {}; c.gridDim = ctas; c.blockDim = 128; c.dynamicSmemBytes = 200 << 10;
  cudaLaunchAttribute at; at.id = cudaLaunchAttributeClusterDimension; at.val.clusterDim = {(unsigned)cluster, 1, 1}; c.attrs = &at; c.numAttrs = cluster > 1;
  CK(cudaLaunchKernelEx(&c, k, sm, 20000)); CK(cudaDeviceSynchronize()); }
int main() {
  CK(cudaMallocManaged(&sm, 4 * 4096)); CK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 220 << 10)); CK(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  for (int i = 0; i < 160; i++) parent[i] = i;
  for (int cluster : {16, 8, 4, 2}) for (int n = 1; n <= 8; n++) { launch(cluster, cluster * n * (cluster > 8 ? 1 : 2)); for (int i = 0; i < cluster * n; i += cluster) for (int j = 1; j < cluster; j++) parent[root(sm[i + j])] = root(sm[i]); }
  for (int cluster : {2, 4, 8}) for (int r = 0; r < 10; r++) { launch(cluster, 1024); for (int i = 0; i < 1024; i += cluster) for (int j = 1; j < cluster; j++) parent[root(sm[i + j])] = root(sm[i]); }
  std::map<int, int> gpc; int number = 0; for (int i = 0; i < 132; i++) if (!gpc.count(root(i))) gpc[root(i)] = number++;
  std::map<int, int> size; for (int i = 0; i < 132; i++) size[gpc[root(i)]]++;
  fprintf(stderr, "%d GPCs:", number); for (auto &g : size) fprintf(stderr, " %d", g.second); fprintf(stderr, "\n");
  puts("cluster,ctas,cta,sm,gpc");
  for (int cluster : {1, 2, 4, 8}) for (int ctas : {16, 32, 64, 128}) { for (int r = 0; r < 2; r++) launch(cluster, ctas); for (int i = 0; i < ctas; i++) printf("%d,%d,%d,%u,%d\n", cluster, ctas, i, sm[i], gpc[root(sm[i])]); }
}
