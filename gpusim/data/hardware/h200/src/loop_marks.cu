// Where a turn of src/gemm.cu's main loop spends its time, one CTA on an SM, L2 warm: each warp sums the clock in front of its wait for copies
// (MARK bit 0) and behind the first tensor instruction of each k-step (bit 1). Columns of loop_marks.csv: kernel, marks, run, cycles per turn,
// and of each warp where in a turn its k-steps and its wait are.
// nvcc -O3 -std=c++17 -arch=sm_90a loop_marks.cu -o loop_marks; ./loop_marks > loop_marks.csv
#include "gemm_parts.cuh"
#define CLOCK(t) asm volatile("mov.u32 %0,%%clock;":"=r"(t))
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int MARK>
__global__ void __launch_bounds__((BM/WM)*(BN/WN)*32) state(const half*__restrict__ A,const half*__restrict__ B,half*__restrict__ D,int M,int N,int K,unsigned*out){
  using S=Sm<BK,SW>; constexpr int NT=(BM/WM)*(BN/WN)*32, C=BK/8, AS=BM*S::LD, BS=BN*S::LD, KS=BK/16;
  extern __shared__ __align__(1024) half sm[]; half*sA=sm; half*sB=sm+ST*AS; uint32_t a0=(uint32_t)__cvta_generic_to_shared(sA), b0=(uint32_t)__cvta_generic_to_shared(sB);
  int tid=threadIdx.x,lane=tid&31,warp=tid>>5,wm=warp%(BM/WM),wn=warp/(BM/WM); int bm=blockIdx.x*BM,bn=blockIdx.y*BN; unsigned t0,t1,t2,sum[KS+1]={};
  CLOCK(t0);
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
  asm volatile("cp.async.wait_group %0;"::"n"(ST-2):"memory"); __syncthreads(); CLOCK(t1);
  ldf(0,0,0); int rd=0,wr=ST-1,kt=0;
  #pragma unroll 1
  for(;kt<KT;kt++){
    #pragma unroll
    for(int ks=0;ks<KS;ks++){
      if(ks==KS-1){ if(MARK&1){ unsigned t; CLOCK(t); sum[KS]+=t; } asm volatile("cp.async.wait_group %0;"::"n"(ST-2):"memory"); __syncthreads(); rd=(rd+1==ST)?0:rd+1; }
      ldf((ks+1)&1,rd,(ks+1)%KS);
      if(ks==0){ int nk=kt+ST-1; if(nk<KT) load(wr,nk); asm volatile("cp.async.commit_group;"); wr=(wr+1==ST)?0:wr+1; }
      #pragma unroll
      for(int i=0;i<WM/16;i++)
        #pragma unroll
        for(int jj=0;jj<WN/8;jj++){ int j=(i&1)?(WN/8-1-jj):jj; float*c=acc[i][j]; uint32_t*a=fa[ks&1][i],*b=fb[ks&1][j];
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(c[0]),"+f"(c[1]),"+f"(c[2]),"+f"(c[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1]));
          if((MARK&2)&&i==0&&jj==0){ unsigned t; CLOCK(t); sum[ks]+=t; } } } }
  CLOCK(t2);
  #pragma unroll
  for(int i=0;i<WM/16;i++)
    #pragma unroll
    for(int j=0;j<WN/8;j++){ int r=bm+wm*WM+i*16+(lane>>2),c=bn+wn*WN+j*8+(lane&3)*2; *(half2*)&D[(size_t)r*N+c]=__floats2half2_rn(acc[i][j][0],acc[i][j][1]); *(half2*)&D[(size_t)(r+8)*N+c]=__floats2half2_rn(acc[i][j][2],acc[i][j][3]); }
  if(lane==0){ unsigned*o=out+((blockIdx.x+blockIdx.y*gridDim.x)*(NT/32)+warp)*8; o[0]=t1; o[1]=t2; o[2]=t1-t0; for(int i=0;i<=KS;i++) o[3+i]=sum[i]-KT*t1; }
}
half*A,*B,*D; unsigned*out; char*flush; std::vector<unsigned> h;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int MARK> void go(int G,int K,int cold,int reps){ int M=G*BM,N=G*BN;
  auto kf=state<BM,BN,BK,WM,WN,ST,SW,MARK>; constexpr int nt=(BM/WM)*(BN/WN)*32,W=nt/32,KS=BK/16; int smem=std::max(120*1024,ST*(BM+BN)*Sm<BK,SW>::LD*2),nb=G*G,KT=K/BK;
  CK(cudaFuncSetAttribute(kf,cudaFuncAttributeMaxDynamicSharedMemorySize,smem));
  for(int r=0;r<reps;r++){ if(cold) CK(cudaMemset(flush,r,512<<20)); kf<<<dim3(G,G),nt,smem>>>(A,B,D,M,N,K,out); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h.data(),out,nb*W*32,cudaMemcpyDeviceToHost)); if(!r) continue;
    for(int c=0;c<nb;c++){ unsigned*o=&h[c*W*8]; unsigned z=o[0]; for(int w=1;w<W;w++) if((int)(o[8*w]-z)<0) z=o[8*w];
      double P=0; for(int w=0;w<W;w++) P+=(double)(o[8*w+1]-o[8*w])/KT/W;
      printf("%dx%dx%d_w%dx%d_s%d_sw%d,%d,%d,%d,%d,%d,%d,%.1f",BM,BN,BK,WM,WN,ST,SW,MARK,G*G,K,cold,r,c,P);
      for(int w=0;w<W;w++){ printf(","); for(int i=0;i<=KS;i++) printf("%s%.1f",i?" ":"",MARK? (double)o[8*w+3+i]/KT+(double)(int)(o[8*w]-z)-P*(KT-1)/2:0.0); } printf("\n"); } } fflush(stdout); }
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW,int MARK> void each(){ for(int K:{4096}) for(int cold:{0}){ go<BM,BN,BK,WM,WN,ST,SW,MARK>(1,K,cold,4);  } }
int main(){ CK(cudaMalloc(&A,(size_t)4096*4096*2)); CK(cudaMalloc(&B,(size_t)4096*4096*2)); CK(cudaMalloc(&D,(size_t)4096*4096*2)); CK(cudaMalloc(&out,1<<20)); CK(cudaMalloc(&flush,512<<20)); h.resize(1<<18);
  init<<<1024,256>>>(A,(size_t)4096*4096,1); init<<<1024,256>>>(B,(size_t)4096*4096,77); CK(cudaDeviceSynchronize());
  printf("kernel,marks,ctas,k,cold,run,cta,cycles_per_turn,warps\n");
  each<128,128,32,64,64,3,1,0>();
  each<128,128,32,64,64,3,1,1>();
  each<128,128,32,64,64,3,1,3>();
  each<128,128,32,64,64,3,2,0>();
  each<128,128,32,64,64,3,2,1>();
  each<128,128,32,64,64,3,2,3>();
  each<64,64,32,32,32,4,1,0>();
  each<64,64,32,32,32,4,1,1>();
  each<64,64,32,32,32,4,1,3>();
  each<64,64,64,32,32,3,1,0>();
  each<64,64,64,32,32,3,1,1>();
  each<64,64,64,32,32,3,1,3>();
  each<128,64,32,64,32,4,1,0>();
  each<128,64,32,64,32,4,1,1>();
  each<128,64,32,64,32,4,1,3>();
  each<128,128,64,64,64,3,1,0>();
  each<128,128,64,64,64,3,1,1>();
  each<128,128,64,64,64,3,1,3>();
 return 0; }
