// When a warp that waits at an mbarrier goes on: cycles from the arrival to the clock after the wait, by how long it has waited.
// nvcc -O3 -arch=sm_90a wake.cu && ./a.out > wake.csv. One CTA; of bulk loads, cycles from issue to the clock after the wait; cluster of two for remote.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t;
__device__ u32 smem(void const *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ u32 clk() { u32 c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
__device__ void init(u32 b, u32 n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
__device__ void arrive(u32 b) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory"); }
__device__ void expect(u32 b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
__device__ void remote(u32 b, u32 cta) { asm volatile("{\n.reg .b32 a;\nmapa.shared::cluster.u32 a, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [a];\n}" :: "r"(b), "r"(cta) : "memory"); }
__device__ void try_wait(u32 b, u32 phase) { asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase) : "memory"); }
__device__ void test_wait(u32 b, u32 phase) { asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase) : "memory"); }
__device__ void wait(u32 b, u32 phase, int spin) { if (spin) test_wait(b, phase); else try_wait(b, phase); }
__device__ void bulk(u32 s, void const *g, u32 n, u32 b) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(s), "l"(g), "r"(n), "r"(b) : "memory"); }
__device__ void sync_all() { asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__global__ void k(int what, int spin, u32 arg, char *g, u32 *out) {
  extern __shared__ __align__(1024) char s[]; __shared__ __align__(8) unsigned long long bars[4]; __shared__ u32 times[2];
  u32 b = smem(bars), me, t0 = 0, t1 = 0; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(me));
  if (threadIdx.x == 0) { for (int i = 0; i < 4; i++) init(b + 8 * i, 1); asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory"); }
  for (int pass = 0; pass < 3; pass++) {
    u32 phase = pass & 1; __syncthreads(); sync_all();
    if (what == 0 && threadIdx.x % 32 == 0) {          // arrival by warp 0 after arg cycles, wait of warp 1
      if (threadIdx.x == 0) { u32 s0 = clk(); while (clk() - s0 < arg) {} times[0] = clk(); arrive(b); } else { wait(b, phase, spin); times[1] = clk(); } }
    if (what == 1 && threadIdx.x == 0) { t0 = clk(); expect(b, arg); bulk(smem(s), g, arg, b); wait(b, phase, spin); t1 = clk(); }
    if (what == 2 && threadIdx.x == 0) {               // arg round trips between two CTAs
      t0 = clk(); for (u32 i = 0; i < arg; i++) { u32 p = (phase * arg + i) & 1; if (me == 0) { remote(b, 1); wait(b, p, spin); } else { wait(b, p, spin); remote(b, 0); } } t1 = clk(); }
    if (what == 3 && me == 0 && threadIdx.x == 0) {    // chain of loads from the other CTA's shared memory
      u32 a; asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(a) : "r"(smem(s))); t0 = clk(); for (u32 i = 0; i < arg; i++) { u32 v; asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); a += v; } t1 = clk() + (a == 7); }
    if (what == 4 && threadIdx.x == 0) {               // arrival and wait of one thread
      t0 = clk(); for (u32 i = 0; i < arg; i++) { arrive(b); wait(b, (phase * arg + i) & 1, spin); } t1 = clk(); }
    if (what == 5 && threadIdx.x == 0) { t0 = clk(); for (u32 i = 0; i < arg; i++) wait(b, 1, spin); t1 = clk(); arrive(b); }   // ready
    __syncthreads(); sync_all(); if (what == 0) { t0 = times[0]; t1 = times[1]; }
    if (what == 5 && threadIdx.x == 0) { arrive(b); wait(b, 1, spin); }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = t1 - t0;
}
char *g; u32 *out;
void go(char const *name, int what, int cluster, int warps, u32 arg, double per) {
  for (int spin : {0, 1}) {
    CK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    cudaLaunchConfig_t c = {}; c.gridDim = cluster; c.blockDim = warps * 32; c.dynamicSmemBytes = 128 << 10;
    cudaLaunchAttribute a; a.id = cudaLaunchAttributeClusterDimension; a.val.clusterDim = {(unsigned)cluster, 1, 1}; c.attrs = &a; c.numAttrs = 1; std::vector<double> r;
    for (int i = 0; i < 15; i++) { CK(cudaLaunchKernelEx(&c, k, what, spin, arg, g, out)); CK(cudaDeviceSynchronize()); r.push_back(out[0] / per); }
    std::sort(r.begin(), r.end()); printf("%s,%s,%u,%.1f,%.1f,%.1f\n", name, spin ? "test_wait" : "try_wait", arg, r[0], r[7], r[14]); fflush(stdout); }
}
int main() {
  CK(cudaMalloc(&g, 1 << 20)); CK(cudaMallocManaged(&out, 4096)); std::vector<u32> h(1 << 18); u32 x = 1; for (auto &v : h) { x = x * 1664525u + 1013904223u; v = x; } CK(cudaMemcpy(g, h.data(), 1 << 20, cudaMemcpyHostToDevice));
  puts("what,wait,argument,least,median,most");
  for (u32 d = 0; d < 400; d += 16) go("wake", 0, 1, 2, d, 1);
  for (u32 d = 400; d < 4000; d += 240) go("wake", 0, 1, 2, d, 1);
  for (u32 n : {16u, 128u, 512u, 1024u, 2048u, 4096u, 6144u, 8192u, 12288u, 16384u, 32768u, 65536u}) go("bulk_load", 1, 1, 1, n, 1);
  go("remote_round_trip", 2, 2, 1, 32, 32); go("remote_load", 3, 2, 1, 32, 32); go("arrive_and_wait", 4, 1, 1, 32, 32); go("ready_wait", 5, 1, 1, 32, 32);
}
