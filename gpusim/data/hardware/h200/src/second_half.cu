// Lines whose first 64 bytes come from DRAM and whose second 64 bytes follow: by the kind of load and its prefetch hint, cycles until both have come.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory")
// KIND 0 ld.global, 1 ld.global.cg, 2 cp.async.cg, 3 cp.async.ca; each thread 16 bytes, a warp 8 rows of 64 bytes
template<int KIND,int HINT> __global__ void halves(const char*a,size_t pitch,int iters,int*out,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t sd=(uint32_t)__cvta_generic_to_shared(sm)+threadIdx.x*16;
  int t=threadIdx.x,warps=blockDim.x>>5; const char*p=a+(size_t)(blockIdx.x*(blockDim.x/4)+t/4)*pitch+(t%4)*16; uint32_t s=0; int*o=out+(blockIdx.x*warps+(t>>5))*iters;
  #pragma unroll 1
  for(int i=0;i<iters;i++){ uint32_t t0,t1,v0=0,v1=0,v2=0,v3=0; __syncthreads(); CLOCK(t0);
    if(KIND==0&&HINT) asm volatile("ld.global.L2::128B.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v0),"=r"(v1),"=r"(v2),"=r"(v3):"l"(p):"memory");
    if(KIND==0&&!HINT) asm volatile("ld.global.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v0),"=r"(v1),"=r"(v2),"=r"(v3):"l"(p):"memory");
    if(KIND==1&&HINT) asm volatile("ld.global.cg.L2::128B.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v0),"=r"(v1),"=r"(v2),"=r"(v3):"l"(p):"memory");
    if(KIND==1&&!HINT) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v0),"=r"(v1),"=r"(v2),"=r"(v3):"l"(p):"memory");
    if(KIND==2&&HINT) asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;"::"r"(sd),"l"(p):"memory");
    if(KIND==2&&!HINT) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sd),"l"(p):"memory");
    if(KIND==3&&HINT) asm volatile("cp.async.ca.shared.global.L2::128B [%0],[%1],16;"::"r"(sd),"l"(p):"memory");
    if(KIND==3&&!HINT) asm volatile("cp.async.ca.shared.global [%0],[%1],16;"::"r"(sd),"l"(p):"memory");
    if(KIND>1) asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory"); else { s^=v0^v1^v2^v3; asm volatile("":"+r"(s)); }
    CLOCK(t1); if((t&31)==0) o[i]=t1-t0; p+=64; }
  sink[blockIdx.x*blockDim.x+t]=s; }
char*a,*f; int*out; uint32_t*sink;
template<int KIND,int HINT> void go(const char*n){ for(int pitch:{4096,8192}) for(int warps:{1,4}) for(int flush:{1,0}) for(int rep=0;rep<2;rep++){ const int I=64; if(flush) CK(cudaMemset(f,rep,(size_t)512<<20)); CK(cudaDeviceSynchronize());
  halves<KIND,HINT><<<1,32*warps,16384>>>(a,pitch,I,out,sink); CK(cudaDeviceSynchronize()); std::vector<int> h(warps*I); CK(cudaMemcpy(h.data(),out,h.size()*4,cudaMemcpyDeviceToHost)); double m[2]={};
  for(int w=0;w<warps;w++) for(int i=8;i<I;i++) m[i&1]+=h[w*I+i]; if(rep) printf("%s,%d,%d,%d,%s,%.0f,%.0f\n",n,HINT,pitch,warps,flush?"DRAM":"L2",m[0]/(warps*28),m[1]/(warps*28)); } }
int main(){ CK(cudaMalloc(&a,(size_t)64<<20)); CK(cudaMalloc(&f,(size_t)512<<20)); CK(cudaMalloc(&out,1<<20)); CK(cudaMalloc(&sink,1<<16)); CK(cudaMemset(a,1,(size_t)64<<20));
  printf("load,hint,pitch,warps,data_in,first_half,second_half\n"); go<0,1>("ld");go<0,0>("ld");go<1,1>("ld.cg");go<1,0>("ld.cg");go<2,1>("cp.async.cg");go<2,0>("cp.async.cg");go<3,1>("cp.async.ca");go<3,0>("cp.async.ca"); }
