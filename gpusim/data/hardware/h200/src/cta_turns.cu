// Who goes first when CTAs share an SM: every CTA of 128 threads (a warp per sub-partition), or the warps of one CTA, work
// through the same instructions; first and last clock of each, on one SM. Five CTAs fit, ten come.
// A scheduler that takes turns lets all end together; one that prefers the older CTA lets them end one after the other.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
__device__ float sink;
template<int KIND> __device__ __forceinline__ void work(int n, float* x, unsigned* a, unsigned sm) {
  #pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (KIND == 0) {  // independent FFMA
      #pragma unroll
      for (int j = 0; j < 64; j++) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x[j & 7]));
    } else if (KIND == 1) {  // independent HMMA
      #pragma unroll
      for (int j = 0; j < 16; j++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(x[4*(j&3)]), "+f"(x[4*(j&3)+1]), "+f"(x[4*(j&3)+2]), "+f"(x[4*(j&3)+3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
    } else if (KIND == 2) {  // HMMA with arithmetic between
      #pragma unroll
      for (int j = 0; j < 16; j++) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(x[4*(j&3)]), "+f"(x[4*(j&3)+1]), "+f"(x[4*(j&3)+2]), "+f"(x[4*(j&3)+3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
        asm volatile("xor.b32 %0, %0, %1;" : "+r"(a[6]) : "r"(a[7]));
        asm volatile("xor.b32 %0, %0, %1;" : "+r"(a[8]) : "r"(a[7]));
      }
    } else if (KIND == 3) {  // shared loads
      #pragma unroll
      for (int j = 0; j < 16; j++) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a[j & 7]) : "r"(sm + 128 * j));
    } else {  // dependent FFMA: half of the slots are free for another warp, a third warp finds few
      #pragma unroll
      for (int j = 0; j < 64; j++) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x[j & 1]));
    }
  }
}
template<int KIND> __global__ void turns(int n, long long* out) {
  extern __shared__ char shared[];
  unsigned sm = (unsigned)__cvta_generic_to_shared(shared) + threadIdx.x * 4, smid;
  float x[16]; unsigned a[16];
  for (int j = 0; j < 16; j++) { x[j] = threadIdx.x * j; a[j] = threadIdx.x + j; }
  asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
  long long first = clock64();
  work<KIND>(n, x, a, sm);
  long long last = clock64();
  float s = 0; for (int j = 0; j < 16; j++) s += x[j] + a[j];
  if (s == 1.2345f) sink = s;
  if (threadIdx.x % 32 == 0) { long long* o = out + 3 * (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32); o[0] = smid; o[1] = first; o[2] = last; }
}
template<int KIND> void go(const char* name, int n, int threads, int ctas, int shared, long long* d) {
  auto k = turns<KIND>;
  cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  int warps = threads / 32; std::vector<long long> h(3 * ctas * warps);
  for (int r = 0; r < 3; r++) { k<<<ctas, threads, shared>>>(n, d); if (cudaDeviceSynchronize() != cudaSuccess) { printf("failed\n"); return; } }
  cudaMemcpy(h.data(), d, 8 * h.size(), cudaMemcpyDeviceToHost);
  struct Row { long long first, last; int cta, warp; }; std::vector<Row> rows; long long zero = 1ll << 62;
  for (int i = 0; i < ctas * warps; i++) if (h[3 * i] == 40 && i % 4 == 0) { rows.push_back({h[3 * i + 1], h[3 * i + 2], i / warps, i % warps}); zero = std::min(zero, h[3 * i + 1]); }
  std::sort(rows.begin(), rows.end(), [](const Row& p, const Row& q) { return p.first < q.first || (p.first == q.first && p.warp < q.warp); });
  for (size_t i = 0; i < rows.size(); i++) printf("%s,%d,%zu,%d,%d,%lld,%lld\n", name, threads, i, rows[i].cta, rows[i].warp, rows[i].first - zero, rows[i].last - zero);
}
template<int KIND> void all(const char* name, int n) {
  long long* d; cudaMalloc(&d, 1 << 20);
  go<KIND>(name, n, 128, 132 * 10, 40 << 10, d);   // ten CTAs per SM, five at a time
  go<KIND>(name, n, 640, 132, 40 << 10, d);        // one CTA, five warps per sub-partition
  go<KIND>(name, n, 128, 132 * 2, 100 << 10, d);   // two CTAs per SM
  go<KIND>(name, n, 128, 132, 200 << 10, d);      // one CTA
  cudaFree(d);
}
int main() {
  printf("stream,threads,order,cta,warp,first_cycle,last_cycle\n");
  all<0>("ffma", 200); all<1>("hmma", 100); all<2>("hmma and arithmetic", 100); all<3>("lds", 200); all<4>("ffma in two chains", 100);
}
