// Turns of cp.async from L2 by one CTA: each thread issues COPIES of 16 bytes (rows of row_bytes, `pitch` apart, the same each turn), waits for its group and for the others: cycles
// from the clock in front to the one behind, of warp 0, mean over 40 turns; HINT: with L2's prefetch of 128 bytes.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
template <int COPIES, int HINT> __global__ void __launch_bounds__(256) turns(const char* data, int* out, int row_bytes, int pitch, int count) {
  extern __shared__ __align__(1024) char sm[]; uint32_t s = (uint32_t)__cvta_generic_to_shared(sm) + threadIdx.x * 16; int tid = threadIdx.x, per = row_bytes / 16, sum = 0, rows = blockDim.x / per;
  const char* p = data + (size_t)(tid / per) * pitch + (tid % per) * 16; size_t step = (size_t)rows * pitch; int way = blockDim.x * 16;
#pragma unroll 1
  for (int k = 0; k < count; k++) { __syncthreads(); int t0 = clock();
#pragma unroll
    for (int i = 0; i < COPIES; i++) { if (HINT) asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;" ::"r"(s + i * way), "l"(p + step * i) : "memory"); else asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(s + i * way), "l"(p + step * i) : "memory"); }
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory"); __syncthreads(); int t1 = clock(); sum += t1 - t0; }
  if (tid == 0) out[0] = sum; }
char* data; int* out;
template <int C, int H> void run(int warps, int row, int pitch) { int shared = 160 << 10, count = 40, h; cudaFuncSetAttribute(turns<C, H>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared); for (int i = 0; i < 3; i++) turns<C, H><<<1, 32 * warps, shared>>>(data, out, row, pitch, count); cudaDeviceSynchronize(); cudaMemcpy(&h, out, 4, cudaMemcpyDeviceToHost); printf("%d,%d,%d,%d,%d,%.2f\n", C, H, warps, row, pitch, h / double(count)); }
template <int C, int H> void all() { for (int warps : {1, 2, 4, 8}) for (int row : {64, 128, 256}) for (int pitch : {1024, 4096}) run<C, H>(warps, row, pitch); }
int main() { cudaMalloc(&data, 64 << 20); cudaMalloc(&out, 4096); cudaMemset(data, 0, 64 << 20); printf("copies,hint,warps,row_bytes,pitch,cycles\n"); all<1, 1>(); all<2, 1>(); all<4, 1>(); all<8, 1>(); all<8, 0>(); all<16, 1>(); if (cudaDeviceSynchronize()) printf("error\n"); }
