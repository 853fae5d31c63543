// Turns that wait for cold tiles of A and B by cp.async (rows of 64 bytes 4 KiB apart, another line each turn) by 1 to 132 CTAs that share tiles as those of a GEMM do or none: cycles from a turn's first copy until
// each warp's own copies are there (`own`) and until the CTA's are (`cta`), means over turns, warps, CTAs and four launches when L2 holds other data that were read (`cold` 0: launched once more). Behind a memset, whose lines L2 has to write to DRAM first, 132 CTAs wait 40 to 250 cycles longer with tiles of their own.
#include <cstdio>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
template <int R> __global__ void __launch_bounds__(128) turns(const char* a, const char* b, unsigned* out, int count, int pitch, int wait, int shared) { // R rows of A and as many of B
  extern __shared__ __align__(1024) char sm[]; uint32_t s = (uint32_t)__cvta_generic_to_shared(sm) + threadIdx.x * 16; int tid = threadIdx.x; unsigned h = 12345u; float f = tid, g = 0; int cta = blockIdx.y * gridDim.x + blockIdx.x;
  const char* p = a + (size_t)((shared ? blockIdx.x : cta) * R + tid / 4) * pitch + tid % 4 * 16; const char* q = b + (size_t)((shared ? blockIdx.y : cta) * R + tid / 4) * pitch + tid % 4 * 16;
#pragma unroll 1
  for (int t = 0; t < count; t++) { h = h * 1664525u + 1013904223u; int n = wait + (h >> 25);
#pragma unroll 1
    for (int i = 0; i < n; i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;" : "+f"(f));
    __syncthreads(); unsigned t0 = clock();
#pragma unroll
    for (int i = 0; i < R / 32; i++) asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;" ::"r"(s + i * 2048), "l"(p + (size_t)i * 32 * pitch) : "memory");
#pragma unroll
    for (int i = 0; i < R / 32; i++) asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;" ::"r"(s + 8192 + i * 2048), "l"(q + (size_t)i * 32 * pitch) : "memory");
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory"); unsigned t1 = clock(); __syncthreads(); float v; asm volatile("ld.shared.f32 %0,[%1];" : "=f"(v) : "r"(s) : "memory"); g += v; asm volatile("fma.rn.f32 %0,%0,%0,%0;" : "+f"(g)); unsigned t2 = clock();
    { unsigned* o = out + (((size_t)cta * count + t) * 4 + tid / 32) * 2; asm volatile("{.reg .pred p; setp.eq.u32 p,%0,0; @p st.global.v2.u32 [%1],{%2,%3};}" ::"r"(tid % 32), "l"(o), "r"(t1 - t0), "r"(t2 - t0) : "memory"); }
    p += 128; q += 128; }
  ((float*)out)[(size_t)gridDim.x * gridDim.y * count * 8 + tid] = f + g; }
__global__ void read_over(const uint4* p, size_t n, unsigned* out) { unsigned x = 0; for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) { uint4 v = p[i]; x ^= v.x ^ v.y ^ v.z ^ v.w; } if (x == 0x1234567) *out = x; }
char *d, *junk; unsigned* o;
template <int R> void run(int shared, int gx, int gy) { const int count = 31, pitch = 4096, first = 3; std::vector<unsigned> h((size_t)gx * gy * count * 8);
  for (int cold = 1; cold >= 0; cold--) { double own = 0, cta = 0, n = 0; for (int r = 0; r < 6; r++) { if (cold) { read_over<<<1024, 256>>>((uint4*)junk, ((size_t)512 << 20) / 16, o); cudaDeviceSynchronize(); }
      const char* base = d + (size_t)(cold ? r : 0) * (192 << 20); turns<R><<<dim3(gx, gy), 128, 20480>>>(base, base + (96 << 20), o, count, pitch, 100, shared); cudaDeviceSynchronize(); if (r < 2) continue; cudaMemcpy(h.data(), o, h.size() * 4, cudaMemcpyDeviceToHost);
      for (int c = 0; c < gx * gy; c++) for (int t = first; t < count; t++) for (int w = 0; w < 4; w++) { unsigned* x = &h[(((size_t)c * count + t) * 4 + w) * 2]; own += x[0]; cta += x[1]; n++; } }
    printf("%d,%d,%d,%d,%d,%.0f,%.0f\n", shared, R, gx, gy, cold, own / n, cta / n); } }
template <int R> void all() { for (int shared = 0; shared < 2; shared++) { run<R>(shared, 1, 1); run<R>(shared, 2, 2); run<R>(shared, 4, 4); run<R>(shared, 8, 8); run<R>(shared, 11, 12); } }
int main() { cudaMalloc(&d, (size_t)2 << 30); cudaMemset(d, 1, (size_t)2 << 30); cudaMalloc(&junk, (size_t)512 << 20); cudaMemset(junk, 3, (size_t)512 << 20); cudaMalloc(&o, 64 << 20); printf("shared,rows,gx,gy,cold,own,cta\n"); all<128>(); all<64>(); all<32>(); cudaError_t e = cudaDeviceSynchronize(); if (e) printf("%s\n", cudaGetErrorString(e)); }
