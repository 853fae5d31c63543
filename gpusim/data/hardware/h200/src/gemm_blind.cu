// hgemm D[M,N] = A[M,K] * B[N,K]^T, fp16 in, fp32 accumulate, fp16 out: cp.async multistage + ldmatrix + mma.sync m16n8k16.
// Measured configurations are the instantiations below; SW: 0 no swizzle, 1 pad 8 halves, 2 xor swizzle (conflict free), 3 half xor (B=1).
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
// Programs that include this one to put clocks into its kernel define these, and bring their own main.
#ifndef CTA_ENDS
#define TURN(kt)
#define CTA_ENDS if(tid==0){ long long*o=cyc+4*(size_t)(blockIdx.x+blockIdx.y*gridDim.x); o[0]=t1-t0;o[1]=t2-t1;o[2]=t3-t2;o[3]=t3-t0; }
#define OWN_MAIN
#endif
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
template<int BK,int SW> struct Sm { static constexpr int LD = BK + (SW==1?8:0);
  static __device__ __forceinline__ int off(int r,int kc){ // kc = 16-byte chunk index; returns halves
    if constexpr(SW==2){ constexpr int C=BK/8; int x; if constexpr(C==4) x=(r>>1)&3; else x=r&7; return r*LD+((kc^x)*8); }
    if constexpr(SW==3){ int x=(r>>2)&1; return r*LD+((kc^x)*8); }
    return r*LD+kc*8; } };
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW>
__global__ void __launch_bounds__((BM/WM)*(BN/WN)*32) gemm(const half*__restrict__ A,const half*__restrict__ B,half*__restrict__ D,int M,int N,int K,long long*cyc){
  using S=Sm<BK,SW>; constexpr int NT=(BM/WM)*(BN/WN)*32, C=BK/8, AS=BM*S::LD, BS=BN*S::LD;
  extern __shared__ __align__(1024) half sm[]; half*sA=sm; half*sB=sm+ST*AS; uint32_t a0=(uint32_t)__cvta_generic_to_shared(sA), b0=(uint32_t)__cvta_generic_to_shared(sB);
  int tid=threadIdx.x,lane=tid&31,warp=tid>>5,wm=warp%(BM/WM),wn=warp/(BM/WM); int bm=blockIdx.x*BM,bn=blockIdx.y*BN; 
  long long t0=clock64();
  auto load=[&](int st,int kt){
    #pragma unroll
    for(int i=0;i<BM*C/NT;i++){ int id=tid+i*NT,r=id/C,c=id%C; const half*g=A+(size_t)(bm+r)*K+kt*BK+c*8; asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;"::"r"(a0+(st*AS+S::off(r,c))*2),"l"(g):"memory"); }
    #pragma unroll
    for(int i=0;i<BN*C/NT;i++){ int id=tid+i*NT,r=id/C,c=id%C; const half*g=B+(size_t)(bn+r)*K+kt*BK+c*8; asm volatile("cp.async.cg.shared.global.L2::128B [%0],[%1],16;"::"r"(b0+(st*BS+S::off(r,c))*2),"l"(g):"memory"); } };
  int KT=K/BK;
  #pragma unroll
  for(int s=0;s<ST-1;s++){ if(s<KT) load(s,s); asm volatile("cp.async.commit_group;"); }
  float acc[WM/16][WN/8][4]={}; uint32_t fa[2][WM/16][4], fb[2][WN/8][2];
  auto ldf=[&](int buf,int st,int ks){
    #pragma unroll
    for(int i=0;i<WM/16;i++){ uint32_t ad=a0+(st*AS+S::off(wm*WM+i*16+(lane&15),ks*2+(lane>>4)))*2; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(fa[buf][i][0]),"=r"(fa[buf][i][1]),"=r"(fa[buf][i][2]),"=r"(fa[buf][i][3]):"r"(ad)); }
    #pragma unroll
    for(int j=0;j<WN/16;j++){ uint32_t bd=b0+(st*BS+S::off(wn*WN+j*16+(lane&7)+((lane>>4)<<3),ks*2+((lane>>3)&1)))*2; asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(fb[buf][2*j][0]),"=r"(fb[buf][2*j][1]),"=r"(fb[buf][2*j+1][0]),"=r"(fb[buf][2*j+1][1]):"r"(bd)); } };
  asm volatile("cp.async.wait_group %0;"::"n"(ST-2):"memory"); __syncthreads();
  ldf(0,0,0); int rd=0,wr=ST-1; long long t1=clock64();
  #pragma unroll 1
  for(int kt=0;kt<KT;kt++){
    #pragma unroll
    for(int ks=0;ks<BK/16;ks++){
      if(ks==BK/16-1){ asm volatile("cp.async.wait_group %0;"::"n"(ST-2):"memory"); __syncthreads(); rd=(rd+1==ST)?0:rd+1; TURN(kt) }
      ldf((ks+1)&1,rd,(ks+1)%(BK/16));
      if(ks==0){ int nk=kt+ST-1; if(nk<KT) load(wr,nk); asm volatile("cp.async.commit_group;"); wr=(wr+1==ST)?0:wr+1; }
      #pragma unroll
      for(int i=0;i<WM/16;i++)
        #pragma unroll
        for(int jj=0;jj<WN/8;jj++){ int j=(i&1)?(WN/8-1-jj):jj; float*c=acc[i][j]; uint32_t*a=fa[ks&1][i],*b=fb[ks&1][j];
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(c[0]),"+f"(c[1]),"+f"(c[2]),"+f"(c[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1])); }
    }
  }
  long long t2=clock64();
  #pragma unroll
  for(int i=0;i<WM/16;i++)
    #pragma unroll
    for(int j=0;j<WN/8;j++){ int r=bm+wm*WM+i*16+(lane>>2),c=bn+wn*WN+j*8+(lane&3)*2; *(half2*)&D[(size_t)r*N+c]=__floats2half2_rn(acc[i][j][0],acc[i][j][1]); *(half2*)&D[(size_t)(r+8)*N+c]=__floats2half2_rn(acc[i][j][2],acc[i][j][3]); }
  long long t3=clock64(); CTA_ENDS
}
__global__ void init(half*p,size_t n,uint32_t s){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint32_t x=(uint32_t)i*2654435761u+s; x^=x>>15;x*=2246822519u;x^=x>>13; p[i]=__float2half(((x&0xffff)/32768.f-1.f)); } }
__global__ void check(const half*A,const half*B,const half*D,int M,int N,int K,float*err){ uint32_t x=(blockIdx.x*blockDim.x+threadIdx.x)*2654435761u; int m=(x>>3)%M,n=(x>>11)%N; float s=0; for(int k=0;k<K;k++) s+=__half2float(A[(size_t)m*K+k])*__half2float(B[(size_t)n*K+k]); float e=fabsf(s-__half2float(D[(size_t)m*N+n]))/(fabsf(s)+1.f); atomicMax((int*)err,__float_as_int(e)); }
#ifdef OWN_MAIN
half*A,*B,*D; long long*cyc; float*err; const char*only; int reps;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void go(int M,int N,int K,const char*tag){
  char nm[128]; snprintf(nm,128,"%dx%dx%d_w%dx%d_s%d_sw%d",BM,BN,BK,WM,WN,ST,SW); if(only&&!strstr(nm,only)) return;
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW>; int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2,nt=(BM/WM)*(BN/WN)*32; if(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)!=cudaSuccess){ cudaGetLastError(); return; }
  int occ; CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ,kf,nt,smem)); cudaFuncAttributes at; CK(cudaFuncGetAttributes(&at,kf)); dim3 g(M/BM,N/BN); CK(cudaMemset(D,0xff,(size_t)M*N*2));
  cudaEvent_t e0,e1; cudaEventCreate(&e0); cudaEventCreate(&e1); std::vector<float> t; for(int r=0;r<2;r++){ cudaEventRecord(e0); kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc); cudaEventRecord(e1); CK(cudaDeviceSynchronize()); float ms; cudaEventElapsedTime(&ms,e0,e1); if(r>=2||!reps) t.push_back(ms); }
  std::sort(t.begin(),t.end()); *err=0; check<<<16,256>>>(A,B,D,M,N,K,err); CK(cudaDeviceSynchronize());
  size_t nb=(size_t)g.x*g.y; double s[4]={}; for(size_t i=0;i<nb;i++) for(int q=0;q<4;q++) s[q]+=cyc[4*i+q]; 
  printf("%s,%s,%d,%d,%d,%d,%d,%d,%d,%zu,%d,%.4f,%.1f,%.0f,%.0f,%.0f,%.0f,%.5f\n",tag,nm,M,N,K,nt,at.numRegs,smem,occ,nb,(int)at.localSizeBytes,t[t.size()/2]*1e3,2.0*M*N*K/t[t.size()/2]/1e9,s[0]/nb,s[1]/nb,s[2]/nb,s[3]/nb,*err); fflush(stdout);
}
template<int BM,int BN,int BK,int WM,int WN,int ST> void sws(int M,int N,int K,const char*t){ go<BM,BN,BK,WM,WN,ST,0>(M,N,K,t); go<BM,BN,BK,WM,WN,ST,1>(M,N,K,t); go<BM,BN,BK,WM,WN,ST,2>(M,N,K,t); go<BM,BN,BK,WM,WN,ST,3>(M,N,K,t); }
void all(int M,int N,int K,const char*t){
  sws<128,64,64,64,32,3>(M,N,K,t); sws<256,64,32,64,32,4>(M,N,K,t); sws<64,256,32,64,64,3>(M,N,K,t); sws<64,128,64,32,32,3>(M,N,K,t);
  sws<128,256,64,64,64,2>(M,N,K,t); sws<64,64,64,32,64,6>(M,N,K,t); sws<128,128,64,32,64,2>(M,N,K,t); sws<32,128,64,32,32,5>(M,N,K,t); }
int main(int argc,char**argv){ reps=atoi(argv[1]); only=argc>5?argv[5]:nullptr; int M=atoi(argv[2]),N=atoi(argv[3]),K=atoi(argv[4]);
  CK(cudaMalloc(&A,(size_t)8192*8192*2)); CK(cudaMalloc(&B,(size_t)8192*8192*2)); CK(cudaMalloc(&D,(size_t)8192*8192*2)); CK(cudaMallocManaged(&cyc,(size_t)8*4*65536*2)); CK(cudaMallocManaged(&err,4)); init<<<1024,256>>>(A,(size_t)8192*8192,1); init<<<1024,256>>>(B,(size_t)8192*8192,77); CK(cudaDeviceSynchronize());
  printf("tag,kernel,M,N,K,threads,regs,smem,ctas_per_sm,ctas,local,us_median,tflops,cyc_prologue,cyc_mainloop,cyc_epilogue,cyc_cta,max_rel_err\n"); char tag[64]; snprintf(tag,64,"m%dn%dk%d",M,N,K); all(M,N,K,tag); }
#endif
