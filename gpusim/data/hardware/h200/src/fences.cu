// What a fence of a CTA, or of the asynchronous proxy, waits for: warps store n times at once, fence, meet nobody at a barrier and read their clocks; mean cycles over warps and the last six of eight turns, from the turn's first clock until the accesses have been issued, and until the barrier behind the fence lets the warp on. kinds: 0 nothing, 1 st.shared, 2 st.shared.v4, 3 st.global, 4 stmatrix.x4; fences: 0 none, 1 fence.acq_rel.cta, 2 fence.proxy.async.shared::cta.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u64 %0,%%clock64;":"=l"(t)::"memory")
constexpr int TURNS=8;
template<int KIND,int N,int FENCES> __global__ void fences(uint32_t*g,int*out){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t s=(uint32_t)__cvta_generic_to_shared(sm),a=s+threadIdx.x*16,x=threadIdx.x; uint64_t t[TURNS][3]; uint32_t*p=g+threadIdx.x*4;
  #pragma unroll
  for(int i=0;i<TURNS;i++){ __syncthreads(); CLOCK(t[i][0]);
    #pragma unroll
    for(int k=0;k<N;k++){ if(KIND==1) asm volatile("st.shared.u32 [%0],%1;"::"r"(s+threadIdx.x*4+k*4096),"r"(x):"memory"); if(KIND==2) asm volatile("st.shared.v4.u32 [%0],{%1,%1,%1,%1};"::"r"(a+k*4096),"r"(x):"memory"); if(KIND==3) asm volatile("st.global.u32 [%0],%1;"::"l"(p+k*4096),"r"(x):"memory"); if(KIND==4) asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%1,%1,%1,%1};"::"r"(a+k*4096),"r"(x):"memory"); }
    CLOCK(t[i][1]); if(FENCES&1) asm volatile("fence.acq_rel.cta;":::"memory"); if(FENCES&2) asm volatile("fence.proxy.async.shared::cta;":::"memory"); asm volatile("bar.sync %0,32;"::"r"(threadIdx.x/32+1):"memory"); CLOCK(t[i][2]); }
  if((threadIdx.x&31)==0) for(int i=0;i<TURNS;i++) for(int k=0;k<2;k++) out[((threadIdx.x/32)*TURNS+i)*2+k]=(int)(t[i][k+1]-t[i][0]); }
uint32_t*g; int*out;
template<int K,int N,int F> void go(){ auto k=fences<K,N,F>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,65536)); for(int w:{1,2,4,8}){ for(int r=0;r<2;r++){ k<<<1,32*w,65536>>>(g,out); CK(cudaDeviceSynchronize()); } double a=0,b=0; for(int v=0;v<w;v++) for(int i=2;i<TURNS;i++){ a+=out[(v*TURNS+i)*2]; b+=out[(v*TURNS+i)*2+1]; } a/=w*(TURNS-2); b/=w*(TURNS-2); printf("%d,%d,%d,%d,%.2f,%.2f\n",K,N,F,w,a,b); } }
template<int K,int N> void fs(){ go<K,N,0>(); go<K,N,1>(); go<K,N,2>(); }
int main(){ printf("kind,count,fences,warps,issued_cycles,cycles\n"); CK(cudaMallocManaged(&out,4*8*TURNS*2)); CK(cudaMalloc(&g,1<<20)); fs<0,0>(); fs<1,1>(); fs<1,4>(); fs<2,1>(); fs<2,2>(); fs<2,4>(); fs<3,1>(); fs<3,4>(); fs<4,1>(); fs<4,2>(); fs<4,4>(); }
