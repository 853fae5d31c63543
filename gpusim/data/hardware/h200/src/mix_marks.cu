// mixes of HMMA, ldmatrix (each followed by two LOP3) and LOP3 of one chain by one CTA: when each warp begins each of 64 turns, from the first one's first on. Columns: hmma, ldsm4, lop3, warps, run, warp, then the turns.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define HM(c,a,b) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(c[0]),"+f"(c[1]),"+f"(c[2]),"+f"(c[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1]))
#define TURNS 64
template<int NH,int NL,int NX> __global__ void mixm(uint32_t zero,uint32_t*out,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm);
  int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t a=b+(lane%8)*16+(lane/8)*1024,s=threadIdx.x; float c[8][4]={}; uint32_t fa[4]={s,1,2,3},fb[2]={s,5};
  uint32_t log=b+65536+warp*TURNS*4; __syncthreads();
  for(int i=0;i<TURNS;i++){ uint32_t t; asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory"); if(lane==0) asm volatile("st.shared.u32 [%0],%1;"::"r"(log+i*4),"r"(t):"memory");
    #pragma unroll
    for(int j=0;j<NL;j++){ uint32_t x,y,z,w; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x),"=r"(y),"=r"(z),"=r"(w):"r"(a+(j&7)*4096):"memory"); s^=x^y^z^w; }
    #pragma unroll
    for(int j=0;j<NX;j++) asm volatile("lop3.b32 %0,%0,%1,%2,0x96;":"+r"(s):"r"(zero),"r"(i));
    #pragma unroll
    for(int j=0;j<NH;j++) HM(c[j&7],fa,fb);
    a+=zero; }
  __syncthreads(); float x=0; for(int i=0;i<8;i++) x+=c[i][0]; sink[threadIdx.x]=s+(uint32_t)x;
  uint32_t t0=*(volatile uint32_t*)(sm+65536); for(int i=lane;i<TURNS;i+=32) out[warp*TURNS+i]=*(volatile uint32_t*)(sm+65536+(warp*TURNS+i)*4)-t0; }
uint32_t*out,*sink;
template<int H,int L,int X> void go(){ auto k=mixm<H,L,X>; int smem=65536+8192; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); for(int w:{4,8}) for(int r=0;r<3;r++){ k<<<1,32*w,smem>>>(0,out,sink); CK(cudaDeviceSynchronize()); if(r==0) continue; for(int v=0;v<w;v++){ printf("%d,%d,%d,%d,%d,%d",H,L,X,w,r,v); for(int i=0;i<TURNS;i++) printf(",%d",(int)out[v*TURNS+i]); printf("\n"); } } }
int main(){ CK(cudaMallocManaged(&out,4*8*TURNS)); CK(cudaMalloc(&sink,8192)); go<32,0,0>(); go<32,0,32>(); go<32,0,64>(); go<32,8,0>(); go<32,16,0>(); go<32,4,0>(); go<16,16,0>(); go<32,2,0>(); go<0,16,0>(); go<0,0,32>(); go<16,0,32>(); }
