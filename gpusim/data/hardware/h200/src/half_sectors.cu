// Stores that write halves of sectors, and then the others, by bytes a lane: one CTA whose warps store `BYTES` a lane, 16 bytes of each sector of ROWS lines
// (side by side, or 1 KiB apart), the other halves DISTANCE stores later; then the next lines. Cycles of issue; under the profiler what L2 gets.
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <algorithm>
#include <vector>
#define CK(x) do{ cudaError_t e_=(x); if(e_!=cudaSuccess){ printf("%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
template<int BYTES> __device__ __forceinline__ void st(char*p,int v){ if constexpr(BYTES==4) asm volatile("st.global.b32 [%0],%1;"::"l"(p),"r"(v):"memory"); else if constexpr(BYTES==8) asm volatile("st.global.v2.b32 [%0],{%1,%1};"::"l"(p),"r"(v):"memory"); else asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};"::"l"(p),"r"(v):"memory"); }
template<int BYTES,int DISTANCE,int APART> __global__ void halves(char*out,long long*clk,int blocks){
  constexpr int PIECES=32*BYTES/16,STEP=APART?PIECES*1024:PIECES*32; // pieces of 16 bytes of a store; bytes between its lines and the next ones
  int lane=threadIdx.x&31,warp=threadIdx.x>>5,piece=lane*BYTES/16; char*p=out+((size_t)warp<<23)+piece*(APART?1024:32)+lane*BYTES%16;
  __syncthreads(); long long t0=clock64();
  #pragma unroll 1
  for(int b=0;b<blocks;b++){
    #pragma unroll
    for(int half=0;half<2;half++)
      #pragma unroll
      for(int d=0;d<DISTANCE;d++) st<BYTES>(p+d*STEP+half*16,lane);
    p+=DISTANCE*STEP; }
  long long t1=clock64(); __threadfence(); if(lane==0){ clk[warp*2]=t0; clk[warp*2+1]=t1; } }
char*out; long long*clk;
template<int BYTES,int DISTANCE,int APART> void go(){ std::vector<long long> h(64);
  for(int warps:{1,2,4,8}){ int stores=128,blocks=stores/2/DISTANCE; CK(cudaMemset(out,0,(size_t)96<<20)); CK(cudaDeviceSynchronize()); halves<BYTES,DISTANCE,APART><<<1,warps*32>>>(out,clk,blocks); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h.data(),clk,16*warps,cudaMemcpyDeviceToHost));
    long long a=h[0],i=h[1]; for(int w=1;w<warps;w++){ a=std::min(a,h[2*w]); i=std::max(i,h[2*w+1]); } printf("%d,%d,%d,%d,%d,%lld\n",BYTES,DISTANCE,APART,warps,blocks*2*DISTANCE,i-a); fflush(stdout); } }
template<int BYTES,int APART> void distances(){ go<BYTES,1,APART>(); go<BYTES,2,APART>(); go<BYTES,4,APART>(); go<BYTES,8,APART>(); }
int main(){ CK(cudaMalloc(&out,(size_t)96<<20)); CK(cudaMalloc(&clk,4096)); printf("bytes_per_lane,distance,apart,warps,stores,issue_cycles\n"); distances<4,0>(); distances<8,0>(); distances<16,0>(); distances<4,1>(); distances<8,1>(); distances<16,1>(); }
