// Turns of the main loop of src/gemm.cu by 16 (4) CTAs on as many SMs, K = 1,280, with and without copies, warps started `delta` cycles apart behind the first barrier; per warp and turn the clock behind BAR (which lets it go on, so that it tells when a warp comes).
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__device__ __forceinline__ unsigned now(){ unsigned t; asm volatile("mov.u32 %0,%%clock;":"=r"(t)::"memory"); return t; }
template<int BK,int SW> struct Sm { static constexpr int LD = BK + (SW==1?8:0);
  static __device__ __forceinline__ int off(int r,int kc){
    if constexpr(SW==2){ constexpr int C=BK/8; int x; if constexpr(C==4) x=(r>>1)&3; else x=r&7; return r*LD+((kc^x)*8); }
    if constexpr(SW==3){ int x=(r>>2)&1; return r*LD+((kc^x)*8); }
    return r*LD+kc*8; } };
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int MARK,int COPY>
__global__ void __launch_bounds__((BM/WM)*(BN/WN)*32) gemm(const half*__restrict__ A,const half*__restrict__ B,half*__restrict__ D,int M,int N,int K,unsigned*marks,int delta){
  using S=Sm<BK,SW>; constexpr int NT=(BM/WM)*(BN/WN)*32, C=BK/8, AS=BM*S::LD, BS=BN*S::LD;
  extern __shared__ __align__(1024) half sm[]; half*sA=sm; half*sB=sm+ST*AS; uint32_t a0=(uint32_t)__cvta_generic_to_shared(sA), b0=(uint32_t)__cvta_generic_to_shared(sB);
  int tid=threadIdx.x,lane=tid&31,warp=tid>>5,wm=warp%(BM/WM),wn=warp/(BM/WM); int bm=blockIdx.x*BM,bn=blockIdx.y*BN;
  auto load=[&](int st,int kt){
    #pragma unroll
    for(int i=0;i<BM*C/NT;i++){ int id=tid+i*NT,r=id/C,c=id%C; const half*g=A+(size_t)(bm+r)*K+kt*BK+c*8; asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;"::"r"(a0+(st*AS+S::off(r,c))*2),"l"(g):"memory"); }
    #pragma unroll
    for(int i=0;i<BN*C/NT;i++){ int id=tid+i*NT,r=id/C,c=id%C; const half*g=B+(size_t)(bn+r)*K+kt*BK+c*8; asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;"::"r"(b0+(st*BS+S::off(r,c))*2),"l"(g):"memory"); } };
  int KT=K/BK; uint4*out=(uint4*)marks+2*((size_t)(blockIdx.x+blockIdx.y*gridDim.x)*(NT/32)+warp)*KT;
  #pragma unroll
  for(int s=0;s<ST-1;s++){ if(s<KT) load(s,s); asm volatile("cp.async.commit_group;"); }
  float acc[WM/16][WN/8][4]={}; uint32_t fa[2][WM/16][4], fb[2][WN/8][2];
  auto ldf=[&](int buf,int st,int ks){
    #pragma unroll
    for(int i=0;i<WM/16;i++){ uint32_t ad=a0+(st*AS+S::off(wm*WM+i*16+(lane&15),ks*2+(lane>>4)))*2; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(fa[buf][i][0]),"=r"(fa[buf][i][1]),"=r"(fa[buf][i][2]),"=r"(fa[buf][i][3]):"r"(ad)); }
    #pragma unroll
    for(int j=0;j<WN/16;j++){ uint32_t bd=b0+(st*BS+S::off(wn*WN+j*16+(lane&7)+((lane>>4)<<3),ks*2+((lane>>3)&1)))*2; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(fb[buf][2*j][0]),"=r"(fb[buf][2*j][1]),"=r"(fb[buf][2*j+1][0]),"=r"(fb[buf][2*j+1][1]):"r"(bd)); } };
  asm volatile("cp.async.wait_group %0;"::"n"(ST-2):"memory"); __syncthreads(); if(delta>0){ unsigned z=now(); while(now()-z<(unsigned)(delta*warp)); } else { unsigned z=now(); while(now()-z<(unsigned)(-delta*(NT/32-1-warp))); }
  ldf(0,0,0); int rd=0,wr=ST-1;
  #pragma unroll 1
  for(int kt=0;kt<KT;kt++){
    unsigned ta=0,tb=0,tk[4]={0,0,0,0};
    #pragma unroll
    for(int ks=0;ks<BK/16;ks++){
      if(ks==BK/16-1){ if(MARK&1) ta=now(); asm volatile("cp.async.wait_group %0;"::"n"(ST-2):"memory"); __syncthreads(); if(MARK) tb=now(); rd=(rd+1==ST)?0:rd+1; }
      ldf((ks+1)&1,rd,(ks+1)%(BK/16));
      if(ks==0){ int nk=kt+ST-1; if(COPY && nk<KT) load(wr,nk); asm volatile("cp.async.commit_group;"); wr=(wr+1==ST)?0:wr+1; }
      if(MARK&4) asm volatile("{.reg .pred p; setp.ne.b32 p,%1,%2; @p mov.u32 %0,%%clock;}":"+r"(tk[ks]):"r"(fa[ks&1][WM/16-1][3]),"r"(fb[ks&1][WN/8-1][1]):"memory");
      #pragma unroll
      for(int i=0;i<WM/16;i++)
        #pragma unroll
        for(int jj=0;jj<WN/8;jj++){ int j=(i&1)?(WN/8-1-jj):jj; float*c=acc[i][j]; uint32_t*a=fa[ks&1][i],*b=fb[ks&1][j];
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(c[0]),"+f"(c[1]),"+f"(c[2]),"+f"(c[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1])); }
    }
    if(lane==0){ out[2*kt]=make_uint4(ta,tb,tk[0],tk[1]); if(MARK&4) out[2*kt+1]=make_uint4(tk[2],tk[3],0,0); }
  }
  #pragma unroll
  for(int i=0;i<WM/16;i++)
    #pragma unroll
    for(int j=0;j<WN/8;j++){ int r=bm+wm*WM+i*16+(lane>>2),c=bn+wn*WN+j*8+(lane&3)*2; *(half2*)&D[(size_t)r*N+c]=__floats2half2_rn(acc[i][j][0],acc[i][j][1]); *(half2*)&D[(size_t)(r+8)*N+c]=__floats2half2_rn(acc[i][j][2],acc[i][j][3]); }
}
__global__ void init(half*p,size_t n,uint32_t s){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint32_t x=(uint32_t)i*2654435761u+s; x^=x>>15;x*=2246822519u;x^=x>>13; p[i]=__float2half(((x&0xffff)/32768.f-1.f)); } }
half*A,*B,*D; unsigned*marks; char*flush;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int MARK,int COPY> void go(const char*folder){ const int M=256,N=256,K=1280;
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,MARK,COPY>; int nt=(BM/WM)*(BN/WN)*32; dim3 g(M/BM,N/BN); int nb=g.x*g.y; int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2; CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem));
  size_t n=(size_t)nb*(nt/32)*(K/BK)*8; std::vector<unsigned> h(n);
  for(int d:{0,5,10,20,40,80,160,320,640,-20,-160}) for(int r=0;r<3;r++){ kf<<<g,nt,smem>>>(A,B,D,M,N,K,marks,d); CK(cudaDeviceSynchronize()); if(r<2) continue;
    CK(cudaMemcpy(h.data(),marks,n*4,cudaMemcpyDeviceToHost)); char f[300]; snprintf(f,300,"%s/turns.bin",folder); FILE*o=fopen(f,"ab"); int head[16]={BM,BN,BK,WM,WN,ST,SW,MARK,COPY,d,K,0,nb,nt/32,K/BK,0}; fwrite(head,4,16,o); fwrite(h.data(),4,n,o); fclose(o); } }
#define ALL(...) go<__VA_ARGS__,2,1>(f); go<__VA_ARGS__,2,0>(f); go<__VA_ARGS__,4,1>(f); go<__VA_ARGS__,6,0>(f);
int main(int argc,char**argv){ const char*f=argv[1]; size_t n=(size_t)4096*4096*2; CK(cudaMalloc(&A,n)); CK(cudaMalloc(&B,n)); CK(cudaMalloc(&D,n)); CK(cudaMalloc(&marks,64<<20)); init<<<1024,256>>>(A,n/2,1); init<<<1024,256>>>(B,n/2,77); CK(cudaDeviceSynchronize());
  ALL(64,64,64,32,64,6,0) ALL(32,128,64,32,32,5,0) ALL(64,64,32,32,32,4,0) ALL(64,64,32,32,32,4,1) return 0; }
