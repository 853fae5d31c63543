// When CTAs of a GEMM end and the next ones begin: gemm_blind.cu with clocks of each warp at the begin and behind its last
// store. Per SM that gets more than two CTAs: when the last warp of its first two has issued its last store (the earlier one
// first), when the third and a fourth begin, and when the warps of the first two begin, from the SM's first begin on.
#define LONGS 4
#define TURN(kt)
#define CTA_ENDS if(lane==0){ unsigned smid; asm volatile("mov.u32 %0,%%smid;":"=r"(smid)); long long*o=cyc+LONGS*(size_t)((blockIdx.x+blockIdx.y*gridDim.x)*(NT/32)+warp); o[0]=smid;o[1]=t0;o[2]=t2;o[3]=t3; }
#include "gemm_clocks.cuh"
struct Cta { long long begin,end; std::vector<long long> begins; };
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void go(int M,int N,int K){
  launches<BM,BN,BK,WM,WN,ST,SW>(M,N,K,0,[&](const char*name,const std::vector<long long>&h,int ctas,int warps){
    std::map<int,std::vector<Cta>> sms;
    for(int c=0;c<ctas;c++){ Cta x{1ll<<62,0,{}}; for(int w=0;w<warps;w++){ const long long*o=&h[LONGS*(size_t)(c*warps+w)]; x.begin=std::min(x.begin,o[1]); x.end=std::max(x.end,o[3]); x.begins.push_back(o[1]); } sms[(int)h[LONGS*(size_t)c*warps]].push_back(x); }
    for(auto&s:sms){ auto&v=s.second; std::sort(v.begin(),v.end(),[](const Cta&p,const Cta&q){return p.begin<q.begin;}); if(v.size()<3) continue; long long z=v[0].begin,e=std::min(v[0].end,v[1].end)-z,f=std::max(v[0].end,v[1].end)-z;
      printf("%s,%d,%lld,%lld,%lld,",name,s.first,e,f,v[2].begin-z); if(v.size()>3) printf("%lld",v[3].begin-z); for(int i=0;i<2;i++){ printf(","); for(int w=0;w<warps;w++) printf(w?" %lld":"%lld",v[i].begins[w]-z); } printf("\n"); } }); }
int main(){ prepare(); printf("kernel,M,N,K,launch,sm,end_1,end_2,begin_3,begin_4,first_begins,second_begins\n");
  go<64,64,64,32,64,6,0>(1536,768,1280); go<64,64,64,32,64,6,1>(1536,768,1280); go<64,64,64,32,64,6,2>(1536,768,1280); go<32,128,64,32,32,5,0>(1536,768,1280); go<32,128,64,32,32,5,1>(1536,768,1280); }
