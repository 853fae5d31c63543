// Lines that an SM has read, then another one (or itself) has written, then it reads again, twice: cycles of single
// loads, by whether the line is on the SM's side of L2 and whether the writer is. Lines of the other side come 160 cycles
// later from DRAM, for SMs of the same side the same ones. mode: what happens between: nothing, a write of the sector, a
// write of another sector of the line, a red.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
__device__ int sm(){ int x; asm volatile("mov.u32 %0,%%smid;":"=r"(x)); return x; }
__global__ void reads(const char*a,int lines,int on,int*out,uint32_t*sink){
  if(sm()!=on) return; uint32_t s=0,last=0;
#pragma unroll 1
  for(int i=0;i<lines;i++){ uint32_t t,v; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v):"l"(a+(size_t)i*4096+(s&1024)):"memory"); s=v; CLOCK(t); out[i]=t-last; last=t; } *sink=s; }
__global__ void writes(char*a,int lines,int on,int offset,int red){
  if(sm()!=on) return;
#pragma unroll 1
  for(int i=0;i<lines;i++){ uint32_t*p=(uint32_t*)(a+(size_t)i*4096+offset); if(red) asm volatile("red.global.add.u32 [%0],%1;"::"l"(p),"r"(0):"memory"); else asm volatile("st.global.u32 [%0],%1;"::"l"(p),"r"(0):"memory"); } }
int main(){ char*a; int*out; uint32_t*sink; const int L=2048; CK(cudaMalloc(&a,(size_t)L*4096)); CK(cudaMalloc(&out,L*4)); CK(cudaMalloc(&sink,4));
  auto read=[&](int on){ std::vector<int> h(L); reads<<<132,1,200<<10>>>(a,L,on,out,sink); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h.data(),out,L*4,cudaMemcpyDeviceToHost)); return h; };
  CK(cudaFuncSetAttribute(reads,cudaFuncAttributeMaxDynamicSharedMemorySize,200<<10)); CK(cudaFuncSetAttribute(writes,cudaFuncAttributeMaxDynamicSharedMemorySize,200<<10));
  auto fresh=[&]{ CK(cudaMemset(a,0,(size_t)L*4096)); CK(cudaDeviceSynchronize()); };
  auto median=[](std::vector<int> v){ if(v.empty()) return 0; std::sort(v.begin(),v.end()); return v[v.size()/2]; };
  char*flush; CK(cudaMalloc(&flush,(size_t)256<<20));
  auto far=[&](int on){ CK(cudaMemset(flush,1,(size_t)256<<20)); CK(cudaDeviceSynchronize()); auto h=read(on); int m=median(h);
    std::vector<char> f(L); for(int i=0;i<L;i++) f[i]=h[i]>m; return f; };
  int P=0; auto base=far(P);
  printf("reader,writer,writer_side,mode,near_first,far_first,near_second,far_second,near_third,far_third,far_lines\n");
  for(int Q:{0,1,2,16,17,40,41,64,90,100,120,131}) {
    auto q=far(Q); int same=0; for(int i=16;i<L;i++) same+=q[i]==base[i];
    for(int mode=0;mode<4;mode++){ fresh(); auto x=read(P); std::vector<int> again=read(P);
      if(mode) { writes<<<132,1,200<<10>>>(a,L,Q,mode==2?64:0,mode==3); CK(cudaDeviceSynchronize()); }
      auto y=read(P),z=read(P); std::vector<int> c[6]; int n=0;
      for(int i=16;i<L;i++){ int f=base[i]; n+=f; c[f].push_back(x[i]); c[2+f].push_back(y[i]); c[4+f].push_back(z[i]); }
      printf("%d,%d,%s,%d",P,Q,same>L*0.6?"same":same<L*0.4?"other":"?",mode); for(auto&v:c) printf(",%d",median(v)); printf(",%d\n",n); } } }
