// Loads from global memory beside ldmatrix of other warps that keeps the data stage busy: cycles per ldmatrix and per load, by bytes a lane and of a row. 0 global loaders: ldmatrix alone.
// MODE: 0 past L1 (L2), 1 new lines through L1 each time (L1 miss), 2 rows that follow each other through L1, so second halves of lines in part, 3 the same lines again (L1 hit; with 4 bytes the compiler takes the loads out of the loop, not kept).
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int TIME=100000, PITCH=4096, BATCH=8;
template<int BY,int MODE> __global__ void both(const uint8_t*g,int*out,int loaders,int ways,int row_bytes,int pause){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; int n=0; uint32_t x=0;
  __syncthreads(); int start=clock(), now=start;
  if(warp<loaders){ int row=lane&7,matrix=lane>>3; int per=8/ways;
    uint32_t ad=base+65536+((row/per)+matrix*8)*128+((row%per)*ways)%8*16;
    #pragma unroll 1
    while(now-start<TIME){ uint32_t r[32];
      #pragma unroll
      for(int i=0;i<8;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+i*4096):"memory");
      #pragma unroll
      for(int i=0;i<32;i++) x^=r[i];
      n+=8; now=clock(); }
  } else { int ch=row_bytes/BY, r=lane/ch, c=lane%ch, w=warp-loaders; int rows=32/ch;
    const uint8_t*src=g+(size_t)(w*rows*BATCH+r)*PITCH+c*BY; int k=0;
    #pragma unroll 1
    while(now-start<TIME){ uint4 v[BATCH];
      #pragma unroll
      for(int i=0;i<BATCH;i++){ const uint8_t*p=src+k+(size_t)i*rows*PITCH; v[i].x=v[i].y=v[i].z=v[i].w=0;
        if(BY==16&&MODE==0) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v[i].x),"=r"(v[i].y),"=r"(v[i].z),"=r"(v[i].w):"l"(p):"memory");
        if(BY==16&&MODE>0) asm volatile("ld.global.ca.L2::128B.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v[i].x),"=r"(v[i].y),"=r"(v[i].z),"=r"(v[i].w):"l"(p):"memory");
        if(BY==4&&MODE>0) asm volatile("ld.global.ca.u32 %0,[%1];":"=r"(v[i].x):"l"(p):"memory");
        if(BY==8&&MODE==0) asm volatile("ld.global.cg.v2.u32 {%0,%1},[%2];":"=r"(v[i].x),"=r"(v[i].y):"l"(p):"memory");
        if(BY==4&&MODE==0) asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v[i].x):"l"(p):"memory"); }
      #pragma unroll
      for(int i=0;i<BATCH;i++) x^=v[i].x^v[i].y^v[i].z^v[i].w;
      n+=BATCH; k=MODE==3?0:MODE==1?(k+128)&4095:(k+row_bytes)&2047; if(MODE==1&&k==0) src+=(size_t)rows*BATCH*PITCH*4; if(MODE==1&&src>g+(30u<<20)) src-=(30u<<20); int t=clock(); now=t; while(now-t<pause) now=clock(); }
  }
  if(lane==0){ out[warp]=n; out[64+warp]=x; } }
uint8_t*g; int*out;
template<int BY,int MODE> void go(int loaders,int copiers,int ways,int rb,int pause){ int shared=200*1024; auto k=both<BY,MODE>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,shared));
  for(int r=0;r<2;r++){ k<<<1,32*(loaders+copiers),shared>>>(g,out,loaders,ways,rb,pause); CK(cudaDeviceSynchronize()); }
  int h[64]; CK(cudaMemcpy(h,out,256,cudaMemcpyDeviceToHost)); long l=0,c=0; for(int i=0;i<loaders+copiers;i++) (i<loaders?l:c)+=h[i];
  const char*through[]={"L2","L1 miss","L1 second half","L1 hit"}; printf("%s,%d,%d,%d,%d,%d,%d,%.3f,%.2f\n",through[MODE],BY,rb,loaders,copiers,ways,pause,l?(double)TIME/l:0.,c?(double)TIME/c:0.); fflush(stdout); }
template<int BY,int MODE> void all(){ for(int loaders:{4,8}) for(int ways:{1,2,4}){ go<BY,MODE>(loaders,0,ways,64,0); for(int rb:{16,32,64,128,256,512}) if(rb>=BY&&rb<=BY*32) for(int pause:{0,400}) go<BY,MODE>(loaders,4,ways,rb,pause); } }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,1,64<<20)); CK(cudaMalloc(&out,4096)); printf("through,bytes,row_bytes,loaders,global_loaders,ways,pause,cycles_per_load,cycles_per_global_load\n"); all<16,0>(); all<16,1>(); all<16,2>(); all<16,3>(); all<4,0>(); all<4,1>(); all<4,3>(); return 0; }
