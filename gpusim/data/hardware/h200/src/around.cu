// Cycles around a kernel's busiest SM: CTAs alone on their SMs that wait, multiply or wait and store, on some of the SMs. 16 rows of 2 KiB each are stored.
// nvcc -O3 -std=c++17 -arch=sm_90a around.cu -o around; ncu --clock-control none [--cache-control none] --csv --metrics gpc__cycles_elapsed.max,gpc__cycles_elapsed.min,sm__cycles_active.max,sm__cycles_active.sum,gpu__time_duration.sum ./around, a row for each launch
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
template<int MODE> __global__ void around(int cycles,int rows,float4*out){ extern __shared__ char sm[]; long long t=clock64(); uint32_t a[4]={threadIdx.x,2,3,4},b[2]={5,6}; float c[4]={};
  if(MODE==1) while(clock64()-t<cycles){ _Pragma("unroll") for(int i=0;i<8;i++) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(c[0]),"+f"(c[1]),"+f"(c[2]),"+f"(c[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1])); }
  else while(clock64()-t<cycles);
  if(MODE) for(int i=0;i<rows;i++) out[((size_t)blockIdx.x*rows+i)*blockDim.x+threadIdx.x]=make_float4(c[0],c[1],c[2],c[3]);
}
int main(int n,char**v){ float4*out; CK(cudaMalloc(&out,(size_t)256<<20)); CK(cudaMemset(out,0,(size_t)256<<20));
  CK(cudaFuncSetAttribute(around<0>,cudaFuncAttributeMaxDynamicSharedMemorySize,200<<10)); CK(cudaFuncSetAttribute(around<1>,cudaFuncAttributeMaxDynamicSharedMemorySize,200<<10)); CK(cudaFuncSetAttribute(around<2>,cudaFuncAttributeMaxDynamicSharedMemorySize,200<<10));
  for(int sms:{4,8,12,16,24,32,64,96,132}) for(int cycles:{5000,20000}){ around<0><<<sms,128,200<<10>>>(cycles,0,out); around<1><<<sms,128,200<<10>>>(cycles,0,out); around<1><<<sms,128,200<<10>>>(cycles,16,out); around<2><<<sms,128,200<<10>>>(cycles,16,out); CK(cudaDeviceSynchronize()); } }
