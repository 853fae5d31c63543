// The epilogue of CUTLASS 2.x kernels by itself: accumulators through shared memory, a barrier in front of and behind the loads, rows of
// 128 bytes stored by 16 bytes a lane. Cycles per step of a CTA of four warps, by CTAs per SM, SMs and what is left out; and what chained loads
// from shared memory take while other warps store now and then.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
// PARTS: 1 STS, 2 LDS, 4 STG, 8 barriers. 64 columns: two warps side by side, two on top of each other; 16 rows a step.
template<int PARTS,int STEPS> __global__ void __launch_bounds__(128) epilogue(char*D,long long pitch,float x,int*times){
  extern __shared__ __align__(1024) float sm[]; int tid=threadIdx.x,lane=tid&31,warp=tid>>5; float acc[8]; 
  #pragma unroll
  for(int i=0;i<8;i++) acc[i]=x+i;
  uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); 
  uint32_t put=base+(((warp>>1)*8+(lane>>2))*72+(warp&1)*32+(lane&3)*2)*4;
  uint32_t get=base+((tid>>3)*72+(tid&7)*8)*4; uint32_t g0=get+((lane>>2)&1)*16,g1=get+(((lane>>2)&1)^1)*16;
  char*p=D+((long long)blockIdx.x*(16*STEPS)+(tid>>3))*pitch+(tid&7)*16;
  __syncthreads(); int t0=clock();
  #pragma unroll
  for(int s=0;s<STEPS;s++){
    if(PARTS&8) __syncthreads();
    if(PARTS&1){
      #pragma unroll
      for(int j=0;j<4;j++) asm volatile("st.shared.v2.f32 [%0],{%1,%2};"::"r"(put+j*32),"f"(acc[2*j]),"f"(acc[2*j+1]):"memory"); }
    if(PARTS&8) __syncthreads();
    float v[8];
    #pragma unroll
    for(int i=0;i<8;i++) v[i]=acc[i]*x;
    if(PARTS&2){
      asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3},[%4];":"=f"(v[0]),"=f"(v[1]),"=f"(v[2]),"=f"(v[3]):"r"(g0):"memory");
      asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3},[%4];":"=f"(v[4]),"=f"(v[5]),"=f"(v[6]),"=f"(v[7]):"r"(g1):"memory"); }
    uint32_t h[4];
    #pragma unroll
    for(int i=0;i<4;i++){ __half2 q=__floats2half2_rn(v[2*i]*x,v[2*i+1]*x); h[i]=*(uint32_t*)&q; }
    if(PARTS&4) asm volatile("st.global.v4.b32 [%0],{%1,%2,%3,%4};"::"l"(p),"r"(h[0]),"r"(h[1]),"r"(h[2]),"r"(h[3]):"memory");
    else if((PARTS&2)&&h[0]+h[1]+h[2]+h[3]==0x12345) *(int*)p=1;
    p+=16*pitch;
    if(!(PARTS&3)&&!(PARTS&4)) acc[s&7]*=x;
  }
  int t1=clock(); if(lane==0){ times[(blockIdx.x*4+warp)*2]=t0; times[(blockIdx.x*4+warp)*2+1]=t1; } if(acc[0]+acc[1]+acc[2]==12345.f) *(float*)p=acc[0]; }
