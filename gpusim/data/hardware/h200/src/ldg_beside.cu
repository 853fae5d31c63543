// A load (KIND 0 LDG.32, 1 LDG.128 of eight lines, both past L1 from L2, 3 LDS, 4 ldmatrix.x4) among 32 HMMA.16816 that keep A and not B, by each of 1, 2 or 4 warps in
// sub-partitions of their own: cycles from the clock in front until the data are there and all HMMA are issued, mean over 30 rounds (new lines) and warps.
// ldg_beside.py moves the load behind the j-th HMMA in the machine code (nvcc puts it elsewhere).
#include <cstdint>
#define HMMA(c, b) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]) : "memory")
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;" : "=r"(t)::"memory")
template <int KIND> __global__ void __launch_bounds__(128) load(const char* data, int* out, int rounds) {
  __shared__ __align__(16) int sm[1024]; int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, sum = 0; unsigned base = (unsigned)__cvta_generic_to_shared(sm) + lane * (KIND == 4 ? 16 : 4);
  const char* p = data + (size_t)warp * 8 * 4096 + (KIND == 1 ? (lane / 4) * 4096 + (lane % 4) * 16 : lane * 4);
  int a[4], b[4][2]; float c[8][4]; unsigned x = 0; for (int i = 0; i < 4; i++) { a[i] = ((volatile int*)out)[200 + i]; b[i][0] = ((volatile int*)out)[210 + i]; b[i][1] = ((volatile int*)out)[220 + i]; }
  for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++) c[i][j] = 0; sm[threadIdx.x] = 0;
#pragma unroll 1
  for (int k = 0; k < rounds; k++) { int t0, t1; unsigned v[4]; __syncthreads(); CLOCK(t0);
    if (KIND == 0) asm volatile("ld.global.cg.b32 %0,[%1];" : "=r"(v[0]) : "l"(p) : "memory");
    if (KIND == 1) asm volatile("ld.global.cg.v4.b32 {%0,%1,%2,%3},[%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(p) : "memory");
    if (KIND == 3) asm volatile("ld.shared.b32 %0,[%1];" : "=r"(v[0]) : "r"(base) : "memory");
    if (KIND == 4) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(base) : "memory");
#pragma unroll
    for (int i = 0; i < 32; i++) HMMA(c[i % 8], b[i % 4]);
    x ^= v[0]; if (KIND == 1 || KIND == 4) { x += v[1]; x ^= v[2]; x += v[3]; }
    CLOCK(t1); sum += t1 - t0; p += 128; }
  float s = 0; for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++) s += c[i][j];
  if (lane == 0) { out[warp] = sum; out[100 + warp] = x; ((float*)out)[110 + warp] = s; } }
template __global__ void load<0>(const char*, int*, int); template __global__ void load<1>(const char*, int*, int); template __global__ void load<3>(const char*, int*, int); template __global__ void load<4>(const char*, int*, int);
