// Latency and rate of instructions that pipes.cu leaves out: one line per (op, warps of the CTA, sub-partitions that run it, ILP).
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__shared__ __align__(1024) uint32_t gsm[8192];
__constant__ uint32_t cbuf[1024];
__device__ __forceinline__ uint32_t sbase(){return (uint32_t)__cvta_generic_to_shared(gsm);}
#define ONE(NAME,BODY) struct Op_##NAME { static const char*n(){return #NAME;} uint32_t v; __device__ void init(int t){v=t;} __device__ void f(){asm volatile(BODY:"+r"(v));} __device__ uint32_t o(){return v;} };
ONE(popc,"popc.b32 %0,%0;")
ONE(flo,"bfind.u32 %0,%0;")
ONE(brev,"brev.b32 %0,%0;")
ONE(frnd,"{.reg .f32 x; mov.b32 x,%0; cvt.rni.f32.f32 x,x; mov.b32 %0,x;}")
ONE(i2fp_f2i,"{.reg .f32 x; cvt.rn.f32.s32 x,%0; cvt.rzi.s32.f32 %0,x;}")
ONE(redux,"redux.sync.add.s32 %0,%0,0xffffffff;")
ONE(match,"match.any.sync.b32 %0,%0,0xffffffff;")
ONE(movm,"movmatrix.sync.aligned.m8n8.trans.b16 %0,%0;")
struct Op_f2f { static const char*n(){return "f2f_pair";} double v; __device__ void init(int t){v=t;} __device__ void f(){asm volatile("{.reg .f32 x; cvt.rn.f32.f64 x,%0; cvt.f64.f32 %0,x;}":"+d"(v));} __device__ uint32_t o(){return (uint32_t)v;} };
struct Op_ldc { static const char*n(){return "ldc";} uint32_t v; __device__ void init(int t){v=0;} __device__ void f(){v=*(volatile uint32_t*)((char*)cbuf+v);} __device__ uint32_t o(){return v;} };
struct Op_atoms { static const char*n(){return "atoms_add";} uint32_t a; __device__ void init(int t){a=sbase()+(t&31)*4;} __device__ void f(){asm volatile("{.reg .u32 x; atom.shared.and.b32 x,[%0],-1; mov.u32 %0,x;}":"+r"(a)::"memory");} __device__ uint32_t o(){return a;} };
struct Op_stsm1 { static const char*n(){return "stsm1";} uint32_t a; __device__ void init(int t){a=sbase()+(t&31)*16;} __device__ void f(){asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0],{%0};"::"r"(a):"memory");} __device__ uint32_t o(){return a;} };
struct Op_stsm4 { static const char*n(){return "stsm4";} uint32_t a; __device__ void init(int t){a=sbase()+(t&31)*16;} __device__ void f(){asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0],{%0,%0,%0,%0};"::"r"(a):"memory");} __device__ uint32_t o(){return a;} };
struct Op_fence { static const char*n(){return "fence_cta";} uint32_t a; __device__ void init(int t){a=t;} __device__ void f(){asm volatile("fence.acq_rel.cta;":::"memory");} __device__ uint32_t o(){return a;} };
struct Op_fenceasync { static const char*n(){return "fence_async";} uint32_t a; __device__ void init(int t){a=t;} __device__ void f(){asm volatile("fence.proxy.async.shared::cta;":::"memory");} __device__ uint32_t o(){return a;} };
#define MMA(NAME,CT,CC,NC,...) struct Op_##NAME { static const char*n(){return #NAME;} CT c[4]; uint32_t a[8],b[4]; double da[8],db[4]; __device__ void init(int t){for(int i=0;i<4;i++)c[i]=0;for(int i=0;i<8;i++){a[i]=t+i;da[i]=t+i;}for(int i=0;i<4;i++){b[i]=t-i;db[i]=t-i;}} __device__ void f(){asm volatile(__VA_ARGS__);} __device__ uint32_t o(){uint32_t s=0;for(int i=0;i<NC;i++)s^=(uint32_t)c[i];return s;} };
#define F4 "+f"(c[0]),"+f"(c[1]),"+f"(c[2]),"+f"(c[3])
#define R4 "+r"(c[0]),"+r"(c[1]),"+r"(c[2]),"+r"(c[3])
#define D4 "+d"(c[0]),"+d"(c[1]),"+d"(c[2]),"+d"(c[3])
#define AA "r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3])
MMA(mma_sp_m16n8k32_f16_f32,float,"f",4,"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9,%10,%11},{%0,%1,%2,%3},%12,0x0;":F4:AA,"r"(b[0]),"r"(b[1]),"r"(b[2]),"r"(b[3]),"r"(a[4]))
MMA(mma_sp_m16n8k16_f16_f32,float,"f",4,"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6,%7},{%0,%1,%2,%3},%8,0x0;":F4:"r"(a[0]),"r"(a[1]),"r"(b[0]),"r"(b[1]),"r"(a[4]))
MMA(mma_sp_m16n8k64_s8_s32,int,"r",4,"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9,%10,%11},{%0,%1,%2,%3},%12,0x0;":R4:AA,"r"(b[0]),"r"(b[1]),"r"(b[2]),"r"(b[3]),"r"(a[4]))
MMA(mma_m8n8k4_f64,double,"d",2,"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};":"+d"(c[0]),"+d"(c[1]):"d"(da[0]),"d"(db[0]))
MMA(mma_m16n8k4_f64,double,"d",4,"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};":D4:"d"(da[0]),"d"(da[1]),"d"(db[0]))
MMA(mma_m16n8k8_f64,double,"d",4,"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":D4:"d"(da[0]),"d"(da[1]),"d"(da[2]),"d"(da[3]),"d"(db[0]),"d"(db[1]))
MMA(mma_m16n8k16_f64,double,"d",4,"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},{%12,%13,%14,%15},{%0,%1,%2,%3};":D4:"d"(da[0]),"d"(da[1]),"d"(da[2]),"d"(da[3]),"d"(da[4]),"d"(da[5]),"d"(da[6]),"d"(da[7]),"d"(db[0]),"d"(db[1]),"d"(db[2]),"d"(db[3]))
MMA(mma_m16n8k16_s8_s32,int,"r",4,"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};":R4:"r"(a[0]),"r"(a[1]),"r"(b[0]))
MMA(mma_m8n8k16_s8_s32,int,"r",2,"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1},{%2},{%3},{%0,%1};":"+r"(c[0]),"+r"(c[1]):"r"(a[0]),"r"(b[0]))
MMA(mma_m16n8k128_b1_s32,int,"r",4,"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};":R4:"r"(a[0]),"r"(a[1]),"r"(b[0]))
template<class O,int ILP> __global__ void run(int psub,int iters,long long*cyc,uint32_t*sink){ constexpr int U=64/ILP; uint32_t b=sbase();
  for(int i=threadIdx.x;i<8192;i+=blockDim.x) gsm[i]=b+(i&31)*4;
  __syncthreads(); 
    O o[ILP];
  #pragma unroll
  for(int i=0;i<ILP;i++) o[i].init(threadIdx.x+i);
  __syncthreads(); long long t0=clock64();
  int n=((threadIdx.x>>5)&3)<psub?iters:0;
  #pragma unroll 1
  for(int it=0;it<n;it++){
    #pragma unroll
    for(int j=0;j<U;j++){
      #pragma unroll
      for(int i=0;i<ILP;i++) o[i].f();
    } }
  __syncthreads(); long long t1=clock64(); uint32_t s=0;
  #pragma unroll
  for(int i=0;i<ILP;i++) s^=o[i].o();
  sink[threadIdx.x]=s; if(threadIdx.x==0) *cyc=t1-t0; }
__global__ void smid(int iters,long long*cyc,uint32_t*sink){ uint32_t v=threadIdx.x; __syncthreads(); long long t0=clock64();
  #pragma unroll 1
  for(int it=0;it<iters;it++){ uint32_t x; asm volatile("mov.u32 %0,%%smid;":"=r"(x)); v=v*x+x; }
  __syncthreads(); long long t1=clock64(); sink[threadIdx.x]=v; if(threadIdx.x==0) *cyc=t1-t0; }
long long*cyc; uint32_t*sink;
template<class O,int ILP> void one(int w,int psub){ double best=1e30; int it=16; for(int r=0;r<4;r++){ run<O,ILP><<<1,32*w>>>(psub,it,cyc,sink); if(cudaGetLastError()!=cudaSuccess) return; CK(cudaDeviceSynchronize()); best=std::min(best,double(*cyc)); } printf("%s,%d,%d,%d,%.3f\n",O::n(),w,psub,ILP,best/(it*64)); fflush(stdout); }
template<class O> void all(){ one<O,1>(1,4); one<O,4>(1,4); one<O,4>(4,4); one<O,4>(8,4); one<O,4>(16,4); one<O,4>(8,1); one<O,4>(16,1); }
void loop(int w){ double best=1e30; for(int r=0;r<4;r++){ smid<<<1,32*w>>>(1024,cyc,sink); CK(cudaDeviceSynchronize()); best=std::min(best,double(*cyc)); } printf("s2r_smid_loop,%d,4,1,%.3f\n",w,best/1024); }
int main(){ CK(cudaMallocManaged(&cyc,8)); CK(cudaMalloc(&sink,8192)); printf("op,warps,subpartitions,ilp,cyc_per_inst_per_warp\n");
  all<Op_popc>();all<Op_flo>();all<Op_brev>();all<Op_frnd>();all<Op_i2fp_f2i>();all<Op_f2f>();all<Op_redux>();all<Op_match>();all<Op_movm>();all<Op_ldc>();all<Op_atoms>();all<Op_stsm1>();all<Op_stsm4>();all<Op_fence>();all<Op_fenceasync>();
  all<Op_mma_sp_m16n8k32_f16_f32>();all<Op_mma_sp_m16n8k16_f16_f32>();all<Op_mma_sp_m16n8k64_s8_s32>();all<Op_mma_m8n8k4_f64>();all<Op_mma_m16n8k4_f64>();all<Op_mma_m16n8k8_f64>();all<Op_mma_m16n8k16_f64>();all<Op_mma_m16n8k16_s8_s32>();all<Op_mma_m8n8k16_s8_s32>();all<Op_mma_m16n8k128_b1_s32>();
  loop(1);loop(4);loop(16); }
