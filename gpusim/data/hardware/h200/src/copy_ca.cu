// cp.async.ca by row length, and mio.cu's mixes, with copies in flight to different shared addresses (see copy_slots.cu): cycles per instruction, cycles per iteration.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint32_t x=(uint32_t)i*2654435761u+7; x^=x>>15;x*=2246822519u;x^=x>>13; p[i]=x; } }
// rows of RB bytes, BY bytes a lane, walking along the rows for `wrap` iterations, then again; TR: element (row,k) goes to k*spitch+row*BY
template<int BY,int RB,int TR,int CA> __global__ void rows(int pitch,int spitch,int iters,int wrap,uint32_t slots,uint32_t slotbytes,const uint8_t*g,long long*cyc){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int per=RB/BY,R=32/per; int r=warp*8*R+lane/per,c=lane%per; uint32_t sd=b+(TR?c*spitch+r*BY:r*spitch+c*BY); int sstep=TR?R*BY:R*spitch;
  const uint8_t*g0=g+(size_t)blockIdx.x*(1<<21)+(size_t)r*pitch+c*BY; const uint8_t*gs=g0; uint32_t s=0; int left=wrap; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){ uint32_t d=sd+s*slotbytes; if(++s==slots) s=0;
    #pragma unroll
    for(int j=0;j<8;j++){ const uint8_t*a=gs+(size_t)j*R*pitch; if(CA&&BY==16) asm volatile("cp.async.ca.shared.global [%0],[%1],16;"::"r"(d+j*sstep),"l"(a):"memory"); else if(BY==16) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d+j*sstep),"l"(a):"memory"); else if(BY==8) asm volatile("cp.async.ca.shared.global [%0],[%1],8;"::"r"(d+j*sstep),"l"(a):"memory"); else asm volatile("cp.async.ca.shared.global [%0],[%1],4;"::"r"(d+j*sstep),"l"(a):"memory"); }
    gs+=RB; if(--left==0){ gs=g0; left=wrap; } asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) cyc[blockIdx.x]=t1-t0; }
template<int NH,int NL,int NG> __global__ void mix(int ways,int rowbytes,int iters,uint32_t zero,const uint8_t*g,long long*cyc,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm);
  int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t a=b+((lane%8)%(8/ways))*16+((lane%8)/(8/ways))*128+(lane/8)*1024,s=threadIdx.x; float c[8][4]={}; uint32_t fa[4]={s,1,2,3},fb[2]={s,5};
  int per=rowbytes/16; uint32_t sd=b+65536+warp*16384+lane*16; const uint8_t*gs=g+(size_t)warp*262144+(lane/per)*8192+(lane%per)*16; __syncthreads(); long long t0=clock64();
#include "mix_turns.cuh"
  if(NG) asm volatile("cp.async.wait_all;":::"memory");
  __syncthreads(); long long t1=clock64(); float x=0; for(int i=0;i<8;i++) x+=c[i][0]; sink[threadIdx.x]=s+(uint32_t)x; if(threadIdx.x==0) *cyc=t1-t0; }
long long*cyc; uint8_t*g; uint32_t*sink;
template<int BY,int RB,int TR,int CA> void row(int w,int pitch,int sp,int ctas,int smem){ constexpr int R=32/(RB/BY); int sb=TR?(RB/BY)*sp:w*8*R*sp,slots=4; if(sb*slots>smem) return; auto k=rows<BY,RB,TR,CA>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); double best=1e30,mean=1e30; int wrap=std::min(48,1024/RB); for(int r=0;r<4;r++){ k<<<ctas,32*w,smem>>>(pitch,sp,64,wrap,slots,sb,g,cyc); CK(cudaDeviceSynchronize()); double s=0; for(int i=0;i<ctas;i++) s+=cyc[i]; mean=std::min(mean,s/ctas); best=std::min(best,(double)cyc[0]); } printf("rows,bytes=%d %s%s,rowbytes=%d,ctas=%d,warps=%d,pitch=%d,shared_pitch=%d,shared=%d,%.3f,%.3f\n",BY,CA||BY<16?"ca":"cg",TR?" transposed":"",RB,ctas,w,pitch,sp,smem,best/(64.0*8*w),mean/(64.0*8*w)); fflush(stdout); }
template<int H,int L,int G> void mx(){ auto k=mix<H,L,G>; int sm=65536+8*16384; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,sm)); for(int ways:{1,4}) for(int rb:{64,128}) for(int w:{4,8}){ if(!L&&ways>1) continue; if(!G&&rb>64) continue; double best=1e30; for(int r=0;r<3;r++){ k<<<1,32*w,sm>>>(ways,rb,64,0,g,cyc,sink); CK(cudaDeviceSynchronize()); best=std::min(best,(double)*cyc);} printf("mix,hmma=%d ldsm4=%d ldgsts=%d,ways=%d,rowbytes=%d,warps=%d,,,,%.2f,\n",H,L,G,ways,rb,w,best/64.0); } }
int main(){ CK(cudaMallocManaged(&cyc,8*256)); CK(cudaMalloc(&sink,8192)); CK(cudaMalloc(&g,(size_t)1<<29)); noise<<<1024,256>>>((uint32_t*)g,(size_t)1<<27); CK(cudaDeviceSynchronize());
  printf("kind,p1,p2,p3,p4,p5,p6,p7,value,mean\n");
  for(int c:{1,132}) for(int w:{1,4,8}) for(int p:{1024,4096}) { int S=227000,T=140000; row<16,64,0,1>(w,p,64,c,S); row<16,128,0,1>(w,p,128,c,S); row<16,128,0,1>(w,p,128,c,T); row<16,512,0,1>(w,p*8,512,c,S); row<16,32,0,1>(w,p,32,c,S); row<16,128,0,0>(w,p,128,c,S); row<16,256,0,0>(w,p,256,c,S);
    row<4,32,0,1>(w,p,32,c,S); row<4,32,1,1>(w,p,1040,c,S); row<4,64,1,1>(w,p,1040,c,S); row<4,128,0,1>(w,p,128,c,S); row<4,128,1,1>(w,p,1028,c,S); row<4,32,1,1>(w,p,1040,c,T); row<8,64,0,1>(w,p,64,c,S); row<8,128,0,1>(w,p,128,c,S); }
  mx<32,0,0>();mx<0,8,0>();mx<32,8,0>();mx<32,4,0>();mx<32,16,0>();mx<0,0,4>();mx<0,0,8>();mx<0,8,4>();mx<0,8,8>();mx<0,16,8>();mx<32,8,4>();mx<64,16,8>();mx<32,0,8>();mx<16,8,4>();mx<16,16,0>(); }
