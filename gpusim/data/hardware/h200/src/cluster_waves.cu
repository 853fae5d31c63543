// What a wave of CTAs takes longer when they come in clusters: CTAs that fill an SM and work for WORK cycles each, in waves, with and without barriers of the cluster at both ends.
// nvcc -O3 -gencode arch=compute_90a,code=sm_90a cluster_waves.cu && ./a.out > cluster_waves.csv. gap: from the last end on an SM to the next start there, mean and most; skew: how far the first barrier takes longer for one CTA of a cluster than for another, which is how far apart they start. barriers: 1 at the start, 2 at the end, 4 and 8 the same relaxed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u64 = unsigned long long;
__device__ u64 clk() { u64 c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return c; }
__device__ unsigned smid() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
__device__ void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
struct Row { unsigned sm; u64 start, in, out, end; };
__global__ void __launch_bounds__(256, 1) k(Row *rows, int work, int jitter, int barriers) {
  extern __shared__ char s[]; u64 t0 = clk(), t1, t2;
  if (barriers & 1) cluster_sync();
  if (barriers & 4) asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  t1 = clk();
  if (jitter) work += (blockIdx.x * 2654435761u >> 20) % jitter;
  while (clk() - t1 < (u64)work) {}
  __syncthreads(); t2 = clk();
  if (barriers & 2) cluster_sync();
  if (barriers & 8) asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) rows[blockIdx.x] = Row{smid(), t0, t1, t2, clk()};
}
int main() {
  Row *rows; CK(cudaMallocManaged(&rows, sizeof(Row) * 4096)); CK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 220 << 10)); CK(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  puts("cluster,ctas,work,jitter,barriers,sms,wave_cycles,gap_mean,gap_most,skew_mean,skew_most,first_barrier_mean,last_barrier_mean");
  for (int jitter : {0, 1000}) for (int barriers : {0, 1, 2, 3, 4, 8, 12}) for (int cluster : {1, 2, 4, 8}) for (int ctas : {132 * 8}) {
    cudaLaunchConfig_t c = {}; c.gridDim = ctas; c.blockDim = 256; c.dynamicSmemBytes = 200 << 10;
    cudaLaunchAttribute at; at.id = cudaLaunchAttributeClusterDimension; at.val.clusterDim = {(unsigned)cluster, 1, 1}; c.attrs = &at; c.numAttrs = cluster > 1 ? 1 : 0;
    if (cluster == 1 && barriers) continue;
    int work = 8000;
    for (int r = 0; r < 3; r++) { CK(cudaLaunchKernelEx(&c, k, rows, work, jitter, barriers)); CK(cudaDeviceSynchronize()); }
    std::vector<std::vector<Row>> by(132); std::vector<double> gaps; double most = 0, sum = 0, sk = 0, skm = 0, fb = 0, lb = 0, wave = 0; int sms = 0, waves = 0;
    for (int i = 0; i < ctas; i++) { by[rows[i].sm].push_back(rows[i]); fb += double(rows[i].in - rows[i].start) / ctas; lb += double(rows[i].end - rows[i].out) / ctas; }
    for (auto &v : by) { if (v.empty()) continue; sms++; std::sort(v.begin(), v.end(), [](Row const &x, Row const &y) { return x.start < y.start; });
      for (size_t i = 1; i < v.size(); i++) { double g = double(v[i].start) - double(v[i - 1].end); gaps.push_back(g); sum += g; most = std::max(most, g); wave += double(v[i].start - v[i - 1].start); waves++; } }
    for (int i = 0; i < ctas; i += cluster) { double least = 1e30, most_ = 0; for (int j = i; j < i + cluster; j++) { double w = double(rows[j].in - rows[j].start); least = std::min(least, w); most_ = std::max(most_, w); } sk += (most_ - least) / (ctas / cluster); skm = std::max(skm, most_ - least); }
    printf("%d,%d,%d,%d,%d,%d,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f\n", cluster, ctas, work, jitter, barriers, sms, wave / waves, sum / gaps.size(), most, sk, skm, fb, lb);
  }
}
