// How long mma.sp.m16n8k32 (f16 to f32) takes by which operands change from one to the next: A, B, metadata, none, all.
// One CTA of 4 to 16 warps. Prints: own operands, warps, cycles per mma.sp of a warp. Leaves out other arithmetic.
#include <cstdio>
#include <cuda_runtime.h>
constexpr int CHAINS = 8, TURNS = 256;
template <bool A, bool B, bool E> __global__ void loop(unsigned const *in, float *out, long long *cycles) {
  unsigned a[CHAINS][4], b[CHAINS][4], e[CHAINS];
  float c[CHAINS][4];
  for (int n = 0; n < CHAINS; ++n) {
    e[n] = in[n];   // metadata that exist: 0x4444...
    for (int i = 0; i < 4; ++i) { a[n][i] = in[32 + n * 4 + i]; b[n][i] = in[96 + n * 4 + i]; c[n][i] = 0; }
  }
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int turn = 0; turn < TURNS; ++turn)
#pragma unroll
    for (int n = 0; n < CHAINS; ++n) {
      int const x = A ? n : 0, y = B ? n : 0, z = E ? n : 0;
      asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},"
                   "{%8,%9,%10,%11},{%0,%1,%2,%3},%12,0x0;"
                   : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
                   : "r"(a[x][0]), "r"(a[x][1]), "r"(a[x][2]), "r"(a[x][3]), "r"(b[y][0]), "r"(b[y][1]), "r"(b[y][2]),
                     "r"(b[y][3]), "r"(e[z]));
    }
  long long spent = clock64() - start;
  float sum = 0;
  for (int n = 0; n < CHAINS; ++n) sum += c[n][0] + c[n][1] + c[n][2] + c[n][3];
  out[threadIdx.x] = sum;
  if (threadIdx.x == 0) *cycles = spent;
}
template <bool A, bool B, bool E> void run(char const *own, unsigned *in, float *out, long long *cycles) {
  for (int warps : {4, 8, 16}) {
    long long spent = 0;
    for (int i = 0; i < 3; ++i) {
      loop<A, B, E><<<1, 32 * warps>>>(in, out, cycles);
      cudaMemcpy(&spent, cycles, 8, cudaMemcpyDeviceToHost);
    }
    std::printf("%s,%d,%.3f\n", own, warps, double(spent) / (TURNS * CHAINS));
  }
}
int main() {
  unsigned *in, host[160]; float *out; long long *cycles;
  for (unsigned &word : host) word = 0x44444444u;
  cudaMalloc(&in, sizeof host); cudaMalloc(&out, 4096); cudaMalloc(&cycles, 8);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  std::puts("own,warps,cycles_per_mma");
  run<false, false, false>("none", in, out, cycles); run<true, false, false>("A", in, out, cycles);
  run<false, true, false>("B", in, out, cycles); run<false, false, true>("E", in, out, cycles);
  run<true, false, true>("A E", in, out, cycles); run<false, true, true>("B E", in, out, cycles);
  run<true, true, false>("A B", in, out, cycles); run<true, true, true>("A B E", in, out, cycles);
  return cudaGetLastError() != cudaSuccess;
}
