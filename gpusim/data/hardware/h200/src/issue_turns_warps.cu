// Two warps share a sub-partition's issue slot: the older pauses now and then, the younger could always go on. Who gets
// the slot when the older one can go on again? Clocks of both after every PIECE instructions.
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
template<int KIND,int PAUSE,int LATE> __global__ void run(unsigned*out,unsigned*sink,int loops){
  __shared__ unsigned sm[1024];
  float v[8]; unsigned u[8],t[PIECES+1]; int warp=threadIdx.x>>5; bool older=warp<4;
  #pragma unroll
  for(int i=0;i<8;i++){ v[i]=threadIdx.x+i; u[i]=threadIdx.x*7+i; }
  sm[threadIdx.x]=threadIdx.x; unsigned addr=(unsigned)__cvta_generic_to_shared(sm)+(threadIdx.x&31)*4;
  for(int n=0;n<loops;n++){
    __syncthreads();
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
  if((threadIdx.x&31)==0) for(int p=0;p<=PIECES;p++) out[warp*(PIECES+1)+p]=t[p];
}
unsigned *out,*sink;
template<int KIND,int PAUSE,int LATE> void one(){
  run<KIND,PAUSE,LATE><<<1,256>>>(out,sink,3); CK(cudaDeviceSynchronize());
  for(int w=0;w<8;w+=4){ printf("%d,%d,%d,%d",KIND,PAUSE,LATE,w); for(int p=0;p<=PIECES;p++) printf(",%u",out[w*(PIECES+1)+p]-out[0]); printf("\n"); } }
template<int KIND> void pauses(){ one<KIND,0,0>(); one<KIND,1,0>(); one<KIND,2,0>(); one<KIND,3,0>(); one<KIND,4,0>(); one<KIND,5,0>(); one<KIND,1,1>(); one<KIND,2,1>(); one<KIND,3,1>(); one<KIND,4,1>(); one<KIND,5,1>(); }
int main(){ CK(cudaMallocManaged(&out,4096)); CK(cudaMallocManaged(&sink,4096)); printf("kind,pause,late,warp"); for(int p=0;p<=PIECES;p++) printf(",t%d",p); printf("\n"); pauses<0>(); pauses<1>(); pauses<2>(); }
