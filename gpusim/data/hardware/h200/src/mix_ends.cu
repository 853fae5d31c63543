// copy_ca.cu's mixes, ended after each number of turns: when each warp is done with them, from the first one's start on; copies' rows of 64 bytes. Columns: hmma, ldsm4, ldgsts, ways, warps, late (cycles by which the last warp starts later), run, warp, then the clocks behind 1 to 48 turns.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define TURNS 48
template<int NH,int NL,int NG> __global__ void mixe(int ways,int rowbytes,int iters,uint32_t zero,const uint8_t*g,uint32_t*out,uint32_t*sink,int late){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm);
  int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t a=b+((lane%8)%(8/ways))*16+((lane%8)/(8/ways))*128+(lane/8)*1024,s=threadIdx.x; float c[8][4]={}; uint32_t fa[4]={s,1,2,3},fb[2]={s,5};
  int per=rowbytes/16; uint32_t sd=b+65536+warp*16384+lane*16; const uint8_t*gs=g+(size_t)warp*262144+(lane/per)*8192+(lane%per)*16; __syncthreads();
  uint32_t t0,t1; asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory");
  if(late&&warp==(int)(blockDim.x>>5)-1){ uint32_t t; do asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory"); while(t-t0<(uint32_t)late); }
#include "mix_turns.cuh"
  asm volatile("mov.u32 %0,%%clock;":"=r"(t1)::"memory");
  if(NG) asm volatile("cp.async.wait_all;":::"memory");
  __syncthreads(); float x=0; for(int i=0;i<8;i++) x+=c[i][0]; sink[threadIdx.x]=s+(uint32_t)x; if(lane==0){ out[warp]=t1; out[8+warp]=t0; } }
uint32_t*out,*sink; uint8_t*g;
template<int H,int L,int G> void go(){ auto k=mixe<H,L,G>; int smem=65536+8*16384; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); static uint32_t e[8][TURNS+1];
  for(int ways:{1,2,4}) for(int w:{2,4,8}) for(int late:{0,40,160,400}) for(int r=0;r<2;r++){ for(int n=1;n<=TURNS;n++) for(int again=0;again<2;again++){ k<<<1,32*w,smem>>>(ways,64,n,0,g,out,sink,late); CK(cudaDeviceSynchronize()); for(int v=0;v<w;v++) e[v][n]=out[v]-out[8]; }
    for(int v=0;v<w;v++){ printf("%d,%d,%d,%d,%d,%d,%d,%d",H,L,G,ways,w,late,r,v); for(int i=1;i<=TURNS;i++) printf(",%u",e[v][i]); printf("\n"); } } }
int main(){ CK(cudaMallocManaged(&out,4*16)); CK(cudaMalloc(&sink,8192)); CK(cudaMalloc(&g,16<<20)); CK(cudaMemset(g,1,16<<20)); printf("hmma,ldsm4,ldgsts,ways,warps,late,run,warp"); for(int i=1;i<=TURNS;i++) printf(",turns%d",i); printf("\n");
  go<32,8,4>();go<32,8,0>();go<32,8,8>();go<16,8,4>();go<16,8,0>();go<16,16,4>();go<0,8,4>(); }
