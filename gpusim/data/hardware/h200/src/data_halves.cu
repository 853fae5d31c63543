// What ldmatrix of one half of the data array loses to copies (1), loads of global memory past and through L1 (3, 4), stores to shared memory (5), cp.async.ca (6) and
// stores to global memory (2), by the place of loads (two, of every other warp) and of what is written. ptxas keeps two of the eight loads of a turn.
// nvcc -O3 -std=c++17 -arch=sm_90a data_halves.cu -o data_halves; ./data_halves > data_halves.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int TIME=40000;
template<int KIND> __global__ void both(int*out,uint8_t*global,int loaders,int ways,int from,int from2,int to,int pitch,int pause){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=0; int n=0; __syncthreads(); int start=clock(),now=start;
  if(warp<loaders){ int row=lane&7,matrix=lane>>3,per=8/ways; uint32_t ad=b+(warp&1?from2:from)+((row/per)+matrix*8)*128+((row%per)*ways)%8*16;
    #pragma unroll 1
    while(now-start<TIME){ uint32_t r[32];
      #pragma unroll
      for(int i=0;i<8;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+(i&1)*4096):"memory");
      #pragma unroll
      for(int i=0;i<32;i++) x^=r[i];
      n+=8; now=clock(); }
  } else { int w=warp-loaders; const uint8_t*src=global+w*65536+lane/8*4096+lane%8*16; uint32_t q=b+to+w*2048+lane/8*pitch+lane%8*16; int k=0;
    #pragma unroll 1
    while(now-start<TIME){ uint32_t v[4];
      #pragma unroll
      for(int i=0;i<4;i++){ 
        if(KIND==1) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(q+i%4*4*pitch),"l"(src+i*16384+k):"memory");
        if(KIND==2) asm volatile("st.global.b32 [%0],%1;"::"l"(global+(1<<22)+w*65536+i*4096+k+lane*4),"r"(k):"memory");
        if(KIND==3) asm volatile("ld.global.cg.b32 %0,[%1];":"=r"(v[i]):"l"(global+w*65536+i*4096+k+lane*4):"memory");
        if(KIND==4) asm volatile("ld.global.ca.b32 %0,[%1];":"=r"(v[i]):"l"(global+w*65536+i*4096+(k&128)+lane*4):"memory");
        if(KIND==5) asm volatile("st.shared.b32 [%0],%1;"::"r"(b+to+w*2048+i*512+lane*4),"r"(k):"memory");
        if(KIND==6) asm volatile("cp.async.ca.shared.global [%0],[%1],16;"::"r"(q+i%4*4*pitch),"l"(src+i*16384+k):"memory"); }
      if(KIND==1||KIND==6) asm volatile("cp.async.commit_group;cp.async.wait_group 3;":::"memory");
      if(KIND==3||KIND==4) for(int i=0;i<4;i++) x^=v[i];
      n+=4; k=(k+128)&3967; now=clock(); int t=now; while(now-t<pause) now=clock(); }
    asm volatile("cp.async.wait_all;":::"memory"); }
  if(lane==0){ out[warp]=n; out[64+warp]=x; } }
int*out,h[128]; uint8_t*mem;
template<int KIND> void go(int loaders,int ways,int from,int from2,int to,int pitch,int pause){ int shared=227*1024; auto k=both<KIND>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,shared));
  for(int i=0;i<2;i++){ k<<<1,32*(loaders+(KIND?4:0)),shared>>>(out,mem,loaders,ways,from,from2,to,pitch,pause); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,512,cudaMemcpyDeviceToHost));
  int l=0,c=0; for(int w=0;w<loaders;w++) l+=h[w]; for(int w=loaders;w<loaders+4;w++) c+=h[w]; printf("%d,%d,%d,%d,%d,%d,%d,%d,%.3f,%.2f\n",KIND,loaders,ways,from>>10,from2>>10,to>>10,pitch,pause,(double)TIME/l,c&&KIND?(double)TIME/c:0.); }
int main(){ CK(cudaMalloc(&out,65536)); CK(cudaMalloc(&mem,1<<24)); CK(cudaMemset(mem,0,1<<24)); printf("kind,loaders,ways,from,from2,to,pitch,pause,per_load,per_copy\n");
  const int K=1024; for(int loaders:{4,8}) for(int ways:{1,2}) { 
    for(int f:{0,64,160}) for(int g:{0,64,160}) { if(g<f) continue; int a=f*K,c=g*K; go<0>(loaders,ways,a,c,0,128,0);
    for(int pause:{0,100}){ for(int to:{32,96,190}){ go<1>(loaders,ways,a,c,to*K,128,pause); go<5>(loaders,ways,a,c,to*K,128,pause); if(f==g) go<6>(loaders,ways,a,c,to*K,128,pause); } go<2>(loaders,ways,a,c,0,128,pause); go<3>(loaders,ways,a,c,0,128,pause); go<4>(loaders,ways,a,c,0,128,pause); } } }
  return 0; }
