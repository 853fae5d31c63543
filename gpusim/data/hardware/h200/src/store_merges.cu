// Stores that come back to lines written a few stores before, in another part of them: one CTA whose warps store 4 bytes a lane, rows of LANES lanes 1 KiB
// apart. A warp writes part after part of DISTANCE sets of rows in turn; with `sharing`, two warps write the halves of the same lines. Cycles from the
// first warp's first store to the last one's issue and to the end of all, and (the profiler's part, in the same order) what L2 gets of them.
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <algorithm>
#include <vector>
#define CK(x) do{ cudaError_t e_=(x); if(e_!=cudaSuccess){ printf("%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e_)); exit(1);} }while(0)
template<int LANES,int DISTANCE,int SHARING,int PAUSE> __global__ void merges(char*out,long long*clk,int blocks){
  constexpr int ROWS=32/LANES,PARTS=(SHARING?64:128)/(LANES*4);
  int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  char*p=out+((size_t)(SHARING?warp>>1:warp)<<22)+(lane/LANES)*1024+(lane%LANES)*4+(SHARING&&(warp&1)?64:0); float x=lane;
  __syncthreads(); long long t0=clock64();
  #pragma unroll 1
  for(int b=0;b<blocks;b++){
    #pragma unroll
    for(int part=0;part<PARTS;part++)
      #pragma unroll
      for(int set=0;set<DISTANCE;set++){
        asm volatile("st.global.b32 [%0],%1;"::"l"(p+set*ROWS*1024+part*LANES*4),"r"(lane):"memory");
        #pragma unroll
        for(int i=0;i<PAUSE;i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(x)); }
    p+=DISTANCE*ROWS*1024; }
  long long t1=clock64(); __threadfence(); long long t2=clock64(); if(lane==0){ clk[warp*3]=t0; clk[warp*3+1]=t1; clk[warp*3+2]=t2; } if constexpr(PAUSE) ((float*)(clk+100))[threadIdx.x]=x; }
char*out; long long*clk;
template<int LANES,int DISTANCE,int SHARING,int PAUSE> void go(){
  constexpr int PARTS=(SHARING?64:128)/(LANES*4); std::vector<long long> h(512);
  for(int warps:{1,2,4,8}) for(int wanted:{64,256}){ if((SHARING&&warps<2)||(PAUSE&&wanted>64)) continue; int blocks=std::max(1,wanted/(PARTS*DISTANCE));
    CK(cudaMemset(out,0,(size_t)64<<20)); CK(cudaDeviceSynchronize()); merges<LANES,DISTANCE,SHARING,PAUSE><<<1,warps*32>>>(out,clk,blocks); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h.data(),clk,24*warps,cudaMemcpyDeviceToHost));
    long long a=h[0],i=h[1],e=h[2]; for(int w=1;w<warps;w++){ a=std::min(a,h[3*w]); i=std::max(i,h[3*w+1]); e=std::max(e,h[3*w+2]); }
    printf("%d,%d,%d,%d,%d,%d,%lld,%lld\n",LANES,DISTANCE,SHARING,PAUSE*4,warps,blocks*PARTS*DISTANCE,i-a,e-a); fflush(stdout); } }
template<int LANES,int SHARING,int PAUSE> void distances(){ go<LANES,1,SHARING,PAUSE>(); go<LANES,2,SHARING,PAUSE>(); go<LANES,3,SHARING,PAUSE>(); go<LANES,4,SHARING,PAUSE>(); go<LANES,5,SHARING,PAUSE>(); go<LANES,6,SHARING,PAUSE>(); go<LANES,8,SHARING,PAUSE>(); go<LANES,16,SHARING,PAUSE>(); }
int main(){ CK(cudaMalloc(&out,(size_t)64<<20)); CK(cudaMalloc(&clk,4096)); printf("lanes_per_row,distance,sharing,pause,warps,stores,issue_cycles,fence_cycles\n");
  distances<4,0,0>(); distances<4,1,0>(); distances<4,0,10>(); distances<4,0,25>(); distances<2,0,0>(); distances<8,0,0>(); distances<8,1,0>(); distances<16,0,0>(); }
