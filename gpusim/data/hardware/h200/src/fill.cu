// What do the data of cp.async cost the data stage? Every warp repeats L ldmatrix.x4 without conflicts and C copies of 16 bytes per lane, by layout of the copies.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
template<int L,int C,int RB,int SP> __global__ void mix(int pitch,int iters,const uint8_t*g,long long*cyc,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int per=RB/16,R=32/per;
  uint32_t sd[C?C:1]; const uint8_t*gs[C?C:1];
  #pragma unroll
  for(int j=0;j<C;j++){ int r=(warp*C+j)*R+lane/per,c=lane%per; uint32_t a=r*RB+c*16; if(SP) a=r*SP+c*16; else a^=((a>>7)&7)<<4; sd[j]=b+a; gs[j]=g+(size_t)r*pitch+c*16; }
  uint32_t la=b+65536+warp*512+lane*16; uint32_t x[4]={0,0,0,0}; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){
    #pragma unroll
    for(int j=0;j<(L>C?L:C);j++){ 
      if(j<L){ uint32_t y0,y1,y2,y3; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(y0),"=r"(y1),"=r"(y2),"=r"(y3):"r"(la+j*4096+(i&1)*512*8*0):"memory"); x[0]+=y0*(i+j);x[1]^=y1;x[2]^=y2;x[3]^=y3; }
      if(j<C) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd[j]),"l"(gs[j]):"memory"); }
    asm volatile("cp.async.commit_group; cp.async.wait_group 2;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) *cyc=t1-t0; if((x[0]^x[1]^x[2]^x[3])==0x12345) *sink=1; }
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) p[i]=(uint32_t)i*2654435761u; }
int main(){ long long*c; uint32_t*s; uint8_t*g; CK(cudaMallocManaged(&c,64)); CK(cudaMalloc(&s,4)); CK(cudaMalloc(&g,(size_t)64<<20)); noise<<<1024,256>>>((uint32_t*)g,(size_t)16<<20); CK(cudaDeviceSynchronize());
  auto go=[&](auto k,int L,int C,int rb,int sp){ CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); for(int p:{2048,2000,2016}) for(int w:{4,8}){ double best=1e30; for(int i=0;i<3;i++){ k<<<1,32*w,200000>>>(p,200,g,c,s); CK(cudaDeviceSynchronize()); best=std::min(best,(double)*c); } printf("fillmix,ldsm=%d,copies=%d,rowbytes=%d,shared_pitch=%d,pitch=%d,warps=%d,%.2f\n",L,C,rb,sp,p,w,best/200); } };
  #define LAY(L,C) go(mix<L,C,64,0>,L,C,64,0); go(mix<L,C,64,64>,L,C,64,64); go(mix<L,C,64,80>,L,C,64,80); go(mix<L,C,128,0>,L,C,128,0); go(mix<L,C,128,144>,L,C,128,144); go(mix<L,C,32,32>,L,C,32,32); go(mix<L,C,512,512>,L,C,512,512);
  LAY(16,0) LAY(16,2) LAY(16,4) LAY(24,4) LAY(24,6) LAY(0,4)
}
