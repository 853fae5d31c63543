// Sectors of L2 that a launch reads besides its loads: empty kernels and straight code of some sizes, by number of CTAs.
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x) do{ cudaError_t e=(x); if(e!=cudaSuccess){ printf("%s\n",cudaGetErrorString(e)); return 1; } }while(0)
#define F1 asm volatile("fma.rn.f32 %0,%0,%0,%1;":"+f"(x):"f"(y));
#define F8 F1 F1 F1 F1 F1 F1 F1 F1
#define F64 F8 F8 F8 F8 F8 F8 F8 F8
#define F512 F64 F64 F64 F64 F64 F64 F64 F64
__global__ void code_0(float*s,float y){ }
__global__ void code_8k(float*s,float y){ float x=y; F512 if(x==1.5f) *s=x; }
__global__ void code_16k(float*s,float y){ float x=y; F512 F512 if(x==1.5f) *s=x; }
__global__ void code_32k(float*s,float y){ float x=y; F512 F512 F512 F512 if(x==1.5f) *s=x; }
__global__ void code_64k(float*s,float y){ float x=y; F512 F512 F512 F512 F512 F512 F512 F512 if(x==1.5f) *s=x; }
int main(){ float*s; CK(cudaMalloc(&s,64)); int n[]={1,4,8,16,32,64,132,264,1056};
  for(int c:n){ code_0<<<c,128>>>(s,0.f); code_8k<<<c,128>>>(s,0.f); code_16k<<<c,128>>>(s,0.f); code_32k<<<c,128>>>(s,0.f); code_64k<<<c,128>>>(s,0.f); }
  CK(cudaDeviceSynchronize()); return 0; }
