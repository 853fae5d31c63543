// Where a barrier of one warp stands among the ldmatrix of others: L warps issue N loads each at once, warp 9 meets itself at a barrier `delay` cycles later; when each load is there.
// nvcc -O3 -std=c++17 -arch=sm_90a fence_loads.cu -o fence_loads; ./fence_loads > fence_loads.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
template<int N,bool BAR> __global__ void beside(const int*roles,int*out,int loaders,int ways,int delay,int meeting,int three){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=0;
  int row=lane&7,matrix=lane>>3,per=8/ways; uint32_t ad=b+((row/per)+matrix*8)*128+((row%per)*ways)%8*16;
  int role=roles[threadIdx.x]; int zero=0,marks[N],met=0,meets=0; for(int i=0;i<N;i++) marks[i]=0;
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    asm volatile("":"+r"(ad)); __syncthreads(); CLOCK(zero);
    if(role==2){ int t; do t=clock(); while(t-zero<delay); }
    uint32_t q[N][4]; uint32_t loads=role==1,meet=role==2&&BAR;
    #pragma unroll
    for(int i=0;i<N;i++) asm volatile("{.reg .pred p; setp.ne.u32 p,%5,0; @p ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];}":"=r"(q[i][0]),"=r"(q[i][1]),"=r"(q[i][2]),"=r"(q[i][3]):"r"(ad+i*4096),"r"(loads):"memory");
    CLOCK(meets); asm volatile("{.reg .pred p; setp.ne.u32 p,%0,0; @p bar.sync 1,%1;}"::"r"(meet),"r"(meeting*32):"memory"); CLOCK(met);
    #pragma unroll
    for(int i=0;i<N;i++){ asm volatile("mad.lo.u32 %0,%0,%1,%2;":"+r"(x):"r"(three),"r"(q[i][0]):"memory"); CLOCK(marks[i]); }
    #pragma unroll
    for(int i=0;i<N;i++) for(int k=1;k<4;k++) asm volatile("add.u32 %0,%0,%1;":"+r"(x):"r"(q[i][k]):"memory");
    __syncthreads(); }
  if(lane==0){ int*o=out+warp*16; o[0]=zero; for(int i=0;i<N;i++) o[1+i]=marks[i]; if(warp>=8){ o[1]=meets; o[2]=met; } o[15]=x; } }
int*out,*roles,h[256],r[384];
template<int N,bool BAR> void go(int loaders,int ways,int delay,int meeting){ auto k=beside<N,BAR>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,100*1024));
  for(int i=0;i<384;i++) r[i]=i/32<loaders?1:i/32>=8&&i/32<8+meeting?2:0; CK(cudaMemcpy(roles,r,sizeof r,cudaMemcpyHostToDevice));
  for(int i=0;i<2;i++){ k<<<1,32*12,100*1024>>>(roles,out,loaders,ways,delay,meeting,3); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[0]; for(int w=1;w<12;w++) if(h[16*w]-zero<0) zero=h[16*w];
  printf("%d,%d,%d,%d,%d,%d,%d,%d",N,BAR,loaders,ways,delay,meeting,h[16*8+1]-zero,h[16*8+2]-zero); for(int w=0;w<loaders;w++){ printf(","); for(int i=0;i<N;i++) printf("%s%d",i?" ":"",h[16*w+1+i]-zero); } for(int w=loaders;w<8;w++) printf(","); printf("\n"); }
template<int N> void all(){ for(int loaders:{1,2,4,8}) for(int ways:{1,2,4,8}){ go<N,false>(loaders,ways,0,1); for(int m:{1,4}) for(int d=0;d<=240;d+=10) if(m==1||d%40==0) go<N,true>(loaders,ways,d,m); } }
int main(){ CK(cudaMalloc(&out,65536)); CK(cudaMalloc(&roles,4096)); CK(cudaMemset(out,0,65536)); printf("loads,barrier,loaders,ways,delay,meeting,meets,met,w0,w1,w2,w3,w4,w5,w6,w7\n"); all<4>(); all<8>(); return 0; }
