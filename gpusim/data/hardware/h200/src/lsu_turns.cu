// Does a full queue of copies hold back loads of other sub-partitions? Warps below `loaders` issue N copies, the others wait `delay` cycles and then time one ldmatrix.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
template<int N> __global__ void delayed(int rb,int pitch,int spitch,int loaders,int delay,const uint8_t*g,uint32_t*out,uint32_t*sink){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; int per=rb/16,R=32/per;
  uint32_t sd[N]; const uint8_t*gs[N];
  #pragma unroll
  for(int j=0;j<N;j++){ int r=(warp*16+j)*R+lane/per,c=lane%per; uint32_t a=r*rb+c*16; if(spitch) a=r*spitch+c*16; else a^=((a>>7)&7)<<4; sd[j]=b+a; gs[j]=g+(size_t)r*pitch+c*16; }
  uint32_t la=b+196608+warp*512+lane*16; uint32_t x0=0,x1=0,x2=0,x3=0; uint32_t best0=1<<30,best1=1<<30,best2=1<<30;
  for(int it=0;it<6;it++){ __syncthreads(); __nanosleep(1000); __syncthreads();
    uint32_t t0,t1,t2,t3;
    asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory");
    if(warp<loaders){
    #pragma unroll
    for(int j=0;j<N;j++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd[j]),"l"(gs[j]):"memory");
    } else { uint32_t t; do { asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory"); } while(t-t0<delay); }
    asm volatile("mov.u32 %0,%%clock;":"=r"(t1)::"memory");
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x0),"=r"(x1),"=r"(x2),"=r"(x3):"r"(la):"memory");
    asm volatile("{.reg .pred p; setp.eq.u32 p,%1,%2; @p trap; mov.u32 %0,%%clock;}":"=r"(t2):"r"(x0),"r"(0x12345):"memory");
    asm volatile("cp.async.wait_all;":::"memory"); asm volatile("mov.u32 %0,%%clock;":"=r"(t3)::"memory");
    if(it>1){ best0=min(best0,t1-t0); best1=min(best1,t2-t1); best2=min(best2,t3-t0); } }
  if(lane==0){ out[warp*3]=best0; out[warp*3+1]=best1; out[warp*3+2]=best2; } if(x0+x1+x2+x3==77) *sink=1; }
// N accesses of a kind by every warp, then one LDS: cycles until the last has issued, until the LDS's data are there
template<int N,int KIND> __global__ void before(uint32_t*out,uint32_t*sink){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  uint32_t a4=b+warp*2048+lane*4,a16=b+warp*2048+lane*16; uint32_t x=lane,y=0,z=1,w=2,v=3; uint32_t s=0; uint32_t best0=1<<30,best1=1<<30; uint32_t q[N?N:1][4];
  for(int it=0;it<6;it++){ __syncthreads(); __nanosleep(1000); __syncthreads();
    uint32_t t0,t1,t2;
    asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory");
    #pragma unroll
    for(int j=0;j<N;j++){
      if(KIND==0) asm volatile("st.shared.u32 [%0],%1;"::"r"(a4),"r"(z):"memory");
      if(KIND==1) asm volatile("st.shared.v2.u32 [%0],{%1,%2};"::"r"(a16),"r"(z),"r"(w):"memory");
      if(KIND==2) asm volatile("st.shared.v4.u32 [%0],{%1,%2,%3,%4};"::"r"(a16),"r"(z),"r"(w),"r"(v),"r"(z):"memory");
      if(KIND==3) asm volatile("ld.shared.u32 %0,[%1];":"=r"(q[j][0]):"r"(a4):"memory");
      if(KIND==4) asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(q[j][0]),"=r"(q[j][1]),"=r"(q[j][2]),"=r"(q[j][3]):"r"(a16):"memory");
      if(KIND==5) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[j][0]),"=r"(q[j][1]),"=r"(q[j][2]),"=r"(q[j][3]):"r"(a16):"memory");
      if(KIND==6) asm volatile("ldmatrix.sync.aligned.x1.m8n8.shared.b16 {%0},[%1];":"=r"(q[j][0]):"r"(a16):"memory");
    }
    asm volatile("mov.u32 %0,%%clock;":"=r"(t1)::"memory");
    asm volatile("ld.shared.u32 %0,[%1];":"=r"(y):"r"(a4):"memory");
    asm volatile("{.reg .pred p; setp.eq.u32 p,%1,%2; @p trap; mov.u32 %0,%%clock;}":"=r"(t2):"r"(y),"r"(0x12345):"memory");
    if(KIND>=3) for(int j=0;j<N;j++){ s+=q[j][0]; if(KIND==4||KIND==5) s+=q[j][1]+q[j][2]+q[j][3]; }
    if(it>1){ best0=min(best0,t1-t0); best1=min(best1,t2-t0); } }
  if(lane==0){ out[warp*2]=best0; out[warp*2+1]=best1; } if(s+x==77) *sink=1; }
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) p[i]=(uint32_t)i*2654435761u; }
int main(){ uint32_t*o,*s; uint8_t*g; CK(cudaMallocManaged(&o,4*96)); CK(cudaMalloc(&s,4)); CK(cudaMalloc(&g,(size_t)64<<20)); noise<<<1024,256>>>((uint32_t*)g,(size_t)16<<20); CK(cudaDeviceSynchronize());
  auto go=[&](auto k,int n,int rb,int pitch,int sp,int warps,int loaders){ CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,220000)); for(int delay=20;delay<=620;delay+=40){ k<<<1,32*warps,220000>>>(rb,pitch,sp,loaders,delay,g,o,s); CK(cudaDeviceSynchronize()); printf("delayed,rowbytes=%d,pitch=%d,shared_pitch=%d,warps=%d,loaders=%d,n=%d,delay=%d",rb,pitch,sp,warps,loaders,n,delay); for(int w=0;w<warps;w++) printf(",%u/%u/%u",o[w*3],o[w*3+1],o[w*3+2]); printf("\n"); } };
  for(int rb:{64,128}) { go(delayed<12>,12,rb,2048,0,4,3); go(delayed<12>,12,rb,2000,0,4,3); go(delayed<12>,12,rb,2048,0,8,4); go(delayed<12>,12,rb,2000,0,8,4); go(delayed<12>,12,rb,2048,rb+16,8,4); go(delayed<16>,16,rb,2000,0,8,4); go(delayed<16>,16,rb,2000,0,5,1); go(delayed<16>,16,rb,2000,0,5,4); }
  auto be=[&](auto k,int n,int kind){ CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,150000)); for(int w:{1,4,8}){ k<<<1,32*w,150000>>>(o,s); CK(cudaDeviceSynchronize()); printf("before,kind=%d,n=%d,warps=%d",kind,n,w); for(int i=0;i<w;i++) printf(",%u/%u",o[i*2],o[i*2+1]); printf("\n"); } };
  #define B(K) be(before<0,K>,0,K); be(before<1,K>,1,K); be(before<2,K>,2,K); be(before<4,K>,4,K); be(before<8,K>,8,K); be(before<12,K>,12,K); be(before<16,K>,16,K);
  B(0) B(1) B(2) B(3) B(4) B(5) B(6)
}
