// Does a copy that waits for its warp's loads keep other warps' accesses waiting? Warp 0 sends one to four ldmatrix.x4 (8-way conflicts or none) and one instruction more, warp 1 of another sub-partition one LDS.32 some cycles later. Columns: loads, behind (the instruction behind them), ways, late (turns of a loop that warp 1 waits), begins (cycles from warp 0's start to warp 1's), latency (warp 1's), first_takes (until warp 0 has its fragments).
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
#define NOW(t) asm volatile("mov.u64 %0,%%clock64;":"=l"(t)::"memory")
#define WAIT(n) _Pragma("unroll 1") for(int i=0;i<n;i++) asm volatile("add.u32 %0,%0,1;":"+r"(q)::"memory")
enum{NONE,COPY,LDS,COPIES,STG,STS,COMMIT,SHFL,COPY_CA,KINDS};
const char*names[KINDS]={"nothing","LDGSTS","LDS","two LDGSTS","STG","STS","LDGDEPBAR","SHFL","LDGSTS.ca"};
template<int LOADS,int BEHIND> __global__ void front(int ways,int first,int late,const uint8_t*__restrict__ g,uint64_t*out,uint32_t*sink){
  extern __shared__ __align__(128) uint8_t sm[];
  uint32_t w=threadIdx.x/32,l=threadIdx.x&31,base=(uint32_t)__cvta_generic_to_shared(sm);
  uint32_t a=base+(l&7)*(ways*16)+(l/8)*1024,d=base+16384+l*16,b=base+l*4,s=0,y=0,q=l; const uint8_t*gs=g+l*16; uint64_t t0=0,t1=0;
  asm volatile("":"+r"(a),"+r"(d),"+r"(b),"+l"(gs));
  __syncthreads();
  if(w==0){ uint32_t x[LOADS][4];
    WAIT(first); NOW(t0);
    #pragma unroll
    for(int j=0;j<LOADS;j++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(x[j][0]),"=r"(x[j][1]),"=r"(x[j][2]),"=r"(x[j][3]):"r"(a+j*2048):"memory");
    if(BEHIND==COPY||BEHIND==COPIES) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d),"l"(gs):"memory");
    if(BEHIND==COPIES) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d+512),"l"(gs+512):"memory");
    if(BEHIND==COPY_CA) asm volatile("cp.async.ca.shared.global [%0],[%1],4;"::"r"(base+16384+l*4),"l"(gs):"memory");
    if(BEHIND==LDS) asm volatile("ld.shared.u32 %0,[%1];":"=r"(y):"r"(b):"memory");
    if(BEHIND==STG) asm volatile("st.global.u32 [%0],%1;"::"l"(sink+1024+l),"r"(q):"memory");
    if(BEHIND==STS) asm volatile("st.shared.u32 [%0],%1;"::"r"(d),"r"(q):"memory");
    if(BEHIND==COMMIT) asm volatile("cp.async.commit_group;":::"memory");
    if(BEHIND==SHFL) asm volatile("shfl.sync.idx.b32 %0,%1,0,31,-1;":"=r"(y):"r"(q));
    #pragma unroll
    for(int j=0;j<LOADS;j++) s^=x[j][0]^x[j][3];
    asm volatile("":"+r"(s)::"memory"); NOW(t1); s^=y;
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;":::"memory");
  } else { WAIT(late); NOW(t0); asm volatile("ld.shared.u32 %0,[%1];":"=r"(y):"r"(b):"memory"); y++; asm volatile("":"+r"(y)::"memory"); NOW(t1); }
  if(l==0){ out[w*2]=t0; out[w*2+1]=t1; }
  sink[threadIdx.x]=s+y+q; }
uint8_t*g; uint64_t*o; uint32_t*s;
template<int LOADS,int BEHIND> void go(int ways){ CK(cudaFuncSetAttribute(front<LOADS,BEHIND>,cudaFuncAttributeMaxDynamicSharedMemorySize,65536));
  for(int late=0;late<14;late++){ for(int r=0;r<3;r++){ front<LOADS,BEHIND><<<1,64,65536>>>(ways,3,late,g,o,s); CK(cudaDeviceSynchronize()); }
    uint64_t h[4]; CK(cudaMemcpy(h,o,32,cudaMemcpyDeviceToHost));
    printf("%d,%s,%d,%d,%d,%d,%d\n",LOADS,names[BEHIND],ways,late,(int)(h[2]-h[0]),(int)(h[3]-h[2]),(int)(h[1]-h[0])); } }
template<int BEHIND> void loads(int ways){ go<1,BEHIND>(ways); go<2,BEHIND>(ways); go<3,BEHIND>(ways); go<4,BEHIND>(ways); if constexpr(BEHIND+1<KINDS) loads<BEHIND+1>(ways); }
int main(){ CK(cudaMalloc(&g,1<<22)); CK(cudaMemset(g,0,1<<22)); CK(cudaMalloc(&o,64)); CK(cudaMalloc(&s,65536)); printf("loads,behind,ways,late,begins,latency,first_takes\n"); loads<0>(1); loads<0>(8); }
