// nvcc -O3 -std=c++17 -arch=sm_90a barrier_bystander.cu -o barrier_bystander; ./barrier_bystander > barrier_bystander.csv
// Is another warp's chain of ldmatrix held while an ldmatrix behind a barrier waits for copies in front of it? Warps 1 to 3 issue six copies of rows of 16 bytes, meet, load `loads` fragments; the bystander (any other warp) loads in a chain.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
constexpr int CHAIN=26;
template<int L,bool BAR> __global__ void meet(const uint8_t*g,int*out,int stander,int row_bytes){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=lane;
  int ch=row_bytes/16,r=lane/ch,c=lane%ch; uint32_t to=b+warp*16384+r*row_bytes+c*16; const uint8_t*from=g+(size_t)warp*4194304+(size_t)r*4096+c*16; uint32_t load=b+163840+lane*16;
  int zero=0,issued=0,behind=0,done=0,marks[CHAIN];
  #pragma unroll 1
  for(int rep=0;rep<3;rep++){
    __syncthreads(); CLOCK(zero);
    if(warp>=1&&warp<=3){
      #pragma unroll
      for(int i=0;i<6;i++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(to+i*2560),"l"(from+(size_t)i*131072):"memory");
      asm volatile("cp.async.commit_group;":::"memory");
      if(BAR) asm volatile("bar.sync 1,96;":::"memory");
      uint32_t q[L][4]; 
      #pragma unroll
      for(int i=0;i<L;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[i][0]),"=r"(q[i][1]),"=r"(q[i][2]),"=r"(q[i][3]):"r"(load+i*512):"memory");
      CLOCK(issued); asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(q[0][0]):"memory"); CLOCK(behind);
      for(int i=1;i<L;i++) asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(q[i][0]):"memory"); CLOCK(done);
    } else if(warp==stander){ uint32_t a=load; 
      #pragma unroll
      for(int i=0;i<CHAIN;i++){ uint32_t q[4]; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(q[0]),"=r"(q[1]),"=r"(q[2]),"=r"(q[3]):"r"(a):"memory"); a+=q[0]&1; asm volatile("xor.b32 %0,%0,%1;":"+r"(x):"r"(a):"memory"); CLOCK(marks[i]); }
    }
    asm volatile("cp.async.wait_all;":::"memory"); }
  if(lane==0&&warp>=1&&warp<=3){ int*o=out+warp*64; o[0]=zero; o[1]=issued; o[2]=behind; o[3]=done; o[5]=x; }
  if(lane==0&&warp==stander){ int*o=out+warp*64; o[0]=zero; for(int i=0;i<CHAIN;i++) o[1+i]=marks[i]; o[60]=x; } }
uint8_t*g; int*out,h[512];
template<int L,bool BAR> void go(int stander,int row_bytes){ auto k=meet<L,BAR>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,170*1024));
  for(int i=0;i<2;i++){ k<<<1,256,170*1024>>>(g,out,stander,row_bytes); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  int zero=h[64]; printf("%d,%d,%d,%d",L,BAR,stander,row_bytes); for(int i=1;i<4;i++) for(int w=1;w<4;w++) printf("%s%d",w==1?",":" ",h[64*w+i]-zero); printf(","); if(stander<8) for(int i=0;i<CHAIN;i++) printf("%s%d",i?" ":"",h[64*stander+1+i]-zero); printf("\n"); }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,0,64<<20)); CK(cudaMalloc(&out,65536)); CK(cudaMemset(out,0,65536)); printf("loads,barrier,bystander,row_bytes,issued,first,last,chain\n");
  for(int row:{16,64}) for(int s:{9,0,4,5,7}){ go<1,true>(s,row); go<8,true>(s,row); go<1,false>(s,row); go<8,false>(s,row); } return 0; }
