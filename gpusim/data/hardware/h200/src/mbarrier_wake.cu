// When a warp goes on that waits at an mbarrier: how long it has waited when the phase completes, and from there to the clock behind the wait.
// nvcc -O3 -gencode arch=compute_90a,code=sm_90a mbarrier_wake.cu && ./a.out > mbarrier_wake.csv. One CTA of two warps; all lanes wait, or one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t; using u64 = uint64_t;
constexpr int STEPS = 320;
__device__ u32 clk() { u64 c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); return (u32)c; }
template <int WAIT> __device__ void wait(u32 b, u32 phase) {
  if (WAIT == 0) asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase) : "memory");
  if (WAIT == 1) asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase) : "memory");
  if (WAIT == 2) { u32 done;                                           // as CUTLASS: a try_wait ahead of the loop
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(b), "r"(phase) : "memory");
    if (!done) asm volatile("{\n.reg .pred p;\nL%=:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:\n}" :: "r"(b), "r"(phase) : "memory"); }
}
// who: 0 all lanes wait, 1 one elected lane, the others at __syncwarp
template <int WAIT, int WHO, int BULK> __global__ void k(char const *g, int3 *out) {
  __shared__ __align__(8) u64 bar; __shared__ u32 times[2]; __shared__ __align__(128) char s[4096];
  u32 b = (u32)__cvta_generic_to_shared(&bar), d = (u32)__cvta_generic_to_shared(s);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;\nfence.proxy.async;" :: "r"(b) : "memory");
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < STEPS; i++) {
    u32 delay = i * 4, t0 = 0, t1 = 0; __syncthreads();
    if (threadIdx.x >= 32) {
      t0 = clk();
      if (WHO == 0 || threadIdx.x == 32) wait<WAIT>(b, i & 1);
      __syncwarp();
      t1 = clk();
    } else if (threadIdx.x == 0) {
      u32 c = clk(); u32 until = c + delay; while ((int)(clk() - until) < 0) {}
      times[0] = clk();
      if (BULK) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 128;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 128, [%0];" :: "r"(b), "r"(d), "l"(g) : "memory"); }
      else asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory");
    }
    __syncthreads();
    if (threadIdx.x == 32) out[i] = make_int3(times[0] - t0, t1 - times[0], t1 - t0);
  }
}
char *g; int3 *out;
template <int WAIT, int WHO, int BULK> void go(char const *name) {
  for (int r = 0; r < 3; r++) { k<WAIT, WHO, BULK><<<1, 64>>>(g, out); CK(cudaDeviceSynchronize()); }
  for (int i = 0; i < STEPS; i++) printf("%s,%d,%d,%d\n", name, out[i].x, out[i].y, out[i].z);
}
int main() {
  CK(cudaMalloc(&g, 1 << 20)); CK(cudaMallocManaged(&out, STEPS * sizeof(int3))); puts("what,arrival_after_wait_cycles,from_arrival_cycles,whole_wait_cycles");
  go<0, 0, 0>("try_wait all lanes"); go<0, 1, 0>("try_wait one lane"); go<1, 0, 0>("test_wait all lanes"); go<1, 1, 0>("test_wait one lane");
  go<2, 0, 0>("two try_wait all lanes"); go<2, 1, 0>("two try_wait one lane"); go<0, 0, 1>("try_wait all lanes bulk"); go<2, 0, 1>("two try_wait all lanes bulk"); go<0, 1, 1>("try_wait one lane bulk");
}
