// Words by which CTAs wait for each other, as CUTLASS's Semaphore does it: `ctas` CTAs of 128 threads, one per SM, take
// turns: wait for the word, store `stores` times 16 bytes a thread (rows of 512 bytes a warp), release it for the next
// one. hop: cycles per turn; fence: cycles that thread 0's st.release takes until the clock behind it; got: cycles from
// the clock in front of the release until the CTA has its turn again, over the CTAs (hop again, from inside).
// Second kind, fence: `ctas` CTAs at once, `warps` warps store and each fences: cycles of the fence.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
constexpr int ROUNDS = 24;
__device__ int load(int* p) { int x; asm volatile("ld.global.acquire.gpu.b32 %0, [%1];\n" : "=r"(x) : "l"(p)); return x; }
__device__ void store(int* p, int x) { asm volatile("st.global.release.gpu.b32 [%0], %1;\n" ::"l"(p), "r"(x)); }
template <int STORES> __global__ void chain(int* word, uint4* data, int* out, int ctas) {
  uint4* mine = data + blockIdx.x * 128 * 64 + threadIdx.x;
  bool first = threadIdx.x == 0; int begin = 0, end = 0, fence = 0, n = 0;
  for (int round = 0; round < ROUNDS; round++) {
    int want = round * ctas + blockIdx.x, state = -1;
    if (first) state = load(word);
    while (__syncthreads_and(state != want)) if (first) state = load(word);
    __syncthreads();
    if (round == 4) CLOCK(begin);
    CLOCK(end);
#pragma unroll
    for (int i = 0; i < STORES; i++) mine[i * 128] = uint4{(unsigned)round, 1, 2, 3};
    __syncthreads();
    if (first) { int t0, t1; CLOCK(t0); store(word, want + 1); CLOCK(t1); if (round >= 4) { fence += t1 - t0; n++; } }
  }
  if (first) { out[blockIdx.x * 2] = (end - begin) / (ROUNDS - 5); out[blockIdx.x * 2 + 1] = fence / n; }
}
template <int STORES> __global__ void fences(uint4* data, int* out) {
  uint4* mine = data + blockIdx.x * 128 * 64 + threadIdx.x; int sum = 0;
  for (int round = 0; round < 12; round++) {
    __syncthreads(); int t0, t1;
#pragma unroll
    for (int i = 0; i < STORES; i++) mine[i * 128] = uint4{(unsigned)round, 1, 2, 3};
    CLOCK(t0); asm volatile("fence.acq_rel.gpu;" ::: "memory"); CLOCK(t1);
    if (round >= 4) sum += t1 - t0;
  }
  if ((threadIdx.x & 31) == 0) atomicAdd(out + blockIdx.x, sum / 8);
}
int *word, *out; uint4* data;
template <int S> void chains() { for (int ctas : {1, 2, 3, 4, 8, 132}) { std::vector<int> h(264); double hop = 0, fence = 0;
    for (int r = 0; r < 2; r++) { cudaMemset(word, 0, 4); chain<S><<<ctas, 128, 200 << 10>>>(word, data, out, ctas); cudaDeviceSynchronize(); }
    cudaMemcpy(h.data(), out, 264 * 4, cudaMemcpyDeviceToHost); for (int i = 0; i < ctas; i++) { hop += h[2 * i]; fence += h[2 * i + 1]; }
    printf("chain,%d,%d,4,%.0f,%.0f\n", S, ctas, hop / ctas / ctas, fence / ctas); } }
template <int S> void fence() { for (int ctas : {1, 16, 66, 132}) for (int warps : {1, 4}) { std::vector<int> h(132); double sum = 0;
    for (int r = 0; r < 2; r++) { cudaMemset(out, 0, 132 * 4); fences<S><<<ctas, 32 * warps, 200 << 10>>>(data, out); cudaDeviceSynchronize(); }
    cudaMemcpy(h.data(), out, 132 * 4, cudaMemcpyDeviceToHost); for (int i = 0; i < ctas; i++) sum += h[i];
    printf("fence,%d,%d,%d,,%.0f\n", S, ctas, warps, sum / ctas / warps); } }
int main() {
  cudaMalloc(&word, 4); cudaMalloc(&out, 4096); cudaMalloc(&data, 132l * 128 * 64 * 16);
  cudaFuncSetAttribute(chain<0>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
#define A(S) cudaFuncSetAttribute(chain<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10); cudaFuncSetAttribute(fences<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
  A(0) A(1) A(4) A(16) A(64)
  printf("kind,stores,ctas,warps,hop_cycles,fence_cycles\n");
  chains<0>(); chains<1>(); chains<4>(); chains<16>(); chains<64>(); fence<0>(); fence<1>(); fence<4>(); fence<16>(); fence<64>();
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
