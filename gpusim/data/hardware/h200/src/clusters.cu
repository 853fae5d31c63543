// What clusters, mbarriers and bulk copies cost, one CTA (or one cluster) alone on the chip: cycles, median of 15 launches.
// nvcc -O3 -arch=sm_90a cluster.cu && ./a.out > cluster.csv
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t; using u64 = uint64_t;
__device__ u32 smem(void const *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ u32 clk() { u32 c; asm volatile("mov.u32 %0, %%clock;" : "=r"(c) :: "memory"); return c; }
__device__ u32 rank() { u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ void cl_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ void cl_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ void cl_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ void init(u32 b, u32 n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
__device__ void arrive(u32 b) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory"); }
__device__ void expect(u32 b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
__device__ u32 mapa(u32 a, u32 cta) { u32 r; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(cta)); return r; }
__device__ void remote(u32 b) { asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(b) : "memory"); }
__device__ void wait(u32 b, u32 phase) {
  asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase) : "memory"); }
__device__ void test_wait(u32 b, u32 phase) {
  asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase) : "memory"); }
__device__ void bulk(u32 s, void const *g, u32 n, u32 b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(s), "l"(g), "r"(n), "r"(b) : "memory"); }
__device__ void bulk_all(u32 s, void const *g, u32 n, u32 b, uint16_t m) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" :: "r"(s), "l"(g), "r"(n), "r"(b), "h"(m) : "memory"); }
__device__ void store(void *g, u32 s, u32 n) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(g), "r"(s), "r"(n) : "memory"); }
enum What { CLUSTER_BARRIER, CLUSTER_BARRIER_RELAXED, LOCAL_ARRIVE, TRY_WAIT_READY, PING_PONG, REMOTE_LOAD, LOAD, MULTICAST, MULTICAST_SPLIT, STORE_READ, STORE_DONE, FENCE, STREAM, STREAM_MULTICAST, WAKE, WHATS };
char const *names[] = {"cluster_barrier", "cluster_barrier_relaxed", "local_arrive_wait", "try_wait_ready", "remote_arrive_wait", "remote_load", "bulk_load", "bulk_multicast",
  "bulk_multicast_split", "bulk_store_read", "bulk_store_done", "fence_proxy_async", "bulk_stream", "bulk_stream_multicast", "arrive_wakes_other_warp"};
