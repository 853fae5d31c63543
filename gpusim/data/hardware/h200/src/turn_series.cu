// When main loops change their speed: gemm_blind.cu with thread 0's clock behind each turn's barrier, kept in shared memory
// behind the stages. Per CTA its SM, clocks at the begin, before and behind the main loop and at the end, from the SM's first
// begin on, and the cycles of each turn.
#define LONGS 136
#define TURN(kt) if(tid==0) ((unsigned*)(sm+ST*(AS+BS)))[kt]=clock();
#define CTA_ENDS if(tid==0){ unsigned smid; asm volatile("mov.u32 %0,%%smid;":"=r"(smid)); long long*o=cyc+LONGS*(size_t)(blockIdx.x+blockIdx.y*gridDim.x); o[0]=smid;o[1]=t0;o[2]=t1;o[3]=t2;o[4]=t3; for(int i=0;i<KT&&i<128;i++) o[8+i]=((unsigned*)(sm+ST*(AS+BS)))[i]; }
#include "gemm_clocks.cuh"
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void go(int M,int N,int K){
  launches<BM,BN,BK,WM,WN,ST,SW>(M,N,K,1024,[&](const char*name,const std::vector<long long>&h,int ctas,int){
    std::map<int,long long> zero; for(int c=0;c<ctas;c++){ const long long*o=&h[LONGS*(size_t)c]; auto z=zero.find((int)o[0]); if(z==zero.end()||o[1]<z->second) zero[(int)o[0]]=o[1]; }
    for(int c=0;c<ctas;c++){ const long long*o=&h[LONGS*(size_t)c],z=zero[(int)o[0]]; printf("%s,%d,%lld,%lld,%lld,%lld,%lld,",name,c,o[0],o[1]-z,o[2]-z,o[3]-z,o[4]-z);
      for(int i=1;i<K/BK;i++) printf(i>1?" %u":"%u",(unsigned)o[8+i]-(unsigned)o[7+i]); printf("\n"); } }); }
int main(){ prepare(); printf("kernel,M,N,K,launch,cta,sm,begin,loop_begin,loop_end,end,turns\n");
  go<128,64,64,64,32,3,2>(768,512,3072); go<128,128,64,32,64,2,2>(768,512,3072); go<64,64,64,32,64,6,0>(768,512,3072); go<64,64,64,32,64,6,2>(768,512,3072);
  go<64,64,64,32,64,6,0>(1536,768,1280); go<64,64,64,32,64,6,2>(1536,768,1280); go<128,64,64,64,32,3,2>(1536,768,1280); go<32,128,64,32,32,5,0>(1536,768,1280); }
