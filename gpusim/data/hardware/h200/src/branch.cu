// A loop of n dependent sums: what a taken branch costs, by the loop's length and by warps.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
template<int N> __global__ void loop(int iters,uint32_t step,long long*cyc,uint32_t*sink){ uint32_t a=threadIdx.x; __syncthreads(); long long t0=clock64();
  #pragma unroll 1
  for(int i=0;i<iters;i++){
    #pragma unroll
    for(int n=0;n<N;n++) asm volatile("mad.lo.u32 %0,%0,%1,%0;":"+r"(a):"r"(step)); }
  __syncthreads(); long long t1=clock64(); sink[threadIdx.x]=a; if(threadIdx.x==0) *cyc=t1-t0; }
long long*cyc; uint32_t*sink;
template<int N> void go(){ for(int warps:{1,2,4,8,16}){ double best=1e30; for(int r=0;r<4;r++){ loop<N><<<1,32*warps>>>(1024,1,cyc,sink); CK(cudaDeviceSynchronize()); best=std::min(best,(double)*cyc);} printf("%d,%d,%.3f\n",N,warps,best/1024); } }
int main(){ CK(cudaMallocManaged(&cyc,8)); CK(cudaMalloc(&sink,1<<16)); printf("sums,warps,cycles\n");
  go<1>();go<2>();go<3>();go<4>();go<5>();go<6>();go<7>();go<8>();go<9>();go<10>();go<12>();go<14>();go<16>();go<20>();go<24>();go<28>();go<32>();go<40>();go<48>();go<64>();go<96>();go<128>(); }
