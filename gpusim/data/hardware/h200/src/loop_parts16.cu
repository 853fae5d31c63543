// Main loops of tiles by 16 and 8 warps with parts left out (gemm_parts.cuh), one CTA alone on the chip: cycles of the prologue, per iteration and of
// the epilogue. nvcc -O3 -std=c++17 -arch=sm_90a loop_parts16.cu -o loop_parts16; ./loop_parts16 > loop_parts16.csv
#include "gemm_parts.cuh"
half*A,*B,*D; long long*cyc; unsigned char*on;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int V> void go(){ constexpr int K=2048;
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,V>; int nt=(BM/WM)*(BN/WN)*32; int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2*((V&256)?2:1);
  CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); long long h[4];
  for(int r=0;r<3;r++){ kf<<<1,nt,smem>>>(A,B,D,BM,BN,K,cyc,on); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h,cyc,32,cudaMemcpyDeviceToHost));
    if(r) printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%lld,%.1f,%lld\n",BM,BN,BK,WM,WN,ST,SW,V,r,h[0],h[1]/(double)(K/BK),h[2]); } }
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void all(){ go<BM,BN,BK,WM,WN,ST,SW,0>(); go<BM,BN,BK,WM,WN,ST,SW,1>(); go<BM,BN,BK,WM,WN,ST,SW,2>(); go<BM,BN,BK,WM,WN,ST,SW,4>(); go<BM,BN,BK,WM,WN,ST,SW,6>(); go<BM,BN,BK,WM,WN,ST,SW,49>(); go<BM,BN,BK,WM,WN,ST,SW,51>(); go<BM,BN,BK,WM,WN,ST,SW,53>(); go<BM,BN,BK,WM,WN,ST,SW,33>(); }
int main(){ CK(cudaMalloc(&A,1<<24)); CK(cudaMalloc(&B,1<<24)); CK(cudaMalloc(&D,1<<24)); CK(cudaMalloc(&cyc,1<<20)); CK(cudaMalloc(&on,132)); CK(cudaMemset(on,1,132));
  init<<<64,256>>>(A,1<<22,1); init<<<64,256>>>(B,1<<22,77); CK(cudaDeviceSynchronize()); puts("kernel,parts_left_out,launch,prologue,cycles_per_iteration,epilogue");
  all<256,128,32,64,32,2,1>(); all<256,128,32,64,32,2,2>(); all<128,128,32,32,32,3,1>(); all<128,128,32,32,32,3,2>(); all<128,128,32,64,32,3,2>(); all<128,128,32,64,32,3,1>(); return 0; }
