// First reads of a kernel's constants (ULDC, then LDC of another line), by instructions that nobody runs (64 times the first
// argument), CTAs of four warps and bytes of shared memory, under the profiler (caches flushed or kept) and without it; the
// third reading has an interval of 128 FFMA in front of it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(i) asm volatile("mov.u64 %0,%%clock64;":"=l"(t[i])::"memory")
struct P { long long*out; int warps, never; int a[88]; };
constexpr int MARKS=5;
template<int BIG> __global__ void __launch_bounds__(128) first(__grid_constant__ const P p){ long long t[MARKS]; int x=threadIdx.x; float v=x; CLOCK(0);
  asm volatile("add.s32 %0,%0,%1;":"+r"(x):"r"(p.a[0]):"memory"); CLOCK(1);
  asm volatile("add.s32 %0,%0,%1;":"+r"(x):"r"(p.a[24]):"memory"); CLOCK(2);
  #pragma unroll
  for(int i=0;i<128;i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(v)); CLOCK(3);
  asm volatile("add.s32 %0,%0,%1;":"+r"(x):"r"(p.a[40]):"memory"); CLOCK(4);
  if(p.never==77){
    #pragma unroll
    for(int i=0;i<BIG*64;i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(v)); }
  if(threadIdx.x%32==0) for(int k=0;k<MARKS;k++) p.out[(blockIdx.x*p.warps+threadIdx.x/32)*(MARKS+1)+k]=t[k];
  if(threadIdx.x%32==0) p.out[(blockIdx.x*p.warps+threadIdx.x/32)*(MARKS+1)+MARKS]=x+(int)v; }
template<int BIG> void go(int ctas,int smem,const char*how){ long long*o; int warps=4; CK(cudaMalloc(&o,132*8*(MARKS+1)*8)); CK(cudaFuncSetAttribute(first<BIG>,cudaFuncAttributeMaxDynamicSharedMemorySize,200*1024)); P p; memset(&p,0,sizeof p); p.out=o; p.warps=warps; for(int r=0;r<3;r++){ first<BIG><<<ctas,32*warps,smem>>>(p); CK(cudaDeviceSynchronize()); std::vector<long long> h(ctas*warps*(MARKS+1)); CK(cudaMemcpy(h.data(),o,h.size()*8,cudaMemcpyDeviceToHost)); printf("row,%s,%d,%d,%d,%d",how,BIG,ctas,smem,r); for(int k=0;k<MARKS-1;k++){ double s=0; for(int i=0;i<ctas*warps;i++) s+=h[i*(MARKS+1)+k+1]-h[i*(MARKS+1)+k]; printf(",%.0f",s/(ctas*warps)); } printf("\n"); } }
int main(int n,char**v){ int b=atoi(v[1]),c=atoi(v[2]),s=atoi(v[3]); if(b==0) go<0>(c,s,v[4]); else if(b==8) go<8>(c,s,v[4]); else go<32>(c,s,v[4]); }
