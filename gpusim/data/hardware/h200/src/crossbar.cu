// Crossbar questions: which SMs share a GPC and an L2 partition, what bandwidth SMs of one GPC have together, when reads of one line by several SMs reach L2 once.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>
#include <algorithm>
#include <numeric>
#include <string>
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
__device__ unsigned smid(){ unsigned s; asm volatile("mov.u32 %0,%%smid;":"=r"(s)); return s; }
__device__ unsigned long long gtime(){ unsigned long long t; asm volatile("mov.u64 %0,%%globaltimer;":"=l"(t)); return t; }
__global__ void noise(uint32_t*p,size_t n){ for(size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;i<n;i+=(size_t)gridDim.x*blockDim.x){ uint32_t x=(uint32_t)i*2654435761u+7; x^=x>>15;x*=2246822519u;x^=x>>13; p[i]=x; } }
// one SM after the other: latency of an atomic (done where the line lives) on each of 64 lines
__global__ void atom(volatile unsigned*turn,unsigned*lines,int stride,unsigned short*out){ if(threadIdx.x) return; unsigned s=smid(); while(*turn!=s); for(int r=0;r<3;r++) for(int i=0;i<64;i++){ unsigned a; unsigned t0,t1; asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory"); asm volatile("atom.global.add.u32 %0,[%1],1;":"=r"(a):"l"(lines+(size_t)i*stride):"memory"); asm volatile("mov.u32 %0,%%clock;":"=r"(t1):"r"(a):"memory"); if(r==0||t1-t0<out[s*64+i]) out[s*64+i]=t1-t0; } __threadfence(); *turn=s+1; }
__global__ void __cluster_dims__(8,1,1) clus(unsigned*out){ extern __shared__ uint8_t sm[]; if(threadIdx.x==0) out[blockIdx.x]=smid(); long long t=clock64(); while(clock64()-t<20000); }
// SMs named in `who` read `bytes` each, `iters` times, from region[slot]; cp.async.cg in groups
__global__ void bw(const unsigned char*who,const unsigned*region,size_t bytes,int iters,const uint8_t*g,long long*cyc,unsigned*bar,int nsm){ extern __shared__ __align__(1024) uint8_t sm[]; unsigned s=smid(); if(!who[s]) { if(threadIdx.x==0) cyc[s]=0; return; }
  uint32_t b=(uint32_t)__cvta_generic_to_shared(sm)+threadIdx.x*16; const uint8_t*base=g+(size_t)region[s]*bytes;
  if(threadIdx.x==0){ atomicAdd(bar,1); while(*(volatile unsigned*)bar<nsm); } __syncthreads(); long long t0=clock64(); size_t step=(size_t)blockDim.x*16; int k=0;
  for(int i=0;i<iters;i++) for(size_t o=0;o<bytes;o+=step){ asm volatile("cp.async.cg.shared.global [%0],[%1],16; cp.async.commit_group; cp.async.wait_group 7;"::"r"(b+(k&7)*(uint32_t)step),"l"(base+o+threadIdx.x*16):"memory"); k++; }
  asm volatile("cp.async.wait_all;":::"memory"); __syncthreads(); if(threadIdx.x==0) cyc[s]=clock64()-t0; }
// participants read line n at origin + delay + n * pace: origin is an edge of the global timer
__global__ void pace(const unsigned char*who,const int*delay,int n,int pace_cycles,const uint32_t*g,unsigned*bar,volatile unsigned long long*when,int nsm,long long*cyc,unsigned*sink,int stride){ unsigned s=smid(); if(!who[s]||threadIdx.x>=32) return; int lane=threadIdx.x; unsigned acc=0;
  if(lane==0){ unsigned me=atomicAdd(bar,1); if(me==nsm-1){ *when=gtime()+20000; __threadfence(); } while(*when==0); unsigned long long T=*when; while(gtime()<T); } __syncwarp(); long long c0=clock64(); c0=__shfl_sync(~0u,c0,0); c0+=500+delay[s];
  for(int i=0;i<n;i++){ long long t=c0+(long long)i*pace_cycles; while(clock64()<t); unsigned x; asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(x):"l"(g+(size_t)i*stride+lane):"memory"); acc+=x; }
  sink[s*32+lane]=acc; if(lane==0) cyc[s]=clock64()-c0; }
int main(int argc,char**argv){ std::string mode=argv[1]; unsigned*u; CK(cudaMallocManaged(&u,1<<20)); uint8_t*g; CK(cudaMalloc(&g,(size_t)1<<28)); 
  unsigned char*who; unsigned*region; long long*cyc; int*delay; unsigned*bar; unsigned long long*when; unsigned*sink; CK(cudaMalloc(&who,256)); CK(cudaMalloc(&region,1024)); CK(cudaMalloc(&cyc,2048)); CK(cudaMalloc(&delay,1024)); CK(cudaMalloc(&bar,4)); CK(cudaMalloc(&when,8)); CK(cudaMalloc(&sink,65536));
  noise<<<1024,256>>>((uint32_t*)g,(size_t)1<<26); CK(cudaDeviceSynchronize());
  if(mode=="map"){ unsigned*turn; CK(cudaMalloc(&turn,4)); CK(cudaMemset(turn,0,4)); unsigned short*o; CK(cudaMallocManaged(&o,256*64*2)); atom<<<132,32,0>>>(turn,(unsigned*)g,4096/4+32,o); 
    CK(cudaFuncSetAttribute(atom,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); CK(cudaMemset(turn,0,4)); atom<<<132,32,200000>>>(turn,(unsigned*)g,4096/4+32,o); CK(cudaDeviceSynchronize()); for(int s=0;s<132;s++){ printf("atom,%d",s); for(int i=0;i<64;i++) printf(",%d",o[s*64+i]); printf("\n"); }
    std::vector<int> par(132); std::iota(par.begin(),par.end(),0); auto find=[&](int x){ while(par[x]!=x) x=par[x]; return x; };
    CK(cudaFuncSetAttribute(clus,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); for(int r=0;r<40;r++){ int nc=1+r%14; clus<<<8*nc,32,200000>>>(u); CK(cudaDeviceSynchronize()); for(int c=0;c<nc;c++) for(int i=1;i<8;i++) par[find(u[c*8+i])]=find(u[c*8]); }
    for(int s=0;s<132;s++) printf("gpc,%d,%d\n",s,find(s)); return 0; }
  std::vector<unsigned char> w(256,0); std::vector<unsigned> rg(256,0); std::vector<int> d(256,0); int nsm=0;
  // remaining arguments: bw threads bytesKiB iters  s:region ...   |  pace n pace stride s:delay ...
  if(mode=="bw"){ int thr=atoi(argv[2]); size_t bytes=(size_t)atoi(argv[3])<<10; int iters=atoi(argv[4]); for(int i=5;i<argc;i++){ int s,r; sscanf(argv[i],"%d:%d",&s,&r); w[s]=1; rg[s]=r; nsm++; } CK(cudaMemcpy(who,w.data(),256,cudaMemcpyHostToDevice)); CK(cudaMemcpy(region,rg.data(),1024,cudaMemcpyHostToDevice)); CK(cudaFuncSetAttribute(bw,cudaFuncAttributeMaxDynamicSharedMemorySize,200000));
    std::vector<long long> c(256); double best=1e30; int reps=getenv("REPS")?atoi(getenv("REPS")):3; for(int r=0;r<reps;r++){ CK(cudaMemset(bar,0,4)); bw<<<132,thr,200000>>>(who,region,bytes,iters,g,cyc,bar,nsm); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(c.data(),cyc,132*8,cudaMemcpyDeviceToHost)); double sum=0,mx=0; for(int s=0;s<132;s++) if(w[s]){ sum+=(double)bytes*iters/c[s]; mx=std::max(mx,(double)c[s]); } if(r) best=std::min(best,mx); if(r==reps-1) printf("bw,thr=%d,bytes=%zu,nsm=%d,mean B/clk/sm=%.2f,sum=%.0f,maxcyc=%.0f\n",thr,bytes,nsm,sum/nsm,sum,mx); }
    if(getenv("EACH")) for(int s=0;s<132;s++) if(w[s]) printf("each,%d,%.2f\n",s,(double)bytes*iters/c[s]); return 0; }
  if(mode=="pace"){ int n=atoi(argv[2]),p=atoi(argv[3]),st=atoi(argv[4]); for(int i=5;i<argc;i++){ int s,r; sscanf(argv[i],"%d:%d",&s,&r); w[s]=1; d[s]=r; nsm++; } CK(cudaMemcpy(who,w.data(),256,cudaMemcpyHostToDevice)); CK(cudaMemcpy(delay,d.data(),1024,cudaMemcpyHostToDevice)); for(int r=0;r<2;r++){ CK(cudaMemset(bar,0,4)); CK(cudaMemset(when,0,8)); CK(cudaFuncSetAttribute(pace,cudaFuncAttributeMaxDynamicSharedMemorySize,200000)); pace<<<132,32,200000>>>(who,delay,n,p,(uint32_t*)g,bar,when,nsm,cyc,sink,st); CK(cudaDeviceSynchronize()); } return 0; }
}
