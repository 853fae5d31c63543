// When ldmatrix of either half of the SM's data array has its data behind stores to global memory: warps store n times at once, rows of `row_bytes`
// 4 KiB apart, multiply `pause` times, load once from places of their own from `from_kib` on.
// nvcc -O3 -std=c++17 -arch=sm_90a store_loads.cu -o store_loads; ./store_loads > store_loads.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
template<int W> __device__ __forceinline__ void store(uint8_t*a,const uint32_t*v){
  if constexpr(W==4) asm volatile("st.global.b32 [%0],%1;"::"l"(a),"r"(v[0]):"memory"); else if constexpr(W==8) asm volatile("st.global.v2.b32 [%0],{%1,%2};"::"l"(a),"r"(v[0]),"r"(v[1]):"memory");
  else asm volatile("st.global.v4.b32 [%0],{%1,%2,%3,%4};"::"l"(a),"r"(v[0]),"r"(v[1]),"r"(v[2]),"r"(v[3]):"memory"); }
template<int N,int W,int PAUSE,int L> __global__ void behind(int*out,uint8_t*global,unsigned storing,int row,int from,uint32_t none){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint8_t*to=global+warp*(1<<20)+lane*W/row*4096+lane*W%row; uint32_t v[4],q[4*L],x=0,load=b+from+warp*4096+lane*16; int zero=0,issued=0,begun=0,t[L]; bool stores=storing>>warp&1;
  for(int i=0;i<4;i++) asm volatile("mov.u32 %0,%1;":"=r"(v[i]):"r"(none+i));
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    #pragma unroll 1
    for(int now=0;now<600;now++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
    asm volatile("":"+l"(to),"+r"(load),"+r"(v[0]),"+r"(v[1]),"+r"(v[2]),"+r"(v[3]));
    __syncthreads(); CLOCK(zero);
    if(stores){
      #pragma unroll
      for(int i=0;i<N;i++) store<W>(to+i*512,v);
    }
    CLOCK(issued);
    #pragma unroll
    for(int i=0;i<PAUSE;i++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x)::"memory");
    CLOCK(begun);
    #pragma unroll
    for(int i=0;i<L;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[4*i]),"=r"(q[4*i+1]),"=r"(q[4*i+2]),"=r"(q[4*i+3]):"r"(load+i*512):"memory");
    #pragma unroll
    for(int i=0;i<L;i++){ asm volatile("mad.lo.u32 %0,%1,%1,%0;":"+r"(x):"r"(q[4*i]):"memory"); CLOCK(t[i]); }
    for(int i=0;i<3*L;i++) asm volatile("add.u32 %0,%0,%1;":"+r"(x):"r"(q[4*(i/3)+1+i%3]):"memory");
  }
  if(lane==0){ int*o=out+warp*16; o[0]=zero; o[1]=issued; o[2]=begun; for(int i=0;i<L;i++) o[3+i]=t[i]; o[15]=x; } }
int*out,h[128]; uint8_t*mem;
template<int N,int W,int PAUSE,int L> void go(unsigned storing,int row,int from){ auto k=behind<N,W,PAUSE,L>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,220*1024));
  for(int i=0;i<2;i++){ k<<<1,128,220*1024>>>(out,mem,storing,row,from,0); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[0]; for(int w=1;w<4;w++) if(h[16*w]-zero<0) zero=h[16*w];
  for(int w=0;w<4;w++){ printf("%d,%d,%x,%d,%d,%d,%d,%d,%d,%d",N,W,storing,row,from>>10,PAUSE,L,w,h[16*w+1]-zero,h[16*w+2]-zero); for(int i=0;i<L;i++) printf("%c%d",i?' ':',',h[16*w+3+i]-zero); printf("\n"); } }
template<int N,int W,int PAUSE,int L> void masks(){ for(int row:{W,16,32,64,128,256,512}) if(row>=W&&row<=32*W&&(row>W||W==16)&&!(W==4&&row==64)) for(unsigned s:{0x2u,0xfu}) for(int from:{0,163840}) go<N,W,PAUSE,L>(s,row,from); }
template<int N,int W,int L> void pauses(){ masks<N,W,0,L>(); masks<N,W,4,L>(); masks<N,W,8,L>(); masks<N,W,12,L>(); masks<N,W,20,L>(); }
template<int W> void all(){ pauses<1,W,1>(); pauses<2,W,1>(); pauses<4,W,1>(); pauses<8,W,1>(); }
int main(){ CK(cudaMalloc(&out,65536)); CK(cudaMalloc(&mem,1<<23)); CK(cudaMemset(mem,0,1<<23)); printf("stores,bytes,storing,row_bytes,from_kib,pause,loads,warp,issued,begun,done\n"); all<4>(); all<8>(); all<16>(); return 0; }
