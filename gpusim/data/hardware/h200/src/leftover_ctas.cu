// When each CTA of hand-written kernels that leave 24 of 288 CTAs for a second wave runs, and on which SM: who gets them.
#include "gemm_parts.cuh"
half*A,*B,*D; long long*cyc; unsigned char*on;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void go(int M,int N,int K){
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,0>; int nt=(BM/WM)*(BN/WN)*32; dim3 g(M/BM,N/BN); int nb=g.x*g.y; int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2; CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); int occ; CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ,kf,nt,smem));
  std::vector<long long> c(4*(size_t)nb),t(nb); std::vector<int> where(nb);
  for(int r=0;r<4;r++){ kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc,on); CK(cudaDeviceSynchronize()); if(r<2) continue;
    CK(cudaMemcpy(c.data(),cyc,32*(size_t)nb,cudaMemcpyDeviceToHost)); CK(cudaMemcpyFromSymbol(where.data(),smids,4*(size_t)nb)); CK(cudaMemcpyFromSymbol(t.data(),starts,8*(size_t)nb));
    for(int i=0;i<nb;i++) printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%d,%d,%d,%d,%lld,%lld\n",BM,BN,BK,WM,WN,ST,SW,M,K,occ,r,i,where[i],t[i],t[i]+c[4*i+3]); } fflush(stdout); }
int main(){ CK(cudaMalloc(&A,(size_t)4096*4096*2)); CK(cudaMalloc(&B,(size_t)4096*4096*2)); CK(cudaMalloc(&D,(size_t)4096*4096*2)); CK(cudaMalloc(&cyc,(size_t)32*65536)); CK(cudaMalloc(&on,132)); CK(cudaMemset(on,1,132));
  init<<<1024,256>>>(A,(size_t)4096*4096,1); init<<<1024,256>>>(B,(size_t)4096*4096,77); CK(cudaDeviceSynchronize());
  printf("kernel,M,K,ctas_per_sm,run,cta,sm,start,end\n");
  go<64,64,64,32,64,6,0>(1536,768,1280); go<64,64,64,32,64,6,1>(1536,768,1280); go<64,64,64,32,64,6,2>(1536,768,1280); go<64,64,64,32,64,6,3>(1536,768,1280);
  go<32,128,64,32,32,5,0>(1536,768,1280); go<32,128,64,32,32,5,1>(1536,768,1280); go<32,128,64,32,32,5,2>(1536,768,1280); go<32,128,64,32,32,5,3>(1536,768,1280);
  go<64,64,64,32,64,6,0>(768,512,3072); go<32,128,64,32,32,5,2>(768,512,3072); go<128,64,64,64,32,3,1>(1536,768,1280); return 0; }
