// Warm phases of src/gemm.cu's kernels when only some SMs work (the CTAs of the others leave at once), with one or two CTAs each.
// hgemm D[M,N] = A[M,K] * B[N,K]^T, fp16 in, fp32 accumulate, fp16 out: cp.async multistage + ldmatrix + mma.sync m16n8k16.
// Measured configurations are the instantiations below; SW: 0 no swizzle, 1 pad 8 halves, 2 xor swizzle (conflict free), 3 half xor (B=1).
#include "gemm_parts.cuh"

half*A,*B,*D; long long*cyc; float*err; unsigned char*on;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void go(int M,int N,int K){
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,0>; int nt=(BM/WM)*(BN/WN)*32; dim3 g(M/BM,N/BN); int nb=g.x*g.y; std::vector<int> sm(nb); std::vector<long long> cy(4*nb);
  int base=ST*(BM+BN)*Sm<BK,SW>::LD*2;
  for(int per=0;per<2;per++){ int smem=per?std::max(base,120000):base; if(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)!=cudaSuccess){ cudaGetLastError(); continue; }
    int occ; CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ,kf,nt,smem)); if(per&&smem==base) continue;
    for(int mode=0;mode<8;mode++){ unsigned char h[132]; int want[8]={1,2,4,16,33,66,99,132}; int w=want[mode]; memset(h,0,132);
      // spread: SM i works when floor grows; w SMs over the chip
      for(int i=0;i<w;i++) h[(int)((long long)i*132/w)]=1;
      CK(cudaMemcpy(on,h,132,cudaMemcpyHostToDevice));
      for(int cold=0;cold<(w==132?2:1);cold++){ double best=1e18,s[4]; int n=0; double ctas_here=0;
      for(int r=0;r<6;r++){ if(cold) CK(cudaMemset(D,0xff,(size_t)8192*8192*2)); kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc,on); CK(cudaDeviceSynchronize()); if(r<1) continue;
        CK(cudaMemcpyFromSymbol(sm.data(),smids,4*nb)); CK(cudaMemcpy(cy.data(),cyc,32*nb,cudaMemcpyDeviceToHost)); int cnt[132]={}; for(int i=0;i<nb;i++) if(sm[i]>=0&&sm[i]<132&&h[sm[i]]) cnt[sm[i]]++; double t[4]={}; int m=0; for(int i=0;i<nb;i++) if(sm[i]>=0&&h[sm[i]]&&cnt[sm[i]]>=(nb<=132*occ?std::min(occ,(nb+131)/132):1)){ m++; for(int q=0;q<4;q++) t[q]+=cy[4*i+q]; }
        if(m&&t[3]/m<best){ best=t[3]/m; n=m; for(int q=0;q<4;q++) s[q]=t[q]/m; } int minus=-1; std::vector<int> z(nb,minus); CK(cudaMemcpyToSymbol(smids,z.data(),4*nb)); }
      printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%d,%d,%d,%d,%d,%.0f,%.0f,%.0f,%.0f\n",BM,BN,BK,WM,WN,ST,SW,M,N,K,occ,w,cold,n,s[0],s[1],s[2],s[3]); fflush(stdout); } } } }
int main(){ CK(cudaMalloc(&A,(size_t)8192*8192*2)); CK(cudaMalloc(&B,(size_t)8192*8192*2)); CK(cudaMalloc(&D,(size_t)8192*8192*2)); CK(cudaMalloc(&cyc,(size_t)8*4*65536)); CK(cudaMalloc(&on,132));
  init<<<1024,256>>>(A,(size_t)8192*8192,1); init<<<1024,256>>>(B,(size_t)8192*8192,77); CK(cudaDeviceSynchronize()); { std::vector<int> z(65536,-1); CK(cudaMemcpyToSymbol(smids,z.data(),4*65536)); }
  printf("kernel,M,N,K,ctas_per_sm_max,sms,cold,ctas_counted,cyc_prologue,cyc_mainloop,cyc_epilogue,cyc_cta\n");
  go<128,128,32,64,64,3,0>(2048,2048,2048); go<128,128,32,64,64,3,1>(2048,2048,2048); go<128,128,32,64,64,3,2>(2048,2048,2048); go<128,128,64,64,64,3,1>(2048,2048,2048); go<128,128,64,64,64,3,2>(2048,2048,2048);
  go<256,128,32,64,64,3,1>(2048,2048,2048); go<256,128,32,64,64,3,2>(2048,2048,2048); go<64,64,32,32,32,4,1>(2048,1024,2048); go<64,64,32,32,32,4,2>(2048,1024,2048); }
