// `ctas` CTAs, one thread each, that poll words `stride` bytes apart (0: all the same one) in a chain of 64 atomics
// (CAS that fails, or that succeeds) or acquire loads: cycles of one, mean over CTAs of the last of three launches.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
template <int KIND> __global__ void polls(char* words, int* out, int stride, int zero) {
  char* p = words + (size_t)blockIdx.x * stride; int sum = 0, t0, t1;
  for (int k = 0; k < 20; k++) asm volatile("nanosleep.u32 50;");
  CLOCK(t0);
#pragma unroll 1
  for (int i = 0; i < 64; i++) { int old;
    if (KIND == 0) asm volatile("atom.global.cas.b32 %0,[%1],1,0;" : "=r"(old) : "l"(p + (sum & zero)) : "memory");
    else if (KIND == 1) asm volatile("atom.global.cas.b32 %0,[%1],0,0;" : "=r"(old) : "l"(p + (sum & zero)) : "memory");
    else asm volatile("ld.global.acquire.gpu.b32 %0,[%1];" : "=r"(old) : "l"(p + (sum & zero)) : "memory");
    sum += old; }
  CLOCK(t1); out[blockIdx.x] = (t1 - t0) / 64 + (sum & zero); }
char* words; int* out;
template <int K> void run(const char* name) {
  for (int stride : {0, 4, 32, 128, 4096}) for (int ctas : {1, 8, 32, 64, 128}) {
    for (int r = 0; r < 3; r++) { polls<K><<<ctas, 1, 100 << 10>>>(words, out, stride, 0); cudaDeviceSynchronize(); }
    std::vector<int> h(132); cudaMemcpy(h.data(), out, 4 * ctas, cudaMemcpyDeviceToHost); double s = 0; for (int i = 0; i < ctas; i++) s += h[i];
    printf("%s,%d,%d,%.0f\n", name, stride, ctas, s / ctas); } }
int main() { cudaMalloc(&words, 1 << 20); cudaMalloc(&out, 4096); cudaMemset(words, 0, 1 << 20);
  cudaFuncSetAttribute(polls<0>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10); cudaFuncSetAttribute(polls<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10); cudaFuncSetAttribute(polls<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  printf("kind,stride_bytes,ctas,cycles\n"); run<0>("cas that fails"); run<1>("cas"); run<2>("acquire"); printf("# %s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
