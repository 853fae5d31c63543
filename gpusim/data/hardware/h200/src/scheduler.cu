// Which warp does a sub-partition's scheduler prefer? Each warp notes its clock before, in the middle and after a run of equal instructions.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
template<int KIND,int ILP> __global__ void run(long long*out,uint32_t*sink){
  __shared__ __align__(1024) uint32_t sm[4096];
  uint32_t b=(uint32_t)__cvta_generic_to_shared(sm)+(threadIdx.x&31)*4;
  float v[ILP]; uint32_t u[ILP]; 
  #pragma unroll
  for(int i=0;i<ILP;i++){ v[i]=threadIdx.x+i; u[i]=b; }
  sm[threadIdx.x]=b; __syncthreads();
  long long t[5]; 
  #pragma unroll
  for(int s=0;s<4;s++){
    t[s]=clock64();
    #pragma unroll
    for(int k=0;k<256/ILP;k++)
      #pragma unroll
      for(int i=0;i<ILP;i++){
        if(KIND==0) asm volatile("fma.rn.f32 %0,%0,%0,%0;":"+f"(v[i]));
        if(KIND==1) asm volatile("mad.lo.u32 %0,%0,%0,%0;":"+r"(u[i]));
        if(KIND==2) { uint32_t x; asm volatile("ld.shared.u32 %0,[%1];":"=r"(x):"r"(b)); u[i]^=x; }
        if(KIND==3) asm volatile("ex2.approx.ftz.f32 %0,%0;":"+f"(v[i]));
      }
  }
  t[4]=clock64();
  uint32_t x=0; for(int i=0;i<ILP;i++) x^=u[i]^__float_as_uint(v[i]); if(x==12345) *sink=x;
  if((threadIdx.x&31)==0) for(int s=0;s<5;s++) out[(threadIdx.x>>5)*5+s]=t[s];
}
// warps with different start: the first instruction of warp w comes `skew*w` cycles later
template<int ILP> __global__ void mma(long long*out,uint32_t*sink){
  float c[ILP][4]; uint32_t a[4]={1,2,3,4},b[2]={5,6};
  #pragma unroll
  for(int i=0;i<ILP;i++) for(int j=0;j<4;j++) c[i][j]=threadIdx.x;
  __syncthreads(); long long t[5];
  #pragma unroll
  for(int s=0;s<4;s++){ t[s]=clock64();
    #pragma unroll
    for(int k=0;k<64/ILP;k++)
      #pragma unroll
      for(int i=0;i<ILP;i++) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(c[i][0]),"+f"(c[i][1]),"+f"(c[i][2]),"+f"(c[i][3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1]));
  } t[4]=clock64();
  float x=0; for(int i=0;i<ILP;i++) for(int j=0;j<4;j++) x+=c[i][j]; if(x==12345) *sink=x;
  if((threadIdx.x&31)==0) for(int s=0;s<5;s++) out[(threadIdx.x>>5)*5+s]=t[s];
}
int main(){ long long*o; uint32_t*s; CK(cudaMallocManaged(&o,8*5*64)); CK(cudaMallocManaged(&s,4));
  auto go=[&](const char*n,auto k,int w){ for(int r=0;r<2;r++){ k<<<1,32*w>>>(o,s); CK(cudaDeviceSynchronize()); } long long m=o[0]; for(int i=0;i<w;i++) if(o[5*i]<m) m=o[5*i]; for(int i=0;i<w;i++){ printf("sched,%s,warps=%d,warp=%d",n,w,i); for(int q=0;q<5;q++) printf(",%lld",o[5*i+q]-m); printf("\n"); } };
  for(int w:{8,16,32}){ go("ffma ilp1",run<0,1>,w); go("ffma ilp4",run<0,4>,w); go("imad ilp2",run<1,2>,w); go("lds ilp8",run<2,8>,w); go("mufu ilp2",run<3,2>,w); if(w<32){ go("hmma ilp1",mma<1>,w); go("hmma ilp4",mma<4>,w);} }
}
