// Loops of `fragments.cu` with a clock in front of each of the last 16 k-steps, and one behind them; the loop before runs so many turns. nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int STEPS=16;
template<int LOADS,int TENSOR> __global__ void __launch_bounds__(512) marks(unsigned mask, unsigned*out, float*sink, int n){
  extern __shared__ __align__(1024) unsigned char sm[]; int warp=threadIdx.x>>5, lane=threadIdx.x&31; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm);
  if(!(mask>>warp&1)) return;
  uint32_t ad=base+warp*4096+lane*16;
  float c[8][4]={}; uint32_t a[2][2][4]={}, b[2][2][4]={}; unsigned m[STEPS+1];
  auto load=[&](int buf, int shift){
    #pragma unroll
    for(int i=0;i<LOADS;i++){ uint32_t*r=(i&1)?b[buf][i>>1]:a[buf][i>>1]; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[0]),"=r"(r[1]),"=r"(r[2]),"=r"(r[3]):"r"(ad+buf*2048+i*512+shift*16)); } };
  auto multiply=[&](int h){
      #pragma unroll
      for(int i=0;i<TENSOR;i++){ uint32_t*x=a[h][i>>2&1],*y=b[h][i>>1&1]; float*d=c[i&7]; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(x[0]),"r"(x[1]),"r"(x[2]),"r"(x[3]),"r"(y[(i&1)*2]),"r"(y[(i&1)*2+1])); } };
  load(0,0); asm volatile("bar.sync 1, %0;"::"r"(32*__popc(mask)));
  #pragma unroll 1
  for(int r=0;r<2;r++){
    #pragma unroll 1
    for(int k=0;k<n;k++){
      #pragma unroll
      for(int h=0;h<2;h++){ load(h^1,0); multiply(h); } }
    #pragma unroll
    for(int s=0;s<STEPS;s++){ asm volatile("mov.u32 %0, %%clock;":"=r"(m[s])); load(~s&1,s+1); multiply(s&1); }
    asm volatile("mov.u32 %0, %%clock;":"=r"(m[STEPS])); }
  float z=0; for(int i=0;i<8;i++) for(int j=0;j<4;j++) z+=c[i][j]; sink[threadIdx.x]=z;
  if(lane==0) for(int s=0;s<=STEPS;s++) out[warp*(STEPS+1)+s]=m[s]; }
unsigned*cyc; float*sink;
template<int L,int T> void go(unsigned mask,int n){ auto k=marks<L,T>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,65536)); static unsigned h[16*(STEPS+1)];
  for(int t=0;t<3;t++){ k<<<1,512,65536>>>(mask,cyc,sink,n); CK(cudaDeviceSynchronize()); } CK(cudaMemcpy(h,cyc,sizeof h,cudaMemcpyDeviceToHost)); unsigned z=~0u; int f=0; while(!(mask>>f&1)) f++; unsigned o=h[f*(STEPS+1)];
  for(int w=0;w<16;w++) if(mask>>w&1){ printf("%d,%d,%x,%d,%d,",L,T,mask,n,w); for(int s=0;s<=STEPS;s++) printf("%d%c",(int)(h[w*(STEPS+1)+s]-o),s<STEPS?' ':'\n'); } (void)z; }
int main(){ CK(cudaMalloc(&cyc,4*16*(STEPS+1))); CK(cudaMalloc(&sink,2048)); printf("loads,tensor,mask,turns,warp,clocks\n");
  for(unsigned m:{0x1u,0x3u,0x7u,0xfu,0x11u,0x111u,0x33u,0xffu}) for(int n:{1,2,3,20,21}){ go<2,2>(m,n); go<3,4>(m,n); go<4,5>(m,n); go<4,6>(m,n); go<4,8>(m,n); } }
