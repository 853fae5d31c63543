// When the load/store unit has read the registers of the last of N LDS.32 behind ldmatrix.x4 and copies: when a place of its buffer that another one leaves, behind others or at once, is known to be free. copy_places.py makes two cubins of this, which copy_places_run.cu runs.
#include <cstdint>
#define CLOCK(t) asm volatile("mov.u64 %0,%%clock64;":"=l"(t)::"memory")
template<int LOADS,int COPIES,int N> __global__ void places(int*out,const uint8_t*global,int ways,int row,uint32_t none){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  constexpr int Q=LOADS>0?4*LOADS:4;
  uint32_t from=b+(lane&7)*(ways*16)+(lane/8)*1024,copied=b+65536+warp*16384+lane*16,to=b+warp*4096+lane*4,q[Q],v[N],x=0,zeros; const uint8_t*g=global+warp*(1<<18)+lane*16/row*1024+lane*16%row;
  for(int i=0;i<Q;i++) q[i]=lane;
  for(int i=0;i<N;i++) asm volatile("mov.u32 %0,%1;":"=r"(v[i]):"r"(none*lane+i));
  asm volatile("mov.u32 %0,%1;":"=r"(zeros):"r"(none*lane));
  long long zero=0,issued=0,war=0; int now;
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    #pragma unroll 1
    for(now=0;now<600;now++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
    asm volatile("":"+r"(to),"+r"(from),"+r"(copied),"+l"(g)); for(int i=0;i<N;i++) asm volatile("":"+r"(v[i]));
    __syncthreads();
    CLOCK(zero);
    #pragma unroll
    for(int i=0;i<LOADS;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[4*i]),"=r"(q[4*i+1]),"=r"(q[4*i+2]),"=r"(q[4*i+3]):"r"(from+i*4096):"memory");
    #pragma unroll
    for(int i=0;i<COPIES;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(copied+i*512),"l"(g+i*128):"memory");
    #pragma unroll
    for(int i=0;i<N;i++) asm volatile("ld.shared.b32 %0,[%1];":"=r"(v[i]):"r"(to+i*128):"memory");
    CLOCK(issued);
    asm volatile("add.u32 %0,%0,%1;":"+r"(to):"r"(zeros):"memory");
    CLOCK(war);
    if(LOADS>0) for(int i=0;i<Q;i++) asm volatile("add.u32 %0,%0,%1;":"+r"(x):"r"(q[i]):"memory");
    for(int i=0;i<N;i++) asm volatile("add.u32 %0,%0,%1;":"+r"(x):"r"(v[i]):"memory");
    asm volatile("cp.async.wait_all;":::"memory");
  }
  if(lane==0){ int*o=out+warp*4; o[0]=zero; o[1]=issued; o[2]=war; o[3]=x; } }
#define ONE(L,C,N) template __global__ void places<L,C,N>(int*,const uint8_t*,int,int,uint32_t);
#define FEW(L,C) ONE(L,C,1) ONE(L,C,2) ONE(L,C,3) ONE(L,C,4) ONE(L,C,5) ONE(L,C,6) ONE(L,C,7) ONE(L,C,8) ONE(L,C,9) ONE(L,C,10) ONE(L,C,11) ONE(L,C,12)
#define MANY(L,C) FEW(L,C) ONE(L,C,13) ONE(L,C,14) ONE(L,C,15) ONE(L,C,16) ONE(L,C,17) ONE(L,C,18) ONE(L,C,19) ONE(L,C,20) ONE(L,C,21) ONE(L,C,22)
MANY(1,1) MANY(2,1) MANY(4,1) MANY(1,2) MANY(2,2) MANY(4,2) MANY(2,3) MANY(2,4)
FEW(0,8) FEW(0,9) FEW(0,10) FEW(0,11) FEW(0,12) FEW(0,13) FEW(0,14)
