// CTAs of 128 threads, one of an SM, that store `stores` times 16 bytes a thread (2 KiB of a CTA in a row, its places one
// behind the other, CTAs `stride` KiB apart), meet at a barrier and fence, as stream-K's blocks share their sums: cycles
// from thread 0's first store until its last one is issued, until the barrier lets go, and until its fence is over, means
// over CTAs of the last of four launches; polling: as many CTAs more that read a word of their own with atomics all along.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
template <int STORES> __global__ void share(uint4* data, int* out, int stride, int ctas, int* words) {
  if (blockIdx.x >= ctas) { // pollers
    if (threadIdx.x == 0) for (int i = 0; i < 40; i++) { int old; asm volatile("atom.global.cas.b32 %0,[%1],1,0;" : "=r"(old) : "l"(words + blockIdx.x) : "memory"); if (old == 77) out[0] = 1; }
    return; }
  uint4* p = data + (size_t)blockIdx.x * stride * 64 + threadIdx.x; int t0, t1, t2, t3;
  __syncthreads(); for (int k = 0; k < 20; k++) asm volatile("nanosleep.u32 50;"); __syncthreads();
  CLOCK(t0);
#pragma unroll
  for (int i = 0; i < STORES; i++) asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};" ::"l"(p + i * 128), "r"(t0) : "memory");
  CLOCK(t1); __syncthreads(); CLOCK(t2);
  if (threadIdx.x == 0) { asm volatile("fence.acq_rel.gpu;" ::: "memory"); CLOCK(t3);
    out[4 * blockIdx.x] = t1 - t0; out[4 * blockIdx.x + 1] = t2 - t0; out[4 * blockIdx.x + 2] = t3 - t0; } }
uint4* data; int *out, *words;
template <int S> void run() { cudaFuncSetAttribute(share<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  for (int stride : {64, 128, 66}) for (int ctas : {1, 16, 48, 96, 132}) for (int polling : {0, 128}) { if (polling && ctas != 96) continue;
    for (int r = 0; r < 4; r++) { share<S><<<ctas + polling, 128, 100 << 10>>>(data, out, stride, ctas, words); cudaDeviceSynchronize(); }
    std::vector<int> h(4 * 132); cudaMemcpy(h.data(), out, 16 * ctas, cudaMemcpyDeviceToHost); double s[3] = {}; for (int i = 0; i < ctas; i++) for (int j = 0; j < 3; j++) s[j] += double(h[4 * i + j]) / ctas;
    printf("%d,%d,%d,%d,%.0f,%.0f,%.0f\n", S, stride, ctas, polling, s[0], s[1], s[2]); } }
int main() { cudaMalloc(&data, 132l * 128 << 10); cudaMalloc(&out, 8192); cudaMalloc(&words, 4096); cudaMemset(data, 0, 132l * 128 << 10); cudaMemset(words, 0, 4096);
  printf("stores,stride_kib,ctas,polling,issued,barrier,fenced\n"); run<8>(); run<16>(); run<32>(); printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
