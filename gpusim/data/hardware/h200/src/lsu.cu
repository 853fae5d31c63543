// Load/store unit questions: single sub-partition streams with many warps, issue windows, cp.async by footprint and row length, L1 hits of cp.async.cg.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
enum{LDS32,LDS64,LDS128,LDSM1,LDSM2,LDSM4,STS32,STS64,STS128};
static const char*NAME[]={"lds32","lds64","lds128","ldsm1","ldsm2","ldsm4","sts32","sts64","sts128"};
template<int OP> __device__ __forceinline__ void mem(uint32_t a,uint32_t&x,uint32_t&y,uint32_t&z,uint32_t&w){
  if constexpr(OP==LDS32) asm volatile("ld.volatile.shared.u32 %0,[%1];":"=r"(x):"r"(a));
  if constexpr(OP==LDS64) asm volatile("ld.volatile.shared.v2.u32 {%0,%1},[%2];":"=r"(x),"=r"(y):"r"(a));
  if constexpr(OP==LDS128) asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"r"(a));
  if constexpr(OP==LDSM1) asm volatile("ldmatrix.sync.aligned.x1.m8n8.shared.b16 {%0},[%1];":"=r"(x):"r"(a));
  if constexpr(OP==LDSM2) asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0,%1},[%2];":"=r"(x),"=r"(y):"r"(a));
  if constexpr(OP==LDSM4) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"r"(a));
  if constexpr(OP==STS32) asm volatile("st.volatile.shared.u32 [%0],%1;"::"r"(a),"r"(x):"memory");
  if constexpr(OP==STS64) asm volatile("st.volatile.shared.v2.u32 [%0],{%1,%1};"::"r"(a),"r"(x):"memory");
  if constexpr(OP==STS128) asm volatile("st.volatile.shared.v4.u32 [%0],{%1,%1,%1,%1};"::"r"(a),"r"(x):"memory"); }
__device__ __forceinline__ uint32_t addr(int op,int lane,int ways){
  if(op==LDS32||op==STS32) return (lane%(32/ways))*4+(lane/(32/ways))*128;
  if(op==LDS64||op==STS64){ int l=lane%16,h=lane/16; return (l%(16/ways))*8+(l/(16/ways))*128+h*2048; }
  int l=lane%8,g=lane/8; return (l%(8/ways))*16+(l/(8/ways))*128+g*1024; }
// 16 independent accesses in flight per warp; loads never consumed inside the batch
template<int OP> __global__ void stream(int ways,int psub,int iters,long long*cyc,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm);
  int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t a=b+addr(OP,lane,ways),s=0; uint32_t x[16],y[16],z[16],w[16]; for(int i=0;i<16;i++) x[i]=y[i]=z[i]=w[i]=threadIdx.x; __syncthreads(); long long t0=clock64();
  if((warp&3)<psub) for(int i=0;i<iters;i++){
    #pragma unroll
    for(int j=0;j<16;j++) mem<OP>(a+j*1024,x[j],y[j],z[j],w[j]); 
    if(OP<STS32){
    #pragma unroll
    for(int j=0;j<16;j++) s^=x[j]^y[j]^z[j]^w[j]; } }
  __syncthreads(); long long t1=clock64(); sink[threadIdx.x]=s; if(threadIdx.x==0) *cyc=t1-t0; }
// n accesses back to back between two clock reads; all accesses independent
template<int OP,int N> __global__ void window(int ways,int psub,unsigned*out,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t a=b+addr(OP,lane,ways),s=0; unsigned t0=0,t1=0; uint32_t x[N],y[N],z[N],w[N]; for(int i=0;i<N;i++) x[i]=y[i]=z[i]=w[i]=threadIdx.x;
  for(int r=0;r<3;r++){ __syncthreads(); if((warp&3)<psub){ asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory");
    #pragma unroll
    for(int i=0;i<N;i++) mem<OP>(a+i*1024,x[i],y[i],z[i],w[i]);
    asm volatile("mov.u32 %0,%%clock;":"=r"(t1)::"memory");
    #pragma unroll
    for(int i=0;i<N;i++) s^=x[i]^y[i]^z[i]^w[i]; } }
  sink[threadIdx.x]=s; if(lane==0) out[warp]=t1-t0; }
