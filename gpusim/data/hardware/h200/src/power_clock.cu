// What the clock of SMs comes to while they multiply for `busy` turns and spin for `idle` cycles: wgmma m64n256k16 (1) or m64n128k16 (3) by two warpgroups, mma.sync m16n8k16 by
// eight warps (2), or n128 on data that a bulk copy has brought (4); beside three warps (one with 4) that have the TMA copy 8 KiB (4: 32 KiB) from L2 every `pace` cycles (0: as
// fast as it can, -1: never but with 4). Values: 0 zeros, 1 random signs and mantissas of one exponent, 2 even from -4 to 4, 3 whole numbers from -4 to 4. The clock of one SM against
// the global timer, from an idle chip on.
// nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a power_clock.cu; ./a.out MICROSECONDS KIND:SMS:BUSY:IDLE:PACE:VALUES ...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)
using u32 = uint32_t; using u64 = unsigned long long;
constexpr int STAGE = 8192, STAGES = 24, FOOT = 16 << 20, PRODUCERS = 3, RING = STAGES / PRODUCERS;
__device__ u64 gtime() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ u64 desc(u32 a) { return u64((a & 0x3ffff) >> 4) | (u64(1) << 16) | (u64(64) << 32) | (u64(1) << 62); }
__device__ void wgmma256(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) : "l"(a), "l"(b)); }
__device__ void wgmma128(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) : "l"(a), "l"(b)); }
enum { NONE, WGMMA, MMA, WGMMA128, STARVED };
struct Log { u64 time, clock; };
__global__ void __launch_bounds__(256 + 32 * PRODUCERS, 1) work(int kind, int sms, int busy, int idle, int pace, u64 nanoseconds, const char *g, Log *log, int *logged, u64 *turns, u64 *copies, float *sink) {
  extern __shared__ __align__(1024) char s[];
  if (blockIdx.x >= sms) return;
  u32 base = (u32)__cvta_generic_to_shared(s), bars = base + STAGE * STAGES; volatile int *stop = (int *)(s + STAGE * STAGES + 512);
  for (int i = threadIdx.x; i < STAGE * STAGES / 4; i += blockDim.x) ((u32 *)s)[i] = ((const u32 *)g)[blockIdx.x * 4096 + i];
  if (threadIdx.x == 0) { *stop = 0; for (int k = 0; k < STAGES + 24; k++) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(bars + 8 * k)); }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  u64 begin = gtime(); float sum = 0; u64 count = 0;
  if (threadIdx.x < 256) {
    int group = threadIdx.x / 128; float d[128]; for (int j = 0; j < 128; j++) d[j] = threadIdx.x * 0.37f + j;
    u32 r[6]; for (int j = 0; j < 6; j++) r[j] = ((u32 *)s)[threadIdx.x * 6 + j];
    int n = 0; u64 next = begin; u32 stage = kind == STARVED ? group : 0;
    long long due = clock64() + (blockIdx.x * 37 + group * 411) % 1009;   // SMs apart
    while (true) {
      u64 now = gtime(); if (threadIdx.x == 0 && now >= begin + nanoseconds) *stop = 1;
      if (threadIdx.x % 128 == 0) stop[1 + group] = *stop;
      asm volatile("bar.sync %0, 128;" :: "r"(1 + group) : "memory"); int last = stop[1 + group]; asm volatile("bar.sync %0, 128;" :: "r"(1 + group) : "memory");
      if (threadIdx.x == 0 && blockIdx.x == 0 && now >= next && n < 4096) { log[n++] = {now, (u64)clock64()}; next = now + 1000; }
      if (last) break;
      for (int t = 0; t < busy; t++) {
        if (kind == STARVED) {
          u32 st = stage % 6, full = bars + 256 + 8 * st, parity = (stage / 6) & 1, done = 0;
          while (!done) { asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(full), "r"(parity) : "memory"); done |= *stop; }
          u64 a = desc(base + st * 32768), b = desc(base + st * 32768 + 16384);
          asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
          for (int i = 0; i < 8; i++) wgmma128(d, a + 2 * (i % 4), b + 2 * i);
          asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
          if (threadIdx.x % 128 == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(bars + 320 + 8 * st) : "memory");
          stage += 2; count++; continue;
        }
        if (kind == WGMMA) {
          u64 a = desc(base + stage % STAGES * STAGE), b = desc(base + (stage + 1) % (STAGES - 4) * STAGE); stage += 3;
          asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
          for (int i = 0; i < 4; i++) wgmma256(d, a + 2 * i, b + 2 * i);
          asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        } else if (kind == WGMMA128) {
          u64 a = desc(base + stage % STAGES * STAGE), b = desc(base + (stage + 1) % (STAGES - 4) * STAGE); stage += 3;
          asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
          for (int i = 0; i < 8; i++) wgmma128(d, a + 2 * (i % 4), b + 2 * i);
          asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        } else if (kind == MMA) {
#pragma unroll
          for (int i = 0; i < 32; i++) { int j = i % 16 * 4; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[j]), "+f"(d[j + 1]), "+f"(d[j + 2]), "+f"(d[j + 3]) : "r"(r[i % 3]), "r"(r[1]), "r"(r[2 + i % 2]), "r"(r[3]), "r"(r[4]), "r"(r[5 - i % 2])); }
        }
        count++;
      }
      if (idle) { due = clock64() + idle; while (clock64() < due); __syncwarp(); }
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) *logged = n;
    for (int j = 0; j < 128; j++) sum += d[j];
    if (threadIdx.x == 0) turns[blockIdx.x] = count;
  } else if (kind == STARVED) {
    if (threadIdx.x == 256) {
      u32 x = blockIdx.x * 7919u + 17; long long due = clock64(); u32 n = 0;
      while (true) {
        u32 st = n % 6, full = bars + 256 + 8 * st, empty = bars + 320 + 8 * st, parity = (n / 6 - 1) & 1, done = n < 6;
        long long give = clock64() + 200000;
        while (!done && clock64() < give) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(empty), "r"(parity) : "memory");
        if (!done) break;   // consumers have left
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(full), "r"(32768) : "memory");
        for (int q = 0; q < 4; q++) { x = x * 1664525u + 1013904223u; asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(base + st * 32768 + q * 8192), "l"(g + (size_t)((x >> 8) & (FOOT / STAGE - 1)) * STAGE), "r"(STAGE), "r"(full) : "memory"); }
        n++; due += pace; if (pace > 0) { while (clock64() < due) ; }
      }
      copies[blockIdx.x] = n * 4;
    }
  } else if (threadIdx.x % 32 == 0 && pace >= 0) {
    int p = threadIdx.x / 32 - 8; u32 x = (blockIdx.x * PRODUCERS + p) * 7919u + 17, ring = base + p * RING * STAGE, bar0 = bars + p * RING * 8, k = 0, parity = 1; long long due = clock64();
    while (!*stop) {
#pragma unroll 1
      for (int t = 0; t < RING; t++) {
        u32 bar = bar0 + 8 * k, done = count < RING;
        while (!done) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
        x = x * 1664525u + 1013904223u;
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(bar), "r"(STAGE) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(ring + k * STAGE), "l"(g + (size_t)((x >> 8) & (FOOT / STAGE - 1)) * STAGE), "r"(STAGE), "r"(bar) : "memory");
        count++; if (++k == RING) { k = 0; parity ^= 1; }
        due += pace; if (pace) { while (clock64() < due) ; }
      }
    }
    for (int j = 0; j < RING; j++) { u32 done = 0; while (!done) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar0 + 8 * j), "r"(parity) : "memory"); }
    atomicAdd(copies + blockIdx.x, count);
  }
  sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
