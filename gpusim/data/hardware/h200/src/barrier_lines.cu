// As barrier_copies.cu, but for places: lines of 128 bytes (rows of 64 bytes in pairs, swizzled as CUTLASS 2.x has them, or of 128) stand `pitch` bytes apart, and warps load L times.
// how: 0 no barrier, ldmatrix; 1 barrier, ldmatrix; 4 as 1 with a commit in front; 6 as 0 with a commit in front
// nvcc -O3 -std=c++17 -arch=sm_90a barrier_lines.cu -o barrier_lines; ./barrier_lines > barrier_lines.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
__device__ uint32_t place(int bytes,int row,int chunk,int pitch){ return bytes==64 ? (row>>1)*pitch+(((((row&1)<<2)|chunk)^((row>>1)&3))<<4) : row*pitch+((chunk^(row&7))<<4); }
template<int N,int HOW,int L> __global__ void meet(const uint8_t*g,int*out,unsigned copying,int row_bytes,int pitch,int step){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=lane;
  int ch=row_bytes/16,r=lane/ch,c=lane%ch; uint32_t to=b+warp*N*step+place(row_bytes,r,c,pitch); const uint8_t*from=g+(size_t)warp*4194304+(size_t)r*4096+c*16; uint32_t load=b+204800+(lane&31)*16;
  int zero=0,issued=0,behind=0,done=0,all=0; bool copies=copying>>warp&1;
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    uint32_t a[N]; const uint8_t*p[N];
    #pragma unroll
    for(int i=0;i<N;i++){ a[i]=to+i*step; p[i]=from+(size_t)i*131072; asm volatile("":"+r"(a[i]),"+l"(p[i])); }
    __syncthreads(); CLOCK(zero);
    if(copies){
      #pragma unroll
      for(int i=0;i<N;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(a[i]),"l"(p[i]):"memory");
      if(HOW>=4) asm volatile("cp.async.commit_group;":::"memory");
    }
    CLOCK(issued);
    if(HOW==1||HOW==4) __syncthreads();
    uint32_t q[4*L];
    #pragma unroll
    for(int i=0;i<L;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[4*i]),"=r"(q[4*i+1]),"=r"(q[4*i+2]),"=r"(q[4*i+3]):"r"(load+i*512):"memory");
    CLOCK(behind); asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(q[4*L-4]):"memory"); CLOCK(done);
    #pragma unroll
    for(int i=0;i<L;i++) x^=q[4*i];
    asm volatile("cp.async.wait_all;":::"memory"); CLOCK(all);
    #pragma unroll
    for(int i=0;i<N;i++) asm volatile(""::"r"(a[i]),"l"(p[i]));
  }
  if(lane==0){ int*o=out+warp*8; o[0]=zero; o[1]=issued; o[2]=behind; o[3]=done; o[4]=all; o[5]=x; } }
uint8_t*g; int*out,h[64];
template<int N,int HOW,int L> void go(unsigned copying,int row_bytes,int pitch){ auto k=meet<N,HOW,L>; int step=pitch<=256?4*pitch:pitch==512?2048:0; if(4*N*step>204800) return; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,220*1024));
  for(int i=0;i<2;i++){ k<<<1,128,220*1024>>>(g,out,copying,row_bytes,pitch,step); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[0]; for(int w=1;w<4;w++) if(h[8*w]-zero<0) zero=h[8*w];
  for(int w=0;w<4;w++) printf("%d,%d,%d,%x,4,%d,%d,%d,%d,%d,%d,%d\n",HOW,N,L,copying,row_bytes,pitch,w,h[8*w+1]-zero,h[8*w+2]-zero,h[8*w+3]-zero,h[8*w+4]-zero); }
template<int N,int HOW,int L> void some(){ for(int row:{128,64}) for(int pitch:{128,256,512}) for(unsigned c:{0x2u,0xeu,0xfu}) go<N,HOW,L>(c,row,pitch); }
template<int HOW> void all(){ some<4,HOW,1>(); some<6,HOW,1>(); some<8,HOW,1>(); some<6,HOW,6>(); some<8,HOW,8>(); }
int main(){ CK(cudaMalloc(&g,1<<27)); CK(cudaMemset(g,1,1<<27)); CK(cudaMalloc(&out,256)); puts("how,copies,loads,copying,warps,row_bytes,pitch,warp,issued,behind,done,copied"); all<0>(); all<1>(); all<4>(); all<6>(); return 0; }
