// What memory instructions of one warp of a sub-partition take while other warps keep its tensor pipe busy: chained ldmatrix and LDS; cp.async, until its address
// register may be written; bursts of four of each.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) do{ long long c_; asm volatile("mov.u64 %0,%%clock64;":"=l"(c_)::"memory"); t=(int)c_; }while(0)
template<int KIND,int BUSY> __global__ void beside(const uint8_t*g,int*out,int busy_warps,int n,int zero){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5;
  for(int i=threadIdx.x;i<8192;i+=blockDim.x) ((uint32_t*)sm)[i]=0; __syncthreads();
  if(warp<busy_warps){ float d[16]; uint32_t a[4],bb[8]; for(int i=0;i<16;i++) d[i]=i; for(int i=0;i<4;i++) a[i]=lane+zero; for(int i=0;i<8;i++) bb[i]=lane*i+zero;
    #pragma unroll 1
    for(int it=0;it<n;it++){
      #pragma unroll
      for(int r=0;r<8;r++){
        #pragma unroll
        for(int q=0;q<4;q++) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[4*q]),"+f"(d[4*q+1]),"+f"(d[4*q+2]),"+f"(d[4*q+3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(bb[2*q]),"r"(bb[2*q+1])); } }
    float s=0; for(int i=0;i<16;i++) s+=d[i]; if(s==1.5f) out[200]=1; return; }
  int t0,t1; uint32_t x=b+(lane&7)*16, y=b+lane*4; uint32_t sd=b+65536+warp*4096+lane*16; const uint8_t*q=g+(size_t)warp*65536+lane*16; int total=0;
  #pragma unroll 1
  for(int it=0;it<64;it++){
    CLOCK(t0);
    if(KIND==0){
      #pragma unroll
      for(int i=0;i<16;i++){ uint32_t r0,r1,r2,r3; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r0),"=r"(r1),"=r"(r2),"=r"(r3):"r"(x):"memory"); x=b+(lane&7)*16+(r3&zero); } }
    else if(KIND==1){
      #pragma unroll
      for(int i=0;i<16;i++){ uint32_t r; asm volatile("ld.shared.u32 %0,[%1];":"=r"(r):"r"(y):"memory"); y=b+lane*4+(r&zero); } }
    else {
      #pragma unroll
      for(int i=0;i<16;i++){
        #pragma unroll
        for(int j=0;j<(KIND==3?4:1);j++) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd+j*512),"l"(q+j*512):"memory");
        q+=zero; asm volatile(""::"l"(q):"memory"); } }
    CLOCK(t1); total+=t1-t0; if(KIND>=2) asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); }
  if(lane==0) out[warp]=total; if(x==77||y==77) out[201]=1; }
uint8_t*g; int*out;
template<int KIND> void go(int busy,int askers){ int h[32]; auto k=beside<KIND,0>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,131072));
  for(int r=0;r<2;r++){ k<<<1,32*(busy+askers),131072>>>(g,out,busy,busy?2000:0,0); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,out,128,cudaMemcpyDeviceToHost));
  const char*names[]={"ldmatrix","lds","cp.async","cp.async x4"}; printf("%s,%d,%d",names[KIND],busy/4,askers); double m=0; for(int w=busy;w<busy+askers;w++) m+=h[w]/64.0/16.0; printf(",%.2f\n",m/askers); }
int main(){ CK(cudaMalloc(&g,64<<20)); CK(cudaMemset(g,0,64<<20)); CK(cudaMalloc(&out,4096)); printf("what,busy_warps_per_sub_partition,asking_warps,cycles\n");
  for(int askers:{1,4}) for(int busy:{0,4,8}){ go<0>(busy,askers); go<1>(busy,askers); go<2>(busy,askers); go<3>(busy,askers); } return 0; }
