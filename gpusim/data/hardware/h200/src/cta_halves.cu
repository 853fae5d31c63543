// Where the shared memory of an SM's second CTA stands: CTAs of 110 KB, two to an SM, whose four loading warps load from 64 KiB of their own on while
// four others store to global memory. nvcc -O3 -std=c++17 -arch=sm_90a cta_halves.cu -o cta_halves; ./cta_halves > cta_halves.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int TIME=60000;
__global__ void both(int*out,uint8_t*global,int storing,int loading){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=0; int n=0,smid; asm("mov.u32 %0,%%smid;":"=r"(smid)); long long begun=clock64();
  int now0=clock(); while(clock()-now0<20000); int start=clock(),now=start;
  if(warp<4){ uint32_t ad=b+65536+lane*16;
    if(loading>>(blockIdx.x>=gridDim.x/2)&1)
    #pragma unroll 1
    while(now-start<TIME){ uint32_t r[32];
      #pragma unroll
      for(int i=0;i<8;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+i*4096):"memory");
      #pragma unroll
      for(int i=0;i<32;i++) x^=r[i];
      n+=8; now=clock(); }
  } else { int w=blockIdx.x*4+warp-4,k=0; uint8_t*to=global+w*(1<<16)+lane*16;
    if(storing)
    #pragma unroll 1
    while(now-start<TIME){
      #pragma unroll
      for(int i=0;i<4;i++) asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};"::"l"(to+i*512+k),"r"(k):"memory");
      n+=4; k=(k+2048)&32767; now=clock(); int t=now; while(now-t<storing) now=clock(); } }
  if(lane==0&&(warp==0||warp==4)){ int*o=out+blockIdx.x*8; o[warp/4]=n; o[2]=smid; o[3]=(int)(begun&0x7fffffff); o[4+warp/4]=x; } }
int main(){ int*out; uint8_t*mem; CK(cudaMalloc(&out,264*32)); CK(cudaMalloc(&mem,264ull*4<<16)); CK(cudaMemset(mem,0,264ull*4<<16)); static int h[264*8];
  CK(cudaFuncSetAttribute(both,cudaFuncAttributeMaxDynamicSharedMemorySize,110*1024)); printf("loading,pause,cta,sm,begun,cycles_per_load,cycles_per_store\n");
  for(int loading:{1,2,3}) for(int pause:{0,400}){ for(int r=0;r<2;r++){ CK(cudaMemset(out,0,264*32)); both<<<264,256,110*1024>>>(out,mem,pause,loading); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
    for(int c=0;c<264;c++){ int*o=h+8*c; printf("%d,%d,%d,%d,%d,%.3f,%.2f\n",loading,pause,c,o[2],o[3],o[0]?TIME/4.0/o[0]:0.,o[1]?TIME/4.0/o[1]:0.); } }
  return 0; }
