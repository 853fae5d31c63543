// ldmatrix of some warps beside other memory instructions of other warps: cycles of the data stage that each of these takes from the loads.
// `loaders` warps load without end (32 wavefronts at 8 ways), four warps run batches of `kind` with pauses; both count what they did in a given time.
// kinds: 0 cp.async.cg, one commit a batch; 1 cp.async.cg without commits; 2 the same with a source size of 0 (zeros); 3 commits only; 4 LDG.128; 5 STS.128; 6 LDS.32; 7 LDG.32; 8 cp.async.ca of 4 bytes; 9 LDGDEPBAR and DEPBAR only; 10 bar.sync of the four warps; 11 shfl; 12 STG.32; 13 STG.128; the last four, into barrier_beside.csv, with any argument
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int TIME=100000, PITCH=4096;
template<int KIND,int BATCH> __global__ void both(uint8_t*g,int*out,int loaders,int ways,int row_bytes,int pause,int copiers){
  extern __shared__ __align__(1024) uint8_t sm[]; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; int n=0; uint32_t x=0;
  __syncthreads(); int start=clock(), now=start;
  if(warp<loaders){ int row=lane&7,matrix=lane>>3; int per=8/ways;
    uint32_t ad=base+65536+((row/per)+matrix*8)*128+((row%per)*ways)%8*16;
    #pragma unroll 1
    while(now-start<TIME){ uint32_t r[32];
      #pragma unroll
      for(int i=0;i<8;i++) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+i*4096):"memory");
      #pragma unroll
      for(int i=0;i<32;i++) x^=r[i];
      n+=8; now=clock(); }
  } else { int ch=row_bytes/16, r=lane/ch, c=lane%ch, w=warp-loaders; int rows=32/ch;
    uint32_t to=base+w*16384+lane*16; const uint8_t*src=g+(size_t)(w*rows*BATCH+r)*PITCH+c*16; int k=0;
    #pragma unroll 1
    for(int turn=0;KIND==10?turn<1500:now-start<TIME;turn++){ uint4 v[BATCH]; uint32_t u[BATCH];
      #pragma unroll
      for(int i=0;i<BATCH;i++){ const uint8_t*p=src+k+(size_t)i*rows*PITCH; uint32_t q=to+i*512;
        if(KIND<=1) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(q),"l"(p):"memory");
        if(KIND==2) asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;"::"r"(q),"l"(p),"r"(loaders>>8):"memory");
        if(KIND==3||KIND==9) asm volatile("cp.async.commit_group;":::"memory");
        if(KIND==4) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v[i].x),"=r"(v[i].y),"=r"(v[i].z),"=r"(v[i].w):"l"(p):"memory");
        if(KIND==5) asm volatile("st.shared.v4.u32 [%0],{%1,%1,%1,%1};"::"r"(q),"r"(k):"memory");
        if(KIND==6) asm volatile("ld.shared.u32 %0,[%1];":"=r"(u[i]):"r"(q+(lane&~31)):"memory");
        if(KIND==7) asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(u[i]):"l"(g+(size_t)(w*BATCH+i)*PITCH+k+lane*4):"memory");
        if(KIND==10) asm volatile("bar.sync 1,%0;"::"r"(copiers*32):"memory");
        if(KIND==11) asm volatile("shfl.sync.idx.b32 %0,%1,%2,31,-1;":"=r"(u[i]):"r"(lane+i),"r"(lane^i):"memory");
        if(KIND==12) asm volatile("st.global.u32 [%0],%1;"::"l"(g+(size_t)(w*BATCH+i)*PITCH+k+lane*4),"r"(k):"memory");
        if(KIND==13) asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};"::"l"(p),"r"(k):"memory");
        if(KIND==8) asm volatile("cp.async.ca.shared.global [%0],[%1],4;"::"r"(q-lane*12),"l"(g+(size_t)(w*BATCH+i)*PITCH+k+lane*4):"memory"); }
      if(KIND==0||KIND==2||KIND==8) asm volatile("cp.async.commit_group;":::"memory"); if(KIND==0||KIND==2||KIND==8) asm volatile("cp.async.wait_group 3;":::"memory"); if(KIND==9) asm volatile("cp.async.wait_group 0;":::"memory");
      #pragma unroll
      for(int i=0;i<BATCH;i++){ if(KIND==4) x^=v[i].x^v[i].y^v[i].z^v[i].w; if(KIND==6||KIND==7||KIND==11) x^=u[i]; }
      if(now-start<TIME) n+=BATCH; k=(k+row_bytes)&2047; int t=clock(); now=t; while(now-t<pause) now=clock(); }
    if(KIND==1) asm volatile("cp.async.wait_all;":::"memory");
  }
  if(lane==0){ out[warp]=n; out[64+warp]=x; } }
uint8_t*g; int*out;
template<int KIND,int BATCH> void go(int loaders,int copiers,int ways,int rb,int pause){ int shared=200*1024; auto k=both<KIND,BATCH>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,shared));
  for(int r=0;r<2;r++){ k<<<1,32*(loaders+copiers),shared>>>(g,out,loaders,ways,rb,pause,copiers); CK(cudaDeviceSynchronize()); }
  int h[64]; CK(cudaMemcpy(h,out,256,cudaMemcpyDeviceToHost)); long l=0,c=0; for(int i=0;i<loaders+copiers;i++) (i<loaders?l:c)+=h[i];
  printf("%d,%d,%d,%d,%d,%d,%d,%.3f,%.2f\n",KIND,BATCH,loaders,copiers,ways,rb,pause,l?(double)TIME/l:0.,c?(double)TIME/c:0.); fflush(stdout); }
template<int KIND,int BATCH> void all(){ for(int loaders:{4,8}) for(int ways:{1,2,4,8}){ if(KIND==0&&BATCH==1) go<KIND,BATCH>(loaders,0,ways,64,0); for(int rb:{64,128}) for(int copiers:{1,4}) for(int pause:{300,100}){ if(rb==128&&KIND>2) continue; go<KIND,BATCH>(loaders,copiers,ways,rb,pause*(BATCH>2?BATCH/2:1)); } } }
template<int KIND> void batches(){ all<KIND,1>(); all<KIND,2>(); all<KIND,4>(); all<KIND,8>(); }
int main(int argc,char**argv){ CK(cudaMalloc(&g,(size_t)1<<28)); CK(cudaMemset(g,1,(size_t)1<<28)); CK(cudaMalloc(&out,65536)); printf("kind,batch,loaders,copiers,ways,row_bytes,pause,cycles_per_load,cycles_per_copy\n");
  if(argc>1){ all<0,1>(); batches<10>(); batches<11>(); batches<12>(); batches<13>(); } else { batches<0>(); batches<1>(); batches<2>(); batches<3>(); batches<4>(); batches<5>(); batches<6>(); batches<7>(); batches<8>(); batches<9>(); } return 0; }
