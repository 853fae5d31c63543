// When main loops with bank conflicts have two speeds: src/gemm.cu's loop, with and without its copies, by one CTA whose warps start apart (by
// so many dependent IMADs in front of it); cycles per turn of each warp.
#include "gemm_parts.cuh"
#define CLOCK(t) asm volatile("{.reg .u64 c; mov.u64 c,%%clock64; cvt.u32.u64 %0,c;}":"=r"(t)::"memory")
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int V>
__global__ void __launch_bounds__((BM/WM)*(BN/WN)*32) speeds(const half*__restrict__ A,const half*__restrict__ B,half*__restrict__ D,int N,int K,unsigned starts,int*out){
  using S=Sm<BK,SW>; constexpr int NT=(BM/WM)*(BN/WN)*32, C=BK/8, AS=BM*S::LD, BS=BN*S::LD, KS=BK/16;
  extern __shared__ __align__(1024) half sm[]; half*sA=sm; half*sB=sm+ST*AS; uint32_t a0=(uint32_t)__cvta_generic_to_shared(sA), b0=(uint32_t)__cvta_generic_to_shared(sB);
  int tid=threadIdx.x,lane=tid&31,warp=tid>>5,wm=warp%(BM/WM),wn=warp/(BM/WM); int bm=blockIdx.x*BM,bn=blockIdx.y*BN; unsigned smid,slot; asm volatile("mov.u32 %0,%%smid;":"=r"(smid)); asm volatile("mov.u32 %0,%%warpid;":"=r"(slot));
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
  asm volatile("cp.async.wait_group 0;":::"memory"); __syncthreads();
  int t0,t1,t; unsigned late=tid; int wait=starts>>8*warp&255; CLOCK(t0);
  #pragma unroll 1
  for(int i=0;i<wait;i++) asm volatile("mad.lo.u32 %0,%0,%0,1;":"+r"(late)::"memory");
  ldf(0,0,0); int rd=0,wr=ST-1,kt=0; CLOCK(t1);
  #pragma unroll 1
  for(;kt<KT;kt++){
    #pragma unroll
    for(int ks=0;ks<KS;ks++){
      if(ks==KS-1){ asm volatile("cp.async.wait_group %0;"::"n"(ST-2):"memory"); __syncthreads(); rd=(rd+1==ST)?0:rd+1; }
      ldf((ks+1)&1,rd,(ks+1)%KS);
      if(ks==0){ int nk=kt+ST-1; if((V&1)==0) if(nk<KT) load(wr,nk); asm volatile("cp.async.commit_group;"); wr=(wr+1==ST)?0:wr+1; }
      #pragma unroll
      for(int i=0;i<WM/16;i++)
        #pragma unroll
        for(int jj=0;jj<WN/8;jj++){ int j=(i&1)?(WN/8-1-jj):jj; float*c=acc[i][j]; uint32_t*a=fa[ks&1][i],*b=fb[ks&1][j];
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(c[0]),"+f"(c[1]),"+f"(c[2]),"+f"(c[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1])); } } }
  CLOCK(t);
  #pragma unroll
  for(int i=0;i<WM/16;i++)
    #pragma unroll
    for(int j=0;j<WN/8;j++){ int r=bm+wm*WM+i*16+(lane>>2),c=bn+wn*WN+j*8+(lane&3)*2; *(half2*)&D[(size_t)r*N+c]=__floats2half2_rn(acc[i][j][0],acc[i][j][1]); *(half2*)&D[(size_t)(r+8)*N+c]=__floats2half2_rn(acc[i][j][2],acc[i][j][3]); }
  if(lane==0||late==12345){ int*o=out+((blockIdx.x+blockIdx.y*gridDim.x)*(NT/32)+warp)*4; o[0]=smid; o[1]=slot; o[2]=t1-t0; o[3]=t-t1; }
}
half*A,*B,*D; int*out; std::vector<int> h;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int V> void go(std::vector<int> at,int reps,int grid){ int M=256,N=256,K=4096;
  auto kf=speeds<BM,BN,BK,WM,WN,ST,SW,V>; constexpr int nt=(BM/WM)*(BN/WN)*32; int smem=std::max(120*1024,ST*(BM+BN)*Sm<BK,SW>::LD*2); dim3 g(M/BM,N/BN); if(grid) g=dim3(1,1); int nb=g.x*g.y;
  CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); unsigned s=0; for(size_t i=0;i<at.size();i++) s|=at[i]<<8*i;
  for(int r=0;r<reps;r++){ kf<<<g,nt,smem>>>(A,B,D,N,K,s,out); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h.data(),out,nb*(nt/32)*16,cudaMemcpyDeviceToHost));
    if(r==0) continue;
    for(int c=0;c<nb;c++) for(int w=0;w<nt/32;w++){ int*o=&h[(c*(nt/32)+w)*4]; printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%d,%d,%d,%d,%d,%.1f",BM,BN,BK,WM,WN,ST,SW,!(V&1),r,c,w,o[0],o[1],s>>8*w&255,(double)o[3]/(K/BK)); printf("\n"); } } fflush(stdout); }
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void both(std::vector<std::vector<int>> starts){ for(auto&s:starts) go<BM,BN,BK,WM,WN,ST,SW,0>(s,2,1); for(auto&s:starts) go<BM,BN,BK,WM,WN,ST,SW,1>(s,2,1); }
int main(){ CK(cudaMalloc(&A,(size_t)4096*4096*2)); CK(cudaMalloc(&B,(size_t)4096*4096*2)); CK(cudaMalloc(&D,(size_t)4096*4096*2)); CK(cudaMalloc(&out,1<<20)); h.resize(1<<18);
  init<<<1024,256>>>(A,(size_t)4096*4096,1); init<<<1024,256>>>(B,(size_t)4096*4096,77); CK(cudaDeviceSynchronize());
  std::vector<std::vector<int>> four={{0,0,0,0},{0,1,2,3},{0,4,8,12},{0,10,20,30},{0,0,0,20},{0,20,20,20},{0,0,20,20},{0,20,0,20},{0,20,20,0},{9,6,3,0},{0,0,5,5},{0,0,1,1}}, two;
  for(int i=0;i<12;i++) two.push_back({0,i}); for(int i:{1,2,5,10,40}) two.push_back({i,0}); two.push_back({0,20}); two.push_back({0,40});
  printf("kernel,copies,run,cta,warp,sm,slot,start,cycles_per_turn\n");
  both<64,64,32,32,32,4,0>(four); both<64,64,64,32,64,6,0>(two); both<128,64,32,64,32,4,0>(four); both<128,128,32,64,64,3,0>(four); both<128,128,64,64,64,3,0>(four); both<32,128,64,32,32,5,0>(four); both<128,128,32,64,64,3,1>(four); both<64,64,64,32,64,6,3>(two); return 0; }
