// Hits in L2 by one thread: lines that were only written before (by memset), then the same lines again; cycles from load to load, each of which waits for the one before, by percentile.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
__global__ void hits(const char*a,int lines,int stride,uint32_t zero,int*out,uint32_t*sink){ uint32_t s=0,last=0; for(int pass=0;pass<2;pass++)
  #pragma unroll 1
  for(int i=0;i<lines;i++){ uint32_t t,v; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v):"l"(a+(size_t)i*stride+(s&zero)):"memory"); s=v; CLOCK(t); out[pass*lines+i]=t-last; last=t; } *sink=s; }
int main(){ char*a; int*out; uint32_t*sink; const int L=4096; CK(cudaMalloc(&a,(size_t)16<<20)); CK(cudaMalloc(&out,L*8)); CK(cudaMalloc(&sink,4)); printf("stride,pass,p1,p10,p25,p40,p50,p60,p75,p90,p99,mean\n");
  for(int stride:{128,4096}) for(int rep=0;rep<2;rep++){ CK(cudaMemset(a,rep,(size_t)16<<20)); CK(cudaDeviceSynchronize()); hits<<<1,1>>>(a,L,stride,0,out,sink); CK(cudaDeviceSynchronize()); std::vector<int> h(2*L); CK(cudaMemcpy(h.data(),out,L*8,cudaMemcpyDeviceToHost));
    if(rep) for(int p=0;p<2;p++){ double d=0,n=0; std::vector<int> v,far,near; for(int i=0;i<L;i++){ v.push_back(h[p*L+i]); if(!p&&i>64){ d+=h[i]-h[L+i]; n++; } } std::sort(v.begin(),v.end()); double m=0; for(int x:v) m+=x; auto q=[&](int x){return v[(size_t)L*x/100];}; printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%.1f\n",stride,p+1,q(1),q(10),q(25),q(40),q(50),q(60),q(75),q(90),q(99),m/L);
      if(!p){ std::vector<int> w; for(int i=64;i<L;i++) w.push_back(h[i]-h[L+i]); std::sort(w.begin(),w.end()); auto z=[&](int x){return w[w.size()*x/100];}; printf("%d,first minus second,%d,%d,%d,%d,%d,%d,%d,%d,%d,%.1f\n",stride,z(1),z(10),z(25),z(40),z(50),z(60),z(75),z(90),z(99),d/n); } } } }
