// Two warps, of one CTA or of two, share a sub-partition's issue slot: one pauses now and then, the other could always go
// on. Who gets the slot when both could? Clocks of both after every PIECE instructions. Argument: 1 or 2, the CTAs.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int PIECES=16, PIECE=24;
__device__ __forceinline__ unsigned now(){ long long t; asm volatile("mov.u64 %0,%%clock64;":"=l"(t)::"memory"); return (unsigned)t; }
// PAUSE: 0 none, 1 a chain of eight FFMA, 2 a load from shared memory, 3 a shuffle, 4 a special register, 5 MUFU chain; KIND: 0 FFMA, 1 IADD/LOP3, 2 both in turn
template<int KIND> __device__ __forceinline__ void piece(float*v,unsigned*u){
  #pragma unroll
  for(int i=0;i<PIECE;i++){
    if(KIND==0 || (KIND==2 && i%2==0)) asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(v[i%8]));
    else asm volatile("lop3.b32 %0,%0,%1,0x5a5a,0x96;":"+r"(u[i%8]):"r"(u[(i+3)%8]));
  } }
template<int CTAS,int KIND,int PAUSE,int LATE> __global__ void run(unsigned*out,unsigned*sink,int loops){
  __shared__ unsigned sm[1024];
  float v[8]; unsigned u[8],t[PIECES+1]; int warp=threadIdx.x>>5; bool older=CTAS==2?blockIdx.x<132:warp<4;
  #pragma unroll
  for(int i=0;i<8;i++){ v[i]=threadIdx.x+i; u[i]=threadIdx.x*7+i; }
  sm[threadIdx.x]=threadIdx.x; unsigned addr=(unsigned)__cvta_generic_to_shared(sm)+(threadIdx.x&31)*4;
  for(int n=0;n<loops;n++){
    __syncthreads(); if(CTAS==2){ while((clock64()&16383)>40); __syncthreads(); }
    if(older==(LATE==0)){
      #pragma unroll
      for(int p=0;p<PIECES;p++){
        t[p]=now(); piece<KIND>(v,u);
        if(PAUSE==1){
          #pragma unroll
          for(int i=0;i<8;i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(v[0])); }
        if(PAUSE==2){ unsigned x; asm volatile("ld.shared.u32 %0,[%1];":"=r"(x):"r"(addr)); asm volatile("add.u32 %0,%0,%1;":"+r"(u[0]):"r"(x)); addr+=(x>>20); }
        if(PAUSE==3){ unsigned x; asm volatile("shfl.sync.idx.b32 %0,%1,0,0x1f,0xffffffff;":"=r"(x):"r"(u[0])); asm volatile("add.u32 %0,%0,%1;":"+r"(u[0]):"r"(x)); }
        if(PAUSE==4){ unsigned x; asm volatile("mov.u32 %0,%%ctaid.y;":"=r"(x)); asm volatile("add.u32 %0,%0,%1;":"+r"(u[0]):"r"(x)); }
        if(PAUSE==5){ asm volatile("ex2.approx.f32 %0,%0;":"+f"(v[0])); asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(v[0])); }
      }
      t[PIECES]=now();
    } else {
      #pragma unroll
      for(int p=0;p<PIECES;p++){ t[p]=now(); piece<KIND>(v,u); }
      t[PIECES]=now();
    }
  }
  unsigned s=addr; for(int i=0;i<8;i++) s+=u[i]+__float_as_uint(v[i]); sink[threadIdx.x]=s;
  if(CTAS==2){ int smid; asm volatile("mov.u32 %0,%%smid;":"=r"(smid));
    if(threadIdx.x==0) for(int p=0;p<=PIECES;p++){ out[blockIdx.x*(PIECES+2)+p]=t[p]; out[blockIdx.x*(PIECES+2)+PIECES+1]=smid; } }
  else if((threadIdx.x&31)==0) for(int p=0;p<=PIECES;p++) out[warp*(PIECES+1)+p]=t[p];
}
unsigned *out,*sink;
void show(int kind,int pause,int late,int who,unsigned*t,unsigned zero){
  printf("%d,%d,%d,%d",kind,pause,late,who); for(int p=0;p<=PIECES;p++) printf(",%d",int(t[p]-zero)); printf("\n"); }
template<int CTAS,int KIND,int PAUSE,int LATE> void one(){
  if constexpr(CTAS==1){
    run<1,KIND,PAUSE,LATE><<<1,256>>>(out,sink,3); CK(cudaDeviceSynchronize());
    for(int w=0;w<8;w+=4) show(KIND,PAUSE,LATE,w,out+w*(PIECES+1),out[0]);
  } else {
  CK(cudaFuncSetAttribute(run<2,KIND,PAUSE,LATE>,cudaFuncAttributeMaxDynamicSharedMemorySize,100<<10));
  run<2,KIND,PAUSE,LATE><<<264,128,100<<10>>>(out,sink,3); CK(cudaDeviceSynchronize());
  int shown=0; const int W=PIECES+2;   // two pairs of CTAs that share an SM
  for(int a=0;a<132&&shown<2;a++) for(int b=132;b<264;b++) if(out[a*W+W-1]==out[b*W+W-1]){
    shown++; show(KIND,PAUSE,LATE,a,out+a*W,out[a*W]); show(KIND,PAUSE,LATE,b,out+b*W,out[a*W]); break; } } }
template<int CTAS,int KIND> void pauses(){ one<CTAS,KIND,0,0>(); one<CTAS,KIND,1,0>(); one<CTAS,KIND,2,0>(); one<CTAS,KIND,3,0>(); one<CTAS,KIND,4,0>(); one<CTAS,KIND,5,0>();
  one<CTAS,KIND,1,1>(); one<CTAS,KIND,2,1>(); one<CTAS,KIND,3,1>(); one<CTAS,KIND,4,1>(); one<CTAS,KIND,5,1>(); }
template<int CTAS> void kinds(){ pauses<CTAS,0>(); pauses<CTAS,1>(); pauses<CTAS,2>(); }
int main(int n,char**v){ if(n<2) return 2; CK(cudaMallocManaged(&out,1<<16)); CK(cudaMallocManaged(&sink,4096));
  printf("kind,pause,late,warp"); for(int p=0;p<=PIECES;p++) printf(",t%d",p); printf("\n"); if(atoi(v[1])==1) kinds<1>(); else kinds<2>(); }