constexpr int N = 64;
__global__ void k(int what, u32 bytes, u32 cluster, char *g, u32 *out) {
  extern __shared__ __align__(1024) char s[];
  __shared__ __align__(8) u64 bars[8];
  u32 b = smem(bars), data = smem(s), me = rank(), t = 0, phase = 0; bool lead = threadIdx.x == 0;
  char *mine = g + (size_t)(blockIdx.x / cluster) * (1 << 20);
  if (lead) { for (int i = 0; i < 8; i++) init(b + 8 * i, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); asm volatile("fence.proxy.async;" ::: "memory"); }
  __syncthreads(); cl_arrive(); cl_wait();
  u32 other = mapa(b, (me + 1) % cluster);
  for (int pass = 0; pass < 2; pass++) {
    __syncthreads(); cl_arrive(); cl_wait();
    u32 t0 = clk();
    switch (what) {
      case CLUSTER_BARRIER: for (int i = 0; i < N; i++) { cl_arrive(); cl_wait(); } break;
      case CLUSTER_BARRIER_RELAXED: for (int i = 0; i < N; i++) { cl_arrive_relaxed(); cl_wait(); } break;
      case LOCAL_ARRIVE: if (lead) for (int i = 0; i < N; i++) { arrive(b); wait(b, phase); phase ^= 1; } break;
      case TRY_WAIT_READY: if (lead) for (int i = 0; i < N; i++) wait(b, phase ^ 1); break;
      case PING_PONG: if (lead) for (int i = 0; i < N; i++) {        // me -> other -> me: N round trips of two
          if (me == 0) { remote(other); wait(b, phase); } else { wait(b, phase); remote(other); } phase ^= 1; } break;
      case WAKE: if (threadIdx.x % 32 == 0) { u32 w = threadIdx.x / 32; if (w < 2) for (int i = 0; i < N; i++) {
          if (w == 0) { arrive(b + 8); wait(b, phase); } else { wait(b + 8, phase); arrive(b); } phase ^= 1; } } break;
      case REMOTE_LOAD: { u32 a = mapa(data, (me + 1) % cluster), v = 0; if (lead && me == 0) for (int i = 0; i < N; i++) { asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(a + (v & 0)) : "memory"); a += v; } t += v; break; }
      case LOAD: if (lead) for (int i = 0; i < N; i++) { expect(b, bytes); bulk(data, mine, bytes, b); wait(b, phase); phase ^= 1; } break;
      case MULTICAST: for (int i = 0; i < N; i++) { if (lead) expect(b, bytes); __syncwarp(); cl_arrive_relaxed(); cl_wait(); if (lead && me == 0) bulk_all(data, mine, bytes, b, (1 << cluster) - 1); wait(b, phase); phase ^= 1; } break;
      case MULTICAST_SPLIT: for (int i = 0; i < N; i++) { if (lead) expect(b, bytes); __syncwarp(); cl_arrive_relaxed(); cl_wait(); u32 part = bytes / cluster; if (lead) bulk_all(data + me * part, mine + me * part, part, b, (1 << cluster) - 1); wait(b, phase); phase ^= 1; } break;
      case STORE_READ: if (lead) for (int i = 0; i < N; i++) { store(mine, data, bytes); asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory"); } break;
      case STORE_DONE: if (lead) for (int i = 0; i < N; i++) { store(mine, data, bytes); asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory"); } break;
      case FENCE: if (lead) for (int i = 0; i < N; i++) asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); break;
      case STREAM: if (lead) { for (int i = 0; i < 4; i++) { expect(b + 8 * i, bytes); bulk(data + i * bytes, mine + i * bytes, bytes, b + 8 * i); }
          for (int i = 0; i < N; i++) { u32 q = i & 3; wait(b + 8 * q, (phase >> q) & 1); phase ^= 1 << q; if (i + 4 < N) { expect(b + 8 * q, bytes); bulk(data + q * bytes, mine + (i + 4) % 16 * bytes, bytes, b + 8 * q); } } } break;
      case STREAM_MULTICAST: { u32 part = bytes / cluster, o = me * part; uint16_t m = (1 << cluster) - 1;   // a full barrier, then peers may fill it: waits for all by the cluster barrier every four
          for (int i = 0; i < N; i++) { u32 q = i & 3; if (q == 0) { if (lead) for (int j = 0; j < 4; j++) expect(b + 8 * j, bytes); __syncwarp(); cl_arrive_relaxed(); cl_wait(); if (lead) for (int j = 0; j < 4; j++) bulk_all(data + j * bytes + o, mine + (i + j) % 16 * bytes + o, part, b + 8 * j, m); }
            wait(b + 8 * q, (phase >> q) & 1); phase ^= 1 << q; } } break;
    }
    u32 t1 = clk(); t = t1 - t0 + (t & 0);
  }
  if (lead) out[blockIdx.x] = t;
  __syncthreads(); cl_arrive(); cl_wait();
}
void go(int what, int cluster, int warps, u32 bytes, int ctas) {
  static char *g; static u32 *out; if (!g) { CK(cudaMalloc(&g, size_t(160) << 20)); CK(cudaMemset(g, 0, size_t(160) << 20)); CK(cudaMallocManaged(&out, 4096)); }
  CK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  cudaLaunchConfig_t c = {}; c.gridDim = ctas; c.blockDim = warps * 32; c.dynamicSmemBytes = 128 << 10;
  cudaLaunchAttribute a; a.id = cudaLaunchAttributeClusterDimension; a.val.clusterDim = {(unsigned)cluster, 1, 1}; c.attrs = &a; c.numAttrs = 1;
  std::vector<double> r;
  for (int i = 0; i < 15; i++) { CK(cudaLaunchKernelEx(&c, k, what, bytes, (u32)cluster, g, out)); CK(cudaDeviceSynchronize()); double s = 0; for (int j = 0; j < ctas; j++) s += out[j]; r.push_back(s / ctas / N); }
  std::sort(r.begin(), r.end()); printf("%s,%d,%d,%u,%d,%.1f\n", names[what], cluster, warps, bytes, ctas, r[7]); fflush(stdout);
}
int main() {
  puts("what,cluster,warps,bytes,ctas,cycles");
  for (int w : {CLUSTER_BARRIER, CLUSTER_BARRIER_RELAXED}) for (int c : {1, 2, 4, 8}) for (int n : {1, 4, 12}) go(w, c, n, 0, c);
  for (int w : {LOCAL_ARRIVE, TRY_WAIT_READY, FENCE}) go(w, 1, 1, 0, 1);
  go(WAKE, 1, 2, 0, 1);
  go(PING_PONG, 2, 1, 0, 2);
  for (u32 n : {16u, 128u, 1024u, 2048u, 4096u, 8192u, 16384u, 32768u}) { go(LOAD, 1, 1, n, 1); go(STORE_READ, 1, 1, n, 1); go(STORE_DONE, 1, 1, n, 1); }
  for (int c : {1, 2, 4}) for (u32 n : {1024u, 4096u, 16384u}) { go(MULTICAST, c, 1, n, c); go(MULTICAST_SPLIT, c, 1, n, c); }
  for (int ctas : {1, 2, 16, 66, 132}) for (u32 n : {4096u, 16384u, 32768u}) go(STREAM, 1, 1, n, ctas);
  for (int c : {1, 2, 4}) for (int ctas : {c, 64, 120}) for (u32 n : {16384u, 32768u}) go(STREAM_MULTICAST, c, 1, n, ctas / c * c);
}
