// When each wgmma of a group issues: warpgroups that multiply rounds of n wgmma m64nNk16 from shared memory, clock after each.
// nvcc -O3 -arch=sm_90a wgmma_queue.cu && ./a.out > wgmma_queue.csv. One CTA, medians over 9 launches, warp 0 of each warpgroup.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t; using u64 = uint64_t;
__device__ u32 clk() { u32 c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c)); return c; }
__device__ u64 desc(u32 a) { return u64((a & 0x3ffff) >> 4) | (u64(1) << 16) | (u64(64) << 32) | (u64(1) << 62); }
#define R8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
template <int NN> __device__ void mma(float *d, u64 a, u64 b);
template <> __device__ void mma<64>(float *d, u64 a, u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
    : R8(d, 0), R8(d, 8), R8(d, 16), R8(d, 24) : "l"(a), "l"(b)); }
template <> __device__ void mma<128>(float *d, u64 a, u64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;"
    : R8(d, 0), R8(d, 8), R8(d, 16), R8(d, 24), R8(d, 32), R8(d, 40), R8(d, 48), R8(d, 56) : "l"(a), "l"(b)); }
constexpr int ROUNDS = 3;
template <int NN, int n, int ACC> __global__ void __launch_bounds__(384) k(u32 *out) {
  extern __shared__ __align__(1024) char s[];
  for (int i = threadIdx.x; i < 16384; i += blockDim.x) ((u32 *)s)[i] = 0;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  u32 base = (u32)__cvta_generic_to_shared(s); u64 a = desc(base), b = desc(base + 16384);
  float d[ACC][NN / 2]; u32 t[ROUNDS][n + 3];
  for (int i = 0; i < ACC; i++) for (int j = 0; j < NN / 2; j++) d[i][j] = 0;
  for (int pass = 0; pass < 2; pass++) {
    __syncthreads();
    u32 t0 = clk();
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
      t[r][0] = clk() - t0;
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int i = 0; i < n; i++) { mma<NN>(d[i % ACC], a, b); t[r][1 + i] = clk() - t0; }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      t[r][n + 1] = clk() - t0;
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      t[r][n + 2] = clk() - t0;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  float sum = 0; for (int i = 0; i < ACC; i++) for (int j = 0; j < NN / 2; j++) sum += d[i][j];
  if (threadIdx.x % 128 == 0) { u32 *o = out + threadIdx.x / 128 * 64; for (int r = 0; r < ROUNDS; r++) for (int i = 0; i < n + 3; i++) o[r * (n + 3) + i] = t[r][i] + (sum == 12345.f); }
}
template <int NN, int n, int ACC> void go() {
  static u32 *out; if (!out) CK(cudaMallocManaged(&out, 4096));
  auto f = k<NN, n, ACC>; CK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  for (int groups : {1, 2, 3}) { if (NN * ACC / 2 * groups > 400) continue;
    std::vector<std::vector<u32>> got(groups * 64);
    for (int i = 0; i < 9; i++) { f<<<1, groups * 128, 65536>>>(out); CK(cudaDeviceSynchronize()); for (int j = 0; j < groups * 64; j++) got[j].push_back(out[j]); }
    for (int g = 0; g < groups; g++) for (int r = 0; r < ROUNDS; r++) { printf("%d,%d,%d,%d,%d,%d", NN, n, ACC, groups, g, r); for (int i = 0; i < n + 3; i++) { auto &v = got[g * 64 + r * (n + 3) + i]; std::sort(v.begin(), v.end()); printf("%c%u", i ? ' ' : ',', v[4]); } puts(""); }
  }
}
int main() {
  puts("n,instructions,accumulators,warpgroups,warpgroup,round,cycles");   // before the fence, after each wgmma, the commit, the wait for all but one group
  go<128, 1, 1>(); go<128, 2, 1>(); go<128, 4, 1>(); go<128, 8, 1>(); go<128, 8, 2>(); go<128, 16, 1>(); go<64, 4, 1>(); go<64, 8, 1>(); go<64, 16, 1>(); go<64, 16, 2>();
}
