// When the place of a CTA that has ended is taken again: two CTAs (or three) of every SM spin, the second `apart` cycles
// longer than the first, and so many CTAs are left over. Clocks at begin and end of thread 0, from the SM's first begin on.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <map>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%d %s\n", __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
__global__ void spin(long long cycles, long long apart, int first, int stores, float* sink, long long* out) {
  extern __shared__ char shared[];
  long long begin = clock64(), lasts = cycles + (blockIdx.x >= first ? apart : 0);
  unsigned sm; asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  while (clock64() - begin < lasts) ;
  for (int i = 0; i < stores; i++) sink[(size_t)(blockIdx.x * stores + i) * blockDim.x + threadIdx.x] = begin;
  if (threadIdx.x == 0) { long long* o = out + 4 * blockIdx.x; o[0] = sm; o[1] = begin; o[2] = clock64(); }
}
int main() {
  long long* d; float* sink; CK(cudaMalloc(&d, 1 << 20)); CK(cudaMalloc(&sink, 1 << 28));
  CK(cudaFuncSetAttribute(spin, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  printf("threads,shared_kib,stores,left_over,apart,sm,ctas,ends_1,ends_2,begins_3,begins_4\n");
  int sms; CK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  for (int threads : {64, 128}) for (int kib : {98, 60}) for (int stores : {0, 32}) for (int left : {24, 132}) for (long long apart : {0, 300, 1000, 3000, 20000}) {
    int per = kib == 98 ? 2 : 3, ctas = sms * per + left; std::vector<long long> h(4 * ctas);
    for (int r = 0; r < 3; r++) { CK(cudaMemset(d, 0, 1 << 20)); spin<<<ctas, threads, kib << 10>>>(50000, apart, sms, stores, sink, d); CK(cudaDeviceSynchronize()); }
    CK(cudaMemcpy(h.data(), d, 8 * h.size(), cudaMemcpyDeviceToHost));
    std::map<int, std::vector<std::pair<long long, long long>>> by;
    for (int c = 0; c < ctas; c++) by[h[4 * c]].push_back({h[4 * c + 1], h[4 * c + 2]});
    for (auto& s : by) { auto v = s.second; std::sort(v.begin(), v.end()); long long z = v[0].first; if ((int)v.size() <= per) continue;
      std::vector<long long> e; for (int i = 0; i < per; i++) e.push_back(v[i].second - z); std::sort(e.begin(), e.end());
      printf("%d,%d,%d,%d,%lld,%d,%zu,%lld,%lld,%lld,%lld\n", threads, kib, stores, left, apart, s.first, v.size(), e[0], e[1], v[per].first - z, (int)v.size() > per + 1 ? v[per + 1].first - z : -1); } } }
