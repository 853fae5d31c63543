// What reads and writes of L2 take from each other, and what writes of half sectors cost. Of 132 SMs those whose number
// modulo 4 is below 2 read lines that L2 holds (all do where nobody writes), the others write lines, each CTA of 16 warps
// its own 128 KiB again and again; a writer alone is a launch of one CTA. A store writes 16 bytes at each of `lanes` places,
// `stride` bytes apart; `half`: the next one writes the other half of the same sectors. Bytes per cycle of all readers and of
// all writers.
#include <cstdio>
#include <cuda_runtime.h>
constexpr int WARPS = 16, UNROLL = 16;
__global__ void move(const char* from, char* to, int readers, int writers, int lanes, int stride, int half, int rounds,
                     int step, long long* cycles, unsigned* out) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sm = blockIdx.x;
  const int half_of_sms = sm >> 1 & 1;  // 0: reads, 1: writes, unless all do the same
  if (readers == 66 && half_of_sms) readers = 0;
  if (writers == 66 && !half_of_sms) writers = 0;
  unsigned sum = 0;
  size_t mine = (size_t)sm * 131072 + warp * 512;
  long long first = clock64();
  if (readers)
    for (int round = 0; round < rounds; round++) {
      #pragma unroll
      for (int i = 0; i < UNROLL; i++) {
        uint4 x;
        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                     : "l"(from + mine + lane * 16 + i * 8192 + (size_t)round * step) : "memory");
        sum += x.x ^ x.y ^ x.z ^ x.w;
      }
    }
  if (writers) {
    char* p = to + (size_t)sm * 131072 + warp * (half ? 512 : lanes * stride) + (lane & (lanes - 1)) * stride;
    for (int round = 0; round < rounds; round++) {
      #pragma unroll
      for (int i = 0; i < UNROLL; i++) {
        char* q = p + (half ? (i >> 1) * 8192 + (i & 1) * 16 : stride > 32 ? i * 32 % 128 : i * 8192);
        asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(q), "r"(rounds) : "memory");
      }
    }
    __threadfence();
  }
  if (rounds < 0) *out = sum;
  if (threadIdx.x == 0) cycles[sm] = clock64() - first;
}
int main() {
  char *a, *b; long long* c; unsigned* o; long long h[132];
  cudaMalloc(&a, 32 << 20); cudaMalloc(&b, 64 << 20); cudaMemset(a, 0, 32 << 20); cudaMalloc(&c, sizeof h); cudaMalloc(&o, 4);
  printf("readers,writers,lanes,stride,half,read_bytes_per_cycle,write_bytes_per_cycle\n");
  const int patterns[][3] = {{32, 16, 0}, {16, 32, 1}, {16, 32, 0}, {16, 128, 0}};
  for (auto& p : patterns) for (int readers : {0, 66, 132}) for (int writers : {0, 1, 66, 132}) {
    if (readers + writers > 132 || !(readers + writers) || (readers && writers == 1) || (!writers && p[2] + p[1] > 16)) continue;
    const int rounds = 60;
    const int ctas = writers == 1 ? 1 : 132;
    for (int r = 0; r < 3; r++) move<<<ctas, 32 * WARPS>>>(a, b, readers, writers, p[0], p[1], p[2], rounds, 0, c, o);
    cudaMemcpy(h, c, sizeof h, cudaMemcpyDeviceToHost);
    double rd = 0, wr = 0;
    for (int i = 0; i < ctas; i++) {
      bool reads = readers > 66 || (readers && i % 4 < 2), writes = writers > 66 || (writers && i % 4 >= 2);
      if (writers == 1) writes = true;
      double accesses = (double)rounds * UNROLL * WARPS;
      if (reads) rd += accesses * 512 / h[i]; else if (writes) wr += accesses * 16 * p[0] / h[i];
    }
    printf("%d,%d,%d,%d,%d,%.0f,%.1f\n", readers, writers, p[0], p[1], p[2], rd, wr); fflush(stdout);
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
