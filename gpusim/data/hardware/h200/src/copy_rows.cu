// cp.async of rows that do not begin on sectors, and of 4 bytes: cycles per instruction by pitch, row length, warps, CTAs.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint32_t x=(uint32_t)i*2654435761u+7; x^=x>>15;x*=2246822519u;x^=x>>13; p[i]=x; } }
// 16 bytes: rows of RB bytes; shared layout: rows packed, chunk XOR row (SW=1) as CUTLASS's crosswise one, or plain with pitch spitch
template<int RB,int SW> __global__ void rows(int pitch,int spitch,int iters,int wrap,const uint8_t*g,long long*cyc){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int per=RB/16,R=32/per;
  uint32_t sd[8];
  #pragma unroll
  for(int j=0;j<8;j++){ int r=(warp*8+j)*R+lane/per,c=lane%per; if(SW){ uint32_t a=r*RB+c*16; a^=((a>>7)&7)<<4; sd[j]=b+a; } else sd[j]=b+r*spitch+c*16; }
  const uint8_t*g0=g+(size_t)blockIdx.x*(1<<21)+((size_t)warp*8*R+lane/per)*pitch+(lane%per)*16; const uint8_t*gs=g0; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){
    #pragma unroll
    for(int j=0;j<8;j++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd[j]),"l"(gs+(size_t)j*R*pitch):"memory");
    gs+=RB; if((i+1)%wrap==0) gs=g0; asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) cyc[blockIdx.x]=t1-t0; }
// 4 bytes, rows of RB bytes; TR: element (row,k) goes to k*spitch+row*4 (transposed), else to row*spitch+k*4
template<int RB,int TR> __global__ void ca4(int pitch,int spitch,int iters,int wrap,const uint8_t*g,long long*cyc){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int per=RB/4,R=32/per;
  uint32_t sd[8];
  #pragma unroll
  for(int j=0;j<8;j++){ int r=(warp*8+j)*R+lane/per,c=lane%per; sd[j]=b+(TR?c*spitch+r*4:r*spitch+c*4); }
  const uint8_t*g0=g+(size_t)blockIdx.x*(1<<21)+((size_t)warp*8*R+lane/per)*pitch+(lane%per)*4; const uint8_t*gs=g0; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){
    #pragma unroll
    for(int j=0;j<8;j++) asm volatile("cp.async.ca.shared.global [%0],[%1],4;"::"r"(sd[j]),"l"(gs+(size_t)j*R*pitch):"memory");
    gs+=RB; if((i+1)%wrap==0) gs=g0; asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) cyc[blockIdx.x]=t1-t0; }
long long*cyc; uint8_t*g;
int main(){ CK(cudaMallocManaged(&cyc,8*256)); CK(cudaMalloc(&g,(size_t)1<<29)); noise<<<1024,256>>>((uint32_t*)g,(size_t)1<<27); CK(cudaDeviceSynchronize());
  auto go=[&](const char*n,auto k,int rb,int w,int pitch,int sp,int ctas,int wrap){ CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); double best=1e30; for(int i=0;i<4;i++){ k<<<ctas,32*w,200000>>>(pitch,sp,64,wrap,g,cyc); CK(cudaDeviceSynchronize()); best=std::min(best,(double)cyc[0]); } printf("%s,rowbytes=%d,warps=%d,pitch=%d,shared_pitch=%d,ctas=%d,wrap=%d,%.2f\n",n,rb,w,pitch,sp,ctas,wrap,best/(64.0*8*w)); };
  for(int c:{1,132}) for(int w:{1,4,8}) for(int p:{2048,2000,2016,2032,8192,8176}) { int wr=p<4096?24:64; go("swizzled",rows<64,1>,64,w,p,0,c,wr); go("swizzled",rows<128,1>,128,w,p,0,c,wr); go("plain",rows<64,0>,64,w,p,80,c,wr); go("plain",rows<128,0>,128,w,p,144,c,wr); go("plain",rows<32,0>,32,w,p,32,c,wr); if(p<3000) go("plain",rows<256,0>,256,w,p,256,c,7); else go("plain",rows<256,0>,256,w,p,256,c,32); go("plain",rows<512,0>,512,w,p,512,c,3); }
  for(int c:{1,132}) for(int w:{1,4,8}) for(int p:{8192,4000,4096,2048}) { int wr=48; go("ca4 transposed",ca4<32,1>,32,w,p,8448/16,c,wr); go("ca4 plain",ca4<32,0>,32,w,p,32,c,wr); go("ca4 plain",ca4<128,0>,128,w,p,128,c,12); go("ca4 transposed",ca4<64,1>,64,w,p,528,c,24); }
}
