// How the clock of SMs follows what they do: SMs that multiply (wgmma m64n128k16, mma.sync m16n8k16 or FFMA) for `busy` turns and spin for `idle` cycles, beside a
// warpgroup that copies 2 KiB from L2 every `pace` cycles (0: as fast as it can, -1: never). The clock of one SM against the global timer, from an idle chip on.
// nvcc -O3 -arch=sm_90a governor.cu; ./a.out MICROSECONDS KIND:SMS:BUSY:IDLE:PACE:RANDOM ...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t; using u64 = unsigned long long;
__device__ u64 gtime() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ u64 desc(u32 a) { return u64((a & 0x3ffff) >> 4) | (u64(1) << 16) | (u64(64) << 32) | (u64(1) << 62); }
__device__ void wgmma128(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) : "l"(a), "l"(b)); }
enum { NONE, WGMMA, MMA, FFMA };
struct Log { u64 time, clock; };
__global__ void __launch_bounds__(256, 1) work(int kind, int sms, int busy, int idle, int pace, int random, u64 nanoseconds, const char *g, Log *log, int *logged, u64 *turns, u64 *copies, float *sink) {
  extern __shared__ __align__(1024) char s[];
  if (blockIdx.x >= sms) return;
  for (int i = threadIdx.x; i < 16384; i += blockDim.x) { u32 x = i * 2654435761u + 7; x ^= x >> 15; x *= 2246822519u; x ^= x >> 13; ((u32 *)s)[i] = random ? (x & 0x83ff83ffu) | 0x38003800u : 0; }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  u32 base = (u32)__cvta_generic_to_shared(s); u64 begin = gtime(); float sum = 0; u64 count = 0;
  if (threadIdx.x < 128) {
    u64 a = desc(base), b = desc(base + 16384); float d[64]; for (int j = 0; j < 64; j++) d[j] = threadIdx.x * 0.37f + j;
    u32 r[6]; for (int j = 0; j < 6; j++) r[j] = ((u32 *)s)[threadIdx.x * 6 + j];
    int n = 0; u64 next = begin; volatile int *stop = (int *)(s + 131068); if (threadIdx.x == 0) *stop = 0;
    while (true) {
      u64 now = gtime(); if (threadIdx.x == 0 && now >= begin + nanoseconds) *stop = 1;
      asm volatile("bar.sync 1, 128;" ::: "memory"); int last = *stop; asm volatile("bar.sync 1, 128;" ::: "memory"); if (last) break;
      if (threadIdx.x == 0 && blockIdx.x == 0 && now >= next && n < 4096) { log[n++] = {now, (u64)clock64()}; next = now + 2000; }
      for (int t = 0; t < busy; t++) {
        if (kind == WGMMA) {
          asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
          for (int i = 0; i < 8; i++) wgmma128(d, a + 2 * (i % 4), b + 2 * (i % 4));
          asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        } else if (kind == MMA) {
#pragma unroll
          for (int i = 0; i < 32; i++) { int j = i % 16 * 4; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[j]), "+f"(d[j + 1]), "+f"(d[j + 2]), "+f"(d[j + 3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5])); }
        } else if (kind == FFMA) {
#pragma unroll
          for (int i = 0; i < 256; i++) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(d[i % 16]) : "f"(d[20 + i % 4]), "f"(d[30 + i % 4]));
        }
        count++;
      }
      if (idle) { long long t = clock64() + idle; while (clock64() < t); __syncwarp(); }
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) *logged = n;
    for (int j = 0; j < 64; j++) sum += d[j];
    if (threadIdx.x == 0) turns[blockIdx.x] = count;
  } else if (pace >= 0) {
    int i = threadIdx.x - 128; u32 x = blockIdx.x; long long due = clock64();
    while (gtime() < begin + nanoseconds) {
#pragma unroll 1
      for (int t = 0; t < 16; t++) {
        x = x * 1664525u + 1013904223u;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group; cp.async.wait_group 7;" :: "r"(base + 65536 + (t & 7) * 2048 + i * 16), "l"(g + (size_t)(x >> 19) * 2048 + i * 16) : "memory");
        count++; due += pace;
        if (pace) { while (clock64() < due); }
      }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (i == 0) copies[blockIdx.x] = count;
  }
  sink[blockIdx.x * 256 + threadIdx.x] = sum;
}
int main(int argc, char **argv) {
  char *g; Log *log; int *logged; u64 *turns, *copies; float *sink;
  CK(cudaMalloc(&g, 16 << 20)); CK(cudaMemset(g, 7, 16 << 20)); CK(cudaMallocManaged(&log, 4096 * sizeof(Log))); CK(cudaMallocManaged(&logged, 4)); CK(cudaMallocManaged(&turns, 2048)); CK(cudaMallocManaged(&copies, 2048)); CK(cudaMalloc(&sink, 132 * 1024));
  CK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 131072));
  const char *names[] = {"none", "wgmma", "mma", "ffma"}; double per_turn[] = {0, 8 * 64, 32 * 8, 256};  // cycles of full rate: m64n128k16 64, four warps' m16n8k16 8 (wgmma's rate), FFMA 1
  puts("kind,sms,busy,idle,pace,random,run_us,from_us,to_us,sm_mhz,use,l2_bytes_per_cycle");
  double us = atof(argv[1]);
  for (int i = 2; i < argc; i++) {
    int kind, sms, busy, idle, pace, random; sscanf(argv[i], "%d:%d:%d:%d:%d:%d", &kind, &sms, &busy, &idle, &pace, &random);
    for (int rep = 0; rep < 2; rep++) {
      for (int k = 0; k < 132; k++) turns[k] = copies[k] = 0;
      usleep(30000);
      work<<<132, 256, 131072>>>(kind, sms, busy, idle, pace, random, (u64)(us * 1000), g, log, logged, turns, copies, sink); CK(cudaDeviceSynchronize());
      if (!rep) continue;
      int n = *logged; double all = log[n - 1].clock - log[0].clock, c = 0, t = 0; for (int k = 0; k < sms; k++) { c += copies[k] * 2048.0; t += turns[k]; }
      double edges[] = {0, 10, 20, 30, 50, 100, 200, 400, 800, 1600, 3200, 6400}; 
      for (int e = 0; e < 11; e++) { int f = 0, l = 0; for (int k = 0; k < n; k++) { double at = (log[k].time - log[0].time) / 1000.0; if (at <= edges[e]) f = k; if (at <= edges[e + 1]) l = k; } if (l <= f) break;
        printf("%s,%d,%d,%d,%d,%d,%.0f,%.1f,%.1f,%.0f,%.3f,%.0f\n", names[kind], sms, busy, idle, pace, random, us, (log[f].time - log[0].time) / 1000.0, (log[l].time - log[0].time) / 1000.0, 1000.0 * (log[l].clock - log[f].clock) / (log[l].time - log[f].time), t / sms * per_turn[kind] / all, c / all); if (l == n - 1) break; }
      fflush(stdout);
    }
  }
}
