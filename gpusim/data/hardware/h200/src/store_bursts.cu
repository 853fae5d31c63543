// CTAs of 128 threads, one of an SM, that start together, store `stores` times 16 bytes a thread (2 KiB of a CTA in a row), meet at a barrier and fence:
// cycles from the start until the last store is issued (mean) and until the fence is over: mean over CTAs, median of five launches, and means of the first
// and the last CTA. layout: 0 a CTA's pages of 4 KiB one behind the other, CTAs 64 KiB apart; 1 page i of all CTAs side by side; 2 CTAs 132 KiB apart; 3 any.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
__device__ int arrived;
template <int STORES> __global__ void burst(uint4* data, int* out, const int* pages, int stride, int total) {
  const int* mine = pages + blockIdx.x * 64; unsigned t0, t1, t2, t3, smid; asm("mov.u32 %0,%%smid;" : "=r"(smid));
  __shared__ int page[64]; if (threadIdx.x < 64) page[threadIdx.x] = mine[threadIdx.x]; __syncthreads();
  if (threadIdx.x == 0) { atomicAdd(&arrived, 1); while (*(volatile int*)&arrived < total) ; } __syncthreads();
  asm volatile("nanosleep.u32 200;"); __syncthreads();
  CLOCK(t0);
#pragma unroll
  for (int i = 0; i < STORES; i++) { uint4* p = data + (size_t)page[i / 2] * 256 + (i & 1) * 128 + threadIdx.x; asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};" ::"l"(p), "r"(t0) : "memory"); }
  CLOCK(t1); __syncthreads(); CLOCK(t2);
  if (threadIdx.x == 0) { asm volatile("fence.acq_rel.gpu;" ::: "memory"); CLOCK(t3);
    out[4 * blockIdx.x] = t1 - t0; out[4 * blockIdx.x + 1] = t2 - t0; out[4 * blockIdx.x + 2] = t3 - t0; out[4 * blockIdx.x + 3] = smid; } }
uint4* data; int *out, *pages; const int NP = 1 << 15;
template <int S> void run(int ctas, int layout, int shift) {
  std::vector<int> pg(132 * 64); srand(shift * 7 + 1); std::vector<int> perm(NP); for (int i = 0; i < NP; i++) perm[i] = i; if (layout == 3) std::random_shuffle(perm.begin(), perm.end(), [](int n) { return rand() % n; });
  for (int c = 0; c < ctas; c++) for (int i = 0; i < 64; i++) pg[c * 64 + i] =
      layout == 0 ? c * 16 + i + shift * 16 * 132      // a CTA's pages one behind the other, 64 KiB apart
    : layout == 1 ? i * ctas + c + shift * 64 * 132    // page i of all CTAs side by side
    : layout == 2 ? c * 33 + i + shift * 64 * 132      // 132 KiB apart
    : perm[c * 64 + i];
  cudaMemcpy(pages, pg.data(), pg.size() * 4, cudaMemcpyHostToDevice); std::vector<int> h(4 * 132); std::vector<double> ms; double mn = 0, mx = 0, is = 0;
  for (int r = 0; r < 7; r++) { int z = 0; cudaMemcpyToSymbol(arrived, &z, 4); burst<S><<<ctas, 128, 150 << 10>>>(data, out, pages, 0, ctas); cudaDeviceSynchronize();
    cudaMemcpy(h.data(), out, 16 * ctas, cudaMemcpyDeviceToHost); if (r < 2) continue; double s = 0; int a = 1 << 30, b = 0; for (int i = 0; i < ctas; i++) { s += h[4 * i + 2]; a = std::min(a, h[4 * i + 2]); b = std::max(b, h[4 * i + 2]); is += h[4 * i] / 5. / ctas; } ms.push_back(s / ctas); mn += a / 5.; mx += b / 5.;
  }
  std::sort(ms.begin(), ms.end()); printf("%d,%d,%d,%d,%.0f,%.0f,%.0f,%.0f\n", S, ctas, layout, shift, is, ms[2], mn, mx); }
template <int S> void all() { cudaFuncSetAttribute(burst<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, 150 << 10); for (int l = 0; l < 4; l++) for (int c : {1, 66, 96, 132}) for (int s = 0; s < (c == 132 ? 4 : 1); s++) run<S>(c, l, s); }
int main() { cudaMalloc(&data, (size_t)NP * 4096); cudaMalloc(&out, 8192); cudaMalloc(&pages, 132 * 64 * 4); cudaMemset(data, 0, (size_t)NP * 4096);
  printf("stores,ctas,layout,shift,issued,fenced,first,last\n"); all<1>(); all<2>(); all<4>(); all<8>(); all<16>(); all<32>(); all<64>(); printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
