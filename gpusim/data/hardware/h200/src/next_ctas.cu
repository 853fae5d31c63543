// When the place of a CTA that has ended is taken again: two CTAs (or three) of every SM spin, the second `apart` cycles
// longer than the first, and so many CTAs are left over. Per launch, over the SMs that get one of these: cycles from the clock
// at the end of the CTA that ends first to the one at the begin of the next.
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
  printf("threads,shared_kib,stores,left_over,apart,sms,sms_with_two_more,after_end_least,after_end_median,after_end_most\n");
  int sms; CK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  for (int threads : {64, 128}) for (int kib : {98, 60}) for (int stores : {0, 32}) for (int left : {24, 132}) for (long long apart : {0, 300, 1000, 3000, 20000}) {
    int per = kib == 98 ? 2 : 3, ctas = sms * per + left; std::vector<long long> h(4 * ctas);
    for (int r = 0; r < 3; r++) { CK(cudaMemset(d, 0, 1 << 20)); spin<<<ctas, threads, kib << 10>>>(50000, apart, sms, stores, sink, d); CK(cudaDeviceSynchronize()); }
    CK(cudaMemcpy(h.data(), d, 8 * h.size(), cudaMemcpyDeviceToHost));
    std::map<int, std::vector<std::pair<long long, long long>>> by; std::vector<long long> after; int two = 0;
    for (int c = 0; c < ctas; c++) by[h[4 * c]].push_back({h[4 * c + 1], h[4 * c + 2]});
    for (auto& s : by) {
      auto v = s.second; std::sort(v.begin(), v.end()); if ((int)v.size() <= per) continue;
      long long end = v[0].second; for (int i = 1; i < per; i++) end = std::min(end, v[i].second);
      after.push_back(v[per].first - end); two += (int)v.size() > per + 1; }
    std::sort(after.begin(), after.end());
    printf("%d,%d,%d,%d,%lld,%zu,%d,%lld,%lld,%lld\n", threads, kib, stores, left, apart, after.size(), two, after[0], after[after.size() / 2], after.back()); } }
