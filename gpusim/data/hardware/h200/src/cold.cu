// Cold (DRAM) round trips of cp.async by pattern: copies per batch, row bytes, pitch, warps, L2 prefetch hint; then the other half of each line.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__global__ void flush(uint4*p,size_t n,uint32_t*s){ uint32_t x=0; for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint4 v=p[i]; x^=v.x^v.y^v.z^v.w; } if(x==0x1234567) *s=x; }
// each warp copies n x 512 B: 32/(rb/16) rows of rb bytes, `pitch` apart; iteration i moves along the rows by `step`
template<int HINT> __global__ void batch(int n,int rb,size_t pitch,size_t step,int iters,const uint8_t*g,int*lat){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5,per=rb/16,R=32/per; uint32_t sd=b+warp*n*512+lane*16; const uint8_t*p=g+(size_t)blockIdx.x*(64u<<20)+((size_t)warp*n*R+lane/per)*pitch+(lane%per)*16;
  for(int i=0;i<iters;i++){ __syncthreads(); long long t0=clock64(); for(int j=0;j<n;j++){ if(HINT) asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;"::"r"(sd+j*512),"l"(p+(size_t)j*R*pitch):"memory"); else asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd+j*512),"l"(p+(size_t)j*R*pitch):"memory"); } asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0&&blockIdx.x==0) lat[i]=(int)(t1-t0); p+=step; } }
uint8_t*g; uint4*f; uint32_t*s; int*lat;
template<int H> void go(int n,int rb,size_t pitch,size_t step,int warps,int ctas){ CK(cudaFuncSetAttribute(batch<H>,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); int it=32; for(int r=0;r<2;r++){ flush<<<1024,256>>>(f,(size_t)(512u<<20)/16,s); CK(cudaDeviceSynchronize()); batch<H><<<ctas,32*warps,warps*n*512>>>(n,rb,pitch,step,it,g,lat); CK(cudaDeviceSynchronize()); }
  double e=0,o=0; for(int i=8;i<it;i++) (i&1?o:e)+=lat[i]/12.0; printf("cold,hint=%d,n=%d rowbytes=%d pitch=%zu step=%zu,warps=%d ctas=%d,first=%d even=%.0f odd=%.0f\n",H,n,rb,pitch,step,warps,ctas,lat[0],e,o); }
int main(){ CK(cudaMalloc(&g,(size_t)10<<30)); CK(cudaMalloc(&f,(size_t)512<<20)); CK(cudaMalloc(&s,64)); CK(cudaMallocManaged(&lat,4096)); CK(cudaMemset(g,7,(size_t)10<<30)); CK(cudaMemset(f,3,(size_t)512<<20));
  for(int c:{1,4,132}) for(int w:{1,4}) for(int n:{1,8}) for(size_t pitch:{(size_t)4096,(size_t)8192}) for(int rb:{64,128}) { go<1>(n,rb,pitch,rb,w,c); if(c==1) go<0>(n,rb,pitch,rb,w,c); }
  go<1>(1,512,512,65536,1,1); go<1>(8,512,512,65536,1,1); go<1>(8,512,512,65536,4,1); go<1>(8,512,512,65536,4,132); }
