// cp.async through L1 (.ca) by line count, conflicts and place of the data (L1 or L2), alone, beside shared loads of the same warps (ptxas makes two LDS.32 with four wavefronts each of a load), and under a chain of LDS of another warp.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint32_t x=(uint32_t)i*2654435761u+7; x^=x>>15;x*=2246822519u;x^=x>>13; p[i]=x; } }
template<int BY,int CA> __device__ __forceinline__ void copy(uint32_t d,const uint8_t*a){
  if(CA&&BY==16) asm volatile("cp.async.ca.shared.global [%0],[%1],16;"::"r"(d),"l"(a):"memory");
  else if(BY==16) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(d),"l"(a):"memory");
  else if(BY==8) asm volatile("cp.async.ca.shared.global [%0],[%1],8;"::"r"(d),"l"(a):"memory");
  else asm volatile("cp.async.ca.shared.global [%0],[%1],4;"::"r"(d),"l"(a):"memory"); }
// A lane copies chunk c = lane % PER of row r = lane / PER: from r*pitch + c*BY to r*sr + c*sc. Eight copies, then a group; four places in shared memory.
template<int BY,int PER,int CA,int NL> __global__ void stream(int pitch,int sr,int sc,int sj,int step,int wrap,int slotbytes,int iters,const uint8_t*g,long long*cyc,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; constexpr int R=32/PER; int r=lane/PER,c=lane%PER; uint32_t sd=b+warp*4*slotbytes+r*sr+c*sc,ld=b+196608+lane*16,x=0;
  const uint8_t*g0=g+(size_t)(warp*8*R+r)*pitch+c*BY; const uint8_t*gs=g0; uint32_t s=0; int left=wrap; __syncthreads(); long long t0=clock64();
  for(int i=0;i<iters;i++){ uint32_t d=sd+s*slotbytes; s=(s+1)&3;
    #pragma unroll
    for(int j=0;j<8;j++){ copy<BY,CA>(d+j*sj,gs+(size_t)j*R*pitch);
      #pragma unroll
      for(int l=0;l<NL;l++){ uint32_t v,u,w,z; asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v),"=r"(u),"=r"(w),"=r"(z):"r"(ld+((j*NL+l)&3)*512):"memory"); x^=v^z; } }
    gs+=step; if(--left==0){ gs=g0; left=wrap; } asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); long long t1=clock64(); sink[threadIdx.x]=x; if(threadIdx.x==0) *cyc=t1-t0; }
// Warps but the last copy in bursts of 8, `pause` cycles apart at least; the last one chases a pointer in shared memory.
template<int BY,int PER,int CA> __global__ void under(int pitch,int sr,int sc,int sj,int step,int wrap,int slotbytes,int loads,int pause,int other,const uint8_t*g,long long*cyc,uint32_t*sink){ extern __shared__ __align__(1024) uint8_t sm[]; volatile __shared__ int stop; uint32_t b=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5,warps=blockDim.x>>5; constexpr int R=32/PER; int r=lane/PER,c=lane%PER;
  if(threadIdx.x<32) asm volatile("st.shared.u32 [%0],%1;"::"r"(b+196608+lane*4),"r"(b+196608+lane*4):"memory"); if(threadIdx.x==0) stop=0; __syncthreads();
  if(warp==other){ uint32_t a=b+196608+lane*4; long long t0=clock64();
    for(int i=0;i<loads;i+=4){
      #pragma unroll
      for(int j=0;j<4;j++) asm volatile("ld.shared.u32 %0,[%0];":"+r"(a)::"memory"); }
    long long t1=clock64(); if(lane==0){ *cyc=t1-t0; stop=1; } sink[lane]=a; }
  else if(warp<warps-1||other!=warps-1){ uint32_t sd=b+warp*4*slotbytes+r*sr+c*sc; const uint8_t*g0=g+(size_t)(warp*8*R+r)*pitch+c*BY; const uint8_t*gs=g0; uint32_t s=0,n=0; int left=wrap; long long next=clock64();
    while(!stop){ uint32_t d=sd+s*slotbytes; s=(s+1)&3; n++;
      #pragma unroll
      for(int j=0;j<8;j++) copy<BY,CA>(d+j*sj,gs+(size_t)j*R*pitch);
      gs+=step; if(--left==0){ gs=g0; left=wrap; } asm volatile("cp.async.commit_group; cp.async.wait_group 3;":::"memory"); while(clock64()<next); next=clock64()+pause; }
    asm volatile("cp.async.wait_all;":::"memory"); if(lane==0) sink[64+warp]=n; } }
