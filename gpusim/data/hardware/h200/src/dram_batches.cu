// Cold loads from DRAM: cycles from issue to arrival of n lines asked for at once by each of w warps, by the distance of
// the lines. Lines are touched once; a line of each 2 MiB page was read before, so translations are there.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <algorithm>
#include <vector>
#include <cmath>
#define CK(x) do{ cudaError_t e=(x); if(e){ printf("%s\n",cudaGetErrorString(e)); exit(1);} }while(0)
__device__ unsigned load(const char*p){ unsigned v; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v):"l"(p):"memory"); return v; }
__global__ void batches(const char*base,const unsigned*where,int lines,int trials,unsigned*out,unsigned*sink,size_t span){
  int lane=threadIdx.x%32,warp=threadIdx.x/32,warps=blockDim.x/32; unsigned sum=0;
  for(size_t p=(size_t)threadIdx.x*(2u<<20)+(2u<<20)-128;p<span;p+=(size_t)blockDim.x*(2u<<20)) sum+=load(base+p);
  __syncthreads();
  for(int t=0;t<trials;t++){
    const char*p=base+(size_t)where[((size_t)t*warps+warp)*32+lane]*128;
    __syncthreads();
    unsigned t0=clock(); unsigned v=0; if(lane<lines) v=load(p);
    asm volatile("bar.warp.sync 0xffffffff;"); sum+=__reduce_add_sync(0xffffffff,v);
    unsigned t1=clock(); if(!lane) out[t*warps+warp]=t1-t0;
    __syncthreads();
  }
  if(sum==0x12345) *sink=sum;
}
int main(){
  size_t span=(size_t)16<<30; char*d; CK(cudaMalloc(&d,span)); CK(cudaMemset(d,1,span)); unsigned*w,*o,*s; CK(cudaMalloc(&w,64<<20)); CK(cudaMalloc(&o,4<<20)); CK(cudaMalloc(&s,4));
  char*flush; CK(cudaMalloc(&flush,(size_t)256<<20));
  const int T=400; size_t next=0; // lines are taken once
  printf("lines,distance_bytes,warps,mean,sd,p10,p50,p90,mean_of_last_warp,sd_between_warps\n");
  for(int warps:{1,4,8}) for(int lines:{1,2,4,8,16,32}) for(long dist:{0L,128L,256L,512L,1024L,2048L,4096L,8192L,16384L,65536L}){
    if(lines==1&&dist!=0) continue; if(warps>1&&lines<8) continue;
    std::vector<unsigned> h((size_t)T*warps*32); size_t total=span/128;
    // distance 0: lines anywhere. Otherwise warp k of trial t: rows k*lines.. of a block of warps*lines rows
    unsigned long long r=88172645463325252ull+dist*7+lines+warps*131;
    for(int t=0;t<T;t++){ r^=r<<13;r^=r>>7;r^=r<<17; size_t at=(r%(total/2))&~(size_t)(1023);
      for(int k=0;k<warps;k++) for(int l=0;l<32;l++){ size_t x; if(!dist){ r^=r<<13;r^=r>>7;r^=r<<17; x=r%total; } else x=at+((size_t)k*lines+l)*(dist/128); h[((size_t)t*warps+k)*32+l]=x; } }
    CK(cudaMemcpy(w,h.data(),h.size()*4,cudaMemcpyHostToDevice)); CK(cudaMemset(flush,0,(size_t)256<<20)); CK(cudaDeviceSynchronize());
    batches<<<1,warps*32>>>(d,w,lines,T,o,s,span); CK(cudaDeviceSynchronize());
    std::vector<unsigned> c((size_t)T*warps); CK(cudaMemcpy(c.data(),o,c.size()*4,cudaMemcpyDeviceToHost));
    double last=0,between=0; for(int t=0;t<T;t++){ double m=0,q=0,mx=0; for(int k=0;k<warps;k++){ double x=c[t*warps+k]; m+=x;q+=x*x;mx=std::max(mx,x);} last+=mx; m/=warps; between+=std::sqrt(std::max(0.0,q/warps-m*m)); }
    double m=0,q=0; for(unsigned x:c){ m+=x;q+=(double)x*x; } m/=c.size(); std::sort(c.begin(),c.end());
    printf("%d,%ld,%d,%.0f,%.0f,%u,%u,%u,%.0f,%.0f\n",lines,dist,warps,m,std::sqrt(q/c.size()-m*m),c[c.size()/10],c[c.size()/2],c[c.size()*9/10],last/T,between/T);
  }
}
