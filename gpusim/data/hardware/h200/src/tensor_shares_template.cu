// Template for tensor_shares.py: busy warps have a stream of mma.sync each, one more warp (of one sub-partition or of each) issues 64 / EVERY instructions of a kind
// and pmevents (NOPs later) in between, over and over until one of the busy ones is through. NEW_B: the mma.sync do not keep their B operand. Prints by warp: cycles, batches.
#include <cstdint>
#ifndef TYPE
#define TYPE 0
#endif
constexpr int TURNS=32;
// TYPE of the mma.sync: 0 m16n8k16 f16 to f32, 1 the same to f16, 2 m16n8k32 s8, 3 m16n8k8 tf32, 4 m16n8k8 f16 to f32
__device__ __forceinline__ void mma(float*d,const uint32_t*a,const uint32_t*b){
  if(TYPE==0) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1]));
  uint32_t*u=(uint32_t*)d;
  if(TYPE==1) asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3,%4,%5},{%6,%7},{%0,%1};":"+r"(u[0]),"+r"(u[1]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1]));
  if(TYPE==2) asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+r"(u[0]),"+r"(u[1]),"+r"(u[2]),"+r"(u[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1]));
  if(TYPE==3) asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1]));
  if(TYPE==4) asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(a[0]),"r"(a[1]),"r"(b[0]));
}
__device__ __forceinline__ void op(int i,uint32_t to,const uint8_t*src,uint32_t*r,uint32_t w0,uint32_t w1,uint32_t w2,uint32_t w3){ i%=8;
  if(KIND==0) asm volatile("ld.volatile.shared.u32 %0,[%1];":"=r"(r[0]):"r"(to+i*512):"memory");
  if(KIND==1) asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]):"r"(to+i*512):"memory");
  if(KIND==2) asm volatile("st.volatile.shared.u32 [%0],%1;"::"r"(to+i*512),"r"(w0):"memory");
  if(KIND==3) asm volatile("st.volatile.shared.v2.u32 [%0],{%1,%2};"::"r"(to+i*512),"r"(w0),"r"(w1):"memory");
  if(KIND==4) asm volatile("st.volatile.shared.v4.u32 [%0],{%1,%2,%3,%4};"::"r"(to+i*512),"r"(w0),"r"(w1),"r"(w2),"r"(w3):"memory");
  if(KIND==5) asm volatile("cp.async.ca.shared.global [%0],[%1],16;"::"r"(to+i*512),"l"(src+(size_t)i*512):"memory");
  if(KIND==6) asm volatile("st.volatile.global.u32 [%0],%1;"::"l"(src+i*512),"r"(w0):"memory");
  if(KIND==7) asm volatile("st.volatile.global.v4.u32 [%0],{%1,%2,%3,%4};"::"l"(src+i*512),"r"(w0),"r"(w1),"r"(w2),"r"(w3):"memory");
}
extern "C" __global__ void __launch_bounds__(512) tmpl(uint8_t*g,int*out,int busy,int sleep,const uint32_t*in){
  extern __shared__ __align__(1024) uint8_t sm[]; volatile __shared__ int done; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=0; int n=0,start=0,end=0;
  if(threadIdx.x==0) done=0; __syncthreads();
  if(warp<busy){ float c[8][4]={}; uint32_t a[4]={(uint32_t)lane,1,2,3},b[8][2]; for(int i=0;i<8;i++) for(int j=0;j<2;j++) b[i][j]=in[4+2*i+j]; start=clock();
    #pragma unroll 1
    for(int t=0;t<TURNS;t++){
      #pragma unroll
      for(int i=0;i<256;i++){ float*d=c[i&7]; uint32_t*e=b[NEW_B?i&7:0]; mma(d,a,e); } }
    end=clock(); for(int i=0;i<8;i++) for(int j=0;j<4;j++) x+=__float_as_uint(c[i][j]); if(lane==0) atomicAdd((int*)&done,1);
  } else { uint32_t to=base+32768+(warp&3)*8192+lane*16; uint8_t*src=g+(size_t)(warp&3)*65536+lane*16; uint32_t r[8][4]={}; uint32_t w0=in[0],w1=in[1],w2=in[2],w3=in[3];
    start=clock();
    while(done<1){ if(sleep) asm volatile("nanosleep.u32 %0;"::"r"(sleep));
      #pragma unroll
      for(int i=0;i<64;i++) if(i%EVERY==0) op(i,to,src,r[i%8],w0,w1,w2,w3); else asm volatile("pmevent 0;");
      n++; }
    end=clock(); for(int i=0;i<8;i++) for(int j=0;j<4;j++) x^=r[i][j]; }
  if(lane==0){ out[2*warp]=end-start; out[2*warp+1]=n; out[64+warp]=x; } }