long long*cyc; uint8_t*g; uint32_t*sink; bool once;  // for the profiler: one launch of four warps each
template<int BY,int PER,int CA,int NL> void one(const char*name,int pitch,int sr,int sc,int sj,int hits,int w){ auto k=stream<BY,PER,CA,NL>; int smem=196608+2048; int step=hits?0:BY*PER,wrap=hits?1:std::max(1,pitch/(BY*PER)); int slot=6144; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); double best=1e30; for(int r=0;r<(once?1:3);r++){ k<<<1,32*w,smem>>>(pitch,sr,sc,sj,step,wrap,slot,64,g,cyc,sink); CK(cudaDeviceSynchronize()); best=std::min(best,(double)*cyc);} printf("stream,%d,%s,%s,%d,%d,%d,%d,%d,%s,%d,%d,,%.3f\n",BY,CA?"ca":"cg",name,PER*BY,pitch,sr,sc,sj,hits?"L1":"L2",w,NL,best/(64.0*8*w)); fflush(stdout); }
template<int BY,int PER,int CA> void all(const char*name,int pitch,int sr,int sc,int sj){ for(int h:{0,1}){ if(h&&!CA) continue; for(int w:{1,4,8}) if(!once||w==4){ one<BY,PER,CA,0>(name,pitch,sr,sc,sj,h,w); } if(once) continue; one<BY,PER,CA,1>(name,pitch,sr,sc,sj,h,4); one<BY,PER,CA,2>(name,pitch,sr,sc,sj,h,4); one<BY,PER,CA,4>(name,pitch,sr,sc,sj,h,4); }
  if(once) return; for(int h:{0,1}) for(int pause:{0,600,1200}) for(int copiers:{1,4}) { if(h&&(!CA||pause)) continue; auto k=under<BY,PER,CA>; int smem=196608+2048,step=h?0:BY*PER,wrap=h?1:std::max(1,pitch/(BY*PER)); CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,smem)); double best=1e30; uint32_t n=0; for(int r=0;r<3;r++){ k<<<1,32*(copiers+1),smem>>>(pitch,sr,sc,sj,step,wrap,6144,1024,pause,copiers,g,cyc,sink); CK(cudaDeviceSynchronize()); if((double)*cyc<best){ best=(double)*cyc; n=0; for(int i=0;i<copiers;i++) n+=sink[64+i]; } } printf("under,%d,%s,%s,%d,%d,%d,%d,%d,%s,%d,%d,%.1f,%.3f\n",BY,CA?"ca":"cg",name,PER*BY,pitch,sr,sc,sj,h?"L1":"L2",copiers,pause,best/(8.0*n),best/1024); fflush(stdout); } }
int main(int n,char**){ once=n>1; CK(cudaMallocManaged(&cyc,64)); CK(cudaMallocManaged(&sink,8192)); CK(cudaMalloc(&g,(size_t)1<<28)); noise<<<1024,256>>>((uint32_t*)g,(size_t)1<<26); CK(cudaDeviceSynchronize());
  printf("kind,bytes,kind_of_copy,layout,row_bytes,pitch,row_step,chunk_step,copy_step,data_in,warps,loads_or_pause,cycles_per_copy_under,cycles\n");
  all<4,32,1>("along",8192,128,4,128); all<4,16,1>("along",8192,64,4,128); all<4,8,1>("along",8192,32,4,128); all<4,4,1>("along",8192,16,4,128);
  all<4,8,1>("across",8192,4,528,16); all<4,8,1>("across 2-way",8192,4,520,16); all<4,8,1>("across 4-way",8192,4,516*1,16); all<4,8,1>("across 8-way",8192,4,512,16);
  all<8,16,1>("along",8192,128,8,256); all<8,4,1>("along",8192,32,8,256); all<8,4,1>("across 4-way",8192,8,1024,64);
  all<16,8,1>("along",8192,128,16,512); all<16,8,0>("along",8192,128,16,512); all<16,4,1>("along",8192,64,16,512); all<16,4,0>("along",8192,64,16,512); all<16,2,1>("along",8192,32,16,512); all<16,8,1>("padded",8192,144,16,576); }
