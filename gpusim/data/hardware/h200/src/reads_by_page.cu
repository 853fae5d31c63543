// reads_by_line.cu with single copies of 512 given lines in the memory that the others copy from: mean cycles by line, of the SMs that find it where SM 0 does and of the others. slice_ids.cu, whose memory is the same (two runs: same slices), says which slice. Arguments: file for all samples, file with the lines' offsets.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cmath>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
constexpr int COPIES=4,PROBES=400,LINES=512; constexpr unsigned REGION=131072;
__host__ __device__ inline unsigned pickline(unsigned i,unsigned c){ unsigned x=i*2654435761u+c*40503u+12345u; x^=x>>15; x*=2246822519u; x^=x>>13; return x%LINES; }
template<int RB,int GROUPS> __global__ void stream(const uint8_t*g,const uint8_t*pl,const long*at,unsigned seed,int*out,int*sms,int row,int steps){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t s=(uint32_t)__cvta_generic_to_shared(sm),b=s+1024; int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int PER=RB/16,R=32/PER; const uint8_t*mine=g+blockIdx.x*REGION; __syncthreads();
  if(warp==0){ int id; asm volatile("mov.u32 %0,%%smid;":"=r"(id)); if(lane==0) sms[blockIdx.x]=id; const uint8_t*q=mine;
    #pragma unroll 1
    for(int i=0;i<PROBES;i++){ q=pl+at[pickline(i+seed,blockIdx.x)]+((blockIdx.x&7)*16); asm volatile(""::"l"(q):"memory"); int t0=0,t1=0; CLOCK(t0); if(lane==0) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(s),"l"(q):"memory"); asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); CLOCK(t1); if(lane==0) out[blockIdx.x*(PROBES+1)+i]=t1-t0; } }
  else { int w=warp-1,warps=blockDim.x/32-1; int t0=0,t1=0; CLOCK(t0); uint32_t sd=b+w*GROUPS*COPIES*R*row+(lane/PER)*row+(lane%PER)*16; unsigned at=w*COPIES*R*128+(lane/PER)*128+(lane%PER)*16; int slot=0;
    #pragma unroll 1
    for(int i=0;i<steps;i++){ uint32_t d=sd+slot*COPIES*R*row; slot=slot+1==GROUPS?0:slot+1;
      #pragma unroll
      for(int k=0;k<COPIES;k++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d+k*R*row),"l"(mine+((at+k*R*128)&(REGION-1))):"memory");
      at+=warps*COPIES*R*128; asm volatile("cp.async.commit_group; cp.async.wait_group %0;"::"n"(GROUPS-1):"memory"); }
    asm volatile("cp.async.wait_group 0;":::"memory"); CLOCK(t1); if(lane==0&&w==0) out[blockIdx.x*(PROBES+1)+PROBES]=t1-t0; } }
uint8_t*g,*pl; int*out,*sms; FILE*f;
long*lines;
template<int RB,int GROUPS> void go(int row,int warps,int steps,int ctas=132){ auto k=stream<RB,GROUPS>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,226*1024)); std::vector<int> h(132*(PROBES+1)),id(132);
  for(int r=0;r<12;r++){ k<<<ctas,32*warps+32,226*1024>>>(g,g,lines,r*1000,out,sms,row,steps); CK(cudaDeviceSynchronize()); if(r<2) continue; CK(cudaMemcpy(h.data(),out,h.size()*4,cudaMemcpyDeviceToHost)); CK(cudaMemcpy(id.data(),sms,132*4,cudaMemcpyDeviceToHost));
  for(int x=0;x<ctas;x++) for(int i=4;i<PROBES;i++) fprintf(f,"%d,%d,%d,%d,%d\n",GROUPS,ctas,id[x],pickline(i+r*1000,x),h[x*(PROBES+1)+i]); } fflush(f); }
int main(int c,char**a){ f=fopen(a[1],"w"); CK(cudaMalloc(&g,256l<<20)); CK(cudaMemset(g,1,256l<<20)); CK(cudaMalloc(&out,132*4*(PROBES+1))); CK(cudaMalloc(&sms,132*4)); CK(cudaMalloc(&lines,LINES*8)); std::vector<long> h; long x; FILE*l=fopen(a[2],"r"); while(fscanf(l,"%ld",&x)==1&&h.size()<LINES) h.push_back(x); CK(cudaMemcpy(lines,h.data(),LINES*8,cudaMemcpyHostToDevice));
  go<128,2>(128,8,900); go<128,4>(128,8,1900); fclose(f); }
