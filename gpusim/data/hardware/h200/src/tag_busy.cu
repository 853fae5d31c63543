// How long N loads by each of three warps take while the tag stage looks up lines of the copies of a fourth one. Columns: what (0 LDS.32, 1 ldmatrix.x1, 2 ldmatrix.x4, 3 LDS.128), copies, row (bytes of a line they read), loads (of each warp), cycles (from the first one's first issue to the last one's last data).
// nvcc -O3 -std=c++17 -arch=sm_90a tag_busy.cu -o tag_busy; ./tag_busy > tag_busy.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
template<int WHAT,int COPIES,int N> __global__ void busy(int*out,const uint8_t*g,int row){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  uint32_t to=base+warp*8192+(WHAT==0?lane*4:lane*16),copied=base+65536+lane*16,v[N][4],x=lane; const uint8_t*p=g+lane*16/row*1024+lane*16%row; unsigned begin=0,end=0;
  for(int i=0;i<N;i++) for(int j=0;j<4;j++) v[i][j]=0;
  asm volatile("":"+r"(to),"+r"(copied),"+l"(p));
  #pragma unroll 1
  for(int rep=0;rep<4;rep++){
    #pragma unroll 1
    for(int i=0;i<400;i++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
    asm volatile("":"+r"(to),"+r"(copied),"+l"(p)); __syncthreads();
    if(warp==0){
      #pragma unroll
      for(int i=0;i<COPIES;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(copied+i*512),"l"(p+i*128):"memory");
    } else {
      for(int i=0;i<12;i++) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(x));
      asm volatile("":"+r"(x)::"memory");
      CLOCK(begin);
      #pragma unroll
      for(int i=0;i<N;i++){
        if(WHAT==0) asm volatile("ld.shared.u32 %0,[%1];":"=r"(v[i][0]):"r"(to+i*128):"memory");
        if(WHAT==1) asm volatile("ldmatrix.sync.aligned.x1.m8n8.shared.b16 {%0},[%1];":"=r"(v[i][0]):"r"(to+i*128):"memory");
        if(WHAT==2) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(v[i][0]),"=r"(v[i][1]),"=r"(v[i][2]),"=r"(v[i][3]):"r"(to+i*128):"memory");
        if(WHAT==3) asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v[i][0]),"=r"(v[i][1]),"=r"(v[i][2]),"=r"(v[i][3]):"r"(to+i*128):"memory"); }
      for(int i=0;i<N;i++) for(int j=0;j<(WHAT<2?1:4);j++) x^=v[i][j];
      asm volatile("":"+r"(x)::"memory"); CLOCK(end); }
    asm volatile("cp.async.wait_all;":::"memory");
  }
  if(lane==0){ int*o=out+warp*4; o[0]=begin; o[1]=end; o[2]=x; } }
int*out,h[16]; uint8_t*mem;
template<int W,int C,int N> void go(int row){ auto k=busy<W,C,N>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,131072));
  for(int i=0;i<2;i++){ k<<<1,128,131072>>>(out,mem,row); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int a=h[4],b=h[5]; for(int w=2;w<4;w++){ if(h[4*w]-a<0) a=h[4*w]; if(h[4*w+1]-b>0) b=h[4*w+1]; }
  printf("%d,%d,%d,%d,%d\n",W,C,row,N,b-a); }
template<int W,int C> void rows(){ for(int row:{16,32,64,128}){ go<W,C,4>(row); go<W,C,8>(row); go<W,C,16>(row); go<W,C,24>(row); } }
template<int W> void all(){ rows<W,0>(); rows<W,1>(); rows<W,2>(); rows<W,4>(); rows<W,6>(); rows<W,8>(); }
int main(){ CK(cudaMalloc(&out,65536)); CK(cudaMalloc(&mem,1<<22)); CK(cudaMemset(mem,0,1<<22)); printf("what,copies,row,loads,cycles\n"); all<0>(); all<1>(); all<2>(); all<3>(); return 0; }
