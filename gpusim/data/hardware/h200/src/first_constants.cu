// Cycles that the first reads of a kernel's constants take, line by line of 64 bytes, by constant operands and by LDC, under the profiler (caches flushed or kept) and without it: mean of all warps of grids of 1 to 132 CTAs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(i) asm volatile("mov.u64 %0,%%clock64;":"=l"(t[i])::"memory")
#define READ(i) asm volatile("add.s32 %0,%0,%1;":"+r"(x):"r"(p.a[i]):"memory")
struct P { long long*out; int warps, at; int a[240]; };
constexpr int MARKS=7;
// Bank from 0x210 on: out, warps, at, then a[0] at 0x220; lines of 64 bytes begin at a[8], a[24], a[40], ...
template<int LDC> __global__ void first(__grid_constant__ const P p){ long long t[MARKS]; int x=threadIdx.x; CLOCK(0);
  if(LDC){ int i=x>>10;
    asm volatile("":"+r"(i)); CLOCK(0);
    #pragma unroll
    for(int k=0;k<MARKS-1;k++){ asm volatile("add.s32 %0,%0,%1;":"+r"(x):"r"(p.a[i+(k?8+16*(k-1):0)]):"memory"); asm volatile(""::"r"(x):"memory"); CLOCK(k+1); } }
  else { READ(0); CLOCK(1); READ(8); CLOCK(2); READ(24); CLOCK(3); READ(40); CLOCK(4); READ(56); CLOCK(5); READ(72); CLOCK(6); }
  if(threadIdx.x%32==0) for(int k=0;k<MARKS;k++) p.out[(blockIdx.x*p.warps+threadIdx.x/32)*(MARKS+1)+k]=t[k];
  if(threadIdx.x%32==0) p.out[(blockIdx.x*p.warps+threadIdx.x/32)*(MARKS+1)+MARKS]=x; }
template<int LDC> void go(const char*how,int ctas,int warps,int launches){ long long*o; CK(cudaMalloc(&o,132*8*(MARKS+1)*8)); P p; memset(&p,0,sizeof p); p.out=o; p.warps=warps; for(int r=0;r<launches;r++){ p.at=r; first<LDC><<<ctas,32*warps>>>(p); CK(cudaDeviceSynchronize()); std::vector<long long> h(ctas*warps*(MARKS+1)); CK(cudaMemcpy(h.data(),o,h.size()*8,cudaMemcpyDeviceToHost)); printf("%s,%s,%d,%d,%d",how,LDC?"LDC":"operand",ctas,warps,r); for(int k=0;k<MARKS-1;k++){ double s=0; for(int i=0;i<ctas*warps;i++) s+=h[i*(MARKS+1)+k+1]-h[i*(MARKS+1)+k]; printf(",%.0f",s/(ctas*warps)); } printf("\n"); } }
int main(int n,char**v){ if(n<4){ puts("caches,by,ctas,warps,launch,line0,line1,line2,line3,line4,line5"); return 0; } int c=atoi(v[2]),w=atoi(v[3]); go<0>(v[1],c,w,2); go<1>(v[1],c,w,2); }
