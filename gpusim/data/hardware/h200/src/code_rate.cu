// Cycles that straight lines of code take the first time, 16 instructions and a clock at a time, mean over all warps of
// grids of 1 to 132 CTAs: FFMA in chains (4, 2 cycles each) or free of each other, 1 to 8 warps; then, JUMP, a branch
// over 512 instructions that nobody runs after each 128. Under the profiler (caches flushed or kept).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int MARKS=48;
__device__ __forceinline__ unsigned clk(){ unsigned c; asm volatile("mov.u32 %0,%%clock;":"=r"(c)::"memory"); return c; }
template<int CHAINS> __device__ __forceinline__ void f16(float*v){
  #pragma unroll
  for(int i=0;i<16;i++) asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(v[i%CHAINS])); }
template<int CHAINS,int JUMP> __global__ void line(unsigned*out,float*sink,int warps,int never){
  float v[4]={1.f+threadIdx.x,2,3,4}; unsigned t[MARKS+1]; t[0]=clk();
  #pragma unroll
  for(int s=0;s<MARKS;s++){
    f16<CHAINS>(v);
    if(JUMP&&s%8==7) if(never==s+1){
      #pragma unroll
      for(int k=0;k<32;k++) f16<CHAINS>(v); }
    t[s+1]=clk(); }
  if(v[0]+v[1]+v[2]+v[3]==1234567.f) *sink=v[0];
  if(threadIdx.x%32==0) for(int s=0;s<=MARKS;s++) out[(blockIdx.x*warps+threadIdx.x/32)*(MARKS+1)+s]=t[s]; }
template<int CHAINS,int JUMP> void go(const char*how,int ctas,int warps){ unsigned*o; float*s; CK(cudaMalloc(&o,132*8*(MARKS+1)*4)); CK(cudaMalloc(&s,4));
  line<CHAINS,JUMP><<<ctas,32*warps>>>(o,s,warps,0); CK(cudaDeviceSynchronize());
  std::vector<unsigned> h(ctas*warps*(MARKS+1)); CK(cudaMemcpy(h.data(),o,h.size()*4,cudaMemcpyDeviceToHost));
  printf("%s,%d,%d,%d,%d",how,CHAINS,JUMP,ctas,warps); for(int k=0;k<MARKS;k++){ double s=0; for(int i=0;i<ctas*warps;i++) s+=h[i*(MARKS+1)+k+1]-h[i*(MARKS+1)+k]; printf(",%.1f",s/(ctas*warps)); } printf("\n"); }
int main(int n,char**v){ if(n<6) return 2; int ch=atoi(v[2]),j=atoi(v[3]),c=atoi(v[4]),w=atoi(v[5]);
  if(ch==1){ if(j) go<1,1>(v[1],c,w); else go<1,0>(v[1],c,w); } else if(ch==2){ if(j) go<2,1>(v[1],c,w); else go<2,0>(v[1],c,w); } else { if(j) go<4,1>(v[1],c,w); else go<4,0>(v[1],c,w); } }
