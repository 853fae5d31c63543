// Bytes and requests per cycle that L2 answers when loads ask for one, two, three or four sectors of each line.
// Every SM reads lines of its own (24 MB in all, in L2): 32 lanes x 4 bytes, each warp instruction touches 32 / n lines.
// sectors 5: every other warp asks for one sector a line, the others for four, as many requests each.
// first: the first sector that is asked for, of every line the same or another one from line to line (spread).
#include <cstdio>
#include <cuda_runtime.h>
__global__ void read(const char* data, int lines, int n, int spread, int rounds, long long* cycles, unsigned* out) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int mixed = n == 5;
  if (mixed) n = warp % 2 ? 1 : 4;
  const int per = mixed ? 8 : 32 / n;  // lines of a warp instruction; lanes beyond n * per repeat the last one
  int place = lane < n * per ? lane : n * per - 1;
  const char* mine = data + (size_t)blockIdx.x * lines * 128 + (place / n) * 128 + (place % n) * 32;
  unsigned sum = 0; long long first = 0;
  for (int r = 0; r <= rounds; r++) {
    if (r == 1) { __syncthreads(); first = clock64(); }
    #pragma unroll 8
    for (int line = warp * per; line + per <= lines; line += warps * per) {
      unsigned turn = spread ? (line + place / n) % (5 - n) * 32 : 0;
      unsigned x; asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(mine + (size_t)line * 128 + turn)); sum += x;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = clock64() - first;
  if (sum == 12345) *out = sum;
}
int main() {
  char* d; long long* c; unsigned* o; cudaMalloc(&d, 64 << 20); cudaMemset(d, 0, 64 << 20); cudaMalloc(&c, 8 * 132); cudaMalloc(&o, 4);
  printf("sectors,first,sms,warps,bytes_per_cycle,requests_per_cycle,requests_per_cycle_per_sm\n");
  for (int warps : {16, 32}) for (int sms : {1, 16, 66, 99, 132}) for (int spread : {0, 1}) for (int n : {1, 2, 3, 4, 5}) {
    if (n >= 4 && spread) continue;
    int lines = 1440, rounds = 8, per = n == 5 ? 8 : 32 / n, count = 0; double best = 1e18;
    for (int w = 0; w < warps; w++) for (int line = w * per; line + per <= lines; line += warps * per) count += per;
    for (int r = 0; r < 3; r++) {
      read<<<sms, warps * 32>>>(d, lines, n, spread, rounds, c, o);
      long long h[132]; cudaMemcpy(h, c, 8 * sms, cudaMemcpyDeviceToHost);
      long long longest = 0; for (int i = 0; i < sms; i++) longest = h[i] > longest ? h[i] : longest;
      if (longest < best) best = longest;
    }
    double requests = (double)count * rounds * sms / best;
    printf("%d,%s,%d,%d,%.0f,%.1f,%.3f\n", n, spread ? "spread" : "same", sms, warps, requests * 32 * (n == 5 ? 2.5 : n), requests, requests / sms); fflush(stdout);
  }
}
