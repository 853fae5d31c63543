// When a barrier opens behind cp.async that wait for the tag stage, and when an ldmatrix behind it has its data: some of four or eight warps issue n copies, all meet, all load.
// how: 0 no barrier, ldmatrix; 1 barrier, ldmatrix; 4 as 1 with a commit in front; 6 as 0 with a commit in front (2, 3, 5: a special register in place of the ldmatrix, which does not wait for the barrier; not run)
// nvcc -O3 -std=c++17 -arch=sm_90a barrier_copies.cu -o barrier_copies; ./barrier_copies > barrier_copies.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
template<int N,int HOW> __global__ void meet(const uint8_t*g,int*out,unsigned copying,int row_bytes,int pitch){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=lane;
  int ch=row_bytes/16,r=lane/ch,c=lane%ch; uint32_t to=b+warp*20480+r*pitch+c*16; const uint8_t*from=g+(size_t)warp*4194304+(size_t)r*4096+c*16; uint32_t load=b+163840+(lane&31)*16;
  int zero=0,issued=0,behind=0,done=0,all=0; bool copies=copying>>warp&1;
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    uint32_t a[N]; const uint8_t*p[N];
    #pragma unroll
    for(int i=0;i<N;i++){ a[i]=to+i*2560; p[i]=from+(size_t)i*131072; asm volatile("":"+r"(a[i]),"+l"(p[i])); }
    __syncthreads(); CLOCK(zero);
    if(copies){
      #pragma unroll
      for(int i=0;i<N;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(a[i]),"l"(p[i]):"memory");
      if(HOW>=4) asm volatile("cp.async.commit_group;":::"memory");
    }
    CLOCK(issued);
    if(HOW==1||HOW==2||HOW==4||HOW==5) __syncthreads();
    if(HOW==2||HOW==3||HOW==5){ uint32_t m; asm volatile("mov.u32 %0,%%lanemask_lt;":"=r"(m)::"memory"); asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(m):"memory"); CLOCK(done); }
    else { uint32_t q[4]; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[0]),"=r"(q[1]),"=r"(q[2]),"=r"(q[3]):"r"(load):"memory"); CLOCK(behind); asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(q[0]):"memory"); CLOCK(done); }
    asm volatile("cp.async.wait_all;":::"memory"); CLOCK(all);
    #pragma unroll
    for(int i=0;i<N;i++) asm volatile(""::"r"(a[i]),"l"(p[i]));
  }
  if(lane==0){ int*o=out+warp*8; o[0]=zero; o[1]=issued; o[2]=behind; o[3]=done; o[4]=all; o[5]=x; } }
uint8_t*g; int*out,h[64];
template<int N,int HOW> void go(unsigned copying,int warps,int row_bytes,int pitch){ auto k=meet<N,HOW>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,170*1024));
  for(int i=0;i<2;i++){ k<<<1,32*warps,170*1024>>>(g,out,copying,row_bytes,pitch); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[0]; for(int w=1;w<warps;w++) if(h[8*w]-zero<0) zero=h[8*w];
  for(int w=0;w<warps;w++) printf("%d,%d,%x,%d,%d,%d,%d,%d,%d,%d,%d\n",HOW,N,copying,warps,row_bytes,pitch,w,h[8*w+1]-zero,h[8*w+2]-zero,h[8*w+3]-zero,h[8*w+4]-zero); }
template<int N,int HOW> void some(){ for(int row:{128,64,32,16}) for(int pitch:{row,row+16}){ if(row==128&&pitch!=row) continue; go<N,HOW>(0x2,4,row,pitch); go<N,HOW>(0xe,4,row,pitch); go<N,HOW>(0xf,4,row,pitch); go<N,HOW>(0xe0,8,row,pitch); } }
template<int HOW> void all(){ some<1,HOW>(); some<2,HOW>(); some<4,HOW>(); some<6,HOW>(); some<8,HOW>(); some<12,HOW>(); }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,1,64<<20)); CK(cudaMalloc(&out,65536)); printf("how,copies,copying,warps,row_bytes,pitch,warp,issued,behind,done,copied\n"); all<0>(); all<1>(); all<4>(); all<6>(); return 0; }
