// Whether loads of an SM return in order. One warp asks for a line of DRAM nobody has read (by LDG or cp.async, or for
// nothing), another one, some cycles later, for a line that L2 or L1 holds; cycles until each has its data. And, for one
// warp on each of some SMs, the cycles of lines from DRAM and, again, from L2, by the side of the chip they are on.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <algorithm>
#include <vector>
#define CK(x) do{ cudaError_t e=(x); if(e){ printf("%s\n",cudaGetErrorString(e)); exit(1);} }while(0)
__device__ unsigned cg(const char*p){ unsigned v; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v):"l"(p):"memory"); return v; }
__device__ unsigned ca(const char*p){ unsigned v; asm volatile("ld.global.ca.u32 %0,[%1];":"=r"(v):"l"(p):"memory"); return v; }
__global__ void order(const char*base,int first,int second,int after,int trials,unsigned*out,unsigned*sink){
  __shared__ __align__(128) char sm[4096]; int lane=threadIdx.x%32,warp=threadIdx.x/32; unsigned sum=0;
  const char*hot=base+((size_t)1<<30);
  for(int t=0;t<trials;t++){
    const char*cold=base+(size_t)t*128;
    if(warp==1) sum+=__reduce_add_sync(~0u,second==1?cg(hot):ca(hot));
    __syncthreads();
    unsigned t0=clock(),t1;
    if(warp==0){
      if(first==1) sum+=__reduce_add_sync(~0u,cg(cold));
      else if(first==2){ if(lane<8) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"((unsigned)__cvta_generic_to_shared(sm)+lane*16),"l"(cold+lane*16):"memory"); asm volatile("cp.async.wait_all;":::"memory"); }
      t1=clock();
    } else {
      while(clock()-t0<after); t0=clock(); sum+=__reduce_add_sync(~0u,second==1?cg(hot):ca(hot)); t1=clock();
    }
    if(!lane) out[2*t+warp]=t1-t0;
    __syncthreads();
  }
  if(sum==0x12345) *sink=sum;
}
__global__ void again(const char*base,int sm,int lines,unsigned*out,unsigned*sink){
  unsigned id; asm("mov.u32 %0,%%smid;":"=r"(id)); if(id!=sm) return; unsigned sum=0;
  for(int i=0;i<lines;i++) for(int k=0;k<2;k++){ __syncwarp(); unsigned t0=clock(); sum+=__reduce_add_sync(~0u,cg(base+(size_t)i*128)); unsigned t1=clock(); if(!threadIdx.x) out[2*i+k]=t1-t0; }
  if(sum==0x12345) *sink=sum;
}
int main(){
  size_t span=(size_t)4<<30; char*d; CK(cudaMalloc(&d,span)); CK(cudaMemset(d,1,span)); unsigned*o,*s; CK(cudaMalloc(&o,8<<20)); CK(cudaMalloc(&s,4)); char*flush; CK(cudaMalloc(&flush,(size_t)512<<20));
  const int T=2000; std::vector<unsigned> c(2*T); size_t at=0;
  printf("kind,first,second,cycles_between,what,p10,p50,p90\n");
  const char*f[]={"nothing","LDG","cp.async"},*g[]={"","L2","L1"};
  for(int first:{0,1,2}) for(int second:{1,2}) for(int after:{60,300}){
    CK(cudaMemset(flush,0,(size_t)512<<20)); order<<<1,64>>>(d+at,first,second,after,T,o,s); CK(cudaDeviceSynchronize()); at+=(size_t)T*128;
    CK(cudaMemcpy(c.data(),o,c.size()*4,cudaMemcpyDeviceToHost));
    for(int w=0;w<2;w++){ std::vector<unsigned> q; for(int t=100;t<T;t++) q.push_back(c[2*t+w]); std::sort(q.begin(),q.end()); printf("order,%s,%s,%d,%s,%u,%u,%u\n",f[first],g[second],after,w?"second":"first",q[q.size()/10],q[q.size()/2],q[q.size()*9/10]); }
  }
  for(int sm:{0,1,17,40,66,90,110,131}){
    CK(cudaMemset(flush,0,(size_t)512<<20)); again<<<132*2,32>>>(d+at,sm,T,o,s); CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(c.data(),o,c.size()*4,cudaMemcpyDeviceToHost)); at+=(size_t)T*128;
    std::vector<unsigned> near[2],far[2];
    for(int p=0;p+32<=T;p+=32){ std::vector<unsigned> q; for(int i=p;i<p+32;i++) q.push_back(c[2*i]); std::sort(q.begin(),q.end()); bool n=q[16]<675; for(int i=p;i<p+32;i++) for(int k=0;k<2;k++) (n?near:far)[k].push_back(c[2*i+k]); }
    for(int k=0;k<2;k++) for(auto*v:{&near[k],&far[k]}){ if(v->empty()) continue; std::sort(v->begin(),v->end()); printf("side,%d,%s,,%s,%u,%u,%u\n",sm,k?"L2":"DRAM",v==&near[k]?"near":"far",(*v)[v->size()/10],(*v)[v->size()/2],(*v)[v->size()*9/10]); }
  }
}
