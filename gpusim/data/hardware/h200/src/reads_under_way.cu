// How many lines an SM can have under way to L2: all SMs copy rows of their own from L2 (cp.async, 16 bytes a lane), so many groups of four copies in flight per warp; another warp copies 16 bytes at a time meanwhile and reads its clock when it begins, when its address is free and when its data are there.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
constexpr int COPIES=4,STEPS=100,PROBES=12,FIRST=4; constexpr unsigned REGION=131072;
template<int RB,int GROUPS> __global__ void stream(const uint8_t*g,int*out,int row){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t s=(uint32_t)__cvta_generic_to_shared(sm),b=s+1024; int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int PER=RB/16,R=32/PER; const uint8_t*mine=g+blockIdx.x*REGION; __syncthreads();
  if(warp==0){ int wait=0,under=0; const uint8_t*q=mine;
    #pragma unroll 1
    for(int i=0;i<PROBES;i++){ int t0=0,t1=0,t2=0; CLOCK(t0); if(lane==0) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(s),"l"(q):"memory"); q=mine+((i*4224)&(REGION-1)); asm volatile(""::"l"(q):"memory"); CLOCK(t1); asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); CLOCK(t2); if(i>=FIRST){ wait+=t1-t0; under+=t2-t1; } }
    if(lane==0){ out[blockIdx.x*3]=wait; out[blockIdx.x*3+1]=under; } }
  else { int w=warp-1,warps=blockDim.x/32-1; int t0=0,t1=0; CLOCK(t0); uint32_t sd=b+w*GROUPS*COPIES*R*row+(lane/PER)*row+(lane%PER)*16; unsigned at=w*COPIES*R*128+(lane/PER)*128+(lane%PER)*16; int slot=0;
    #pragma unroll 1
    for(int i=0;i<STEPS;i++){ uint32_t d=sd+slot*COPIES*R*row; slot=slot+1==GROUPS?0:slot+1;
      #pragma unroll
      for(int k=0;k<COPIES;k++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d+k*R*row),"l"(mine+((at+k*R*128)&(REGION-1))):"memory");
      at+=warps*COPIES*R*128; asm volatile("cp.async.commit_group; cp.async.wait_group %0;"::"n"(GROUPS-1):"memory"); }
    asm volatile("cp.async.wait_group 0;":::"memory"); CLOCK(t1); if(lane==0&&w==0) out[blockIdx.x*3+2]=t1-t0; } }
uint8_t*g; int*out;
template<int RB,int GROUPS> void go(int row,int warps){ constexpr int R=512/RB; size_t need=1024+(size_t)warps*GROUPS*COPIES*R*row; if(need>226*1024) return; auto k=stream<RB,GROUPS>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,226*1024)); std::vector<int> h(132*3);
  for(int ctas:{1,132}){ for(int r=0;r<3;r++){ k<<<ctas,32*warps+32,226*1024>>>(g,out,row); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h.data(),out,h.size()*4,cudaMemcpyDeviceToHost)); double w=0,u=0,t=0,in=0; for(int x=0;x<ctas;x++){ double q=(double)STEPS*COPIES*R*warps/h[3*x+2],v=(double)h[3*x+1]/(PROBES-FIRST); w+=(double)h[3*x]/(PROBES-FIRST); u+=v; t+=h[3*x+2]; in+=q*v; } printf("%d,%d,%d,%d,%d,%d,%.0f,%.0f,%.0f,%.0f\n",RB,row,warps,GROUPS,ctas,warps*GROUPS*COPIES*R,t/ctas,w/ctas,u/ctas,in/ctas); fflush(stdout); } }
template<int RB> void all(int row){ for(int warps:{4,8,12}){ go<RB,1>(row,warps); go<RB,2>(row,warps); go<RB,3>(row,warps); go<RB,4>(row,warps); go<RB,6>(row,warps); go<RB,8>(row,warps); go<RB,12>(row,warps); } }
int main(){ CK(cudaMalloc(&g,132*REGION)); CK(cudaMemset(g,1,132*REGION)); CK(cudaMalloc(&out,132*12)); printf("row_bytes,row_pitch,warps,groups,ctas,rows_asked_for,cycles,waits_cycles,under_way_cycles,rows_under_way\n");
  all<128>(128); all<64>(64); all<64>(80); all<32>(32); all<16>(16); }
