// When a warp is at a barrier whose BAR comes behind n memory accesses: one warp issues them and bar.sync, another one waits there and then
// loads from shared memory; cycles from the first access on until the last one and BAR have issued, and until that load is there.
// nvcc -O3 -std=c++17 -arch=sm_90a barrier_arrival.cu -o barrier_arrival; ./barrier_arrival > barrier_arrival.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u64 %0,%%clock64;":"=l"(t)::"memory")
const char*names[]={"ldmatrix","ld.shared","st.shared","cp.async","ld.global.cg","st.global","shfl","atom.shared","ld.global.ca"};
template<int N,int KIND> __global__ void arrival(uint8_t*g,int ways,int who,long long*out){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=lane;
  uint32_t from=b+(ways==1?lane*16:ways==8?(lane&7)*128+(lane>>3)*16:(lane&7)*64+(lane>>3)*16), word=b+(ways==1?lane*4:(lane%ways)*128+(lane/ways)*4);
  long long begun=0,issued=0,behind=0,there=0; uint32_t r[N>0?N:1][4]={},y=0; uint8_t*q=g+lane*16;
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    __syncthreads();
    if(warp==0){
      #pragma unroll 1
      for(int i=0;i<200;i++) asm volatile("mad.lo.u32 %0,%0,%0,1;":"+r"(x)::"memory");
      CLOCK(begun);
      #pragma unroll
      for(int i=0;i<N;i++){
        if(KIND==0) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[i][0]),"=r"(r[i][1]),"=r"(r[i][2]),"=r"(r[i][3]):"r"(from+i*1024):"memory");
        if(KIND==1) asm volatile("ld.shared.u32 %0,[%1];":"=r"(r[i][0]):"r"(word+i*1024):"memory");
        if(KIND==2) asm volatile("st.shared.u32 [%0],%1;"::"r"(word+i*1024),"r"(lane):"memory");
        if(KIND==3) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(b+16384+lane*16+i*512),"l"(q+i*512):"memory");
        if(KIND==4) asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(r[i][0]):"l"(q+i*512):"memory");
        if(KIND==5) asm volatile("st.global.u32 [%0],%1;"::"l"(q+i*512),"r"(lane):"memory");
        if(KIND==6) asm volatile("shfl.sync.idx.b32 %0,%1,%2,31,-1;":"=r"(r[i][0]):"r"(lane+i),"r"(lane^i):"memory");
        if(KIND==7) asm volatile("red.shared.add.u32 [%0],%1;"::"r"(word+i*1024),"r"(lane):"memory");
        if(KIND==8) asm volatile("ld.global.ca.u32 %0,[%1];":"=r"(r[i][0]):"l"(q+i*512):"memory"); }
      CLOCK(issued);
      asm volatile("bar.sync 1,64;":::"memory"); CLOCK(behind);
      #pragma unroll
      for(int i=0;i<N;i++) asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(r[i][0]):"memory");
    } else if(warp==who){
      asm volatile("bar.sync 1,64;":::"memory"); asm volatile("ld.shared.u32 %0,[%1];":"=r"(y):"r"(b+32768+lane*4):"memory"); asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(y):"memory"); CLOCK(there); }
    asm volatile("cp.async.wait_all;":::"memory"); }
  __syncthreads();
  if(lane==0){ if(warp==0){ out[0]=begun; out[1]=issued; out[2]=behind; out[4]=x; } if(warp==who){ out[3]=there; out[5]=x; } } }
uint8_t*g; long long *out,h[8];
template<int N,int KIND> void go(){ auto k=arrival<N,KIND>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,65536));
  for(int ways:{1,4,8}){ if(ways>1&&(KIND==3||KIND==4||KIND==5||KIND==6||KIND==8)) continue; for(int who:{1}){ k<<<1,32*5,65536>>>(g,ways,who,out); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
    printf("%s,%d,%d,%d,%d,%d,%d\n",names[KIND],N,ways,who,int(h[1]-h[0]),int(h[2]-h[0]),int(h[3]-h[0])); } } }
template<int KIND> void all(){ go<0,KIND>(); go<1,KIND>(); go<2,KIND>(); go<4,KIND>(); go<6,KIND>(); go<8,KIND>(); go<12,KIND>(); }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,1,64<<20)); CK(cudaMalloc(&out,65536)); printf("before,accesses,ways,other_warp,issued,behind,there\n"); all<0>(); all<1>(); all<2>(); all<3>(); all<4>(); all<5>(); all<6>(); all<7>(); all<8>(); return 0; }
