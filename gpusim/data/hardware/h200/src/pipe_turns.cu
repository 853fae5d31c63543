// Turns of warps that share a sub-partition's other pipes: 4 to 16 warps of a CTA, each loops over U instructions of one
// kind in ILP chains and stores a clock. Printed: warps of the first sub-partition, cycles from the first clock of all on.
// nvcc -O3 -std=c++17 -arch=sm_90a pipe_turns.cu -o pipe_turns; ./pipe_turns > pipe_turns.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int TURNS = 12, ROW = 16;
enum { HFMA2, FFMA, LOP3, IMAD, MUFU, DFMA }; static char const *names[] = {"HFMA2", "FFMA", "LOP3", "IMAD", "MUFU", "DFMA"};
template<int K> __device__ __forceinline__ void one(uint32_t &x, double &d, uint32_t k) {
  if (K == HFMA2) asm volatile("fma.rn.f16x2 %0,%0,%1,%1;" : "+r"(x) : "r"(k));
  if (K == FFMA) asm volatile("{.reg .f32 t,u; mov.b32 t,%0; mov.b32 u,%1; fma.rn.f32 t,t,u,u; mov.b32 %0,t;}" : "+r"(x) : "r"(k));
  if (K == LOP3) asm volatile("lop3.b32 %0,%0,%1,%1,0x96;" : "+r"(x) : "r"(k));
  if (K == IMAD) asm volatile("mad.lo.u32 %0,%0,%1,%1;" : "+r"(x) : "r"(k));
  if (K == MUFU) asm volatile("{.reg .f32 t; mov.b32 t,%0; ex2.approx.ftz.f32 t,t; mov.b32 %0,t;}" : "+r"(x));
  if (K == DFMA) asm volatile("fma.rn.f64 %0,%0,%0,%0;" : "+d"(d)); }
template<int K, int U, int ILP> __global__ void turns(int *out, int n) {
  __shared__ int clocks[16 * ROW]; int warp = threadIdx.x >> 5; uint32_t x[ILP], k; double d[ILP];
  asm volatile("mov.u32 %0,%1;" : "=r"(k) : "r"(n));
  for (int i = 0; i < ILP; i++) { x[i] = threadIdx.x + i; d[i] = i; }
  for (int again = 0; again < 2; again++) {
    __syncthreads(); clocks[warp * ROW] = clock64();
    #pragma unroll 1
    for (int turn = 0; turn < n; turn++) {
      #pragma unroll
      for (int i = 0; i < U; i++) one<K>(x[i % ILP], d[i % ILP], k);
      clocks[warp * ROW + 1 + turn] = clock64(); }
  }
  int i = warp * ROW + threadIdx.x % ROW; __syncthreads(); out[i] = clocks[i];
  uint32_t s = 0; double t = 0; for (int j = 0; j < ILP; j++) s += x[j], t += d[j]; out[1024 + threadIdx.x] = s; if (K == DFMA) ((double *)out)[2048 + threadIdx.x] = t; }
template<int K, int U, int ILP> void go(int *out) { static int h[16 * ROW];
  for (int warps : {4, 8, 12, 16}) for (int launch = 0; launch < 2; launch++) { turns<K, U, ILP><<<1, 32 * warps>>>(out, TURNS); CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)); int zero = h[0]; for (int w = 1; w < warps; w++) if (h[w * ROW] - zero < 0) zero = h[w * ROW];
    for (int w = 0; w < warps; w += 4) { printf("%s,%d,%d,%d,%d,%d", names[K], U, ILP, warps, launch, w); for (int t = 0; t <= TURNS; t++) printf(",%d", h[w * ROW + t] - zero); puts(""); } } }
template<int K> void kind(int *out) { go<K, 32, 1>(out); go<K, 32, 4>(out); go<K, 128, 4>(out); go<K, 128, 8>(out); }
int main() { int *out; CK(cudaMalloc(&out, 1 << 16)); printf("kind,instructions,ilp,warps,launch,warp,begin"); for (int t = 1; t <= TURNS; t++) printf(",t%d", t); puts("");
  kind<HFMA2>(out); kind<FFMA>(out); kind<LOP3>(out); kind<IMAD>(out); kind<MUFU>(out); kind<DFMA>(out); return 0; }
