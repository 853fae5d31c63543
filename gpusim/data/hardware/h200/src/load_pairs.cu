// When each of 4, 8 and 16 warps has the data of one load behind a barrier, by kind of load and conflicts: cycles behind the first one, in the last of six rounds but one. Columns: load, pitch (bytes from lane to lane, of ldmatrix from row to row), warps, behind.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
template<int KIND> __global__ void pairs(int pitch,uint32_t*out){ extern __shared__ __align__(128) uint8_t sm[]; int w=threadIdx.x/32,l=threadIdx.x&31; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm),t[6],x[4]={},s=0;
  uint32_t a=KIND==0?base+(l&7)*pitch+(l/8)*1024:base+l*pitch;
  asm volatile("":"+r"(a));
  #pragma unroll
  for(int r=0;r<6;r++){ __syncthreads();
    if(KIND==0) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x[0]),"=r"(x[1]),"=r"(x[2]),"=r"(x[3]):"r"(a):"memory");
    if(KIND==1) asm volatile("ld.shared.u32 %0,[%1];":"=r"(x[0]):"r"(a):"memory");
    if(KIND==2) asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(x[0]),"=r"(x[1]),"=r"(x[2]),"=r"(x[3]):"r"(a):"memory");
    if(KIND==3) asm volatile("ldmatrix.sync.aligned.x1.m8n8.shared.b16 {%0},[%1];":"=r"(x[0]):"r"(a):"memory");
    s^=x[0]^x[3]; asm volatile("":"+r"(s)::"memory"); asm volatile("mov.u32 %0,%%clock;":"=r"(t[r])::"memory"); }
  for(int r=0;r<6;r++) out[w*6+r]=t[r]; out[1024+threadIdx.x]=s; }
uint32_t*o,h[6*32];
template<int K> void go(const char*n,int pitch){ for(int W:{4,8,16}){ for(int k=0;k<3;k++){ pairs<K><<<1,32*W,65536>>>(pitch,o); cudaDeviceSynchronize(); } cudaMemcpy(h,o,sizeof h,cudaMemcpyDeviceToHost);
  uint32_t m=~0u; for(int w=0;w<W;w++) if(h[w*6+4]<m) m=h[w*6+4]; printf("%s,%d,%d,",n,pitch,W); for(int w=0;w<W;w++) printf("%s%d",w?" ":"",(int)(h[w*6+4]-m)); printf("\n"); } }
int main(){ printf("load,pitch,warps,behind\n"); cudaMalloc(&o,1<<16); cudaFuncSetAttribute(pairs<0>,cudaFuncAttributeMaxDynamicSharedMemorySize,65536);cudaFuncSetAttribute(pairs<1>,cudaFuncAttributeMaxDynamicSharedMemorySize,65536);cudaFuncSetAttribute(pairs<2>,cudaFuncAttributeMaxDynamicSharedMemorySize,65536);cudaFuncSetAttribute(pairs<3>,cudaFuncAttributeMaxDynamicSharedMemorySize,65536);
  go<0>("LDSM.x4",16); go<0>("LDSM.x4",32); go<0>("LDSM.x4",64); go<0>("LDSM.x4",128); go<3>("LDSM.x1",16); go<3>("LDSM.x1",32); go<3>("LDSM.x1",64); go<3>("LDSM.x1",128);
  go<1>("LDS.32",4); go<1>("LDS.32",8); go<1>("LDS.32",16); go<1>("LDS.32",32); go<1>("LDS.32",64); go<2>("LDS.128",16); go<2>("LDS.128",32); go<2>("LDS.128",64); }
