// Main loops of src/gemm.cu (gemm_parts.cuh: bit 0 of parts without copies) on 1 to 132 SMs at once, 2048^3: cycles per iteration of the CTAs of the first wave, oldest first, mean and standard deviation over SMs.
#include "gemm_parts.cuh"
#include <cmath>
half*A,*B,*D; long long*cyc; unsigned char*on;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int V> void go(int M,int N,int K){
  auto kf=gemm<BM,BN,BK,WM,WN,ST,SW,V>; int nt=(BM/WM)*(BN/WN)*32; dim3 g(M/BM,N/BN); int nb=g.x*g.y; int smem=ST*(BM+BN)*Sm<BK,SW>::LD*2; CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); int occ; CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ,kf,nt,smem));
  for(int n:{1,4,16,33,66,99,132}){ unsigned char h[132]; memset(h,0,132); for(int i=0;i<n;i++) h[(40+(n==132?i:i*(132/n)))%132]=1; CK(cudaMemcpy(on,h,132,cudaMemcpyHostToDevice)); std::vector<long long> c(4*(size_t)nb),t(nb); std::vector<int> where(nb); std::vector<std::vector<double>> v(occ);
    for(int r=0;r<4;r++){ std::vector<int> z(65536,-1); CK(cudaMemcpyToSymbol(smids,z.data(),4*65536)); kf<<<g,nt,smem>>>(A,B,D,M,N,K,cyc,on); CK(cudaDeviceSynchronize()); if(r<2) continue;
      CK(cudaMemcpy(c.data(),cyc,32*(size_t)nb,cudaMemcpyDeviceToHost)); CK(cudaMemcpyFromSymbol(where.data(),smids,4*(size_t)nb)); CK(cudaMemcpyFromSymbol(t.data(),starts,8*(size_t)nb));
      for(int s=0;s<132;s++){ std::vector<int> id; for(int i=0;i<nb;i++) if(where[i]==s) id.push_back(i); std::sort(id.begin(),id.end(),[&](int a,int b){return t[a]<t[b];}); if((int)id.size()<occ) continue; for(int a=0;a<occ;a++) v[a].push_back(c[4*id[a]+1]/(double)(K/BK)); } }
    printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%d,",BM,BN,BK,WM,WN,ST,SW,V,n,(int)v[0].size()); for(int q=0;q<2;q++){ for(int a=0;a<occ;a++){ double m=0,d=0; for(double x:v[a]) m+=x; m/=v[a].size(); for(double x:v[a]) d+=(x-m)*(x-m); d=sqrt(d/v[a].size()); printf(a?" %.1f":"%.1f",q?d:m); } printf(q?"\n":","); } fflush(stdout); } }
#define BOTH(...) go<__VA_ARGS__,0>(2048,2048,2048); go<__VA_ARGS__,1>(2048,2048,2048)
int main(){ CK(cudaMalloc(&A,(size_t)4096*4096*2)); CK(cudaMalloc(&B,(size_t)4096*4096*2)); CK(cudaMalloc(&D,(size_t)4096*4096*2)); CK(cudaMalloc(&cyc,(size_t)32*65536)); CK(cudaMalloc(&on,132)); init<<<1024,256>>>(A,(size_t)4096*4096,1); init<<<1024,256>>>(B,(size_t)4096*4096,77); CK(cudaDeviceSynchronize());
  printf("kernel,parts_left_out,sms,ctas,cycles_per_iteration,deviation_cycles\n");
  BOTH(64,64,32,32,32,4,0); BOTH(64,64,32,32,32,4,1); BOTH(64,64,32,32,32,4,2); BOTH(64,64,32,32,32,4,3); BOTH(64,64,64,32,32,3,2); BOTH(128,64,32,64,32,4,2); BOTH(128,64,32,64,32,4,1); BOTH(128,128,32,64,64,3,1); BOTH(128,128,32,64,64,3,2); BOTH(128,128,64,64,64,3,2); BOTH(256,128,32,64,64,3,2); BOTH(64,64,64,32,64,6,0); BOTH(64,64,64,32,64,6,2); return 0; }
