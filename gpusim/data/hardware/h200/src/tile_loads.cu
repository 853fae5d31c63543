// Cold tiles of A and B by LDG.128 of 128 threads, as two-stage GEMMs load them: cycles from the first load until a warp, and the last one, has them in shared memory.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
// CTA (x, y) of a 4 x 4 grid loads tile x of A and tile y of B. MAJOR 0: 128 rows of 64 bytes, a row every `pitch`; 1: 32 rows of 256 bytes.
template<int MAJOR> __global__ void __launch_bounds__(128) tiles(const char*a,const char*b,size_t pitch,int iters,int pause,uint32_t one,int*out,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t sd=(uint32_t)__cvta_generic_to_shared(sm)+threadIdx.x*16;
  int t=threadIdx.x,warp=t>>5; const char*p[2]; size_t step,row;
  if(MAJOR==0){ p[0]=a+(size_t)(blockIdx.x*128+t/4)*pitch+(t%4)*16; p[1]=b+(size_t)(blockIdx.y*128+t/4)*pitch+(t%4)*16; row=32*pitch; step=64; }
  else { p[0]=a+(size_t)blockIdx.x*256+(size_t)(t/16)*pitch+(t%16)*16; p[1]=b+(size_t)blockIdx.y*256+(size_t)(t/16)*pitch+(t%16)*16; row=8*pitch; step=32*pitch; }
  uint32_t s=0; int*o=out+((size_t)(blockIdx.y*gridDim.x+blockIdx.x)*4+warp)*iters;
  #pragma unroll 1
  for(int i=0;i<iters;i++){ uint32_t t0,t1; uint32_t v[8][4]; const char*q[8];
    #pragma unroll
    for(int j=0;j<8;j++){ q[j]=p[j/4]+(j%4)*row; asm volatile("":"+l"(q[j])); }
    __syncthreads(); CLOCK(t0);
    #pragma unroll
    for(int j=0;j<8;j++) asm volatile("ld.global.L2::128B.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v[j][0]),"=r"(v[j][1]),"=r"(v[j][2]),"=r"(v[j][3]):"l"(q[j]):"memory");
    #pragma unroll
    for(int j=0;j<8;j++) asm volatile("st.shared.v4.u32 [%0],{%1,%2,%3,%4};"::"r"(sd+j*2048),"r"(v[j][0]),"r"(v[j][1]),"r"(v[j][2]),"r"(v[j][3]):"memory");
    CLOCK(t1); if((t&31)==0) o[i]=t1-t0;
    p[0]+=step; p[1]+=step;
    #pragma unroll 1
    for(int k=0;k<pause;k++) asm volatile("mad.lo.u32 %0,%0,%1,%0;mad.lo.u32 %0,%0,%1,%0;mad.lo.u32 %0,%0,%1,%0;mad.lo.u32 %0,%0,%1,%0;":"+r"(s):"r"(one)); }
  sink[blockIdx.x*128+t]=s; }
int main(){ char*a,*b,*f; int*out; uint32_t*sink; size_t bytes=(size_t)64<<20; CK(cudaMalloc(&a,bytes)); CK(cudaMalloc(&b,bytes)); CK(cudaMalloc(&f,(size_t)512<<20)); CK(cudaMalloc(&out,1<<20)); CK(cudaMalloc(&sink,1<<16)); CK(cudaMemset(a,1,bytes)); CK(cudaMemset(b,1,bytes));
  printf("major,pitch,ctas,pause,repeat,even_mean,even_last,odd_mean,odd_last\n"); const int I=64;
  for(int major:{0,1}) for(int pitch:{4096,1024,2048}) for(int g:{1,4}) for(int pause:{0,20}) for(int rep=0;rep<3;rep++){ if(major==0&&pitch==1024) continue;
    CK(cudaMemset(f,rep,(size_t)512<<20)); CK(cudaDeviceSynchronize()); dim3 grid(g,g);
    if(major==0) tiles<0><<<grid,128,16384>>>(a,b,pitch,pitch/64<I?pitch/64:I,pause,1,out,sink); else tiles<1><<<grid,128,16384>>>(a,b,pitch,I,pause,1,out,sink); CK(cudaDeviceSynchronize());
    int n=major==0&&pitch/64<I?pitch/64:I; std::vector<int> h(g*g*4*n); CK(cudaMemcpy(h.data(),out,h.size()*4,cudaMemcpyDeviceToHost)); double m[2]={},l[2]={},c[2]={};
    for(int x=0;x<g*g;x++) for(int i=4;i<n;i++){ int mx=0; for(int w=0;w<4;w++){ int v=h[(x*4+w)*n+i]; m[i&1]+=v/4.0; mx=v>mx?v:mx; } l[i&1]+=mx; c[i&1]++; }
    printf("%d,%d,%d,%d,%d,%.0f,%.0f,%.0f,%.0f\n",major,pitch,g*g,pause,rep,m[0]/c[0],l[0]/c[0],m[1]/c[1],l[1]/c[1]); } }
