// Which TPCs of a GPC share a way to L2 (a CPC), and how much they get together: SMs that are named read their own data by cp.async, rows of 32, 64 or 128 bytes 128 bytes apart.
// nvcc -O3 -arch=sm_90a cpc.cu; ./a.out
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
__device__ unsigned smid() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
__global__ void __cluster_dims__(8, 1, 1) clus(unsigned *out) { if (threadIdx.x == 0) out[blockIdx.x] = smid(); long long t = clock64(); while (clock64() - t < 20000); }
__global__ void __launch_bounds__(512) bw(const unsigned char *who, const unsigned *region, int row, int steps, const uint8_t *g, long long *cyc, unsigned *bar, int nsm) {
  extern __shared__ __align__(1024) uint8_t sm[]; unsigned s = smid(); if (!who[s]) { if (threadIdx.x == 0) cyc[s] = 0; return; }
  uint32_t b = (uint32_t)__cvta_generic_to_shared(sm) + threadIdx.x * 16; int per = row / 16; size_t span = (size_t)(blockDim.x / per) * 128; const uint8_t *p = g + (size_t)region[s] * 131072 + (threadIdx.x / per) * 128 + (threadIdx.x % per) * 16; int wrap = 131072 / span;
  if (threadIdx.x == 0) { atomicAdd(bar, 1); while (*(volatile unsigned *)bar < nsm); } __syncthreads(); long long t0 = clock64();
  for (int i = 0; i < steps; i++) asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group; cp.async.wait_group 11;" :: "r"(b + (i & 15) * 8192), "l"(p + (size_t)(i % wrap) * span) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads(); if (threadIdx.x == 0) cyc[s] = clock64() - t0; }
int main() {
  unsigned *u; CK(cudaMallocManaged(&u, 1 << 20)); uint8_t *g; CK(cudaMalloc(&g, 132 * 131072)); CK(cudaMemset(g, 1, 132 * 131072));
  unsigned char *who; unsigned *region; long long *cyc; unsigned *bar; CK(cudaMallocManaged(&who, 256)); CK(cudaMallocManaged(&region, 1024)); CK(cudaMallocManaged(&cyc, 2048)); CK(cudaMalloc(&bar, 4));
  std::vector<int> par(132); std::iota(par.begin(), par.end(), 0); auto find = [&](int x) { while (par[x] != x) x = par[x]; return x; };
  CK(cudaFuncSetAttribute(clus, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000));
  for (int r = 0; r < 60; r++) { int nc = 1 + r % 14; clus<<<8 * nc, 32, 200000>>>(u); CK(cudaDeviceSynchronize()); for (int c = 0; c < nc; c++) for (int i = 1; i < 8; i++) par[find(u[c * 8 + i])] = find(u[c * 8]); }
  std::vector<std::vector<int>> gpcs; for (int s = 0; s < 132; s++) if (find(s) == s) { gpcs.push_back({}); for (int t = 0; t < 132; t++) if (find(t) == s) gpcs.back().push_back(t); }
  for (auto &v : gpcs) { printf("gpc,%zu:", v.size()); for (int s : v) printf(" %d", s); puts(""); }
  CK(cudaFuncSetAttribute(bw, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000));
  auto run = [&](const std::vector<int> &sms, int row, std::vector<double> *each = nullptr) { for (int i = 0; i < 132; i++) who[i] = 0; for (int s : sms) { who[s] = 1; region[s] = s; } double best = 0; for (int r = 0; r < 3; r++) { CK(cudaMemset(bar, 0, 4)); int steps = 600; bw<<<132, 512, 200000>>>(who, region, row, steps, g, cyc, bar, (int)sms.size()); CK(cudaDeviceSynchronize()); double sum = 0; if (each) each->clear(); for (int s : sms) { sum += 8192.0 * steps / cyc[s]; if (each) each->push_back(8192.0 * steps / cyc[s]); } best = std::max(best, sum); } return best; };
  for (auto &v : gpcs) { int n = v.size() / 2; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) printf("%4.0f ", i == j ? run({v[2 * i], v[2 * i + 1]}, 128) : run({v[2 * i], v[2 * i + 1], v[2 * j], v[2 * j + 1]}, 128)); puts(""); } puts(""); fflush(stdout); if (&v == &gpcs[2]) break; }
  for (int row : {32, 64, 128}) for (int n : {1, 2}) { printf("row %d, n %d of one TPC: %.0f\n", row, n, n == 1 ? run({gpcs[0][0]}, row) : run({gpcs[0][0], gpcs[0][1]}, row)); }
  for (int row : {32, 64, 128}) for (auto &v : gpcs) { std::vector<double> e; printf("row %d whole GPC of %zu: %.0f :", row, v.size(), run(v, row, &e)); for (size_t i = 0; i < e.size(); i++) printf(" %d:%.0f", v[i], e[i]); puts(""); }
  std::vector<int> all(132); std::iota(all.begin(), all.end(), 0);
  for (int row : {32, 64, 128}) { std::vector<double> e; printf("row %d all: %.0f\n", row, run(all, row, &e)); for (auto &v : gpcs) { double sum = 0; for (int s : v) sum += e[s]; printf("  gpc %.0f:", sum); for (int s : v) printf(" %d:%.1f", s, e[s]); puts(""); } }
}
