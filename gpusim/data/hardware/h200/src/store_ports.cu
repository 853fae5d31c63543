// What stores of named SMs pass together: four warps of each store lines of one, two or four sectors (16 bytes a lane) for 20,000 cycles, to 64
// pages of 4 KiB of their own each, by which SMs do: sectors per cycle of all of them, and of the slowest, median and fastest one. pages: 0 any, 1 and 2 of
// one side of L2 and of the other as SMs' sides are, 3 even ones; few: so many pages that all share. GPCs by clusters, sides by atomics.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>
#include <cuda_runtime.h>
__device__ unsigned smid() { unsigned s; asm volatile("mov.u32 %0, %%smid;" : "=r"(s)); return s; }
__global__ void clus(unsigned *out) { if (threadIdx.x == 0) out[blockIdx.x] = smid(); long long t = clock64(); while (clock64() - t < 40000); }
__device__ unsigned now() { unsigned t; asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory"); return t; }
__device__ int arrived;
template <int LANES> __global__ void ports(uint4* data, const int* on, const int* pages, int* out, int active, int cycles) { // LANES of a row
  int sm = smid(), me = on[sm]; if (me < 0) return;
  __shared__ int page[64]; if (threadIdx.x < 64) page[threadIdx.x] = pages[me * 64 + threadIdx.x]; __syncthreads();
  if (threadIdx.x == 0) { atomicAdd(&arrived, 1); while (*(volatile int*)&arrived < active); } __syncthreads();
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, n = 0; unsigned t0 = now(); const int ROWS = 32 / LANES;
  // a warp's store: ROWS lines side by side, LANES * 16 bytes of each; a page has 32 / ROWS / 4 such places for each warp
  while (now() - t0 < (unsigned)cycles) {
#pragma unroll
    for (int k = 0; k < 4; k++) { int i = n * 4 + k, per = 32 / ROWS / 4 ? 32 / ROWS / 4 : 1, p = ROWS == 16 ? (i * 2 + (warp >> 1)) : i / per, row = ROWS == 16 ? (warp & 1) * 16 : (i % per) * 4 * ROWS + warp * ROWS;
      uint4* q = data + (size_t)page[p & 63] * 256 + (row + lane / LANES) * 8 + lane % LANES; asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};" ::"l"(q), "r"(n) : "memory"); }
    n++; }
  if (lane == 0) atomicAdd(&out[me], n * 4); }
__global__ void side(int* words, int* out) { if (threadIdx.x) return; unsigned t = 0; int v = 0; for (int i = 0; i < 12; i++) { unsigned a = now(); v = atomicAdd(words + v, 0); unsigned b = now() + v; if (i > 3) t += b - a; } out[smid()] = t / 8; }
int main() { setvbuf(stdout, 0, _IOLBF, 0); unsigned *d; cudaMalloc(&d, 4096); cudaMemset(d, 255, 4096);
  std::map<unsigned, int> gp; // SM to GPC by clusters: union of what occurs together
  std::vector<std::vector<unsigned>> sets; cudaFuncSetAttribute(clus, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  for (int size : {16, 8, 4, 2}) for (int r = 0; r < 20; r++) { cudaLaunchConfig_t cfg = {}; cfg.gridDim = 132 / size * size; cfg.blockDim = 32; cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = size; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1; cfg.attrs = at; cfg.numAttrs = 1;
    cudaMemset(d, 255, 4096); cudaLaunchKernelEx(&cfg, clus, d); std::vector<unsigned> h(132); cudaMemcpy(h.data(), d, 528, cudaMemcpyDeviceToHost); for (int c = 0; c < 132 / size; c++) if (h[c * size] < 132) sets.push_back({h.begin() + c * size, h.begin() + c * size + size}); }
  std::vector<int> par(132); for (int i = 0; i < 132; i++) par[i] = i; auto find = [&](int x) { while (par[x] != x) x = par[x]; return x; };
  for (auto& s : sets) for (auto x : s) if (x < 132) par[find(x)] = find(s[0]);
  std::map<int, std::vector<int>> G; for (int i = 0; i < 132; i++) G[find(i)].push_back(i);
  std::vector<std::vector<int>> gpcs; for (auto& g : G) { std::sort(g.second.begin(), g.second.end()); gpcs.push_back(g.second); printf("# GPC"); for (int x : g.second) printf(" %d", x); printf("\n"); }
  std::sort(gpcs.begin(), gpcs.end(), [](auto& a, auto& b) { return a.size() > b.size(); });
  uint4* data; int *on, *pages, *out; const int NP = 1 << 15; cudaMalloc(&data, (size_t)NP * 4096); cudaMemset(data, 0, (size_t)NP * 4096); cudaMalloc(&on, 4096); cudaMalloc(&pages, 132 * 256); cudaMalloc(&out, 4096);
  srand(1); std::vector<int> perm(NP); for (int i = 0; i < NP; i++) perm[i] = i; for (int i = NP - 1; i; i--) std::swap(perm[i], perm[rand() % (i + 1)]); cudaMemcpy(pages, perm.data(), 132 * 256, cudaMemcpyHostToDevice);
  std::vector<int> sd(132); { side<<<132, 32, 150 << 10>>>((int*)data, out); cudaFuncSetAttribute(side, cudaFuncAttributeMaxDynamicSharedMemorySize, 150 << 10); side<<<132, 32, 150 << 10>>>((int*)data, out); std::vector<int> o(132); cudaMemcpy(o.data(), out, 528, cudaMemcpyDeviceToHost); printf("# side"); for (int i = 0; i < 132; i++) { sd[i] = o[i] > 68; printf(" %d:%d", i, o[i]); } printf("\n"); }
  auto go = [&](const char* name, std::vector<int> sms, int where = 0, std::vector<int> ls = {2, 4, 8}, int few = 0) { // where: 0 any page, 1 near, 2 far, 3 even, few: pages that all share
    std::vector<int> pg(132 * 64, 0); int at = 0; std::vector<char> taken(NP); for (size_t i = 0; i < sms.size(); i++) for (int j = 0; j < 64; j++) { if (few) { pg[i * 64 + j] = perm[(i + j) % few]; continue; } for (int q = at;; q++) { int p = perm[q % NP]; if (taken[p]) { continue; } int far = (p & 1) != sd[sms[i]]; if (where == 1 && far || where == 2 && !far || where == 3 && (p & 1)) continue; taken[p] = 1; pg[i * 64 + j] = p; break; } while (taken[perm[at % NP]]) at++; }
    cudaMemcpy(pages, pg.data(), 132 * 256, cudaMemcpyHostToDevice);
    for (int lanes : ls) { std::vector<int> h(1024, -1); for (size_t i = 0; i < sms.size(); i++) h[sms[i]] = i; cudaMemcpy(on, h.data(), 4096, cudaMemcpyHostToDevice); double all = 0; std::vector<double> each(sms.size()); const int cyc = 20000;
      for (int r = 0; r < 4; r++) { int z = 0; cudaMemcpyToSymbol(arrived, &z, 4); cudaMemset(out, 0, 4096);
        if (lanes == 2) ports<2><<<132, 128, 150 << 10>>>(data, on, pages, out, sms.size(), cyc); else if (lanes == 4) ports<4><<<132, 128, 150 << 10>>>(data, on, pages, out, sms.size(), cyc); else ports<8><<<132, 128, 150 << 10>>>(data, on, pages, out, sms.size(), cyc);
        cudaDeviceSynchronize(); std::vector<int> o(1024); cudaMemcpy(o.data(), out, 4096, cudaMemcpyDeviceToHost); if (r) for (size_t i = 0; i < sms.size(); i++) { each[i] += o[i] * 16. / cyc / 3; all += o[i] * 16. / cyc / 3; } }
      std::vector<double> s = each; std::sort(s.begin(), s.end()); printf("%s,%d,%d,%zu,%d,%.2f,%.3f,%.3f,%.3f", name, where, few, sms.size(), lanes / 2, all, s[0], s[s.size() / 2], s.back()); printf("\n"); } };
  cudaFuncSetAttribute(ports<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 150 << 10); cudaFuncSetAttribute(ports<4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 150 << 10); cudaFuncSetAttribute(ports<8>, cudaFuncAttributeMaxDynamicSharedMemorySize, 150 << 10);
  printf("sms_are,pages,few,sms,sectors,sectors_per_cycle,least,median,most\n");
  std::vector<int> g; for (auto& x : gpcs) if (x.size() == 16) { g = x; break; } if (g.empty()) g = gpcs[0];
  auto cpc = [&](std::vector<int>& q, int k) { std::vector<int> r; for (size_t j = 0; j < q.size(); j++) if ((int)(j / 2) % 3 == k) r.push_back(q[j]); return r; };
  auto c0 = cpc(g, 0); std::vector<int> A, B, all, half, third, two; for (int i = 0; i < 132; i++) { (sd[i] ? B : A).push_back(i); all.push_back(i); if (i % 2 == 0) half.push_back(i); if (i % 2 == 0 && i / 2 % 3 == 0) third.push_back(i); if (i / 2 % 3 != 2) two.push_back(i); }
  printf("# sides %zu %zu\n", A.size(), B.size());
  auto c1 = cpc(g, 1), c2 = cpc(g, 2); auto join = [](std::vector<int> x, const std::vector<int>& y) { x.insert(x.end(), y.begin(), y.end()); return x; };
  go("one", {g[0]}); go("tpc", {g[0], g[1]}); go("four of a cpc of six", {c0.begin(), c0.begin() + 4}); go("one of each tpc of a cpc", {c0[0], c0[2], c0[4]}); go("cpc of four", c2);
  go("cpcs of six and six", join(c0, c1)); go("cpcs of six and four", join(c0, c2)); { std::vector<int> x; for (size_t j = 0; j < g.size(); j += 2) x.push_back(g[j]); go("one of each tpc of a gpc", x); }
  for (int w : {0, 1, 2, 3}) { go("cpc of six", c0, w); go("gpc of 16", g, w); go("side A", A, w); go("side B", B, w); go("all", all, w); go("one of each tpc", half, w); go("two thirds of tpcs", two, w); }
  for (size_t a = 1; a < 8; a++) for (size_t b = a + 1; b < 8; b++) { auto x = gpcs[a]; x.insert(x.end(), gpcs[b].begin(), gpcs[b].end()); char n[64]; sprintf(n, "gpcs of sides %d and %d", sd[gpcs[a][0]], sd[gpcs[b][0]]); go(n, x, 0, {8}); }
  for (int few : {1, 2, 4, 8, 16, 32, 64, 128}) { go("all", all, 0, {8}, few); go("one of each tpc", half, 0, {8}, few); go("gpc of 16", g, 0, {8}, few); }
  printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
