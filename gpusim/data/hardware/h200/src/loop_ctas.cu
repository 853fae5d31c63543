// Main loops of src/gemm.cu with parts left out (gemm_parts.cuh: 1 copies, 2 ldmatrix, 3 both, 6 ldmatrix and tensor instructions), all twenty calibration kernels: cycles per iteration of each CTA of one SM.
#include "gemm_parts.cuh"

half*A,*B,*D; long long*cyc; unsigned char*on;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int V> void go(int M,int N,int K){
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,V>; int nt=(BM/WM)*(BN/WN)*32; dim3 g(M/BM,N/BN); int nb=g.x*g.y; std::vector<int> sm(nb); std::vector<long long> cy(4*nb);
  int base=ST*(BM+BN)*Sm<BK,SW>::LD*2;
  for(int per=0;per<3;per++){ int smem=per==2?std::max(base,120000):per==1?std::max(base,60000):base; if(per&&smem==base) continue; if(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)!=cudaSuccess){ cudaGetLastError(); continue; }
    int occ; CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ,kf,nt,smem));
    unsigned char h[132]; memset(h,0,132); h[40]=1; CK(cudaMemcpy(on,h,132,cudaMemcpyHostToDevice));
    double best=1e18,s[4]; int n=0; std::vector<double> each; std::vector<long long> stt(nb); cudaFuncAttributes at; cudaFuncGetAttributes(&at,kf);
      for(int r=0;r<5;r++){ std::vector<int> z(nb,-1); CK(cudaMemcpyToSymbol(smids,z.data(),4*nb)); kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc,on); CK(cudaDeviceSynchronize()); if(r<1) continue;
        CK(cudaMemcpyFromSymbol(sm.data(),smids,4*nb)); CK(cudaMemcpy(cy.data(),cyc,32*nb,cudaMemcpyDeviceToHost)); double t[4]={}; int m=0; for(int i=0;i<nb;i++) if(sm[i]==40){ m++; for(int q=0;q<4;q++) t[q]+=cy[4*i+q]; }
        if(m&&t[3]/m<best){ best=t[3]/m; n=m; for(int q=0;q<4;q++) s[q]=t[q]/m; CK(cudaMemcpyFromSymbol(stt.data(),starts,8*nb)); std::vector<int> id; for(int i=0;i<nb;i++) if(sm[i]==40) id.push_back(i); std::sort(id.begin(),id.end(),[&](int a,int b){return stt[a]<stt[b];}); each.clear(); for(int i:id) each.push_back(cy[4*i+1]/(double)(K/BK)); } }
      printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%.1f",BM,BN,BK,WM,WN,ST,SW,V,n,s[1]/(K/BK)); for(double e:each) printf(",%.1f",e); printf("\n"); fflush(stdout); } }
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void all(int M,int N){ go<BM,BN,BK,WM,WN,ST,SW,0>(M,N,2048); go<BM,BN,BK,WM,WN,ST,SW,1>(M,N,2048); go<BM,BN,BK,WM,WN,ST,SW,2>(M,N,2048); go<BM,BN,BK,WM,WN,ST,SW,6>(M,N,2048); go<BM,BN,BK,WM,WN,ST,SW,3>(M,N,2048); }
int main(){ CK(cudaMalloc(&A,(size_t)8192*8192*2)); CK(cudaMalloc(&B,(size_t)8192*8192*2)); CK(cudaMalloc(&D,(size_t)8192*8192*2)); CK(cudaMalloc(&cyc,(size_t)8*4*65536)); CK(cudaMalloc(&on,132));
  init<<<1024,256>>>(A,(size_t)8192*8192,1); init<<<1024,256>>>(B,(size_t)8192*8192,77); CK(cudaDeviceSynchronize());
  all<64,64,32,32,32,4,0>(2048,2048); all<64,64,32,32,32,4,1>(2048,2048); all<64,64,32,32,32,4,2>(2048,2048); all<64,64,32,32,32,4,3>(2048,2048); all<128,128,32,64,64,3,0>(2048,2048); all<128,128,32,64,64,3,1>(2048,2048); all<128,128,32,64,64,3,2>(2048,2048); all<128,128,32,64,64,3,3>(2048,2048); all<128,128,32,64,64,4,0>(2048,2048); all<128,128,32,64,64,4,1>(2048,2048); all<128,128,32,64,64,4,2>(2048,2048); all<128,128,32,64,64,4,3>(2048,2048); all<128,128,64,64,64,3,0>(2048,2048); all<128,128,64,64,64,3,1>(2048,2048); all<128,128,64,64,64,3,2>(2048,2048); all<128,128,64,64,64,3,3>(2048,2048); all<256,128,32,64,64,3,0>(2048,2048); all<256,128,32,64,64,3,1>(2048,2048); all<256,128,32,64,64,3,2>(2048,2048); all<256,128,32,64,64,3,3>(2048,2048); }