template<int PARTS,int STEPS> __global__ void __launch_bounds__(128) marked(char*D,long long pitch,float x,int*times){
  extern __shared__ __align__(1024) float sm[]; int tid=threadIdx.x,lane=tid&31,warp=tid>>5; float acc[8]; 
  #pragma unroll
  for(int i=0;i<8;i++) acc[i]=x+i;
  uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); 
  uint32_t put=base+(((warp>>1)*8+(lane>>2))*72+(warp&1)*32+(lane&3)*2)*4;
  uint32_t get=base+((tid>>3)*72+(tid&7)*8)*4; uint32_t g0=get+((lane>>2)&1)*16,g1=get+(((lane>>2)&1)^1)*16;
  char*p=D+((long long)blockIdx.x*(16*STEPS)+(tid>>3))*pitch+(tid&7)*16;
  int m[5][8]; __syncthreads(); int t0=clock();
  #pragma unroll
  for(int s=0;s<STEPS;s++){
    if(s>=STEPS-8) m[0][s-(STEPS-8)]=clock();
    if(PARTS&8) __syncthreads();
    if(s>=STEPS-8) m[1][s-(STEPS-8)]=clock();
    if(PARTS&1){
      #pragma unroll
      for(int j=0;j<4;j++) asm volatile("st.shared.v2.f32 [%0],{%1,%2};"::"r"(put+j*32),"f"(acc[2*j]),"f"(acc[2*j+1]):"memory"); }
    if(PARTS&8) __syncthreads();
    if(s>=STEPS-8) m[2][s-(STEPS-8)]=clock();
    float v[8];
    #pragma unroll
    for(int i=0;i<8;i++) v[i]=acc[i]*x;
    if(PARTS&2){
      asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3},[%4];":"=f"(v[0]),"=f"(v[1]),"=f"(v[2]),"=f"(v[3]):"r"(g0):"memory");
      asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3},[%4];":"=f"(v[4]),"=f"(v[5]),"=f"(v[6]),"=f"(v[7]):"r"(g1):"memory"); }
    uint32_t h[4];
    #pragma unroll
    for(int i=0;i<4;i++){ __half2 q=__floats2half2_rn(v[2*i]*x,v[2*i+1]*x); h[i]=*(uint32_t*)&q; }
    if(PARTS&2) asm volatile(""::"r"(h[0]),"r"(h[1]),"r"(h[2]),"r"(h[3]):"memory"); if(s>=STEPS-8) m[3][s-(STEPS-8)]=clock();
    if(PARTS&4) asm volatile("st.global.v4.b32 [%0],{%1,%2,%3,%4};"::"l"(p),"r"(h[0]),"r"(h[1]),"r"(h[2]),"r"(h[3]):"memory");
    else if((PARTS&2)&&h[0]+h[1]+h[2]+h[3]==0x12345) *(int*)p=1;
    if(s>=STEPS-8) m[4][s-(STEPS-8)]=clock();
    p+=16*pitch;
    if(!(PARTS&3)&&!(PARTS&4)) acc[s&7]*=x;
  }
  int t1=clock(); if(lane==0){ times[(blockIdx.x*4+warp)*2]=t0; times[(blockIdx.x*4+warp)*2+1]=t1; } if(lane==0){ for(int i=0;i<5;i++) for(int j=0;j<8;j++) times[2048+((blockIdx.x*4+warp)*5+i)*8+j]=m[i][j]-t0; } if(acc[0]+acc[1]+acc[2]==12345.f) *(float*)p=acc[0]; }
// warps 0-3: a store of 16 bytes a lane (rows of 128 bytes), then PAUSE dependent sums, STEPS times; warp 4 chains loads from shared memory.
template<int PAUSE,int WRITERS,int STEPS> __global__ void __launch_bounds__(160) beside(char*D,long long pitch,int x,int*times){
  __shared__ int sh[64]; int tid=threadIdx.x,lane=tid&31,warp=tid>>5; if(tid<64) sh[tid]=0; char*p=D+((long long)blockIdx.x*(16*STEPS)+(tid>>3))*pitch+(tid&7)*16; __syncthreads(); int t0=clock(),t1;
  if(warp<4){ if(warp<WRITERS){
      #pragma unroll 1
      for(int s=0;s<STEPS;s++){ asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};"::"l"(p),"r"(x):"memory"); p+=16*pitch;
        #pragma unroll
        for(int j=0;j<PAUSE;j++) asm volatile("mad.lo.s32 %0,%0,%0,%1;":"+r"(x):"r"(tid)); } }
    t1=clock(); if(x==12345) *(int*)p=x; }
  else { uint32_t a=(uint32_t)__cvta_generic_to_shared(sh)+lane*0,y;
      #pragma unroll 16
      for(int s=0;s<STEPS*(PAUSE>20?4:1);s++){ asm volatile("ld.shared.u32 %0,[%1];":"=r"(y):"r"(a):"memory"); a+=y; }
    t1=clock(); if(a==12345) *(int*)p=x; }
  if(lane==0){ times[(blockIdx.x*5+warp)*2]=t0; times[(blockIdx.x*5+warp)*2+1]=t1; } }
