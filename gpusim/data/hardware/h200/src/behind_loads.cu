// When the load/store unit takes a cp.async that comes behind ldmatrix of the same warp, by their number and conflicts: the cycle in which its
// address register may be written again, and in which one more instruction (a store to shared memory, a load) behind it is done.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
template<int N,int M> __global__ void behind(const uint8_t*g,int*out,int pitch,int ways,size_t step){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  uint32_t ad=b+warp*4096+(ways==1?lane*16:(lane&7)*128*(1)+(lane>>3)*16); uint32_t sd=b+65536+warp*4096+lane*16; const uint8_t*p=g+(size_t)warp*65536+(lane>>3)*pitch+(lane&7)*16; uint32_t s=0; int t0=0,t1=0,t2=0,t3=0;
  const uint8_t*q=p; uint32_t r[N>0?4*N:1];
  #pragma unroll 1
  for(int it=0;it<4;it++){ __syncthreads(); CLOCK(t0);
    #pragma unroll
    for(int i=0;i<N;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+i*(ways==1?512:128*8)):"memory");
    #pragma unroll
    for(int i=0;i<M;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd+i*512),"l"(q+i*1024):"memory");
    CLOCK(t1); q+=step; asm volatile(""::"l"(q):"memory"); CLOCK(t2);
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); CLOCK(t3);
    #pragma unroll
    for(int i=0;i<(N>0?4*N:1);i++) if(N>0) s+=r[i]; }
  if(lane==0){ int*o=out+warp*4; o[0]=t1-t0;o[1]=t2-t0;o[2]=t3-t0;o[3]=s; } }
uint8_t*g; int*out;
template<int N,int M> void go(int warps,int ways){ int h[64]; auto k=behind<N,M>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,131072)); for(int r=0;r<3;r++){ k<<<1,32*warps,131072>>>(g,out,4096,ways,128); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,256,cudaMemcpyDeviceToHost));
  double a=0,b=0,c=0; for(int w=0;w<warps;w++){ a+=h[4*w];b+=h[4*w+1];c+=h[4*w+2]; } printf("%d,%d,%d,%d,%.0f,%.0f,%.0f\n",N,M,ways,warps,a/warps,b/warps,c/warps); }
template<int M> void all(){ for(int ways:{1,8}) for(int warps:{1,2,4,8}){ go<0,M>(warps,ways); go<1,M>(warps,ways); go<2,M>(warps,ways); go<3,M>(warps,ways); go<4,M>(warps,ways); go<5,M>(warps,ways); go<6,M>(warps,ways); go<8,M>(warps,ways); go<10,M>(warps,ways); go<12,M>(warps,ways); go<16,M>(warps,ways); go<20,M>(warps,ways); go<24,M>(warps,ways); } }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,1,64<<20)); CK(cudaMalloc(&out,4096)); printf("loads,copies,ways,warps,issued,written,arrived\n"); all<1>(); all<2>(); return 0; }
