// nvcc -O3 -std=c++17 -arch=sm_80 (and sm_90a) -cubin; cuobjdump -sass: small_kernels_sm80.sass.gz, ..._sm90.sass.gz
#include <cstdint>
__global__ void transpose_by_division(float *a, const float *b, int w, int h, int stride) {
  int i = threadIdx.x + blockIdx.x * blockDim.x, y = i / w, x = i % w;
  if (y < h) a[y * stride + x] = b[(size_t)x * h + y];
}
__global__ void copy_with_zero_fill(float *a, const float *b, int n) {
  __shared__ __align__(128) float s[2][256 * 4];
  int t = threadIdx.x + threadIdx.y * blockDim.x, row = blockIdx.y * 256 + t;
  for (int k = 0; k < n; k++) {
    uint32_t d = (uint32_t)__cvta_generic_to_shared(&s[k & 1][t * 4]);
    int bytes = row + k * 7 < n * 5 ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(d), "l"(b + (size_t)row * 4 + k * 64), "r"(bytes) : "memory");
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    a[(size_t)row * n + k] = s[k & 1][(t ^ 5) * 4];
    __syncthreads();
  }
}
__global__ void producer_consumer(float *a, const float *b, int n) {
  __shared__ float s[128];
  if (__shfl_sync(~0u, threadIdx.x / 32, 0) == 0) {
    for (int k = 0; k < n; k++) {
      for (int j = 0; j < 4; j++) s[threadIdx.x + 32 * j] = b[k * 128 + threadIdx.x + 32 * j];
      asm volatile("bar.sync 1,128;");
      asm volatile("bar.sync 2,128;");
    }
  } else {
    float sum = 0;
    for (int k = 0; k < n; k++) {
      asm volatile("bar.sync 1,128;");
      sum += s[threadIdx.x - 32];
      asm volatile("bar.sync 2,128;");
    }
    a[blockIdx.x * 96 + threadIdx.x - 32] = sum;
  }
}
__global__ void double_in_bounds(float *a, const float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i] * 2;
}
__global__ void gather(float *a, const int *index, const float *b) { a[threadIdx.x] = b[index[threadIdx.x]]; }
__global__ void lane_branch(float *a, int n) {
  float x = 1;
  if (threadIdx.x % 2) for (int k = 0; k < n; k++) x = x * x + k;
  else for (int k = 0; k < 3 * n; k++) x = x / (k + x);
  a[threadIdx.x] = x;
}
