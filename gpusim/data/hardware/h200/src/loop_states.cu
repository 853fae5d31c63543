// Seven main loops of gemm_parts.cuh by two CTAs of one SM, long enough to be sampled (ncu --section SourceCounters --warp-sampling-interval 0).
#include "gemm_parts.cuh"
half*A,*B,*D; long long*cyc; unsigned char*on;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int V> void go(){ int M=2048,N=2048,K=8192;
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,V>; int nt=(BM/WM)*(BN/WN)*32; dim3 g(M/BM,N/BN); int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2;
  CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc,on); CK(cudaDeviceSynchronize()); }
int main(){ CK(cudaMalloc(&A,(size_t)8192*8192*2)); CK(cudaMalloc(&B,(size_t)8192*8192*2)); CK(cudaMalloc(&D,(size_t)8192*8192*2)); CK(cudaMalloc(&cyc,(size_t)8*4*65536)); CK(cudaMalloc(&on,132));
  init<<<1024,256>>>(A,(size_t)8192*8192,1); init<<<1024,256>>>(B,(size_t)8192*8192,77); unsigned char h[132]; memset(h,0,132); h[40]=1; CK(cudaMemcpy(on,h,132,cudaMemcpyHostToDevice)); CK(cudaDeviceSynchronize());
  go<128,128,64,64,64,3,2,1>(); go<128,128,32,64,64,4,1,1>(); go<128,128,32,64,64,4,2,1>(); go<128,128,32,64,64,4,2,2>(); go<128,128,32,64,64,4,1,0>(); go<128,128,32,64,64,4,2,0>(); go<128,128,64,64,64,3,2,0>(); return 0; }
