// When the load/store unit has read the registers of the last of N accesses of one kind, behind so many ldmatrix: warps
// that start together in an idle SM issue them at once, then overwrite their address. Times from the first one's issue.
// cp.async by rows, whose length stands for the pitch: kinds 5, 6, rows 1 KiB apart; behind those of kind 6 an ld.shared, whose address it is that is overwritten
// kinds: 0 st.shared, 1 ld.shared, 2 st.global, 3 ld.global.cg, 4 cp.async.cg, of W bytes a lane
// nvcc -O3 -std=c++17 -arch=sm_90a access_reads.cu -o access_reads; ./access_reads > access_reads.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u64 %0,%%clock64;":"=l"(t)::"memory")
template<int KIND,int W> __device__ __forceinline__ void touch(uint32_t a,const uint8_t*g,uint32_t*v){
  if constexpr(KIND==0){ if constexpr(W==4) asm volatile("st.shared.b32 [%0],%1;"::"r"(a),"r"(v[0]):"memory"); else if constexpr(W==8) asm volatile("st.shared.v2.b32 [%0],{%1,%2};"::"r"(a),"r"(v[0]),"r"(v[1]):"memory"); else asm volatile("st.shared.v4.b32 [%0],{%1,%2,%3,%4};"::"r"(a),"r"(v[0]),"r"(v[1]),"r"(v[2]),"r"(v[3]):"memory"); }
  if constexpr(KIND==1) asm volatile("ld.shared.b32 %0,[%1];":"=r"(v[0]):"r"(a):"memory");
  if constexpr(KIND==2){ if constexpr(W==4) asm volatile("st.global.b32 [%0],%1;"::"l"(g),"r"(v[0]):"memory"); else asm volatile("st.global.v4.b32 [%0],{%1,%2,%3,%4};"::"l"(g),"r"(v[0]),"r"(v[1]),"r"(v[2]),"r"(v[3]):"memory"); }
  if constexpr(KIND==3) asm volatile("ld.global.cg.b32 %0,[%1];":"=r"(v[0]):"l"(g):"memory");
  if constexpr(KIND>=4) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(a),"l"(g):"memory"); }
__device__ __forceinline__ void load(uint32_t a,uint32_t*q){ asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[0]),"=r"(q[1]),"=r"(q[2]),"=r"(q[3]):"r"(a):"memory"); }
template<int KIND,int L,int N,int W> __global__ void reads(int*out,uint8_t*global,int loads,int pitch,uint32_t none){
  constexpr bool READS=KIND==1||KIND==3; constexpr int V=READS?N:4,Q=L>0?4*L:4,STEP=KIND>=5?128:4096;
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  uint32_t from=b+lane*loads,to=b+(KIND>=4?warp*26624+lane*16:lane*pitch),v[V],q[Q],x=0,zeros; uint8_t*g=global+warp*(1<<18)+(KIND>=5?lane*16/pitch*1024+lane*16%pitch:lane*pitch); long long wide;
  for(int i=0;i<V;i++) asm volatile("mov.u32 %0,%1;":"=r"(v[i]):"r"(none*lane+i));
  for(int i=0;i<Q;i++) q[i]=lane;
  asm volatile("mov.u32 %0,%1;":"=r"(zeros):"r"(none*lane)); asm volatile("mov.u64 %0,%1;":"=l"(wide):"l"((long long)none*lane));
  long long zero=0,issued=0,war=0,done=0; int now;
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    #pragma unroll 1
    for(now=0;now<600;now++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
    asm volatile("":"+r"(to),"+r"(from),"+l"(g)); for(int i=0;i<V;i++) asm volatile("":"+r"(v[i]));
    __syncthreads();
    if(L>0) load(from,q); else touch<KIND,W>(to,g,v);
    CLOCK(zero);
    #pragma unroll
    for(int i=1;i<L;i++) load(from+i*16,q+4*i);
    #pragma unroll
    for(int i=L>0?0:1;i<N;i++) touch<KIND,W>(to+i*1024,g+i*STEP,v+(READS?i:0));
    if(KIND==6) asm volatile("ld.volatile.shared.b32 %0,[%1];":"=r"(v[0]):"r"(from):"memory");
    CLOCK(issued);
    if(KIND==6) asm volatile("add.u32 %0,%0,%1;":"+r"(from):"r"(zeros):"memory"); else if(KIND<2||KIND>=4) asm volatile("add.u32 %0,%0,%1;":"+r"(to):"r"(zeros):"memory"); else asm volatile("add.u64 %0,%0,%1;":"+l"(g):"l"(wide):"memory");
    CLOCK(war);
    if(L>0) for(int i=0;i<Q;i++) asm volatile("add.u32 %0,%0,%1;":"+r"(x):"r"(q[i]):"memory");
    if(READS) for(int i=0;i<V;i++) asm volatile("add.u32 %0,%0,%1;":"+r"(x):"r"(v[i]):"memory");
    if(KIND==6) asm volatile("add.u32 %0,%0,%1;":"+r"(x):"r"(v[0]):"memory");
    if(KIND>=4) asm volatile("cp.async.wait_all;":::"memory");
    CLOCK(done);
  }
  if(lane==0){ int*o=out+warp*5; o[0]=zero; o[1]=issued; o[2]=war; o[3]=done; o[4]=x; } }
