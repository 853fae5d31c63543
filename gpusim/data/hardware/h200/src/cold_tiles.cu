// Tiles of cold rows by cp.async, as a GEMM's main loop fetches them: each CTA has 256 rows of its own, `pitch` bytes apart, and takes the next 64 bytes of
// each in turn (with L2's prefetch of 128 bytes: every other tile is there already, and is taken without being timed). Cycles from the first copy to the
// arrival of all, by CTAs; fresh rows when those end. What is multiplied in between takes another time each time, so that tiles meet refreshes anywhere.
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <algorithm>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{ cudaError_t e_=(x); if(e_!=cudaSuccess){ printf("%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
#define ROWS 256
__global__ void __launch_bounds__(128) tiles(const char*base,unsigned*out,int pitch,int columns,int trials){
  extern __shared__ __align__(1024) char sm[]; uint32_t s=(uint32_t)__cvta_generic_to_shared(sm)+threadIdx.x*16; int tid=threadIdx.x;
  unsigned h=12345u; float x=tid; const char*p=base+(size_t)blockIdx.x*ROWS*pitch+(size_t)(tid>>2)*pitch+(tid&3)*16; int column=0;
  #pragma unroll 1
  for(int t=0;t<trials;t++){ h=h*1664525u+1013904223u; int n=(h>>22);
    #pragma unroll 1
    for(int i=0;i<n;i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(x));
    __syncthreads(); unsigned t0=clock();
    #pragma unroll
    for(int half=0;half<2;half++){
      #pragma unroll
      for(int i=0;i<8;i++) asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;"::"r"(s+i*2048),"l"(p+half*64+(size_t)i*32*pitch):"memory");
      asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;":::"memory"); __syncthreads();
      if(half==0){ unsigned t1=clock(); if(tid==0) out[t*gridDim.x+blockIdx.x]=t1-t0; } }
    p+=128; if(++column==columns){ column=0; p+=(size_t)gridDim.x*ROWS*pitch-pitch; } }
  ((float*)out)[200000+tid]=x; }
int main(){ size_t bytes=(size_t)8<<30; char*d,*junk; unsigned*o; CK(cudaMalloc(&d,bytes)); CK(cudaMalloc(&junk,(size_t)512<<20)); CK(cudaMalloc(&o,1<<20)); CK(cudaMemset(d,1,bytes)); const int T=48; std::vector<unsigned> h(T*128);
  printf("pitch,ctas,cycles\n");
  for(int pitch:{1024,2048,4096,8192,1152}) for(int ctas:{1,4,16,64}){ int columns=pitch/128;
    for(int r=0;r<3;r++){ CK(cudaMemset(junk,r,(size_t)512<<20)); CK(cudaDeviceSynchronize()); tiles<<<ctas,128,16384>>>(d,o,pitch,columns,T); CK(cudaDeviceSynchronize()); if(!r) continue; CK(cudaMemcpy(h.data(),o,4*T*ctas,cudaMemcpyDeviceToHost));
      for(int t=4;t<T;t++){ printf("%d,%d,",pitch,ctas); for(int c=0;c<ctas;c++) printf(c?" %u":"%u",h[t*ctas+c]); printf("\n"); } } } }
