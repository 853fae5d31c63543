// How many ldmatrix with conflicts pass the data stage side by side: some warps of one CTA load without end, one load always under way (drains 0), or wait for each pair of loads (1). Cycles of each warp by when it starts.
// nvcc -O3 -arch=sm_90a data_paths.cu -o data_paths; ./data_paths > data_paths.csv
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
#define LOAD(r,a) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]):"r"(a):"memory")
#define USE(r) asm volatile("{.reg .u32 t; add.u32 t,%1,%2; xor.b32 t,t,%3; add.u32 t,t,%4; mad.lo.u32 %0,%0,5,t;}":"+r"(s):"r"(r[0]),"r"(r[1]),"r"(r[2]),"r"(r[3]):"memory")
struct Plan { int start[16], pairs[16], ways, drains; };
__global__ void stream(Plan p,int*out){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5,s=0,t0,t1=0,t2=0,t;
  uint32_t ad=b+(p.ways==8?(lane&7)*128+(lane>>3)*16:p.ways==4?(lane&7)*64+(lane>>3)*16:lane*16),r0[4],r1[4],k=0;
  for(int rep=0;rep<2;rep++){ __syncthreads(); CLOCK(t0); int n=p.pairs[warp];
    if(n){ do { CLOCK(t); } while(t-t0<p.start[warp]); CLOCK(t1);
      if(p.drains){ _Pragma("unroll 1") for(int i=0;i<n;i++){ LOAD(r0,ad+k); LOAD(r1,ad+k+1024); k=(k+2048)&16383; USE(r0); USE(r1); } }
      else { LOAD(r0,ad+k); _Pragma("unroll 1") for(int i=0;i<n;i++){ LOAD(r1,ad+k+1024); USE(r0); k=(k+2048)&16383; LOAD(r0,ad+k); USE(r1); } USE(r0); }
      CLOCK(t2); if(s==0x12345678) t2++; } }
  if(lane==0){ out[warp*3]=t1-t0; out[warp*3+1]=t2-t1; out[warp*3+2]=s; } }
int*out,h[48],launch=0;
void go(std::vector<int> warps,std::vector<int> starts,int pairs,int ways,int drains){ Plan p; memset(&p,0,sizeof p); p.ways=ways; p.drains=drains; for(size_t i=0;i<warps.size();i++){ p.pairs[warps[i]]=pairs; p.start[warps[i]]=starts[i%starts.size()]*(starts.size()==1?(int)i:1); }
  stream<<<1,32*12,65536>>>(p,out); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h,out,sizeof h,cudaMemcpyDeviceToHost));
  for(int w:warps) printf("%d,%d,%d,%d,%d,%d,%d\n",launch,w,h[3*w],2*pairs+!drains,ways,drains,h[3*w+1]); launch++; }
int main(){ CK(cudaMalloc(&out,4096)); CK(cudaFuncSetAttribute(stream,cudaFuncAttributeMaxDynamicSharedMemorySize,65536)); printf("launch,warp,start,loads,ways,drains,cycles\n");
  for(int j=1;j<12;j++) go({0,j},{0},16,8,0);
  for(int drains:{0,1}) for(int ways:{8,4,1}) for(int n=1;n<=8;n++){ std::vector<int> w; for(int i=0;i<n;i++) w.push_back(i); go(w,{0},16,ways,drains); }
  for(int s:{20,70,130,200}) for(int n:{2,3,4}){ std::vector<int> w; for(int i=0;i<n;i++) w.push_back(i); go(w,{s},16,8,0); }
  return 0; }
