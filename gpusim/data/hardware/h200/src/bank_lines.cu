// Lines of one bank of DRAM: of 131,072 runs of 256 bytes those whose line comes 20 cycles later beside line X of the set; then two of them at once, by one warp, each pair. DRAM: discard.global.L2 before.
#include <cstdio>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
__device__ unsigned take(const char* a) { unsigned v; asm volatile("ld.relaxed.gpu.global.u32 %0,[%1];" : "=r"(v) : "l"(a) : "memory"); return v; }
__global__ void scan(char* x, char* d, const int* which, unsigned short* out, int lines, int reps) { unsigned h = 12345u; // with X and without it in turn
  for (int i = 0; i < lines; i++) for (int j = 0; j < reps; j++) { char* b = d + (size_t)which[i] * 128; h = h * 1664525u + 1013904223u; unsigned n = h >> 26;
      if (threadIdx.x == 0) asm volatile("discard.global.L2 [%0], 128;" ::"l"(x) : "memory"); if (threadIdx.x == 32) asm volatile("discard.global.L2 [%0], 128;" ::"l"(b) : "memory"); __threadfence(); for (unsigned k = 0; k < n; k++) asm volatile("nanosleep.u32 0;");
      __syncthreads(); unsigned v = 0, t0 = clock();
      if (threadIdx.x == 0 && (j & 1)) v = take(x);
      if (threadIdx.x == 32) { while ((unsigned)clock() - t0 < 20u); t0 = clock(); v = take(b); }
      if (v == 0xdeadbeefu) return; unsigned t1 = clock(); if (threadIdx.x == 32) out[(size_t)i * reps + j] = min(t1 - t0, 65535u); __syncthreads(); } }
__global__ void burst(char* d, const int* which, int n, int reps, unsigned* out) { unsigned h = 99u; int lane = threadIdx.x; // one warp: n lines at once
  for (int j = 0; j < reps; j++) { h = h * 1664525u + 1013904223u; char* b = d + (size_t)which[lane < n ? lane : 0] * 128; if (lane < n) asm volatile("discard.global.L2 [%0], 128;" ::"l"(b) : "memory"); __threadfence(); for (unsigned k = 0; k < (h >> 26); k++) asm volatile("nanosleep.u32 0;"); __syncwarp();
    unsigned t0 = clock(), v = 0; if (lane < n) v = take(b); if (__any_sync(~0u, v == 0xdeadbeefu)) return; unsigned t1 = clock(); if (!lane) out[j] = t1 - t0; } }
template <class T> int at(std::vector<T> v, double share) { std::sort(v.begin(), v.end()); return v[(size_t)(share * (v.size() - 1))]; }
int main() { char* d; cudaMalloc(&d, (size_t)1 << 30); cudaMemset(d, 1, (size_t)1 << 30); unsigned short* o; cudaMalloc(&o, 256 << 20); unsigned* o2; cudaMalloc(&o2, 1 << 20); int* w; cudaMalloc(&w, 8 << 20); printf("set,first_line,second_line,cycles\n");
  for (int x : {40, 100002}) { std::vector<int> found; for (int i = 0; i < 1 << 17; i++) found.push_back(2 * i);
    for (int reps : {14, 60}) { int n = found.size(); cudaMemcpy(w, found.data(), n * 4, cudaMemcpyHostToDevice); scan<<<1, 64>>>(d + (size_t)x * 128, d, w, o, n, reps); cudaDeviceSynchronize(); std::vector<unsigned short> h((size_t)n * reps); cudaMemcpy(h.data(), o, h.size() * 2, cudaMemcpyDeviceToHost); std::vector<int> next;
      for (int i = 0; i < n; i++) { std::vector<int> a[2]; for (int j = 0; j < reps; j++) a[j & 1].push_back(h[(size_t)i * reps + j]); if (at(a[1], .4) - at(a[0], .4) > 20) next.push_back(found[i]); } found = next; }
    std::vector<int> lines = {x}; for (int c : found) if (c / 2 != x / 2) lines.push_back(c);
    for (int a : lines) for (int b : lines) { std::vector<int> l = {a, b}; int reps = 33, n = a == b ? 1 : 2; cudaMemcpy(w, l.data(), 8, cudaMemcpyHostToDevice); burst<<<1, 32>>>(d, w, n, reps, o2); cudaDeviceSynchronize(); std::vector<unsigned> t(reps); cudaMemcpy(t.data(), o2, reps * 4, cudaMemcpyDeviceToHost); t.erase(t.begin(), t.begin() + 3); printf("%d,%d,%d,%d\n", x, a, b, at(t, .3)); } }
  cudaError_t e = cudaDeviceSynchronize(); if (e) printf("%s\n", cudaGetErrorString(e)); }
