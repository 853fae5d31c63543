// Main loops without copies and barriers: LOADS ldmatrix.x4 of the next k-step's fragments and TENSOR HMMA of this one's (ptxas leaves out loads that nobody
// reads), by the warps of a mask, ended after 1 to 64 turns of two k-steps. Columns: loads, tensor, mask, turns; of each warp its first and its last clock.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
template<int LOADS,int TENSOR> __global__ void __launch_bounds__(512) fragments(unsigned mask, long long*out, float*sink, int n){
  extern __shared__ __align__(1024) unsigned char sm[]; int warp=threadIdx.x>>5, lane=threadIdx.x&31; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm);
  if(!(mask>>warp&1)) return;
  uint32_t ad=base+warp*4096+lane*16;
  float c[8][4]={}; uint32_t a[2][2][4]={}, b[2][2][4]={};
  auto load=[&](int buf){
    #pragma unroll
    for(int i=0;i<LOADS;i++){ uint32_t*r=(i&1)?b[buf][i>>1]:a[buf][i>>1]; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]):"r"(ad+buf*2048+i*512)); } };
  load(0); asm volatile("bar.sync 1, %0;"::"r"(32*__popc(mask)));
  long long t0=clock64();
  #pragma unroll 1
  for(int k=0;k<n;k++){
    #pragma unroll
    for(int h=0;h<2;h++){ load(h^1);
      #pragma unroll
      for(int i=0;i<TENSOR;i++){ uint32_t*x=a[h][i>>2&1],*y=b[h][i>>1&1]; float*d=c[i&7]; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(x[0]),"r"(x[1]),"r"(x[2]),"r"(x[3]),"r"(y[(i&1)*2]),"r"(y[(i&1)*2+1])); } } }
  long long t1=clock64();
  float z=0; for(int i=0;i<8;i++) for(int j=0;j<4;j++) z+=c[i][j]; sink[threadIdx.x]=z;
  if(lane==0){ out[2*warp]=t0; out[2*warp+1]=t1; } }
long long*cyc; float*sink;
template<int L,int T> void go(unsigned mask){ auto k=fragments<L,T>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,65536)); long long h[32];
  for(int n=1;n<=64;n++){ for(int r=0;r<2;r++){ CK(cudaMemset(cyc,0,256)); k<<<1,512,65536>>>(mask,cyc,sink,n); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,cyc,256,cudaMemcpyDeviceToHost)); long long m=1ll<<62; for(int w=0;w<16;w++) if(mask>>w&1) m=std::min(m,h[2*w]);
    printf("%d,%d,%x,%d,",L,T,mask,n); for(int w=0;w<16;w++) if(mask>>w&1) printf("%lld:%lld ",h[2*w]-m,h[2*w+1]-m); printf("\n"); } }
int main(){ CK(cudaMalloc(&cyc,256)); CK(cudaMalloc(&sink,2048)); printf("loads,tensor,mask,turns,warps\n");
  for(unsigned m:{0x1u,0x3u,0x7u,0xfu,0x11u,0x33u,0xffu,0xfffu}) go<4,8>(m); for(unsigned m:{0x1u,0xfu,0x11u,0xffu}) go<2,4>(m);
  for(unsigned m:{0x1u,0x3u,0x5u,0x7u,0xfu,0x11u,0xffu}) { go<4,4>(m); go<4,6>(m); go<4,2>(m); go<4,5>(m); } }
