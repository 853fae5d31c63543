// Main loops of src/gemm.cu that only copy (V = 6), or copy and multiply a little (14: two tensor instructions per k-step and warp, which slows the clock of SMs), on a full chip:
// cycles per iteration, mean over CTAs, cycles from an SM's first start to its last end, and the clock.
#include "gemm_parts.cuh"
__device__ unsigned long long times[65536][2];
half*A,*B,*D; long long*cyc; unsigned char*on;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int V> void go(int M,int N,int K){
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,V>; int nt=(BM/WM)*(BN/WN)*32; dim3 g(M/BM,N/BN); int nb=g.x*g.y; std::vector<int> sm(nb); std::vector<long long> cy(4*nb), st(nb);
  int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2; CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem));
  int occ; CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ,kf,nt,smem)); cudaEvent_t e0,e1; cudaEventCreate(&e0); cudaEventCreate(&e1);
  double keep[4]={}, best=1e18, loop=0, fast=0, slow=0, us=0;
  for(int r=0;r<6;r++){ cudaEventRecord(e0); kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc,on); cudaEventRecord(e1); CK(cudaDeviceSynchronize()); if(r<1) continue; float ms; cudaEventElapsedTime(&ms,e0,e1);
    CK(cudaMemcpyFromSymbol(sm.data(),smids,4*nb)); CK(cudaMemcpyFromSymbol(st.data(),starts,8*nb)); CK(cudaMemcpy(cy.data(),cyc,32*nb,cudaMemcpyDeviceToHost));
    std::vector<long long> a(132,1ll<<62), b(132,0); std::vector<double> t(132,0); std::vector<int> n(132,0); double part[4]={};
    for(int i=0;i<nb;i++){ int s=sm[i]; a[s]=std::min(a[s],st[i]); b[s]=std::max(b[s],st[i]+cy[4*i+3]); t[s]+=cy[4*i+1]; n[s]++; for(int q=0;q<4;q++) part[q]+=double(cy[4*i+q])/nb; }
    double mx=0; std::vector<double> per; for(int s=0;s<132;s++) if(n[s]){ mx=std::max(mx,double(b[s]-a[s])); per.push_back(t[s]/n[s]/(K/BK)); }
    std::sort(per.begin(),per.end()); if(mx<best){ best=mx; for(int q=0;q<4;q++) keep[q]=part[q]; loop=part[1]/(K/BK); fast=per[per.size()/20]; slow=per[per.size()*19/20]; us=ms*1000; } }
  printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%d,%d,%d,%.1f,%.1f,%.1f,%.0f,%.1f,%.0f,%.0f,%.0f\n",BM,BN,BK,WM,WN,ST,SW,V,M,N,K,occ,loop,fast,slow,best,us,keep[0],keep[2],keep[3]); fflush(stdout); }
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void all(){ for(int n:{2048,4096}){ go<BM,BN,BK,WM,WN,ST,SW,6>(n,n,2048); go<BM,BN,BK,WM,WN,ST,SW,14>(n,n,2048); } }
int main(){ CK(cudaMalloc(&A,(size_t)8192*8192*2)); CK(cudaMalloc(&B,(size_t)8192*8192*2)); CK(cudaMalloc(&D,(size_t)8192*8192*2)); CK(cudaMalloc(&cyc,(size_t)8*4*65536)); CK(cudaMalloc(&on,132)); CK(cudaMemset(on,1,132));
  init<<<1024,256>>>(A,(size_t)8192*8192,1); init<<<1024,256>>>(B,(size_t)8192*8192,77); CK(cudaDeviceSynchronize());
  puts("kernel,parts,M,N,K,ctas_per_sm,loop_cycles,loop_p5,loop_p95,sm_cycles,microseconds,prologue_cycles,epilogue_cycles,cta_cycles");
  all<128,128,32,64,64,3,1>(); all<128,128,32,64,64,3,2>(); all<128,128,32,64,64,4,1>(); all<128,128,32,64,64,4,2>(); all<64,64,32,32,32,4,1>(); all<64,64,32,32,32,4,2>(); all<128,128,64,64,64,3,1>(); all<128,128,64,64,64,3,2>(); all<256,128,32,64,64,3,1>(); all<256,128,32,64,64,3,2>(); }