int*out,h[64]; uint8_t*mem;
template<int KIND,int L,int N,int W> void go(int warps,int loads,int pitch){ auto k=reads<KIND,L,N,W>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,210*1024));
  for(int i=0;i<2;i++){ k<<<1,32*warps,210*1024>>>(out,mem,loads,pitch,0); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[0]; for(int w=1;w<warps;w++) if(h[5*w]-zero<0) zero=h[5*w];
  for(int w=0;w<warps;w++) printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\n",KIND,L,N,W,warps,loads,pitch,w,h[5*w+1]-zero,h[5*w+2]-zero,h[5*w+3]-zero); }
template<int KIND,int W,int... N> void alone(){ (([]{ for(int pitch:{W,32,128}) for(int warps:{1,2,4,8}) go<KIND,0,N,W>(warps,16,pitch); }()),...); }
template<int KIND,int... N> void rows(){ (([]{ for(int row:{16,32,64,128}) for(int warps:{1,2,4,8}) go<KIND,0,N,16>(warps,16,row); }()),...); }
template<int W,int N,int... L> void mixed(){ (([]{ for(int loads:{16,32,128}) for(int warps:{1,2,4}) go<0,L,N,W>(warps,loads,W); }()),...); }
template<int W> void stores(){ alone<0,W,1,2,3,4,5,6,7,8,9,10,12,14,16,18,20,22,24,28>(); mixed<W,1,1,2,3,4,5,8,12,16>(); mixed<W,4,1,2,4,5,8>(); }
int main(){ CK(cudaMalloc(&out,65536)); CK(cudaMalloc(&mem,1<<22)); CK(cudaMemset(mem,0,1<<22)); printf("kind,loads,accesses,bytes,warps,load_pitch,pitch,warp,issued,overwritten,done\n"); stores<4>(); stores<8>(); stores<16>();
  alone<1,4,1,2,4,6,8,10,12,14,16,18,20,22,24>(); alone<2,4,1,2,3,4,5,6,8,10,12,16,20>(); alone<2,16,1,2,3,4,5,6,8,10,12,16,20>(); alone<3,4,1,2,4,6,8,10,12,16,20,24>(); alone<4,16,1,2,3,4,5,6,7,8,10,12,14,16,20,24>(); rows<5,1,2,3,4,5,6,7,8,9,10,12,14,16,18,20,22,24>(); rows<6,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16,18,20,22,24>(); return 0; }
