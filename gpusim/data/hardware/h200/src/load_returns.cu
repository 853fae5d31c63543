// Room for the programs that load_returns.py writes, one for warps 0 to 3 and one for the others: behind a barrier 160 loads that it replaces, and 96 registers that live across them and are stored.
#include <cstdint>
#define SIZE 160
#define LIVE 96
__global__ void __launch_bounds__(512) canvas(int*out,const int*in,unsigned mask){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t v[LIVE],x=lane;
  if(!(mask>>warp&1)) return;
  uint32_t at=b+warp*4096+lane*16; int*o=out+warp*LIVE;
  #pragma unroll 1
  for(int rep=0;rep<4;rep++){
    #pragma unroll
    for(int i=0;i<LIVE;i++) asm volatile("ld.volatile.global.u32 %0,[%1];":"=r"(v[i]):"l"(in+i):"memory");
    asm volatile("bar.sync 1, %0;"::"r"(32*__popc(mask)):"memory");
    if(warp<4){
      #pragma unroll
      for(int i=0;i<SIZE;i++) asm volatile("ld.volatile.shared.u32 %0,[%1];":"=r"(x):"r"(at):"memory");
    } else {
      #pragma unroll
      for(int i=0;i<SIZE;i++) asm volatile("ld.volatile.shared.u32 %0,[%1+4];":"=r"(x):"r"(at):"memory");
    }
    #pragma unroll
    for(int i=0;i<LIVE;i++) if(lane==0) asm volatile("st.volatile.global.u32 [%0],%1;"::"l"(o+i),"r"(v[i]):"memory");
  } out[4096+threadIdx.x]=x; }
