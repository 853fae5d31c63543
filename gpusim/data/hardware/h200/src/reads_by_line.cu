// How long a copy of 16 bytes takes while SMs copy rows of their own from L2, so many groups of four copies under way per warp: cycles of a step of the copies, and the single copies' cycles by line (64 lines, 4 KiB apart) and SM. Arguments: file for all samples.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cmath>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
constexpr int COPIES=4,PROBES=400,LINES=64; constexpr unsigned REGION=131072;
__host__ __device__ inline unsigned pickline(unsigned i,unsigned c){ unsigned x=i*2654435761u+c*40503u+12345u; x^=x>>15; x*=2246822519u; x^=x>>13; return x%LINES; }
template<int RB,int GROUPS> __global__ void stream(const uint8_t*g,const uint8_t*pl,int*out,int*sms,int row,int steps){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t s=(uint32_t)__cvta_generic_to_shared(sm),b=s+1024; int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int PER=RB/16,R=32/PER; const uint8_t*mine=g+blockIdx.x*REGION; __syncthreads();
  if(warp==0){ int id; asm volatile("mov.u32 %0,%%smid;":"=r"(id)); if(lane==0) sms[blockIdx.x]=id; const uint8_t*q=mine;
    #pragma unroll 1
    for(int i=0;i<PROBES;i++){ q=pl+pickline(i,blockIdx.x)*4096+((blockIdx.x&7)*16); asm volatile(""::"l"(q):"memory"); int t0=0,t1=0; CLOCK(t0); if(lane==0) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(s),"l"(q):"memory"); asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); CLOCK(t1); if(lane==0) out[blockIdx.x*(PROBES+1)+i]=t1-t0; } }
  else { int w=warp-1,warps=blockDim.x/32-1; int t0=0,t1=0; CLOCK(t0); uint32_t sd=b+w*GROUPS*COPIES*R*row+(lane/PER)*row+(lane%PER)*16; unsigned at=w*COPIES*R*128+(lane/PER)*128+(lane%PER)*16; int slot=0;
    #pragma unroll 1
    for(int i=0;i<steps;i++){ uint32_t d=sd+slot*COPIES*R*row; slot=slot+1==GROUPS?0:slot+1;
      #pragma unroll
      for(int k=0;k<COPIES;k++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d+k*R*row),"l"(mine+((at+k*R*128)&(REGION-1))):"memory");
      at+=warps*COPIES*R*128; asm volatile("cp.async.commit_group; cp.async.wait_group %0;"::"n"(GROUPS-1):"memory"); }
    asm volatile("cp.async.wait_group 0;":::"memory"); CLOCK(t1); if(lane==0&&w==0) out[blockIdx.x*(PROBES+1)+PROBES]=t1-t0; } }
uint8_t*g,*pl; int*out,*sms; FILE*f;
template<int RB,int GROUPS> void go(int row,int warps,int steps,int ctas=132){ auto k=stream<RB,GROUPS>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,226*1024)); std::vector<int> h(132*(PROBES+1)),id(132);
  for(int r=0;r<3;r++){ k<<<ctas,32*warps+32,226*1024>>>(g,pl,out,sms,row,steps); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h.data(),out,h.size()*4,cudaMemcpyDeviceToHost)); CK(cudaMemcpy(id.data(),sms,132*4,cudaMemcpyDeviceToHost));
  std::vector<double> v; double tot=0; for(int x=0;x<ctas;x++){ tot+=h[x*(PROBES+1)+PROBES]; for(int i=4;i<PROBES;i++) v.push_back(h[x*(PROBES+1)+i]); }
  double m=0; for(double x:v) m+=x; m/=v.size(); double sd=0; for(double x:v) sd+=(x-m)*(x-m); sd=sqrt(sd/v.size()); std::sort(v.begin(),v.end());
  printf("RB %d warps %d groups %d ctas %d: per step %.1f, probe mean %.0f sd %.0f  p1 %.0f p10 %.0f p50 %.0f p90 %.0f p99 %.0f\n",RB,warps,GROUPS,ctas,tot/ctas/steps,m,sd,v[v.size()/100],v[v.size()/10],v[v.size()/2],v[v.size()*9/10],v[v.size()*99/100]);
  for(int x=0;x<ctas;x++){ fprintf(f,"%d,%d,%d,%d,%d,%d,%d",RB,row,warps,GROUPS,ctas,x,id[x]); fprintf(f,",%d",h[x*(PROBES+1)+PROBES]/steps); for(int i=0;i<PROBES;i++) fprintf(f,",%d",h[x*(PROBES+1)+i]); fprintf(f,"\n"); } fflush(stdout); }
int main(int c,char**a){ f=fopen(a[1],"w"); CK(cudaMalloc(&g,132*REGION)); CK(cudaMemset(g,1,132*REGION)); CK(cudaMalloc(&pl,LINES*4096)); CK(cudaMemset(pl,1,LINES*4096)); CK(cudaMalloc(&out,132*4*(PROBES+1))); CK(cudaMalloc(&sms,132*4));
  go<128,1>(128,8,500,1); go<128,2>(128,8,900,1); go<128,12>(128,8,900,1); go<128,1>(128,8,500); go<128,2>(128,8,900); go<128,4>(128,8,1900); go<128,12>(128,8,4000); go<128,1>(128,4,900); go<128,1>(128,2,900); go<128,1>(128,1,900); go<64,1>(64,8,500); go<64,2>(64,8,900); go<128,2>(128,8,900,16); go<128,2>(128,8,900,33); go<128,2>(128,8,900,66); go<128,2>(128,8,900,99); fclose(f); }
