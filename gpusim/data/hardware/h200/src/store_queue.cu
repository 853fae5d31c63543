// Stores that come faster than L2 takes them: the clock at which each of a warp's stores issues, by SMs that write and bytes per row;
// and what loads of other warps of the SM (shared memory, L2) wait meanwhile.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__device__ unsigned arrived;
// warps 0-3 store, warps 4-7 load (KIND 1: shared memory, a chain; 2: global memory, a chain; 0: nothing). 32/per rows of `per` lanes of 4 bytes, `pitch` apart.
template<int KIND> __global__ void __launch_bounds__(256) store(char*out,const int*chain,int per,size_t pitch,int ctas,int on,int*times,int writers){
  __shared__ int sh[1024]; unsigned sm; asm volatile("mov.u32 %0,%%smid;":"=r"(sm)); for(int i=threadIdx.x;i<1024;i+=256) sh[i]=(i*4+128)%4096; int lane=threadIdx.x&31,warp=threadIdx.x>>5; __syncthreads();
  if(threadIdx.x==0){ atomicAdd(&arrived,1); while(*(volatile unsigned*)&arrived<(unsigned)ctas); } __syncthreads();
  int t[33]; int start=clock();
  if(warp<writers){ if((int)((blockIdx.x*(long long)on)/ctas)==(int)(((blockIdx.x+1)*(long long)on)/ctas)) return;
    char*p=out+((size_t)blockIdx.x*4+warp)*(32/per)*pitch+(size_t)(lane/per)*pitch+(lane%per)*4;
    #pragma unroll
    for(int i=0;i<32;i++){ t[i]=clock()-start;
      #pragma unroll
      for(int j=0;j<8;j++) asm volatile("st.global.u32 [%0],%1;"::"l"(p+(size_t)(i*8+j)*per*4),"r"(lane):"memory"); }
    t[32]=clock()-start; }
  else { if(KIND==0||warp!=4) return; uint32_t a=(uint32_t)__cvta_generic_to_shared(sh); uint32_t base=a; const int*q=chain+(blockIdx.x*64)*32;
    uint32_t x=0; 
    #pragma unroll
    for(int i=0;i<32;i++){ t[i]=clock()-start;
      #pragma unroll
      for(int j=0;j<8;j++){ if(KIND==1) { uint32_t y; asm volatile("ld.shared.u32 %0,[%1];":"=r"(y):"r"(base+x+lane*0):"memory"); x=y; } else { uint32_t y; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(y):"l"(q+x):"memory"); x=y; } } }
    t[32]=clock()-start+(x==12345); }
  if(lane==0){ int*o=times+(blockIdx.x*8+warp)*33; for(int i=0;i<33;i++) o[i]=t[i]; } }
char*out; int*chain,*times;
template<int KIND> void go(const char*name,int per,int on,int writers){ int ctas=132; std::vector<int> h(132*8*33); double sum[2][33]={},n[2]={};
  for(int r=0;r<5;r++){ unsigned z=0; CK(cudaMemcpyToSymbol(arrived,&z,4)); std::fill(h.begin(),h.end(),-1); CK(cudaMemcpy(times,h.data(),4*h.size(),cudaMemcpyHostToDevice)); store<KIND><<<ctas,256>>>(out,chain,per,4096,ctas,on,times,writers); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h.data(),times,4*h.size(),cudaMemcpyDeviceToHost)); if(r<2) continue;
    for(int b=0;b<ctas;b++){ bool w=h[b*8*33]>=0; for(int k=0;k<8;k++){ int*o=&h[(b*8+k)*33]; if(o[0]<0||!w&&writers) continue; int q=k>=4; n[q]++; for(int i=0;i<33;i++) sum[q][i]+=o[i]; } } }
  for(int q=0;q<2;q++) if(n[q]){ printf("%s,%s,%d,%d,%d",name,q?"loads":"stores",per*4,on,writers); for(int i=0;i<33;i++) printf(",%.0f",sum[q][i]/n[q]); puts(""); } fflush(stdout); }
int main(){ CK(cudaMalloc(&out,(size_t)132*4*32*4096+(1<<20))); CK(cudaMalloc(&chain,132*64*32*4)); CK(cudaMemset(chain,0,132*64*32*4)); CK(cudaMalloc(&times,132*8*33*4));
  printf("beside,what,row_bytes,sms,writers"); for(int i=0;i<33;i++) printf(",after_%d",8*i); puts("");
  for(int per:{4,8,32}) for(int on:{1,8,33,66,99,132}) go<0>("nothing",per,on,4);
  for(int w:{1,2}) for(int on:{1,132}) go<0>("nothing",4,on,w);
  for(int on:{1,66,132}){ go<1>("shared loads",4,on,4); go<2>("global loads",4,on,4); } go<1>("shared loads",4,132,0); go<2>("global loads",4,132,0); }
