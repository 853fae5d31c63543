// Instruction fetch: a straight line of 8192 FFMA, the clock after every 64, by one warp or four, first and later launches.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__device__ __forceinline__ void f4(float*v){ asm volatile("fma.rn.f32 %0,%0,%0,%0; fma.rn.f32 %1,%1,%1,%1; fma.rn.f32 %2,%2,%2,%2; fma.rn.f32 %3,%3,%3,%3;":"+f"(v[0]),"+f"(v[1]),"+f"(v[2]),"+f"(v[3])); }
template<int ID> __global__ void line(int passes,uint32_t*out,float*sink){ float v[4]={1,2,3,4}; v[0]+=threadIdx.x;
  __shared__ uint32_t ts[4*2*130];
  for(int p=0;p<passes;p++){
    #pragma unroll
    for(int s=0;s<128;s++){ uint32_t t; asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory"); if((threadIdx.x&31)==0) ts[((threadIdx.x>>5)*passes+p)*128+s]=t;
      #pragma unroll
      for(int k=0;k<16;k++) f4(v); } }
  if(v[0]+v[1]+v[2]+v[3]==1234567.f+ID) *sink=v[0];
  __syncthreads();
  if(blockIdx.x==0) for(int i=threadIdx.x;i<(int)(blockDim.x/32)*passes*128;i+=blockDim.x) out[i]=ts[i]; }
__global__ void flush(uint4*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) p[i]=make_uint4(i,i,i,i); }
int main(){ uint32_t*o; float*s; uint4*big; CK(cudaMallocManaged(&o,4*4096)); CK(cudaMalloc(&s,4)); CK(cudaMalloc(&big,(size_t)512<<20));
  auto show=[&](const char*n,int w,int passes){ CK(cudaDeviceSynchronize()); for(int i=0;i<w;i++) for(int p=0;p<passes;p++){ printf("icache,%s,warps=%d,warp=%d,pass=%d",n,w,i,p); uint32_t*x=o+(i*passes+p)*128; for(int q=1;q<128;q++) printf(",%u",x[q]-x[q-1]); printf("\n"); } };
  line<0><<<1,32>>>(2,o,s); show("first launch",1,2);
  line<0><<<1,32>>>(2,o,s); show("again",1,2);
  flush<<<1024,512>>>(big,(size_t)32<<20); line<0><<<1,32>>>(2,o,s); show("after L2 flush",1,2);
  line<1><<<1,32>>>(1,o,s); CK(cudaDeviceSynchronize()); line<0><<<1,32>>>(2,o,s); show("after other code",1,2);
  line<1><<<132,128>>>(1,o,s); flush<<<1024,512>>>(big,(size_t)32<<20); line<0><<<132,128>>>(2,o,s); show("132 CTAs after other code and flush",4,2);
}
