// Does the end of a cp.async group take a place in front of the tag stage, and does a barrier wait for copies to have one? n copies of 16 bytes per lane, each followed by a commit or all by one or by none; then an ldmatrix, or a barrier and then a load.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
// EACH: a commit behind each copy (1), behind all (2), none (0), two behind each (3); BAR: a barrier before the ldmatrix
template<int N,int EACH,int BAR> __global__ void block(int rb,int loaders,const uint8_t*g,uint32_t*out,uint32_t*sink){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; int per=rb/16,R=32/per;
  uint32_t sd[N+1]; const uint8_t*gs[N+1];
  #pragma unroll
  for(int j=0;j<N+1;j++){ int r=(warp*16+j)*R+lane/per,c=lane%per; uint32_t a=r*rb+c*16; a^=((a>>7)&7)<<4; sd[j]=b+a; gs[j]=g+(size_t)r*2048+c*16; }
  uint32_t la=b+131072+warp*512+lane*16; uint32_t x0=0,x1=0,x2=0,x3=0; uint32_t best0=1<<30,best1=1<<30,best2=1<<30,best3=1<<30;
  for(int it=0;it<6;it++){ __syncthreads(); __nanosleep(1000); __syncthreads();
    uint32_t t0,t1,tb,t2,t3;
    asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory");
    if(warp<loaders){
    #pragma unroll
    for(int j=0;j<N;j++) { asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd[j]),"l"(gs[j]):"memory"); if(EACH==1||EACH==3) asm volatile("cp.async.commit_group;":::"memory"); if(EACH==3) asm volatile("cp.async.commit_group;":::"memory"); }
    if(EACH==2) asm volatile("cp.async.commit_group;":::"memory"); }
    asm volatile("mov.u32 %0,%%clock;":"=r"(t1)::"memory");
    if(BAR) __syncthreads();
    asm volatile("mov.u32 %0,%%clock;":"=r"(tb)::"memory");
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x0),"=r"(x1),"=r"(x2),"=r"(x3):"r"(la):"memory");
    asm volatile("{.reg .pred p; setp.eq.u32 p,%1,%2; @p trap; mov.u32 %0,%%clock;}":"=r"(t2):"r"(x0),"r"(0x12345):"memory");
    asm volatile("cp.async.wait_all;":::"memory"); asm volatile("mov.u32 %0,%%clock;":"=r"(t3)::"memory");
    if(it>1){ best0=min(best0,t1-t0); best3=min(best3,tb-t0); best1=min(best1,t2-t0); best2=min(best2,t3-t0); } }
  if(lane==0){ out[warp*4]=best0; out[warp*4+1]=best3; out[warp*4+2]=best1; out[warp*4+3]=best2; } if(x0+x1+x2+x3==77) *sink=1; }
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) p[i]=(uint32_t)i*2654435761u; }
int main(){ uint32_t*o,*s; uint8_t*g; CK(cudaMallocManaged(&o,4*64)); CK(cudaMalloc(&s,4)); CK(cudaMalloc(&g,(size_t)64<<20)); noise<<<1024,256>>>((uint32_t*)g,(size_t)16<<20); CK(cudaDeviceSynchronize());
  printf("row_bytes,warps,copying_warps,copies,commits,barrier,warp,issued_cycles,barrier_cycles,loaded_cycles,copied_cycles\n");
  auto go=[&](auto k,int n,int each,int bar,int rb,int warps,int loaders){ CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,150000)); k<<<1,32*warps,150000>>>(rb,loaders,g,o,s); CK(cudaDeviceSynchronize()); for(int w=0;w<warps;w++) printf("%d,%d,%d,%d,%d,%d,%d,%u,%u,%u,%u\n",rb,warps,loaders,n,each==1?n:each==2?1:each==3?2*n:0,bar,w,o[w*4],o[w*4+1],o[w*4+2],o[w*4+3]); };
#define ONE(N,E) go(block<N,E,0>,N,E,0,rb,w,l); go(block<N,E,1>,N,E,1,rb,w,l);
#define ALL(N) ONE(N,0) ONE(N,1) ONE(N,2) ONE(N,3)
  int pts[][2]={{1,1},{4,4},{4,3},{8,8}};
  for(auto&q:pts){ int w=q[0],l=q[1]; for(int rb:{64,128}) { ALL(2) ALL(4) ALL(8) ALL(12) } }
}
