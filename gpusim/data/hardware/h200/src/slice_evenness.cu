// How evenly L2's slices share lines: one warp of one SM reads `count` lines of 128 bytes, one every `pitch` bytes from
// `base` on, ROUNDS times past L1. Under ncu: lts__t_sectors_srcunit_tex .max, .min, .sum over the slices.
// slice_evenness PITCH COUNT BASE ... : one launch for each three numbers.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
constexpr int ROUNDS = 64;
__global__ void read(const char* data, long pitch, int count, unsigned* out) {
  unsigned sum = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = threadIdx.x / 4; i < count; i += blockDim.x / 4) {
      unsigned x;
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(data + i * pitch + threadIdx.x % 4 * 32));
      sum += x;
    }
  if (sum == 12345) *out = sum;
}
int main(int argc, char** argv) {
  char* data; unsigned* out;
  cudaMalloc(&data, 256l << 20); cudaMemset(data, 0, 256l << 20); cudaMalloc(&out, 4);
  for (int i = 1; i + 2 < argc; i += 3) read<<<1, 1024>>>(data + atol(argv[i + 2]), atol(argv[i]), atoi(argv[i + 1]), out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
