// When two warps go on behind a barrier to which they come apart. Warp 0 waits `a`, warp 1 `b` turns of a loop; the warps stand in sub-partitions 0 and `part`. Columns: behind (what stands between BAR and the clock: 0 nothing, 1 an IADD, 2 an LDS and its data, 3 an ldmatrix.x4 of 8 ways and its data, 4 what 3 has behind two copies), part, a, b; cycles from warp 0's clock in front of BAR: comes1 (warp 1's), goes0, goes1 (the clocks behind).
// nvcc -O3 -std=c++17 -arch=sm_90a barrier_skew.cu -o barrier_skew; ./barrier_skew > barrier_skew.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
template<int BEHIND> __global__ void skew(int*out,const uint8_t*g,int part,int a,int b){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  uint32_t from=base+(lane&7)*128+(lane/8)*1024,at=base+lane*4,copied=base+32768+warp*1024+lane*16,q[4]={},x=lane; const uint8_t*p=g+warp*4096+lane*16; unsigned begin=0,end=0;
  asm volatile("":"+r"(from),"+r"(at),"+r"(copied),"+l"(p));
  if(warp!=0&&warp!=part) return;
  #pragma unroll 1
  for(int rep=0;rep<4;rep++){
    asm volatile("bar.sync 1,64;":::"memory");
    #pragma unroll 1
    for(int i=0;i<200;i++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
    if(warp){
      #pragma unroll 1
      for(int i=0;i<b;i++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
    } else {
      #pragma unroll 1
      for(int i=0;i<a;i++) asm volatile("mad.lo.u32 %0,%0,%0,%0; mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
    }
    asm volatile("":"+r"(x)::"memory");
    CLOCK(begin); asm volatile("bar.sync 2,64;":::"memory");
    if(BEHIND==1) asm volatile("add.u32 %0,%0,%0;":"+r"(x)::"memory");
    if(BEHIND==2) asm volatile("ld.shared.u32 %0,[%1];":"=r"(x):"r"(at):"memory");
    if(BEHIND==4){ asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(copied),"l"(p):"memory"); asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(copied+512),"l"(p+512):"memory"); }
    if(BEHIND>=3) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[0]),"=r"(q[1]),"=r"(q[2]),"=r"(q[3]):"r"(from):"memory");
    if(BEHIND>=3) x^=q[0]^q[1]^q[2]^q[3]; else if(BEHIND) x^=1;
    asm volatile("":"+r"(x)::"memory"); CLOCK(end);
    asm volatile("cp.async.wait_all;":::"memory");
  }
  if(lane==0){ int*o=out+(warp?4:0); o[0]=begin; o[1]=end; o[2]=x; } }
int*out,h[16]; uint8_t*mem;
template<int B> void go(){ auto k=skew<B>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,65536));
  for(int part:{1,2,3}) for(int a=0;a<6;a++) for(int b=0;b<24;b++){ for(int i=0;i<2;i++){ k<<<1,128,65536>>>(out,mem,part,a,b); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
    printf("%d,%d,%d,%d,%d,%d,%d\n",B,part,a,b,h[4]-h[0],h[1]-h[0],h[5]-h[0]); } }
int main(){ CK(cudaMalloc(&out,65536)); CK(cudaMalloc(&mem,1<<22)); CK(cudaMemset(mem,0,1<<22)); printf("behind,part,a,b,comes1,goes0,goes1\n"); go<0>(); go<1>(); go<2>(); go<3>(); go<4>(); return 0; }