// cp.async: per warp and iteration 8 copies of 512 B, row bytes 16..512, footprint wraps; groups in flight 4
__global__ void cpa(int rowbytes,int pitch,size_t foot,int iters,const uint8_t*g,long long*cyc,int ca){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5,nw=blockDim.x>>5; int per=rowbytes/16; uint32_t sd=b+warp*4096+lane*16; size_t off=(size_t)warp*8*(32/per)*pitch; const uint8_t*gs=g+(size_t)blockIdx.x*foot+(size_t)(lane/per)*pitch+(lane%per)*16; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){
    #pragma unroll
    for(int j=0;j<8;j++){ const uint8_t*p=gs+off; if(ca) asm volatile("cp.async.ca.shared.global [%0],[%1],16;"::"r"(sd+j*512),"l"(p):"memory"); else asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd+j*512),"l"(p):"memory"); off+=(size_t)(32/per)*pitch; if(off>=foot) off-=foot; }
    off+=(size_t)(nw-1)*8*(32/per)*pitch; while(off>=foot) off-=foot;
    asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); if(threadIdx.x==0) cyc[blockIdx.x]=t1-t0; }
long long*cyc; uint32_t*sink; unsigned*q; uint8_t*g;
template<int OP> void st(){ CK(cudaFuncSetAttribute(stream<OP>,cudaFuncAttributeMaxDynamicSharedMemorySize,65536)); for(int ways:{1,2,8}) for(int p:{1,2,4}) for(int w:{1,2,4,8}){ if(ways==8&&w==8) continue; double best=1e30; for(int r=0;r<3;r++){ stream<OP><<<1,128*w,65536>>>(ways,p,64,cyc,sink); CK(cudaDeviceSynchronize()); best=std::min(best,(double)*cyc);} printf("stream16,%s,ways=%d,subpartitions=%d,warps_per_sub=%d,%.3f\n",NAME[OP],ways,p,w,best/(64.0*16)); } }
template<int OP,int N> void wn(){ auto k=window<OP,N>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,65536)); for(int ways:{1,8}) for(int p:{1,2,4}){ k<<<1,128,65536>>>(ways,p,q,sink); CK(cudaDeviceSynchronize()); printf("issue_window,%s,n=%d,ways=%d,subpartitions=%d,%u\n",NAME[OP],N,ways,p,q[0]); } }
template<int OP> void wa(){ wn<OP,1>();wn<OP,2>();wn<OP,3>();wn<OP,4>();wn<OP,5>();wn<OP,6>();wn<OP,7>();wn<OP,8>();wn<OP,9>();wn<OP,10>();wn<OP,12>();wn<OP,16>();wn<OP,20>(); }
int main(int argc,char**argv){ CK(cudaMallocManaged(&cyc,8*256)); CK(cudaMallocManaged(&q,256)); CK(cudaMalloc(&sink,8192)); CK(cudaMalloc(&g,(size_t)1<<30)); CK(cudaMemset(g,1,(size_t)1<<30));
  CK(cudaFuncSetAttribute(cpa,cudaFuncAttributeMaxDynamicSharedMemorySize,131072));
  auto runc=[&](int ctas,int warps,int rb,int pitch,size_t foot,int ca,int sm){ double best=1e30; int it=64; for(int r=0;r<4;r++){ cpa<<<ctas,32*warps,sm>>>(rb,pitch,foot,it,g,cyc,ca); CK(cudaDeviceSynchronize()); double s=0; for(int i=0;i<ctas;i++) s+=cyc[i]; best=std::min(best,s/ctas);} printf("cpasync,%s,rowbytes=%d pitch=%d,footprint=%zuK,ctas=%d warps=%d smem=%d,%.2f\n",ca?"ca":"cg",rb,pitch,foot>>10,ctas,warps,sm,best/(it*8.0*warps)); };
  if(argc>1){ int m=atoi(argv[1]); if(m==0) runc(1,8,128,8192,4<<20,0,131072); if(m==1) runc(1,8,64,8192,4<<20,0,131072); if(m==2) runc(1,8,128,128,64<<10,0,32768); if(m==3) runc(1,8,64,4096,4<<20,0,131072); return 0; }
  printf("kind,what,p1,p2,p3,cycles\n");
  st<LDS32>();st<LDS128>();st<LDSM1>();st<LDSM4>();st<STS32>();st<STS64>();st<STS128>();
  wa<LDS32>();wa<LDSM4>();wa<STS32>();wa<STS128>();
  for(int ca:{0,1}) for(int sm:{32768,131072}) for(int w:{1,4,8}) for(size_t f:{(size_t)64<<10,(size_t)4<<20}) for(int rb:{16,32,64,128,512}) { if(w==1&&f>(64<<10)) continue; runc(1,w,rb,rb==512?512:rb<128?rb*2:128,f,ca,sm); }
  for(int c:{8,33,66,132}) for(int rb:{64,128}) runc(c,8,rb,rb==64?8192:128,(size_t)4<<20,0,131072);
  for(int rb:{64,128}) for(int p:{128,1024,4096,8192}) runc(1,8,rb,p,(size_t)4<<20,0,131072);
}
