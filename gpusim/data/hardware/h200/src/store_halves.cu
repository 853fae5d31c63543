// What stores to global memory take from ldmatrix that keeps the data stage busy, by the half of the SM's data array that they read (128 KiB each):
// stores of rows of `row_bytes` 4 KiB apart by four warps, four at once, with pauses. bytes 0: none
// nvcc -O3 -std=c++17 -arch=sm_90a store_halves.cu -o store_halves; ./store_halves > store_halves.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int TIME=100000;
template<int W> __global__ void both(int*out,uint8_t*global,int loaders,int ways,int from,int row,int pause){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=0; int n=0; __syncthreads(); int start=clock(),now=start;
  if(warp<loaders){ int r8=lane&7,matrix=lane>>3,per=8/ways; uint32_t ad=b+from+((r8/per)+matrix*8)*128+((r8%per)*ways)%8*16;
    #pragma unroll 1
    while(now-start<TIME){ uint32_t r[32];
      #pragma unroll
      for(int i=0;i<8;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+i*4096):"memory");
      #pragma unroll
      for(int i=0;i<32;i++) x^=r[i];
      n+=8; now=clock(); }
  } else { int w=warp-loaders,k=0; uint8_t*to=global+w*(1<<20)+(W?lane*W/row*4096+lane*W%row:0);
    #pragma unroll 1
    while(now-start<TIME){
      #pragma unroll
      for(int i=0;i<4;i++){ uint8_t*a=to+i*512+k; if(W==4) asm volatile("st.global.b32 [%0],%1;"::"l"(a),"r"(k):"memory"); if(W==8) asm volatile("st.global.v2.b32 [%0],{%1,%1};"::"l"(a),"r"(k):"memory"); if(W==16) asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};"::"l"(a),"r"(k):"memory"); }
      n+=4; k=(k+131072)&524287; now=clock(); int t=now; while(now-t<pause) now=clock(); } }
  if(lane==0){ out[warp]=n; out[64+warp]=x; } }
int*out,h[128]; uint8_t*mem;
template<int W> void go(int loaders,int ways,int from,int row,int pause){ int shared=227*1024; auto k=both<W>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,shared));
  for(int i=0;i<2;i++){ k<<<1,32*(loaders+(W?4:0)),shared>>>(out,mem,loaders,ways,from,row,pause); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,512,cudaMemcpyDeviceToHost));
  int l=0,c=0; for(int w=0;w<loaders;w++) l+=h[w]; for(int w=loaders;w<loaders+4;w++) c+=h[w]; printf("%d,%d,%d,%d,%d,%d,%.3f,%.2f\n",W,loaders,ways,from>>10,row,pause,(double)TIME/l,c&&W?(double)TIME/c:0.); }
int main(){ CK(cudaMalloc(&out,65536)); CK(cudaMalloc(&mem,1<<24)); CK(cudaMemset(mem,0,1<<24)); printf("bytes,loaders,ways,from_kib,row_bytes,pause,cycles_per_load,cycles_per_store\n");
  const int K=1024; for(int ways:{1,2,4}) for(int f:{0,64,96,112,126,127,128,160,192}) { go<0>(8,ways,f*K,0,0);
    for(int pause:{100,400,1600}){ for(int r:{16,32,128}) go<4>(8,ways,f*K,r,pause); for(int r:{16,32,64,128,256}) go<8>(8,ways,f*K,r,pause); for(int r:{16,32,64,128,256,512}) go<16>(8,ways,f*K,r,pause); } }
  return 0; }
