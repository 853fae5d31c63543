// When a memory access has read its registers: a loop of one access and the sum that overwrites its address register.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
enum{STS32,STS64,STS128,STG32,STG128};
template<int OP> __device__ __forceinline__ void mem(uint32_t a,uint64_t g,uint32_t s){
  if constexpr(OP==STS32) asm volatile("st.shared.u32 [%0],%1;"::"r"(a),"r"(s):"memory");
  if constexpr(OP==STS64) asm volatile("st.shared.v2.u32 [%0],{%1,%1};"::"r"(a),"r"(s):"memory");
  if constexpr(OP==STS128) asm volatile("st.shared.v4.u32 [%0],{%1,%1,%1,%1};"::"r"(a),"r"(s):"memory");
  if constexpr(OP==STG32) asm volatile("st.global.u32 [%0],%1;"::"l"(g),"r"(s):"memory");
  if constexpr(OP==STG128) asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};"::"l"(g),"r"(s):"memory"); }
template<int OP> __global__ void loop(int iters,uint32_t step,uint8_t*p,long long*cyc){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t a=(uint32_t)__cvta_generic_to_shared(sm)+threadIdx.x*(OP==STS32?4:OP==STS64?8:16); uint64_t g=(uint64_t)p+threadIdx.x*(OP==STG32?4:16); uint32_t s=threadIdx.x; __syncthreads(); long long t0=clock64();
  #pragma unroll 1
  for(int i=0;i<iters;i++){ mem<OP>(a,g,s);
    if constexpr(OP==STG32||OP==STG128) asm volatile("add.u64 %0,%0,%1;":"+l"(g):"l"((uint64_t)step)); else asm volatile("add.u32 %0,%0,%1;":"+r"(a):"r"(step)); }
  __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) *cyc=t1-t0; }
long long*cyc; uint8_t*p;
template<int OP> void go(const char*n){ CK(cudaFuncSetAttribute(loop<OP>,cudaFuncAttributeMaxDynamicSharedMemorySize,16384)); for(int warps:{1,2,4,8,16}){ double best=1e30; for(int r=0;r<4;r++){ loop<OP><<<1,32*warps,16384>>>(256,0,p,cyc); CK(cudaDeviceSynchronize()); best=std::min(best,(double)*cyc);} printf("%s,%d,%.3f\n",n,warps,best/256); } }
int main(){ CK(cudaMallocManaged(&cyc,8)); CK(cudaMalloc(&p,1<<20)); printf("instruction,warps,cycles\n");
  go<STS32>("sts32");go<STS64>("sts64");go<STS128>("sts128");go<STG32>("stg32");go<STG128>("stg128"); }
