// Rounds of bursts of ldmatrix with conflicts by warps that start apart: N loads, wait for all of them, again; when each round of each warp
// has its fragments, from the first warp's start on. nvcc -O3 -std=c++17 -arch=sm_90a burst_rounds.cu -o burst_rounds; ./burst_rounds > burst_rounds.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
constexpr int WARPS=8, ROUNDS=8;
template<int N,int GAP> __global__ void rounds(unsigned long long starts,unsigned on,int ways,int*out){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=lane; int wait=(int)(starts>>8*warp)&255;
  uint32_t from=b+warp*16384+(ways==1?lane*16:ways==8?(lane&7)*128+(lane>>3)*16:(lane&7)*64+(lane>>3)*16);
  int begun=0,marks[ROUNDS]; uint32_t r[N][4],y=lane;
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    __syncthreads();
    if(on>>warp&1){
      #pragma unroll 1
      for(int i=0;i<wait;i++) asm volatile("mad.lo.u32 %0,%0,%0,1;":"+r"(x)::"memory");
      CLOCK(begun);
      #pragma unroll
      for(int k=0;k<ROUNDS;k++){
        #pragma unroll
        for(int i=0;i<N;i++){ asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[i][0]),"=r"(r[i][1]),"=r"(r[i][2]),"=r"(r[i][3]):"r"(from+((k*N+i)&15)*1024):"memory");
          #pragma unroll
          for(int j=0;j<GAP;j++) asm volatile("mad.lo.u32 %0,%0,%0,1;":"+r"(y)::"memory"); }
        #pragma unroll
        for(int i=0;i<N;i++) asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(r[i][0]):"memory");
        CLOCK(marks[k]); }
    } }
  __syncthreads();
  if(lane==0){ int*o=out+warp*(ROUNDS+2); o[ROUNDS+1]=x+y; o[0]=begun; for(int i=0;i<ROUNDS;i++) o[1+i]=marks[i]; } }
int *out,h[WARPS*(ROUNDS+2)];
template<int N,int GAP> void go(int ways,std::vector<int> warps,std::vector<int> starts){
  auto k=rounds<N,GAP>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,WARPS*16384)); unsigned long long at=0; unsigned on=0; for(size_t i=0;i<warps.size();i++){ on|=1u<<warps[i]; at|=(unsigned long long)starts[i]<<8*warps[i]; }
  k<<<1,32*WARPS,WARPS*16384>>>(at,on,ways,out); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[warps[0]*(ROUNDS+2)]; for(int w:warps) if(h[w*(ROUNDS+2)]<zero) zero=h[w*(ROUNDS+2)];
  for(size_t i=0;i<warps.size();i++){ int*o=h+warps[i]*(ROUNDS+2); printf("%d,%d,%d,%d,%d,%d,",ways,N,GAP,(int)warps.size(),warps[i],starts[i]); for(int j=0;j<=ROUNDS;j++) printf(j?" %d":"%d",o[j]-zero); printf("\n"); } }
template<int N,int GAP> void all(){ for(int ways:{8,4}){ go<N,GAP>(ways,{0},{0}); for(int d:{0,1,2,3,4,5,6,8,10,12,16,20,24,32,40}) go<N,GAP>(ways,{0,1},{0,d});
  for(int d:{0,2,5,16}) go<N,GAP>(ways,{0,4},{0,d}); for(int d:{0,1,2,4,8,16}) go<N,GAP>(ways,{0,1,2},{0,d,2*d}); for(int d:{0,1,2,4,8,16,24}) go<N,GAP>(ways,{0,1,2,3},{0,d,2*d,3*d}); go<N,GAP>(ways,{0,1,2,3},{0,0,16,16}); } }
int main(){ CK(cudaMalloc(&out,65536)); printf("ways,loads,gap,warps,warp,start,rounds\n"); all<2,0>(); all<4,0>(); all<5,0>(); all<6,0>(); all<6,1>(); all<8,0>(); return 0; }
