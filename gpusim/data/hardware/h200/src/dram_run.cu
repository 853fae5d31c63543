// A chain of cold loads: one warp reads line after line of memory that is in no cache; clock and cycles of each load.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>
#define CK(x) do{ cudaError_t e=(x); if(e){ printf("%s\n",cudaGetErrorString(e)); exit(1);} }while(0)
__device__ unsigned load(const char*p){ unsigned v; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v):"l"(p):"memory"); return v; }
__global__ void run(const char*base,int lines,unsigned*cycles,unsigned*when,unsigned*sink,size_t span){
  unsigned sum=0;
  for(size_t p=(size_t)threadIdx.x*(2u<<20)+(2u<<20)-128;p<span;p+=(size_t)blockDim.x*(2u<<20)) sum+=load(base+p); // translations
  for(int t=0;t<lines;t++){
    __syncthreads();
    unsigned t0=clock(),v=load(base+(size_t)t*128); sum+=__reduce_add_sync(0xffffffff,v); unsigned t1=clock();
    if(!threadIdx.x){ cycles[t]=t1-t0; when[t]=t0; }
  }
  if(sum==0x12345) *sink=sum;
}
int main(){
  const int T=8000; size_t span=(size_t)32<<30; char*d,*flush; CK(cudaMalloc(&d,span)); CK(cudaMemset(d,1,span));
  unsigned*o,*n,*s; CK(cudaMalloc(&o,T*4)); CK(cudaMalloc(&n,T*4)); CK(cudaMalloc(&s,4)); CK(cudaMalloc(&flush,(size_t)256<<20));
  CK(cudaMemset(flush,0,(size_t)256<<20)); CK(cudaDeviceSynchronize()); run<<<1,32>>>(d,T,o,n,s,span); CK(cudaDeviceSynchronize());
  std::vector<unsigned> c(T),k(T); CK(cudaMemcpy(c.data(),o,T*4,cudaMemcpyDeviceToHost)); CK(cudaMemcpy(k.data(),n,T*4,cudaMemcpyDeviceToHost));
  printf("address_bytes,clock,cycles\n"); for(int t=0;t<T;t++) printf("%d,%u,%u\n",t*128,k[t],c[t]);
}
