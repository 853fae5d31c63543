// cp.async and ldmatrix on stages that interleave as CUTLASS 2.x lays them out: lines of 128 bytes (rows of 64 bytes in pairs, or of 128) stand `pitch` bytes apart, stages `step`.
// Four warps share a tile: each copies its rows of a stage, waits for an older one, meets the others and loads from it; data come from L2. Everything about places is a parameter, so that all rows run the same code.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int ITERATIONS=1024, GPITCH=4096, STAGES=4;
__device__ uint32_t place(int bytes,int row,int chunk,int pitch){ return bytes==64 ? (row>>1)*pitch+(((((row&1)<<2)|chunk)^((row>>1)&3))<<4) : row*pitch+((chunk^(row&7))<<4); }
template<int LOADS,int COPIES> __global__ void mixed(const uint8_t*g,int*out,int bytes,int pitch,int step,int load_pitch,int load_step,int copying,int loading){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  int ch=bytes/16, rpc=32/ch; const uint8_t*src=g+((size_t)blockIdx.x*4*COPIES*rpc+warp*rpc+lane/ch)*GPITCH+lane%ch*16; uint32_t x=0; int start,end;
  uint32_t to[COPIES+1],ad[LOADS+1];
  #pragma unroll
  for(int i=0;i<COPIES;i++) to[i]=base+place(bytes,(i*4+warp)*rpc+lane/ch,lane%ch,pitch);
  #pragma unroll
  for(int i=0;i<LOADS;i++) ad[i]=base+place(bytes,((warp&1)*32+(i%4)*16+(lane&15))%(4*rpc*(COPIES?COPIES:1)),(lane>>4)+2*(i&1),load_pitch);
  bool copies=copying>>warp&1, loads=loading>>warp&1;
  __syncthreads(); asm volatile("mov.u32 %0,%%clock;":"=r"(start)::"memory"); uint32_t w=0,r=load_step,off=0;
  #pragma unroll 1
  for(int it=0;it<ITERATIONS;it++){
    if(copies){
    #pragma unroll
    for(int i=0;i<COPIES;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(to[i]+w),"l"(src+off+(size_t)i*4*rpc*GPITCH):"memory"); }
    asm volatile("cp.async.commit_group;":::"memory"); asm volatile("cp.async.wait_group 2;":::"memory");
    __syncthreads();
    if(loads){ uint32_t v[4*LOADS+1];
    #pragma unroll
    for(int i=0;i<LOADS;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(v[4*i]),"=r"(v[4*i+1]),"=r"(v[4*i+2]),"=r"(v[4*i+3]):"r"(ad[i]+r):"memory");
    #pragma unroll
    for(int i=0;i<4*LOADS;i++) x^=v[i]; }
    w=w==3*step?0:w+step; r=r==3*load_step?0:r+load_step; off=(off+bytes)&2047; }
  asm volatile("mov.u32 %0,%%clock;":"=r"(end)::"memory"); if(lane==0){ out[warp]=end-start; out[64+warp]=x; } }
uint8_t*g; int*out;
template<int L,int C> void go(int bytes,int pitch,int step,int lp,int ls,int copying,int loading){ auto k=mixed<L,C>; int shared=226*1024; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,shared));
  if(4*C*(bytes==64?256:512)/128*(size_t)pitch+3*step>shared) return;
  for(int r=0;r<2;r++){ k<<<1,128,shared>>>(g,out,bytes,pitch,step,lp,ls,copying,loading); CK(cudaDeviceSynchronize()); }
  int h[4]; CK(cudaMemcpy(h,out,16,cudaMemcpyDeviceToHost));
  printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%.2f\n",C,L,bytes,pitch,step,lp,ls,copying,loading,(h[0]+h[1]+h[2]+h[3])/4./ITERATIONS); fflush(stdout); }
template<int L,int C> void all(int bytes){ int lines=4*C*(bytes==64?4:4);
  for(int mode=0;mode<5;mode++){ int cm=mode==1?0:mode==4?1:15, lm=mode==2?0:mode==3?1:mode==4?8:15; // all; loads only; copies only; one warp loads; one copies, another one loads
   if(mode==3) cm=15;
   for(int p: {128,256,384,512,640,768,896,1024,1152,1280,1536,1792}) { if(p<512) go<L,C>(bytes,p,lines*p,p,lines*p,cm,lm); else go<L,C>(bytes,p,128,p,128,cm,lm); }
   go<L,C>(bytes,512,128,128,lines*128,cm,lm); go<L,C>(bytes,128,lines*128,512,128,cm,lm); } }
int main(){ CK(cudaMalloc(&g,(size_t)1<<30)); CK(cudaMemset(g,1,(size_t)1<<30)); CK(cudaMalloc(&out,65536)); printf("copies,loads,row_bytes,pitch,step,load_pitch,load_step,copying,loading,cycles\n");
  for(int b:{64,128}){ all<4,4>(b); all<8,4>(b); all<8,8>(b); } return 0; }