int main(int argc, char **argv) {
  char *g; Log *log; int *logged; u64 *turns, *copies; float *sink; size_t bytes = FOOT + (4 << 20);
  CK(cudaMalloc(&g, bytes)); CK(cudaMallocManaged(&log, 4096 * sizeof(Log))); CK(cudaMallocManaged(&logged, 4)); CK(cudaMallocManaged(&turns, 2048)); CK(cudaMallocManaged(&copies, 2048)); CK(cudaMalloc(&sink, 132 * 4 * (256 + 32 * PRODUCERS)));
  CK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGE * STAGES + 1024));
  const char *names[] = {"none", "wgmma", "mma", "wgmma_n128", "wgmma_waits"}; double per_turn[] = {0, 2 * 4 * 128, 2 * 32 * 8, 2 * 8 * 64, 2 * 8 * 64};  // cycles at wgmma's rate, both warpgroups
  puts("kind,sms,busy,idle,pace,random,run_us,from_us,to_us,sm_mhz,use,l2_bytes_per_cycle");
  double us = atof(argv[1]); u32 *h = (u32 *)malloc(bytes); int filled = -1;
  for (int i = 2; i < argc; i++) {
    int kind, sms, busy, idle, pace, random; sscanf(argv[i], "%d:%d:%d:%d:%d:%d", &kind, &sms, &busy, &idle, &pace, &random);
    if (random != filled) { u64 x = 88172645463325252ull; for (size_t k = 0; k < bytes / 4; k++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; u32 v = u32(x >> 16); if (random == 2) { __half2 p = __floats2half2_rn(((v & 0xffff) - 32768.0f) / 8192, ((v >> 16) - 32768.0f) / 8192); h[k] = *(u32 *)&p; } else if (random == 3) { __half2 p = __floats2half2_rn(rintf(((v & 0xffff) - 32768.0f) / 8192), rintf(((v >> 16) - 32768.0f) / 8192)); h[k] = *(u32 *)&p; } else h[k] = random ? (v & 0x83ff83ffu) | 0x38003800u : 0; } CK(cudaMemcpy(g, h, bytes, cudaMemcpyHostToDevice)); filled = random; }
    for (int rep = 0; rep < 2; rep++) {
      for (int k = 0; k < 132; k++) turns[k] = copies[k] = 0;
      CK(cudaDeviceSynchronize()); usleep(30000);
      work<<<132, 256 + 32 * PRODUCERS, STAGE * STAGES + 1024>>>(kind, sms, busy, idle, pace, (u64)(us * 1000), g, log, logged, turns, copies, sink); CK(cudaDeviceSynchronize());
      if (!rep) continue;
      int n = *logged; double all = log[n - 1].clock - log[0].clock, c = 0, t = 0; for (int k = 0; k < sms; k++) { c += copies[k] * (double)STAGE; t += turns[k]; }
      double edges[] = {0, 10, 20, 30, 50, 100, 200, 400, 800, 1600, 3200, 6400};
      for (int e = 0; e < 11; e++) { int f = 0, l = 0; for (int k = 0; k < n; k++) { double at = (log[k].time - log[0].time) / 1000.0; if (at <= edges[e]) f = k; if (at <= edges[e + 1]) l = k; } if (l <= f) break;
        printf("%s,%d,%d,%d,%d,%d,%.0f,%.1f,%.1f,%.0f,%.3f,%.0f\n", names[kind], sms, busy, idle, pace, random, us, (log[f].time - log[0].time) / 1000.0, (log[l].time - log[0].time) / 1000.0, 1000.0 * (log[l].clock - log[f].clock) / (log[l].time - log[f].time), t / sms * per_turn[kind] / all, c / all); if (l == n - 1) break; }
      fflush(stdout);
    }
  }
}
