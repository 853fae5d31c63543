// A stream of cp.async (data from L2) whose rows go to four 128-byte lines of shared memory each, by the classes (line number modulo 4) of the four lines; with and without warps that load from shared memory all the time.
// Copying warps have places of their own and eight groups of `per` copies, seven of them in flight; nobody waits for anybody. Everything about places comes in parameters, so that all rows run the same code.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int ITERATIONS=2048, GPITCH=4096;
__global__ void stream(const uint8_t*g,int*out,int bytes,int classes,int copiers,int slots,int groups,int load_way){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=0; int start,end; volatile int*done=(volatile int*)(sm+222*1024);
  if(threadIdx.x==0) *done=0; __syncthreads();
  if(warp<copiers){ int ch=bytes/16, rpc=32/ch; const uint8_t*src=g+((size_t)warp*rpc+lane/ch)*GPITCH+lane%ch*16;
    int line=lane/8, cls=classes>>(4*(3-line))&3; uint32_t mine=base+warp*slots*2048, to=(line*4+cls)*128+(((lane&7)^line)<<4), w=0, off=0; // a slot: 16 lines, four of each class
    asm volatile("mov.u32 %0,%%clock;":"=r"(start)::"memory");
    #pragma unroll 1
    for(int it=0;it<ITERATIONS;it++){
      asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(mine+to+w),"l"(src+off):"memory"); asm volatile("cp.async.commit_group;":::"memory");
      if(slots==8) asm volatile("cp.async.wait_group 7;":::"memory"); else if(slots==4) asm volatile("cp.async.wait_group 3;":::"memory"); else asm volatile("cp.async.wait_group 0;":::"memory");
      w=w+2048==slots*2048?0:w+2048; off=(off+bytes)&2047; }
    asm volatile("mov.u32 %0,%%clock;":"=r"(end)::"memory"); if(lane==0){ out[warp]=end-start; atomicAdd((int*)done,1);} }
  else { uint32_t ad=base+(warp&3)*8192+(load_way==1?lane*16:lane*512); int n=0; asm volatile("mov.u32 %0,%%clock;":"=r"(start)::"memory"); // conflict free over all classes, or all rows in one class
    #pragma unroll 1
    while(*done<copiers){ uint32_t v[32];
      #pragma unroll
      for(int i=0;i<8;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(v[4*i]),"=r"(v[4*i+1]),"=r"(v[4*i+2]),"=r"(v[4*i+3]):"r"(ad+i*512):"memory");
      #pragma unroll
      for(int i=0;i<32;i++) x^=v[i]; n+=8; }
    asm volatile("mov.u32 %0,%%clock;":"=r"(end)::"memory"); if(lane==0){ out[64+warp]=end-start; out[96+warp]=n; out[128]=x; } } }
uint8_t*g; int*out;
void go(int bytes,int classes,int copiers,int loaders,int slots,int way){ int shared=223*1024; CK(cudaFuncSetAttribute(stream,cudaFuncAttributeMaxDynamicSharedMemorySize,shared)); if(copiers*slots*2048>221*1024) return;
  for(int r=0;r<2;r++){ stream<<<1,32*(copiers+loaders),shared>>>(g,out,bytes,classes,copiers,slots,0,way); CK(cudaDeviceSynchronize()); }
  int h[132]; CK(cudaMemcpy(h,out,528,cudaMemcpyDeviceToHost)); double c=0,l=0; for(int i=0;i<copiers;i++) c+=h[i]; c/=copiers; for(int i=copiers;i<copiers+loaders;i++) l+=(double)h[96+i]/h[64+i];
  printf("%d,%d,%d,%d,%04x,%d,%.3f,%.4f\n",copiers,loaders,slots,bytes,classes,way,c/ITERATIONS/copiers,loaders?1/l:0); fflush(stdout); }
int main(){ CK(cudaMalloc(&g,(size_t)1<<28)); CK(cudaMemset(g,1,(size_t)1<<28)); CK(cudaMalloc(&out,65536)); printf("copiers,loaders,slots,row_bytes,classes,way,cycles_per_copy,cycles_per_load\n");
  for(int bytes:{16,32,64,128}) for(int classes:{0x0123,0x0101,0x0110,0x0012,0x0001,0x0011,0x0000}){
    for(int slots:{1,4,8}) for(int copiers:{1,4,8,12,16}) if(copiers*slots*2048<=221*1024) for(int loaders:{0,1,4,8}) go(bytes,classes,copiers,loaders,slots,1); }
  return 0; }