char*D; int*times; 
void report(const char*what,int parts,int per,int sms,int ctas,int warps,int first,int last,int steps,std::vector<std::vector<int>>&runs){
  std::vector<double> mean; for(auto&h:runs){ double s=0; for(int b=0;b<ctas;b++){ int lo=1<<30,hi=-(1<<30); int z=h[(b*warps+first)*2]; for(int w=first;w<=last;w++){ lo=std::min(lo,h[(b*warps+w)*2]-z); hi=std::max(hi,h[(b*warps+w)*2+1]-z); } s+=hi-lo; } mean.push_back(s/ctas/steps); }
  std::sort(mean.begin(),mean.end()); printf("%s,%d,%d,%d,%.2f\n",what,parts,per,sms,mean[mean.size()/2]); fflush(stdout); }
template<int PARTS> void go(int per,int sms){ auto k=epilogue<PARTS,32>; int smem=per==1?200*1024:per==2?110*1024:per==3?70*1024:52*1024; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); int ctas=per*sms; std::vector<std::vector<int>> runs;
  for(int r=0;r<7;r++){ k<<<ctas,128,smem>>>(D,2048,1.f,times); CK(cudaDeviceSynchronize()); std::vector<int> h(ctas*8); CK(cudaMemcpy(h.data(),times,4*h.size(),cudaMemcpyDeviceToHost)); if(r>1) runs.push_back(h); }
  report("epilogue",PARTS,per,sms,ctas,4,0,3,32,runs); }
template<int PAUSE,int WRITERS> void by(int sms){ std::vector<std::vector<int>> runs; auto k=beside<PAUSE,WRITERS,64>; int loads=64*(PAUSE>20?4:1);
  for(int r=0;r<7;r++){ k<<<sms,160>>>(D,2048,1,times); CK(cudaDeviceSynchronize()); std::vector<int> h(sms*10); CK(cudaMemcpy(h.data(),times,4*h.size(),cudaMemcpyDeviceToHost)); if(r>1) runs.push_back(h); }
  report("loads beside",PAUSE,WRITERS,sms,sms,5,4,4,loads,runs); if(WRITERS) report("stores",PAUSE,WRITERS,sms,sms,5,0,WRITERS-1,64,runs); }
template<int PARTS> void sizes(){ go<PARTS>(1,1); for(int per=1;per<=4;per++) go<PARTS>(per,132); }
template<int PAUSE> void pauses(){ for(int sms:{1,132}){ by<PAUSE,1>(sms); by<PAUSE,2>(sms); by<PAUSE,4>(sms); } }
template<int PARTS> void mark(int per,int sms){ auto k=marked<PARTS,32>; int smem=per==1?200*1024:per==2?110*1024:per==3?70*1024:52*1024; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); int ctas=per*sms; 
  for(int r=0;r<3;r++){ k<<<ctas,128,smem>>>(D,2048,1.f,times); CK(cudaDeviceSynchronize()); }
  std::vector<int> h(2048+160*4); CK(cudaMemcpy(h.data(),times,4*h.size(),cudaMemcpyDeviceToHost));
  for(int w=0;w<4;w++) for(int j=0;j<8;j++){ printf("marks,%d,%d,%d,%d,%d",PARTS,per,sms,w,j); for(int i=0;i<5;i++) printf(",%d",h[2048+(w*5+i)*8+j]); puts(""); } }
int main(int argc,char**argv){ CK(cudaMalloc(&D,(size_t)1<<30)); CK(cudaMemset(D,0,(size_t)1<<30)); CK(cudaMalloc(&times,1<<20));
  if(argc>1){ puts("what,parts,ctas_per_sm,sms,warp,step,begin,barrier,stored,loaded,written"); mark<15>(1,1); mark<14>(1,1); mark<12>(1,1); mark<13>(1,1); mark<9>(1,1); mark<8>(1,1); mark<15>(1,132); return 0; }
  puts("what,parts,ctas_per_sm,sms,cycles");
  sizes<15>(); sizes<11>(); sizes<12>(); sizes<13>(); sizes<14>(); sizes<9>(); sizes<10>(); sizes<8>(); sizes<4>(); sizes<3>(); sizes<7>();
  by<0,0>(1); pauses<0>(); pauses<8>(); pauses<32>(); pauses<64>(); }
