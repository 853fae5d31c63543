// When the address registers of cp.async may be written again: M copies of each of some warps at once, 16 bytes a lane, rows of 64 or 128 bytes of global memory, lines of shared memory `stride` lines apart. Clocks, from the warp's first copy on: behind the last copy, when its address has been overwritten, when all data are there.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
template<int M,int ROW> __global__ void release(const uint8_t*g,int*out,int stride,size_t step){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  constexpr int PER=ROW/16,ROWS=32/PER; int row=lane/PER,chunk=lane%PER; int byte=row*ROW+chunk*16,line=byte>>7,in=byte&127; in^=(line&7)<<4; uint32_t sd=b+warp*(M*2048)+line*stride*128+in; const uint8_t*q[M]; int t0,t1,t2,t3;
  #pragma unroll
  for(int i=0;i<M;i++){ q[i]=g+(size_t)((warp*M+i)*ROWS+row)*4096+chunk*16; asm volatile("":"+l"(q[i])); }
  #pragma unroll 1
  for(int it=0;it<4;it++){ __syncthreads(); CLOCK(t0);
    #pragma unroll
    for(int i=0;i<M;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd+i*2048),"l"(q[i]):"memory");
    CLOCK(t1); asm volatile("add.s64 %0,%0,%1;":"+l"(q[M-1]):"l"(step):"memory"); CLOCK(t2);
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); CLOCK(t3);
    #pragma unroll
    for(int i=0;i<M-1;i++) asm volatile("add.s64 %0,%0,%1;":"+l"(q[i]):"l"(step):"memory"); }
  if(lane==0){ int*o=out+warp*4; o[0]=t1-t0;o[1]=t2-t0;o[2]=t3-t0; } }
uint8_t*g; int*out;
template<int M,int ROW> void go(int warps,int stride){ int h[64]; auto k=release<M,ROW>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,220000)); if(warps*M*2048+2048>220000) return; for(int r=0;r<3;r++){ k<<<1,32*warps,220000>>>(g,out,stride,ROW); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,256,cudaMemcpyDeviceToHost));
  for(int w=0;w<warps;w++) printf("%d,%d,%d,%d,%d,%d,%d,%d\n",ROW,stride,M,warps,w,h[4*w],h[4*w+1],h[4*w+2]); }
template<int ROW> void all(){ for(int stride:{1,4}) for(int warps:{1,2,4,8,12}){ go<1,ROW>(warps,stride); go<2,ROW>(warps,stride); go<3,ROW>(warps,stride); go<4,ROW>(warps,stride); go<5,ROW>(warps,stride); go<6,ROW>(warps,stride); go<8,ROW>(warps,stride); } }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,1,64<<20)); CK(cudaMalloc(&out,4096)); printf("row_bytes,line_stride,copies,warps,warp,issued,written,arrived\n"); all<64>(); all<128>(); return 0; }
