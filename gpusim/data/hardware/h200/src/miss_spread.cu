// One thread reads lines from DRAM (discard.global.L2 before) and from L2 in turn: cycles of each load, as raw numbers; miss_spread.csv has their deviations.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
__global__ void probe(char* ref, char* p, ulonglong2* out, int lines, int stride, int samples, int mode) {
  unsigned h = 12345u;
  for (int i = 0; i < lines; i++) { 
    for (int j = 0; j < samples; j++) { char* a = p + (size_t)i * stride; h = h * 1664525u + 1013904223u;
      if (j & 1) asm volatile("discard.global.L2 [%0], 128;" ::"l"(a) : "memory");
      __threadfence(); unsigned n = h >> 27; for (unsigned k = 0; k < n; k++) asm volatile("nanosleep.u32 0;");
      long long t0 = clock64(); unsigned v; asm volatile("ld.relaxed.gpu.global.u32 %0,[%1];" : "=r"(v) : "l"(a) : "memory");
      if (v == 0xdeadbeefu) return; long long t1 = clock64();
       
      out[(size_t)i * samples + j] = make_ulonglong2(t1 - t0, t1); } } }

static char* ref; static void go(char* d, int lines, int stride, int samples, FILE* f) { static ulonglong2* o; static ulonglong2* h; size_t n = (size_t)lines * samples;
  if (!o) { cudaMalloc(&o, (size_t)512 << 20); h = (ulonglong2*)malloc((size_t)512 << 20); }
  probe<<<1, 1>>>(ref, d, o, lines, stride, samples, 1); cudaError_t e = cudaDeviceSynchronize(); cudaMemcpy(h, o, n * 16, cudaMemcpyDeviceToHost);
  int hd[4] = {lines, stride, samples, 0}; fwrite(hd, 4, 4, f); unsigned short* l = (unsigned short*)malloc(n * 2); for (size_t i = 0; i < n; i++) l[i] = h[i].x > 65535 ? 65535 : h[i].x; fwrite(l, 2, n, f);
  unsigned long long* t = (unsigned long long*)malloc(n * 8); for (size_t i = 0; i < n; i++) t[i] = h[i].y; fwrite(t, 8, n, f); free(l); free(t); printf("%d %d %d %s\n", lines, stride, samples, cudaGetErrorString(e)); }
int main(int c, char** v) { char* d; cudaMalloc(&d, (size_t)1 << 30); cudaMemset(d, 1, (size_t)1 << 30); FILE* f = fopen("/dev/null", "wb"); ref = d + (512 << 20);
  go(d, 16384, 128, 96, f); fclose(f); f = fopen(v[1], "wb"); go(d, 8192, 128, 24, f); fclose(f); }
