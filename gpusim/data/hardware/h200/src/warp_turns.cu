// Turns of warps that share a sub-partition's tensor pipe: 4 to 16 warps of a CTA, each loops over U HMMA (16816, f32) and
// stores a clock; cycles from the first warp's first clock on. nvcc -O3 -std=c++17 -arch=sm_90a warp_turns.cu -o warp_turns; ./warp_turns > warp_turns.csv
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int TURNS = 12, ROW = 16;
template<int U, int ILP> __global__ void turns(int *out, int n) {
  __shared__ int clocks[16 * ROW]; int warp = threadIdx.x >> 5; float c[ILP][4] = {}; uint32_t a[4], b[2];
  for (int i = 0; i < 4; i++) asm volatile("mov.u32 %0,%1;" : "=r"(a[i]) : "r"(n));
  for (int i = 0; i < 2; i++) asm volatile("mov.u32 %0,%1;" : "=r"(b[i]) : "r"(n));
  for (int again = 0; again < 2; again++) {   // the first time without code in the caches
    __syncthreads(); clocks[warp * ROW] = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < n; turn++) {
      #pragma unroll
      for (int i = 0; i < U; i++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(c[i % ILP][0]), "+f"(c[i % ILP][1]), "+f"(c[i % ILP][2]), "+f"(c[i % ILP][3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      clocks[warp * ROW + 1 + turn] = clock64(); }
  }
  int i = warp * ROW + threadIdx.x % ROW; __syncthreads(); out[i] = clocks[i];
  float s = 0; for (int j = 0; j < ILP; j++) s += c[j][0]; ((float *)out)[1024 + threadIdx.x] = s; }
template<int U, int ILP> void go(int *out) { static int h[16 * ROW];
  for (int warps : {4, 8, 12, 16}) for (int launch = 0; launch < 3; launch++) { turns<U, ILP><<<1, 32 * warps>>>(out, TURNS); CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)); int zero = h[0]; for (int w = 1; w < warps; w++) if (h[w * ROW] - zero < 0) zero = h[w * ROW];
    for (int w = 0; w < warps; w++) { printf("%d,%d,%d,%d,%d", U, ILP, warps, launch, w); for (int t = 0; t <= TURNS; t++) printf(",%d", h[w * ROW + t] - zero); puts(""); } } }
int main() { int *out; CK(cudaMalloc(&out, 1 << 16)); printf("hmmas,ilp,warps,launch,warp,begin"); for (int t = 1; t <= TURNS; t++) printf(",t%d", t); puts("");
  go<16, 4>(out); go<16, 8>(out); go<32, 8>(out); go<64, 8>(out); go<128, 4>(out); return 0; }
