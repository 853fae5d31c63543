// In which order the load/store unit works off bursts of several warps that start apart: N ldmatrix with conflicts, C accesses of another
// kind, L more ldmatrix; when each warp begins and has all its fragments, from the first warp's start on.
// nvcc -O3 -std=c++17 -arch=sm_90a load_order.cu -o load_order; ./load_order > load_order.csv
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
constexpr int WARPS = 8, MARKS = 20;
template<int N,int C,int L,int KIND> __global__ void order(unsigned long long starts,unsigned on,int ways,const uint8_t*g,int*out){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=lane; int wait=(int)(starts>>8*warp)&255;
  uint32_t from=b+warp*16384+(ways==1?lane*16:ways==8?(lane&7)*128+(lane>>3)*16:(lane&7)*64+(lane>>3)*16), to=b+WARPS*16384+warp*4096+lane*16; const uint8_t*q=g+warp*65536+(lane>>3)*4096+(lane&7)*16;
  int begun=0,issued=0,zero=0,marks[N+L]; uint32_t r[N+L][4],y[C>0?C:1]={};
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    __syncthreads(); CLOCK(zero);
    if(on>>warp&1){
      #pragma unroll 1
      for(int i=0;i<wait;i++) asm volatile("mad.lo.u32 %0,%0,%0,1;":"+r"(x)::"memory");
      CLOCK(begun);
      #define LOAD(i) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[i][0]),"=r"(r[i][1]),"=r"(r[i][2]),"=r"(r[i][3]):"r"(from+(i)*1024):"memory")
      #pragma unroll
      for(int i=0;i<N;i++) LOAD(i);
      #pragma unroll
      for(int i=0;i<C;i++){
        if(KIND==0) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(to+i*512),"l"(q+i*512):"memory");
        if(KIND==1) asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(y[i]):"l"(q+i*512):"memory");
        if(KIND==2) asm volatile("st.shared.u32 [%0],%1;"::"r"(to+i*512),"r"(lane):"memory");
        if(KIND==3) asm volatile("ld.shared.u32 %0,[%1];":"=r"(y[i]):"r"(b+warp*16384+lane*4+i*128):"memory"); }
      #pragma unroll
      for(int i=N;i<N+L;i++) LOAD(i);
      CLOCK(issued);
      #pragma unroll
      for(int i=0;i<N+L;i++){ asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(r[i][0]):"memory"); CLOCK(marks[i]); }
      asm volatile("cp.async.wait_all;":::"memory"); for(int i=0;i<C;i++) x+=y[i];
    } }
  __syncthreads();
  if(lane==0){ int*o=out+warp*(MARKS+4); o[MARKS+3]=x; o[0]=zero; o[1]=begun; o[2]=issued; for(int i=0;i<N+L;i++) o[3+i]=marks[i]; } }
const char*names[]={"cp.async","ld.global","st.shared","ld.shared"};
uint8_t*g; int launch,*out,h[WARPS*(MARKS+4)];
template<int N,int C,int L,int KIND> void go(int ways,std::vector<int> warps,std::vector<int> starts){
  auto k=order<N,C,L,KIND>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,WARPS*20480)); unsigned long long at=0; unsigned on=0; for(size_t i=0;i<warps.size();i++){ on|=1u<<warps[i]; at|=(unsigned long long)starts[i]<<8*warps[i]; }
  k<<<1,32*WARPS,WARPS*20480>>>(at,on,ways,g,out); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[warps[0]*(MARKS+4)+1]; for(int w:warps) if(h[w*(MARKS+4)+1]<zero) zero=h[w*(MARKS+4)+1];
  for(size_t i=0;i<warps.size();i++){ int*o=h+warps[i]*(MARKS+4); printf("%d,%d,%s,%d,%d,%d,%d,%d,%d",launch,ways,C?names[KIND]:"",N,C,L,warps[i],starts[i],o[1]-zero); printf(",%d\n",o[2+N+L]-zero); } launch++; }
template<int N,int C,int L,int KIND> void one(){ for(int ways:{8,4}){
  go<N,C,L,KIND>(ways,{0},{0}); for(int d:{0,1,2,4,8,16}) go<N,C,L,KIND>(ways,{0,1},{0,d}); for(int d:{0,2,8}) go<N,C,L,KIND>(ways,{0,4},{0,d}); for(int d:{0,2,8}) go<N,C,L,KIND>(ways,{0,1,2},{0,d,2*d});
  for(int d:{0,4,8,16}) go<N,C,L,KIND>(ways,{0,1,2,3},{0,d,2*d,3*d}); go<N,C,L,KIND>(ways,{0,1,2,3},{0,0,8,8}); go<N,C,L,KIND>(ways,{0,1,2,3},{8,0,4,12}); } }
template<int KIND> void all(){ one<1,1,1,KIND>(); one<4,1,1,KIND>(); one<8,1,1,KIND>(); one<4,4,2,KIND>(); one<2,8,6,KIND>(); one<6,4,6,KIND>(); }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,1,64<<20)); CK(cudaMalloc(&out,65536)); printf("launch,ways,between,loads,others,more,warp,start,begun,ended\n");
  one<4,0,0,0>(); one<6,0,0,0>(); one<8,0,0,0>(); one<16,0,0,0>(); all<0>(); all<1>(); all<2>(); all<3>(); return 0; }
