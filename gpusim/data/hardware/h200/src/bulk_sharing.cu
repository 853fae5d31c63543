// wgmma, bulk copies and loads or stores of shared memory together: one CTA, a warpgroup multiplies, a fifth warp copies, four more load or store.
// Cycles per wgmma, bytes copied per cycle, cycles per load or store instruction of all four warps.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t; using u64 = uint64_t;
__device__ u32 clk() { u32 c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
__device__ u64 desc(u32 a) { return u64((a & 0x3ffff) >> 4) | (u64(1) << 16) | (u64(64) << 32) | (u64(1) << 62); }
__device__ void expect(u32 b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
__device__ void wait(u32 b, u32 phase) { asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase) : "memory"); }
__device__ void bulk(u32 s, void const *g, u32 n, u32 b) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(s), "l"(g), "r"(n), "r"(b) : "memory"); }
#define R8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
template <int N> __device__ void mma(float *d, u64 a, u64 b);
template <> __device__ void mma<32>(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, 1, 1, 1, 0, 0;" : R8(d, 0), R8(d, 8) : "l"(a), "l"(b)); }
template <> __device__ void mma<64>(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;" : R8(d, 0), R8(d, 8), R8(d, 16), R8(d, 24) : "l"(a), "l"(b)); }
template <> __device__ void mma<128>(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;"
    : R8(d, 0), R8(d, 8), R8(d, 16), R8(d, 24), R8(d, 32), R8(d, 40), R8(d, 48), R8(d, 56) : "l"(a), "l"(b)); }
constexpr int ROUNDS = 256, PER = 8;
// mode 1: multiply, 2: copy, 3: both. gap: cycles between copies (each 8 KiB, four in flight at most).
template <int N> __global__ void __launch_bounds__(288) k(int mode, int kind, u32 gap, u32 bytes, char *g, u32 *out) {
  extern __shared__ __align__(1024) char s[]; __shared__ __align__(8) u64 bars[8]; __shared__ volatile u32 done; __shared__ u32 t[4], t4;
  u32 base = (u32)__cvta_generic_to_shared(s), bar = (u32)__cvta_generic_to_shared(bars);
  for (int i = threadIdx.x; i < 32768; i += blockDim.x) ((u32 *)s)[i] = 0;
  if (threadIdx.x == 0) { done = 0; for (int i = 0; i < 8; i++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(bar + 8 * i) : "memory"); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
  asm volatile("fence.proxy.async;" ::: "memory"); __syncthreads();
  if (threadIdx.x < 128) {
    u64 a = desc(base), b = desc(base + 8192); float d[N / 2]; for (int j = 0; j < N / 2; j++) d[j] = 0;
    u32 t0 = clk();
    if (mode & 1) {
#pragma unroll 1
      for (int r = 0; r < ROUNDS; r++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < PER; i++) mma<N>(d, a, b);
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory");
      }
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    } else while (clk() - t0 < 65536) {}
    u32 t1 = clk(); float sum = 0; for (int j = 0; j < N / 2; j++) sum += d[j];
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x == 0) { done = 1; t[0] = t1 - t0 + (sum == 12345.f); }
  } else if (threadIdx.x == 128 && (mode & 2)) {
    u32 n = 0, phase = 0, last = clk(), slots = 4, first = 0, at = 0; u32 t0 = clk();
    for (u32 i = 0; i < slots; i++) { expect(bar + 8 * i, bytes); bulk(base + 65536 + i * 16384, g + i * bytes, bytes, bar + 8 * i); }
    while (!done) { u32 q = n % slots; wait(bar + 8 * q, phase >> q & 1); phase ^= 1 << q; n++; if (gap) { while (clk() - last < gap) {} last = clk(); }
      expect(bar + 8 * q, bytes); bulk(base + 65536 + q * 16384, g + (n + 3) % 32 * bytes, bytes, bar + 8 * q); }
    u32 t1 = clk(); for (u32 i = 0; i < slots; i++) { u32 q = (n + i) % slots; wait(bar + 8 * q, phase >> q & 1); }
    t[1] = n; t[2] = t1 - t0 + first + at;
  }
  else if (threadIdx.x >= 160 && (mode & 4)) {
    u32 w = threadIdx.x / 32 - 5, lane = threadIdx.x % 32, at = base + 16384 + w * 2048, n = 0, x = 0, y = 0, z = 0, v = 0; u32 t0 = clk();
    while (!done) {
#pragma unroll
      for (int i = 0; i < 32; i++) {
        if (kind == 0) { u32 p, q, r, s2; asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(p), "=r"(q), "=r"(r), "=r"(s2) : "r"(at + lane * 16)); x ^= p; y ^= q; z ^= r; v ^= s2; }
        if (kind == 1) asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" :: "r"(at + lane * 16), "r"(n) : "memory");
        if (kind == 2) { u32 p, q, r, s2; asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(p), "=r"(q), "=r"(r), "=r"(s2) : "r"(at + lane * 16)); x ^= p; y ^= q; z ^= r; v ^= s2; }
      }
      n += 32; }
    u32 t1 = clk(); if (threadIdx.x == 160) { t[3] = n * 4; t4 = t1 - t0 + ((x ^ y ^ z ^ v) == 12345); } }
  __syncthreads(); if (threadIdx.x == 0) { out[3] = t[3]; out[4] = t4; out[0] = t[0]; out[1] = mode & 2 ? t[1] : 0; out[2] = mode & 2 ? t[2] : 1; }
}
char *g; u32 *out;
char const *kinds[] = {"LDS.128", "STS.128", "LDSM.x4"};
template <int N> void go() {
  auto f = k<N>; CK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 131072 + 1024));
  for (int mode : {1, 2, 3, 4, 5, 6, 7}) for (int kind : {0, 1, 2}) { if (!(mode & 4) && kind) continue;
    std::vector<std::vector<double>> r(3); for (int i = 0; i < 7; i++) { f<<<1, 288, 131072 + 1024>>>(mode, kind, 0, 16384, g, out); CK(cudaDeviceSynchronize()); r[0].push_back(out[0] / double(ROUNDS * PER)); r[1].push_back(mode & 2 ? double(out[1]) * 16384 / out[2] : 0); r[2].push_back(mode & 4 ? double(out[4]) / out[3] : 0); }
    for (auto &v : r) std::sort(v.begin(), v.end()); printf("%d,%d,%d,%s,%.2f,%.2f,%.3f\n", N, mode & 1, mode >> 1 & 1, mode & 4 ? kinds[kind] : "", mode & 1 ? r[0][3] : 0., r[1][3], r[2][3]); fflush(stdout); }
}
int main() {
  CK(cudaMalloc(&g, 1 << 20)); CK(cudaMallocManaged(&out, 4096)); std::vector<u32> h(1 << 18); u32 x = 1; for (auto &v : h) { x = x * 1664525u + 1013904223u; v = x & 0x3fff3fff; } CK(cudaMemcpy(g, h.data(), 1 << 20, cudaMemcpyHostToDevice));
  puts("n,wgmma,copies,access,cycles_per_wgmma,copied_bytes_per_cycle,cycles_per_access"); go<32>(); go<64>(); go<128>();
}
