// cp.async whose copies in flight go to `slots` different places of shared memory. With fewer slots than groups in flight copies overwrite others under way: the chip drops some, and `bad` counts words that are wrong at the end.
// Measured with % instead of & in front of the first clock read.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint32_t x=(uint32_t)i*2654435761u+7; x^=x>>15;x*=2246822519u;x^=x>>13; p[i]=x; } }
// streams: as bw<2> of memory.cu, W groups stay in flight
template<int W> __global__ void bw(const uint8_t*p,size_t per_cta,size_t wrap,int reps,uint32_t slots,long long*cyc,uint32_t*bad){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t sb=(uint32_t)__cvta_generic_to_shared(sm)+threadIdx.x*16; const uint8_t*base=p+(((size_t)blockIdx.x*per_cta)&(wrap-1))+threadIdx.x*16; uint32_t step=blockDim.x*16,slot=0; const uint8_t*a=base; long long t0=clock64();
  for(int r=0;r<reps;r++) for(size_t o=0;o<per_cta;o+=(size_t)step*4){ a=base+o; uint32_t d=sb+slot*step*4; if(++slot==slots) slot=0;
    #pragma unroll
    for(int u=0;u<4;u++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d+u*step),"l"(a+(size_t)u*step):"memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group %0;"::"n"(W):"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) cyc[blockIdx.x]=t1-t0;
  if(!bad) return; uint32_t last=slot?slot-1:slots-1; if(*(uint32_t*)(sm+threadIdx.x*16+last*step*4)!=*(const uint32_t*)a) atomicAdd(bad,1); }
// rows: as in launch.cu
template<int RB> __global__ void rows(int pitch,int spitch,int iters,uint32_t slots,uint32_t slotbytes,const uint8_t*g,long long*cyc){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int per=RB/16,R=32/per; uint32_t sd=b+(warp*8*R+lane/per)*spitch+(lane%per)*16; const uint8_t*gs=g+(size_t)blockIdx.x*(1<<22)+((size_t)warp*8*R+lane/per)*pitch+(lane%per)*16; uint32_t s=0; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){ uint32_t d=sd+s*slotbytes; if(++s==slots) s=0;
    #pragma unroll
    for(int j=0;j<8;j++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d+j*R*spitch),"l"(gs+(size_t)j*R*pitch):"memory");
    gs+=RB; asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) cyc[blockIdx.x]=t1-t0; }
long long*cyc; uint8_t*g; uint32_t*bad;
template<int W> void stream(int ctas,int thr,int slots,size_t per,size_t wrap,int reps){ size_t need=(size_t)slots*thr*64; if(need>230000) return; auto k=bw<W>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,230000)); double best=1e30,mean=0; *bad=0; for(int r=0;r<3;r++){ k<<<ctas,thr,std::max(need,(size_t)120000)>>>(g,per,wrap,reps,slots,cyc,bad); CK(cudaDeviceSynchronize()); double mx=0,s=0; for(int i=0;i<ctas;i++){ mx=std::max(mx,(double)cyc[i]); s+=cyc[i]; } if(mx<best){ best=mx; mean=s/ctas; } }
  double b=(double)per*reps; printf("stream,waits=%d,slots=%d,ctas=%d,threads=%d,per_cta_kib=%zu,,%.2f,%.2f,%u\n",W,slots,ctas,thr,per>>10,b/best,b/mean,*bad); fflush(stdout); }
template<int RB> void row(int w,int pitch,int sp,int ctas,int slots){ int sb=w*8*(512/RB)*sp; if(sb*slots>230000) return; auto k=rows<RB>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,230000)); double best=1e30,mean=1e30; int it=RB==32?30:60; for(int r=0;r<4;r++){ k<<<ctas,32*w,230000>>>(pitch,sp,it,slots,sb,g,cyc); CK(cudaDeviceSynchronize()); double s=0; for(int i=0;i<ctas;i++) s+=cyc[i]; mean=std::min(mean,s/ctas); best=std::min(best,(double)cyc[0]); } printf("rows,rowbytes=%d,slots=%d,ctas=%d,warps=%d,pitch=%d,shared_pitch=%d,%.3f,%.3f,\n",RB,slots,ctas,w,pitch,sp,best/(it*8.0*w),mean/(it*8.0*w)); fflush(stdout); }
int main(){ CK(cudaMallocManaged(&cyc,8*256)); CK(cudaMallocManaged(&bad,4)); CK(cudaMalloc(&g,(size_t)1<<30)); noise<<<1024,256>>>((uint32_t*)g,(size_t)1<<28); CK(cudaDeviceSynchronize());
  const size_t K=1<<10,M=1<<20; printf("kind,p1,p2,p3,p4,p5,p6,value,mean,bad\n");
  for(int c:{1,8,66,132}) for(int thr:{128,256,512,1024}) for(int s:{1,2,3,4,7}) { stream<6>(c,thr,s,256*K,16*M,64); if(s<=4) stream<3>(c,thr,s,256*K,16*M,64); if(s<=3) stream<2>(c,thr,s,256*K,16*M,64); if(s<=2) stream<1>(c,thr,s,256*K,16*M,64); }
  for(int thr:{256,512}) for(int s:{1,2,4,7}) stream<6>(132,thr,s,4*M,(size_t)1<<30,2);
  for(int c:{1,132}) for(int w:{1,4,8}) for(int s:{1,2,4}) for(int p:{1024,4096}) { row<32>(w,p,32,c,s); row<64>(w,p,64,c,s); row<64>(w,p,80,c,s); row<128>(w,p,128,c,s); row<128>(w,p,144,c,s); row<256>(w,4096,256,c,s); row<512>(w,4096*8,512,c,s); }
}
