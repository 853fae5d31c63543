// What instructions that are predicated off cost the load/store unit: LDS of all warps with predicated-off LDS and cp.async (and the three @!PT LDS that ptxas puts in front) between them; cycles per iteration and SM.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
// NL loads, NP loads that `off` switches off, NG copies of 16 bytes a lane that `copies` switches off, eight times an iteration; STORE: stores instead of the loads that are off
template<int NL,int NP,int NG,int BY> __global__ void off(int ways,int loads_on,int copies_on,int iters,const uint8_t*g,long long*cyc,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t ld=b+196608+(lane%(32/ways))*4+(lane/(32/ways))*128,x=0,s=0,sd=b+warp*24576+lane*BY; const uint8_t*gs=g+warp*65536+(size_t)lane*BY; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){ uint32_t d=sd+s*6144; s=(s+1)&3;
    #pragma unroll
    for(int j=0;j<8;j++){
      if(NG){ if(BY==16) asm volatile("{.reg .pred p; setp.ne.s32 p,%2,0; @p cp.async.cg.shared.global [%0],[%1],16;}"::"r"(d+j*512),"l"(gs+j*4096),"r"(copies_on):"memory"); else asm volatile("{.reg .pred p; setp.ne.s32 p,%2,0; @p cp.async.ca.shared.global [%0],[%1],4;}"::"r"(d+j*512),"l"(gs+j*4096),"r"(copies_on):"memory"); }
      #pragma unroll
      for(int l=0;l<NP;l++){ uint32_t v=0; asm volatile("{.reg .pred p; setp.ne.s32 p,%2,0; @p ld.shared.u32 %0,[%1];}":"+r"(v):"r"(ld+(l&3)*4096),"r"(loads_on):"memory"); x^=v; }
      #pragma unroll
      for(int l=0;l<NL;l++){ uint32_t v; asm volatile("ld.shared.u32 %0,[%1];":"=r"(v):"r"(ld+(l&3)*4096):"memory"); x^=v; } }
    gs+=BY*32; if((i&7)==7) gs-=8*BY*32; if(NG) asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); sink[threadIdx.x]=x; if(threadIdx.x==0) *cyc=t1-t0; }
long long*cyc; uint8_t*g; uint32_t*sink;
template<int NL,int NP,int NG,int BY> void one(int lon,int con){ auto k=off<NL,NP,NG,BY>; int smem=196608+24576; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); for(int ways:{1,2,4}) for(int w:{4,8}){ double best=1e30; for(int r=0;r<3;r++){ k<<<1,32*w,smem>>>(ways,lon,con,64,g,cyc,sink); CK(cudaDeviceSynchronize()); best=std::min(best,(double)*cyc);} printf("%d,%d,%d,%d,%d,%d,%d,%d,%.3f\n",NL,NP,NG,BY,lon,con,ways,w,best/(64.0*8*w)); fflush(stdout); } }
int main(){ CK(cudaMallocManaged(&cyc,64)); CK(cudaMallocManaged(&sink,8192)); CK(cudaMalloc(&g,1<<24)); CK(cudaMemset(g,0,1<<24));
  printf("loads,loads_switched,copies,copy_bytes,switched_on,copies_on,ways,warps,cycles\n");
  one<1,0,0,16>(0,0); one<2,0,0,16>(0,0); one<4,0,0,16>(0,0);
  one<1,1,0,16>(0,0); one<1,2,0,16>(0,0); one<1,3,0,16>(0,0); one<1,4,0,16>(0,0); one<1,6,0,16>(0,0); one<1,3,0,16>(1,0); one<0,4,0,16>(0,0); one<2,6,0,16>(0,0);
  one<1,0,1,16>(0,0); one<2,0,1,16>(0,0); one<4,0,1,16>(0,0); one<4,0,4,16>(0,0); one<0,0,1,16>(0,0); one<0,0,1,16>(0,1);
  one<1,0,1,16>(0,1); one<2,0,1,16>(0,1); one<4,0,1,16>(0,1); one<4,0,2,16>(0,1); one<4,0,4,16>(0,1); one<8,0,4,16>(0,1);
  one<1,0,1,4>(0,1); one<2,0,1,4>(0,1); one<4,0,1,4>(0,1); one<4,0,2,4>(0,1); one<4,0,4,4>(0,1); one<8,0,4,4>(0,1); }
