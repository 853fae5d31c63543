// Launch questions: which SM a CTA goes to, when CTAs of the first wave start, how long an SM waits for its next CTA; and the cp.async path of one SM by row length and shared pitch.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <vector>
#include <map>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint32_t x=(uint32_t)i*2654435761u+7; x^=x>>15;x*=2246822519u;x^=x>>13; p[i]=x; } }
struct Rec{ unsigned sm; unsigned pad; long long c0,c1; unsigned long long g0,g1; };
__global__ void spin(Rec*r,int cycles){ extern __shared__ uint8_t sm[]; if(threadIdx.x==0){ Rec x; asm volatile("mov.u32 %0,%%smid;":"=r"(x.sm)); x.c0=clock64(); asm volatile("mov.u64 %0,%%globaltimer;":"=l"(x.g0)); while(clock64()-x.c0<cycles); asm volatile("mov.u64 %0,%%globaltimer;":"=l"(x.g1)); x.c1=clock64(); r[blockIdx.x+(size_t)blockIdx.y*gridDim.x]=x; } __syncthreads(); }
// per warp and iteration 8 copies; rows of `rb` bytes `pitch` apart in global and `spitch` apart in shared memory; walks along the rows
template<int RB> __global__ void rows(int pitch,int spitch,int iters,const uint8_t*g,long long*cyc){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int per=RB/16,R=32/per; uint32_t sd=b+(warp*8*R+lane/per)*spitch+(lane%per)*16; const uint8_t*gs=g+(size_t)blockIdx.x*(1<<22)+((size_t)warp*8*R+lane/per)*pitch+(lane%per)*16; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){
    #pragma unroll
    for(int j=0;j<8;j++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd+j*R*spitch),"l"(gs+(size_t)j*R*pitch):"memory");
    gs+=RB; asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) cyc[blockIdx.x]=t1-t0; }
template<int RB> __global__ void rowlat(int n,int pitch,int spitch,const uint8_t*g,long long*cyc){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31; constexpr int per=RB/16,R=32/per; uint32_t sd=b+(lane/per)*spitch+(lane%per)*16; const uint8_t*gs=g+(size_t)(lane/per)*pitch+(lane%per)*16; long long t0=clock64(); for(int i=0;i<n;i++){ asm volatile("cp.async.cg.shared.global [%0],[%1],16; cp.async.commit_group; cp.async.wait_group 0;"::"r"(sd),"l"(gs):"memory"); } long long t1=clock64(); if(threadIdx.x==0) *cyc=t1-t0; }
Rec*r; long long*cyc; uint8_t*g;
void launch(int gx,int gy,int thr,int smem,int cycles){ CK(cudaFuncSetAttribute(spin,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); int n=gx*gy; for(int k=0;k<3;k++){ spin<<<dim3(gx,gy),thr,smem>>>(r,cycles); CK(cudaDeviceSynchronize()); }
  long long c0=r[0].c0; unsigned long long g0=r[0].g0; for(int i=0;i<n;i++){ c0=std::min(c0,r[i].c0); g0=std::min(g0,r[i].g0);} printf("launch,grid=%dx%d threads=%d smem=%d spin=%d\n",gx,gy,thr,smem,cycles); for(int i=0;i<n;i++) printf("cta,%d,%u,%lld,%lld,%llu\n",i,r[i].sm,r[i].c0-c0,r[i].c1-c0,r[i].g0-g0); }
int main(){ CK(cudaMallocManaged(&r,sizeof(Rec)*65536)); CK(cudaMallocManaged(&cyc,8*256)); CK(cudaMalloc(&g,(size_t)1<<30)); noise<<<1024,256>>>((uint32_t*)g,(size_t)1<<28); CK(cudaDeviceSynchronize());
  launch(4,1,128,49152,20000); launch(64,1,128,100000,20000); launch(132,1,128,200000,20000); launch(528,1,128,100000,20000); launch(1056,1,128,200000,5000); launch(128,1,256,200000,20000);
  CK(cudaFuncSetAttribute(rows<64>,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); CK(cudaFuncSetAttribute(rows<128>,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); CK(cudaFuncSetAttribute(rows<32>,cudaFuncAttributeMaxDynamicSharedMemorySize,200000));
  auto go=[&](auto k,int rb,int w,int pitch,int sp,int ctas){ double best=1e30; for(int i=0;i<4;i++){ k<<<ctas,32*w,200000>>>(pitch,sp,60,g,cyc); CK(cudaDeviceSynchronize()); best=std::min(best,(double)cyc[0]); } printf("rows,rowbytes=%d,warps=%d,pitch=%d,shared_pitch=%d,ctas=%d,%.2f\n",rb,w,pitch,sp,ctas,best/(60.0*8*w)); };
  for(int c:{1,132}) for(int w:{1,4,8,16}) for(int p:{1024,4096,8192}) { if(w==16){ go(rows<64>,64,w,p,64,c); go(rows<64>,64,w,p,80,c); continue; } go(rows<32>,32,w,p,32,c); go(rows<64>,64,w,p,64,c); go(rows<64>,64,w,p,80,c); go(rows<128>,128,w,p,128,c); go(rows<128>,128,w,p,144,c); }
  auto lat=[&](auto k,int rb,int sp){ for(int i=0;i<3;i++){ k<<<1,32,16384>>>(64,4096,sp,g,cyc); CK(cudaDeviceSynchronize()); } printf("rowlat,rowbytes=%d,shared_pitch=%d,%.2f\n",rb,sp,cyc[0]/64.0); };
  lat(rowlat<16>,16,16); lat(rowlat<32>,32,32); lat(rowlat<64>,64,64); lat(rowlat<64>,64,80); lat(rowlat<128>,128,128); lat(rowlat<128>,128,144); lat(rowlat<512>,512,512);
}
