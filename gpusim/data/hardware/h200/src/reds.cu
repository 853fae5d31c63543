// Additions at L2: CTAs of 128 threads (one per SM) add (red.global.add.f32) or store 4 bytes a thread, `TURNS` times, to
// consecutive words: each CTA its own 64 KiB, or `sharing` CTAs the same. Cycles per warp instruction until all are in
// L2 (a fence at the end), bytes a cycle of all SMs.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
constexpr int TURNS = 128;
template <int KIND> __global__ void add(float* data, int* out, int sharing) {
  float* mine = data + (blockIdx.x / sharing) * 16384l + threadIdx.x; int t0, t1;
  for (int r = 0; r < 4; r++) { __syncthreads(); CLOCK(t0);
#pragma unroll 16
    for (int i = 0; i < TURNS; i++) { float* p = mine + i * 128;
      if (KIND == 0) asm volatile("st.global.f32 [%0],%1;" ::"l"(p), "f"(1.0f) : "memory");
      if (KIND == 1) asm volatile("red.global.add.f32 [%0],%1;" ::"l"(p), "f"(1.0f) : "memory");
      if (KIND == 2) asm volatile("red.global.add.v4.f32 [%0],{%1,%1,%1,%1};" ::"l"(data + (blockIdx.x / sharing) * 16384l + ((threadIdx.x + i * 128) & 4095) * 4), "f"(1.0f) : "memory");
      if (KIND == 3) asm volatile("st.global.v4.f32 [%0],{%1,%1,%1,%1};" ::"l"(data + (blockIdx.x / sharing) * 16384l + ((threadIdx.x + i * 128) & 4095) * 4), "f"(1.0f) : "memory"); }
    asm volatile("fence.acq_rel.gpu;" ::: "memory"); __syncthreads(); CLOCK(t1); }
  if (threadIdx.x == 0) out[blockIdx.x] = t1 - t0;
}
#define F(K) cudaFuncSetAttribute(add<K>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
int main() { F(0) F(1) F(2) F(3) float* d; int* out; cudaMalloc(&d, 132l * 65536); cudaMemset(d, 0, 132l * 65536); cudaMalloc(&out, 528); std::vector<int> h(132);
  printf("kind,ctas,sharing,cycles,cycles_per_warp_instruction,bytes_per_cycle\n"); const char* names[] = {"st.f32", "red.f32", "red.v4.f32", "st.v4.f32"};
  for (int kind = 0; kind < 4; kind++) for (int ctas : {1, 16, 66, 132}) for (int sharing : {1, 2, 8, 132}) { if (sharing > ctas) continue; int bytes = kind < 2 ? 4 : 16;
    for (int r = 0; r < 2; r++) { if (kind == 0) add<0><<<ctas, 128, 200 << 10>>>(d, out, sharing); if (kind == 1) add<1><<<ctas, 128, 200 << 10>>>(d, out, sharing); if (kind == 2) add<2><<<ctas, 128, 200 << 10>>>(d, out, sharing); if (kind == 3) add<3><<<ctas, 128, 200 << 10>>>(d, out, sharing); cudaDeviceSynchronize(); }
    cudaMemcpy(h.data(), out, 528, cudaMemcpyDeviceToHost); double s = 0; for (int i = 0; i < ctas; i++) s += h[i]; s /= ctas;
    printf("%s,%d,%d,%.0f,%.2f,%.1f\n", names[kind], ctas, sharing, s, s / TURNS / 4, (double)ctas * 128 * TURNS * bytes / s); }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize())); }
