// When a fence of the GPU's scope is over: one warp of each CTA (one per SM) stores once (`lanes` lanes of 16 bytes),
// waits `delay` cycles and fences: cycles of the fence, by SM; data near or far as the page of the CTA's line is.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
__global__ void one(char* data, int* out, int lanes, int delay, int wide) {
  char* mine = data + blockIdx.x * 4096 + threadIdx.x * 16; int sum = 0;
  for (int round = 0; round < 12; round++) {
    int t0, t1, s; __syncwarp(); CLOCK(s);
    if (threadIdx.x < lanes) { if (wide) asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};" ::"l"(mine), "r"(round) : "memory"); else asm volatile("st.global.u32 [%0],%1;" ::"l"(mine), "r"(round) : "memory"); }
    do { CLOCK(t0); } while (t0 - s < delay);
    CLOCK(t0); asm volatile("fence.acq_rel.gpu;" ::: "memory"); CLOCK(t1);
    if (round >= 4) sum += t1 - t0;
    s = t1; do { CLOCK(t0); } while (t0 - s < 2000);
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sum / 8;
}
// the same load: near or far, by the time of a load past L1
__global__ void latency(char* data, int* out) { char* p = data + blockIdx.x * 4096; int sum = 0, x; for (int i = 0; i < 12; i++) { int t0, t1; CLOCK(t0); asm volatile("atom.global.add.u32 %0,[%1],0;" : "=r"(x) : "l"(p) : "memory"); asm volatile("" ::"r"(x + sum)); if (x == 77) sum += 1; CLOCK(t1); if (i >= 4) sum += t1 - t0; } out[blockIdx.x] = sum / 8; }
int main() {
  char* d; int* out; cudaMalloc(&d, 132 * 4096); cudaMemset(d, 0, 132 * 4096); cudaMalloc(&out, 132 * 4); std::vector<int> a(132), h(132);
  latency<<<132, 32>>>(d, out); latency<<<132, 32>>>(d, out); cudaMemcpy(a.data(), out, 528, cudaMemcpyDeviceToHost);
  std::vector<int> s = a; std::sort(s.begin(), s.end()); int cut = 0, gap = 0; for (int i = 20; i < 112; i++) if (s[i] - s[i - 1] > gap) { gap = s[i] - s[i - 1]; cut = (s[i] + s[i - 1]) / 2; }
  double n = 0, f = 0; int cn = 0; for (int x : a) if (x < cut) { n += x; cn++; } else f += x;
  fprintf(stderr, "atomics %d..%d gap %d at %d: near %.0f (%d) far %.0f\n", s[0], s[131], gap, cut, n / cn, cn, f / (132 - cn));
  printf("bytes_per_lane,lanes,delay_cycles,ctas,near_cycles,far_cycles\n");
  for (int wide : {0, 1}) for (int lanes : {0, 1, 8, 32}) for (int delay : {0, 50, 100, 200, 300, 400, 600}) {
    if (lanes == 0 && wide) continue; 
    for (int r = 0; r < 2; r++) { one<<<132, 32>>>(d, out, lanes, delay, wide); cudaMemcpy(h.data(), out, 528, cudaMemcpyDeviceToHost); }
    n = f = 0; for (int i = 0; i < 132; i++) if (a[i] < cut) n += h[i]; else f += h[i];
    printf("%d,%d,%d,132,%.0f,%.0f\n", wide ? 16 : 4, lanes, delay, n / cn, f / (132 - cn));
  }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
