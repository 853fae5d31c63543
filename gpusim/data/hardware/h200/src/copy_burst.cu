// Bursts of cp.async (16 bytes a lane) by several warps at once, on one SM and on all: when they have issued, when the last one's address register may be written, when the data are there. Two bursts: every CTA its own lines, or the same.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
template<int N,int RB> __global__ void burst(const uint8_t*g,int*out,int pitch,size_t cta,size_t step){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int PER=RB/16,R=32/PER;
  uint32_t sd=b+warp*N*512+lane*16; const uint8_t*q=g+blockIdx.x*cta+(size_t)(warp*N*R+lane/PER)*pitch+(lane%PER)*16; int t0=0,t1=0,t2=0,t3=0;
  #pragma unroll 1
  for(int it=0;it<6;it++){ __syncthreads(); CLOCK(t0);
    #pragma unroll
    for(int i=0;i<N;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd+i*512),"l"(q+(size_t)i*R*pitch):"memory");
    CLOCK(t1); q+=step; asm volatile(""::"l"(q):"memory"); CLOCK(t2);
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); CLOCK(t3); }
  if(lane==0){ int*o=out+(blockIdx.x*32+warp)*3; o[0]=t1-t0;o[1]=t2-t0;o[2]=t3-t0; } }
uint8_t*g; int*out;
template<int N,int RB> void go(){ auto k=burst<N,RB>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); for(int ctas:{1,132}) for(int same:{0,1}) for(int warps:{1,2,4,8,16}){ if(same&&ctas==1) continue; if(warps*N*512>196608) continue; int pitch=4096; size_t per=(size_t)warps*N*(512/RB)*pitch; if(!same&&per*ctas>((size_t)1<<30)) continue; std::vector<int> h(132*32*3); for(int r=0;r<3;r++){ k<<<ctas,32*warps,200000>>>(g,out,pitch,same?0:per,RB); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h.data(),out,h.size()*4,cudaMemcpyDeviceToHost));
  double a=0,b=0,c=0,m=0,mw=0; for(int x=0;x<ctas;x++) { double l=0,lw=0; for(int w=0;w<warps;w++){ int*o=&h[(x*32+w)*3]; a+=o[0];b+=o[1];c+=o[2]; l=l>o[2]?l:o[2]; lw=lw>o[1]?lw:o[1]; } m+=l; mw+=lw; } double n=(double)ctas*warps; printf("%d,%d,%d,%d,%d,%.0f,%.0f,%.0f,%.0f,%.0f\n",N,RB,warps,ctas,same,a/n,b/n,c/n,mw/ctas,m/ctas); fflush(stdout); } }
int main(){ CK(cudaMalloc(&g,(size_t)1<<30)); CK(cudaMemset(g,1,(size_t)1<<30)); CK(cudaMalloc(&out,132*32*12)); printf("copies,row_bytes,warps,ctas,same_lines,issued,written,arrived,last_written,last_arrived\n");
  go<1,128>(); go<2,128>(); go<4,128>(); go<8,128>(); go<16,128>(); go<1,64>(); go<2,64>(); go<4,64>(); go<8,64>(); go<16,64>(); }
