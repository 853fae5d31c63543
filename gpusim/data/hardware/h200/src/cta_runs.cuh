// Runs a kernel of gemm_parts.cuh four times and prints when each CTA of the last two ran, and on which SM.
#pragma once
#include "gemm_parts.cuh"
half*A,*B,*D; long long*cyc; unsigned char*on;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void go(int M,int N,int K){
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,0>; int nt=(BM/WM)*(BN/WN)*32; dim3 g(M/BM,N/BN); int nb=g.x*g.y; int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2; CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); int occ; CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ,kf,nt,smem));
  std::vector<long long> c(4*(size_t)nb),t(nb); std::vector<int> where(nb);
  for(int r=0;r<4;r++){ kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc,on); CK(cudaDeviceSynchronize()); if(r<2) continue;
    CK(cudaMemcpy(c.data(),cyc,32*(size_t)nb,cudaMemcpyDeviceToHost)); CK(cudaMemcpyFromSymbol(where.data(),smids,4*(size_t)nb)); CK(cudaMemcpyFromSymbol(t.data(),starts,8*(size_t)nb));
    for(int i=0;i<nb;i++) printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%d,%d,%d,%d,%lld,%lld\n",BM,BN,BK,WM,WN,ST,SW,M,K,occ,r,i,where[i],t[i],t[i]+c[4*i+3]); } fflush(stdout); }
void prepare(){ CK(cudaMalloc(&A,(size_t)4096*4096*2)); CK(cudaMalloc(&B,(size_t)4096*4096*2)); CK(cudaMalloc(&D,(size_t)4096*4096*2)); CK(cudaMalloc(&cyc,(size_t)32*65536)); CK(cudaMalloc(&on,132)); CK(cudaMemset(on,1,132));
  init<<<1024,256>>>(A,(size_t)4096*4096,1); init<<<1024,256>>>(B,(size_t)4096*4096,77); CK(cudaDeviceSynchronize());
  printf("kernel,M,K,ctas_per_sm,run,cta,sm,start,end\n"); }
