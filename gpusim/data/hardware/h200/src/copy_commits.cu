// Streams of cp.async (data from L2) whose lines of shared memory are all of one class, by copies per commit: does what a copy takes beyond the turns of its writes belong to the copy or to the commit?
// As copy_classes.cu: warps have eight places of their own each; groups of `PER` copies, all but one of 8/PER groups in flight; `commits` of them empty but for the first.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int COPIES=2048, GPITCH=4096;
template<int PER,int EMPTY> __global__ void stream(const uint8_t*g,int*out,int bytes,int classes){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5,start,end;
  int ch=bytes/16, rpc=32/ch; const uint8_t*src=g+((size_t)warp*rpc+lane/ch)*GPITCH+lane%ch*16;
  int line=lane/8, cls=classes>>(4*(3-line))&3; uint32_t to=base+warp*8*2048+(line*4+cls)*128+(((lane&7)^line)<<4), w=0, off=0;
  asm volatile("mov.u32 %0,%%clock;":"=r"(start)::"memory");
  #pragma unroll 1
  for(int it=0;it<COPIES/PER;it++){
    #pragma unroll
    for(int i=0;i<PER;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(to+w+i*2048),"l"(src+off+i*GPITCH*16):"memory");
    #pragma unroll
    for(int i=0;i<1+EMPTY;i++) asm volatile("cp.async.commit_group;":::"memory");
    asm volatile("cp.async.wait_group %0;"::"n"((8/PER-1)*(1+EMPTY)):"memory");
    w=w+PER*2048==8*2048?0:w+PER*2048; off=(off+bytes)&2047; }
  asm volatile("mov.u32 %0,%%clock;":"=r"(end)::"memory"); if(lane==0) out[warp]=end-start; }
uint8_t*g; int*out;
template<int PER,int EMPTY> void go(int bytes,int classes,int copiers){ int shared=221*1024; auto k=stream<PER,EMPTY>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,shared));
  for(int r=0;r<2;r++){ k<<<1,32*copiers,shared>>>(g,out,bytes,classes); CK(cudaDeviceSynchronize()); }
  int h[32]; CK(cudaMemcpy(h,out,128,cudaMemcpyDeviceToHost)); double c=0; for(int i=0;i<copiers;i++) c+=h[i];
  printf("%d,%d,%d,%d,%04x,%.3f\n",copiers,PER,1+EMPTY,bytes,classes,c/copiers/COPIES/copiers); fflush(stdout); }
int main(){ CK(cudaMalloc(&g,(size_t)1<<28)); CK(cudaMemset(g,1,(size_t)1<<28)); CK(cudaMalloc(&out,65536)); printf("copiers,copies_per_group,commits,row_bytes,classes,cycles_per_copy\n");
  for(int b:{16,32,64,128}) for(int c:{0x0123,0x0011,0x0000}) for(int n:{8,12}){ go<1,0>(b,c,n); go<2,0>(b,c,n); go<4,0>(b,c,n); go<1,1>(b,c,n); go<2,1>(b,c,n); go<4,2>(b,c,n); go<1,3>(b,c,n); }
  return 0; }
