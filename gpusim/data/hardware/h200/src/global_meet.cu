// What stores to global memory hold up: warps store n times at once, then overwrite the address, meet, load from shared memory.
// how: 0 ldmatrix; 1 barrier, ldmatrix; 2 address overwritten, ldmatrix; 3 address overwritten, barrier, ldmatrix; 4 barrier, st.shared, barrier, ldmatrix
// nvcc -O3 -std=c++17 -arch=sm_90a global_meet.cu -o global_meet; ./global_meet > global_meet.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
template<int W> __device__ __forceinline__ void store(uint8_t*a,const uint32_t*v){
  if constexpr(W==4) asm volatile("st.global.b32 [%0],%1;"::"l"(a),"r"(v[0]):"memory"); else asm volatile("st.global.v4.b32 [%0],{%1,%2,%3,%4};"::"l"(a),"r"(v[0]),"r"(v[1]),"r"(v[2]),"r"(v[3]):"memory"); }
template<int N,int W,int HOW> __global__ void meet(int*out,uint8_t*global,unsigned storing,int pitch,uint32_t none){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint8_t*to=global+warp*(1<<18)+lane*pitch; uint32_t v[4],q[4],x=0,put=b+warp*1024+lane*4,load=b+163840+lane*16; long long wide=none;
  for(int i=0;i<4;i++) asm volatile("mov.u32 %0,%1;":"=r"(v[i]):"r"(none+i));
  int zero=0,issued=0,war=0,behind=0,done=0; bool stores=storing>>warp&1;
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    #pragma unroll 1
    for(int now=0;now<600;now++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
    asm volatile("":"+l"(to),"+r"(load),"+r"(put),"+l"(wide),"+r"(v[0]),"+r"(v[1]),"+r"(v[2]),"+r"(v[3]));
    __syncthreads(); CLOCK(zero);
    if(stores){
      #pragma unroll
      for(int i=0;i<N;i++) store<W>(to+i*4096,v);
    }
    CLOCK(issued);
    if(HOW==2||HOW==3) asm volatile("add.u64 %0,%0,%1;":"+l"(to):"l"(wide):"memory");
    CLOCK(war);
    if(HOW&1) __syncthreads();
    if(HOW==4){ __syncthreads(); asm volatile("st.shared.b32 [%0],%1;"::"r"(put),"r"(v[0]):"memory"); __syncthreads(); }
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[0]),"=r"(q[1]),"=r"(q[2]),"=r"(q[3]):"r"(load):"memory"); CLOCK(behind); asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(q[0]):"memory"); CLOCK(done);
    for(int i=1;i<4;i++) asm volatile("add.u32 %0,%0,%1;":"+r"(x):"r"(q[i]):"memory");
  }
  if(lane==0){ int*o=out+warp*8; o[0]=zero; o[1]=issued; o[2]=war; o[3]=behind; o[4]=done; o[5]=x; } }
int*out,h[128]; uint8_t*mem;
template<int N,int W,int HOW> void go(unsigned storing,int warps,int pitch){ auto k=meet<N,W,HOW>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,170*1024));
  for(int i=0;i<2;i++){ k<<<1,32*warps,170*1024>>>(out,mem,storing,pitch,0); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[0]; for(int w=1;w<warps;w++) if(h[8*w]-zero<0) zero=h[8*w];
  for(int w=0;w<warps;w++) printf("%d,%d,%d,%x,%d,%d,%d,%d,%d,%d,%d\n",HOW,N,W,storing,warps,pitch,w,h[8*w+1]-zero,h[8*w+2]-zero,h[8*w+3]-zero,h[8*w+4]-zero); }
template<int N,int W,int HOW> void some(){ for(int pitch:{W,W==16?32:64}){ go<N,W,HOW>(0x2,4,pitch); go<N,W,HOW>(0xe,4,pitch); go<N,W,HOW>(0xf,4,pitch); go<N,W,HOW>(0xff,8,pitch); } }
template<int W,int HOW> void all(){ some<1,W,HOW>(); some<2,W,HOW>(); some<3,W,HOW>(); some<4,W,HOW>(); some<6,W,HOW>(); some<8,W,HOW>(); }
template<int W> void hows(){ all<W,0>(); all<W,1>(); all<W,2>(); all<W,3>(); all<W,4>(); }
int main(){ CK(cudaMalloc(&out,65536)); CK(cudaMalloc(&mem,1<<22)); CK(cudaMemset(mem,0,1<<22)); printf("how,stores,bytes,storing,warps,pitch,warp,issued,overwritten,behind,done\n"); hows<4>(); hows<16>(); return 0; }
