// What copies cost beside ldmatrix when their data come from L2 and when they come from DRAM.
// Four or eight warps each copy rows into four stages of their own and load from them; nobody waits for anybody but, with sync, at a barrier.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int ITERATIONS=1024, PITCH=131072, STAGES=4;
template<int LOADS,int COPIES,int ROW> __global__ void mixed(const uint8_t*g,int*out,int ways,uint32_t wrap,int sync){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5,warps=blockDim.x>>5;
  int row=lane&7, matrix=lane>>3; constexpr int CHUNKS=ROW/16, ROWS=512/ROW; uint32_t mine=base+warp*(STAGES*4096);
  uint32_t ad=mine+(ways==1?lane*16:ways==2?row*32+matrix*256:ways==4?row*64+matrix*16:row*128+matrix*16);
  const uint8_t*src=g+((size_t)(blockIdx.x*warps+warp)*COPIES*ROWS+lane/CHUNKS)*PITCH+lane%CHUNKS*16; uint32_t to=mine+lane*16, x=0; int start,end;
  __syncthreads(); asm volatile("mov.u32 %0,%%clock;":"=r"(start)::"memory");
  #pragma unroll 1
  for(int it=0;it<ITERATIONS;it++){ uint32_t off=(it*ROW)&(wrap-1), st=(it&3)*4096;
    #pragma unroll
    for(int i=0;i<COPIES;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(to+st+i*512),"l"(src+off+(size_t)i*ROWS*PITCH):"memory");
    asm volatile("cp.async.commit_group;":::"memory"); asm volatile("cp.async.wait_group 2;":::"memory");
    if(sync) __syncthreads();
    uint32_t r[4*LOADS+1];
    #pragma unroll
    for(int i=0;i<LOADS;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+((st+4096)&16383)+i*512):"memory");
    #pragma unroll
    for(int i=0;i<4*LOADS;i++) x^=r[i]; }
  asm volatile("mov.u32 %0,%%clock;":"=r"(end)::"memory"); if(lane==0){ out[blockIdx.x*warps+warp]=end-start; out[8192+blockIdx.x*warps+warp]=x; } }
uint8_t*g; int*out;
template<int LOADS,int COPIES,int ROW> void go(int ctas,int warps,int ways,uint32_t wrap,int sync){ auto k=mixed<LOADS,COPIES,ROW>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,160*1024));
  if((size_t)ctas*warps*COPIES*(512/ROW)*PITCH>(size_t)4<<30) return;
  for(int r=0;r<2;r++){ if(wrap==PITCH) CK(cudaMemset(g+((size_t)5<<30),r,(size_t)512<<20)); k<<<ctas,32*warps,160*1024>>>(g,out,ways,wrap,sync); CK(cudaDeviceSynchronize()); }
  std::vector<int> h(ctas*warps); CK(cudaMemcpy(h.data(),out,4*h.size(),cudaMemcpyDeviceToHost)); double sum=0; for(int v:h) sum+=v;
  printf("%s,%d,%d,%d,%d,%d,%d,%d,%.2f\n",wrap==PITCH?"DRAM":"L2",ctas,warps,ways,LOADS,COPIES,ROW,sync,sum/h.size()/ITERATIONS); fflush(stdout); }
template<int LOADS,int COPIES,int ROW> void all(){ for(int sync:{0,1}) for(int ctas:{1,16}) for(int warps:{4,8}) for(int ways:{1,4,8}) for(uint32_t wrap:{2048u,(uint32_t)PITCH}) go<LOADS,COPIES,ROW>(ctas,warps,ways,wrap,sync); }
int main(){ CK(cudaMalloc(&g,(size_t)6<<30)); CK(cudaMemset(g,1,(size_t)6<<30)); CK(cudaMalloc(&out,65536)); printf("source,ctas,warps,ways,loads,copies,row_bytes,barrier,cycles\n");
  all<8,0,64>(); all<8,2,64>(); all<8,4,64>(); all<8,8,64>(); all<16,4,64>(); all<8,4,128>(); all<8,8,128>(); all<0,4,64>(); return 0; }
