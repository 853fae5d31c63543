// Launches of gemm_blind.cu's kernel with clocks in it: two behind a write of 512 MiB (cold), two right behind the one before
// (warm). Before it is included, TURN(kt) and CTA_ENDS say what the kernel writes, LONGS how much of it per warp.
#pragma once
#include <map>
#include "gemm_blind.cu"
half*A,*B,*D; long long*cyc; char*junk;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,class F> void launches(int M,int N,int K,int spare,F&&show){
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW>; int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2+spare,nt=(BM/WM)*(BN/WN)*32; CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem));
  dim3 g(M/BM,N/BN); std::vector<long long> h(LONGS*(size_t)g.x*g.y*(nt/32)); kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc); CK(cudaDeviceSynchronize());
  for(int r=0;r<4;r++){ if(r<2) CK(cudaMemset(junk,r,(size_t)1<<29)); CK(cudaDeviceSynchronize()); kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h.data(),cyc,8*h.size(),cudaMemcpyDeviceToHost));
    char name[160]; snprintf(name,160,"%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%d,%s%d",BM,BN,BK,WM,WN,ST,SW,M,N,K,r<2?"cold":"warm",r); show(name,h,(int)(g.x*g.y),nt/32); } }
void prepare(){ size_t n=(size_t)8192*8192; CK(cudaMalloc(&A,n*2)); CK(cudaMalloc(&B,n*2)); CK(cudaMalloc(&D,n*2)); CK(cudaMalloc(&junk,(size_t)1<<29)); CK(cudaMalloc(&cyc,(size_t)8*LONGS*8192)); init<<<1024,256>>>(A,n,1); init<<<1024,256>>>(B,n,7); CK(cudaDeviceSynchronize()); }
