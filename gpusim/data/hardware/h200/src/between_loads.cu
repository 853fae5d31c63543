// What an access of another warp waits for while some warps' ldmatrix with conflicts are worked off: its round trip, by when it comes.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
template<int N,int KIND> __global__ void between(const uint8_t*g,int*out,int ways,int loaders,int asker,int delay){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  uint32_t ad=b+warp*8192+(ways==1?lane*16:ways==8?(lane&7)*128+(lane>>3)*16:(lane&7)*64+(lane>>3)*16), sd=b+65536+warp*4096+lane*16; const uint8_t*q=g+(size_t)warp*65536+(lane>>3)*4096+(lane&7)*16; uint32_t s=0; int t0=0,t1=0,t2=0;
  #pragma unroll 1
  for(int it=0;it<4;it++){ __syncthreads(); CLOCK(t0);
    if(warp<loaders){ uint32_t r[4*N];
      #pragma unroll
      for(int i=0;i<N;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+i*512):"memory");
      #pragma unroll
      for(int i=0;i<4*N;i++) s+=r[i];
      CLOCK(t2); t1=t0; }
    else if(warp==asker){ int t; do { CLOCK(t); } while(t-t0<delay); CLOCK(t1);
      if(KIND==0){ asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd),"l"(q+it*128):"memory"); asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); }
      else if(KIND==1){ uint32_t x; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(x):"l"(q+it*128):"memory"); s+=x; asm volatile(""::"r"(s):"memory"); }
      else { uint32_t x,y,z,w; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"r"(b+warp*8192+lane*16):"memory"); s+=x+y+z+w; asm volatile(""::"r"(s):"memory"); }
      int zero=s==0x12345678; CLOCK(t2); t2+=zero; } }
  if(lane==0){ int*o=out+warp*3; o[0]=t1-t0;o[1]=t2-t1;o[2]=s; } }
uint8_t*g; int*out;
template<int N,int KIND> void go(int ways,int loaders,int asker,int delay){ int h[64]; auto k=between<N,KIND>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,131072)); for(int r=0;r<2;r++){ k<<<1,32*9,131072>>>(g,out,ways,loaders,asker,delay); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,128,cudaMemcpyDeviceToHost));
  printf("%s,%d,%d,%d,%d,%d,%d,%d\n",KIND==0?"cp.async":KIND==1?"ld.global":"ldmatrix",N,ways,loaders,asker,h[3*asker],h[3*asker+1],h[1]); }
template<int KIND> void all(){ for(int ways:{8,4}) for(int loaders:{1,2,4}) for(int asker:{4,7}) for(int d=0;d<=640;d+=(d<160?16:40)) go<8,KIND>(ways,loaders,asker,d); }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,1,64<<20)); CK(cudaMalloc(&out,4096)); printf("what,loads,ways,loading_warps,warp,asked,waited,loaded\n"); all<0>(); all<1>(); all<2>(); return 0; }
