// How long do cp.async hold back an ldmatrix that comes after them? n copies of 16 bytes per lane, then one ldmatrix.x4; by row length and alignment, by one warp or by all four sub-partitions.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
// BY: bytes per lane (4: .ca, 16: .cg); rows of `rb` bytes; xor swizzle or shared pitch; the loader warps are those of `mask`, warp `reader` does the ldmatrix
template<int N,int BY> __global__ void block(int rb,int pitch,int spitch,int loaders,int readn,const uint8_t*g,uint32_t*out,uint32_t*sink){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; int per=rb/BY,R=32/per;
  uint32_t sd[N+1]; const uint8_t*gs[N+1];
  #pragma unroll
  for(int j=0;j<N+1;j++){ int r=(warp*16+j)*R+lane/per,c=lane%per; uint32_t a=r*rb+c*BY; if(spitch) a=r*spitch+c*BY; else a^=((a>>7)&7)<<4; sd[j]=b+a; gs[j]=g+(size_t)r*pitch+c*BY; }
  uint32_t la=b+131072+warp*512+lane*16; uint32_t x0=0,x1=0,x2=0,x3=0; uint32_t best0=1<<30,best1=1<<30,best2=1<<30;
  for(int it=0;it<6;it++){ __syncthreads(); __nanosleep(1000); __syncthreads();
    uint32_t t0,t1,t2,t3;
    asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory");
    if(warp<loaders){
    #pragma unroll
    for(int j=0;j<N;j++) { if(BY==16) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd[j]),"l"(gs[j]):"memory"); else asm volatile("cp.async.ca.shared.global [%0],[%1],4;"::"r"(sd[j]),"l"(gs[j]):"memory"); } }
    asm volatile("mov.u32 %0,%%clock;":"=r"(t1)::"memory");
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x0),"=r"(x1),"=r"(x2),"=r"(x3):"r"(la):"memory");
    asm volatile("{.reg .pred p; setp.eq.u32 p,%1,%2; @p trap; mov.u32 %0,%%clock;}":"=r"(t2):"r"(x0),"r"(0x12345):"memory");
    asm volatile("cp.async.wait_all;":::"memory"); asm volatile("mov.u32 %0,%%clock;":"=r"(t3)::"memory");
    if(it>1){ best0=min(best0,t1-t0); best1=min(best1,t2-t0); best2=min(best2,t3-t0); } }
  if(lane==0){ out[warp*3]=best0; out[warp*3+1]=best1; out[warp*3+2]=best2; } if(x0+x1+x2+x3==77) *sink=1; }
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x) p[i]=(uint32_t)i*2654435761u; }
int main(){ uint32_t*o,*s; uint8_t*g; CK(cudaMallocManaged(&o,4*64)); CK(cudaMalloc(&s,4)); CK(cudaMalloc(&g,(size_t)64<<20)); noise<<<1024,256>>>((uint32_t*)g,(size_t)16<<20); CK(cudaDeviceSynchronize());
  auto go=[&](auto k,int n,int by,int rb,int pitch,int sp,int warps,int loaders){ CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,150000)); k<<<1,32*warps,150000>>>(rb,pitch,sp,loaders,0,g,o,s); CK(cudaDeviceSynchronize()); for(int w=0;w<warps;w+=(warps>4?4:warps>1?warps-1:1)) printf("lsublock,bytes=%d,rowbytes=%d,pitch=%d,shared_pitch=%d,warps=%d,loaders=%d,n=%d,warp=%d,%u,%u,%u\n",by,rb,pitch,sp,warps,loaders,n,w,o[w*3],o[w*3+1],o[w*3+2]); };
#define ALL(BY,rb,p,sp,w,l) go(block<0,BY>,0,BY,rb,p,sp,w,l); go(block<1,BY>,1,BY,rb,p,sp,w,l); go(block<2,BY>,2,BY,rb,p,sp,w,l); go(block<4,BY>,4,BY,rb,p,sp,w,l); go(block<8,BY>,8,BY,rb,p,sp,w,l); go(block<12,BY>,12,BY,rb,p,sp,w,l);
  int pts[][2]={{1,1},{4,4},{4,3},{8,8},{8,7}};
  for(auto&q:pts){ int w=q[0],l=q[1]; for(int rb:{64,128}) for(int p:{2048,2000,2016}) { ALL(16,rb,p,0,w,l) } ALL(16,64,2048,80,w,l) ALL(16,128,2048,144,w,l) ALL(16,32,2048,32,w,l) ALL(16,512,2048,512,w,l) ALL(4,32,4096,0,w,l) ALL(4,32,4096,36,w,l) ALL(4,128,4096,128,w,l) ALL(4,32,4000,0,w,l) }
}
