// Cycles of a load, and the clock of its SM, while another warp of the SM (in another sub-partition) issues an mma.sync now and then, or none: warp 0 chases pointers through L2
// (8,192 lines, or 32 of one page), L1 or shared memory, or lines of DRAM that nobody has read; warp 1 a chain of FFMA with one mma.sync in each `every` of them (0: none).
#include <cstdio>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
__device__ uint64_t now() { uint64_t t; asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(t)); return t; }
template <int WHERE> __global__ void chase(const uint32_t* g, uint32_t* out, int steps, uint32_t start, int every) {
  __shared__ uint32_t sm[64]; __shared__ volatile int stop; if (threadIdx.x < 64) sm[threadIdx.x] = (uint32_t)__cvta_generic_to_shared(sm); if (!threadIdx.x) stop = 0; __syncthreads();
  if (threadIdx.x >= 32) { float x = threadIdx.x, c[4] = {0, 0, 0, 0}; int a = 0; while (!stop) { for (int i = 0; i < every; i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;" : "+f"(x)); if (every & 1) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%4,%4,%4},{%4,%4},{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a)); } ((float*)out)[100 + threadIdx.x] = x + c[0] + c[1]; return; }
  uint32_t p = WHERE == 2 ? sm[0] : start; uint64_t t0 = 0; uint32_t c0 = 0;
#pragma unroll 1
  for (int k = -512; k < steps; k++) { if (k == 0) { t0 = now(); c0 = clock(); }
    if (WHERE == 0) asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(p) : "l"(g + p) : "memory"); if (WHERE == 1) asm volatile("ld.global.ca.u32 %0,[%1];" : "=r"(p) : "l"(g + p) : "memory"); if (WHERE == 2) asm volatile("ld.shared.u32 %0,[%0];" : "+r"(p) :: "memory"); }
  uint32_t c1 = clock(); uint64_t t1 = now(); stop = 1; if (!threadIdx.x) { out[0] = c1 - c0; out[1] = (uint32_t)(t1 - t0); out[2] = p; } }
uint32_t *g, *out; size_t n = (size_t)1 << 28; char* junk;
template <int W> void run(const char* where, uint32_t start, int steps, bool flush) { for (int every : {200, 201, 2000, 2001, 21, 5}) for (int r = 0; r < 3; r++) { uint32_t h[3]; if (flush) { cudaMemset(junk, r, (size_t)512 << 20); cudaDeviceSynchronize(); start = (start + 900000u * 32) % (1u << 27) + (1u << 24); }
    chase<W><<<1, 64>>>(g, out, steps, start, every); cudaDeviceSynchronize(); cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost); if (r) printf("%s,%d,%d,%d,%.2f,%.2f,%.0f\n", where, every & 1 ? every : 0, every, r, double(h[0]) / steps, double(h[1]) / steps, 1000. * h[0] / h[1]); } }
int main() { cudaMalloc(&g, n * 4); cudaMalloc(&out, 65536); cudaMalloc(&junk, (size_t)512 << 20); std::vector<uint32_t> h(n);
  auto ring = [&](size_t first, size_t lines) { std::vector<uint32_t> o(lines); for (size_t i = 0; i < lines; i++) o[i] = i; uint64_t s = 12345; for (size_t i = lines - 1; i > 0; i--) { s = s * 6364136223846793005ull + 1442695040888963407ull; std::swap(o[i], o[(s >> 33) % (i + 1)]); } for (size_t i = 0; i < lines; i++) h[first + (size_t)o[i] * 32] = first + o[(i + 1) % lines] * 32; };
  ring(0, 8192); for (int k = 0; k < 8; k++) ring((1u << 20) + 1024 * k, 32); for (size_t i = 1u << 24; i + 32 * 211 < n; i += 32) h[i] = i + 32 * 211;
  cudaMemcpy(g, h.data(), n * 4, cudaMemcpyHostToDevice); printf("where,tensor_every,every,launch,cycles,nanoseconds,sm_mhz\n");
  run<0>("L2", 0, 20000, false); for (int k = 0; k < 4; k++) { char s[20]; sprintf(s, "L2 page %d", k); run<0>(s, (1u << 20) + 1024 * k, 8000, false); } run<0>("DRAM", 1u << 24, 4000, true); run<1>("L1", 1u << 20, 8000, false); run<2>("shared", 0, 8000, false); if (cudaDeviceSynchronize()) printf("error\n"); }
