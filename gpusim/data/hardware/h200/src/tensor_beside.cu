// What instructions of one warp take from the tensor instructions of another warp of its sub-partition: warps 0 to 3 have one stream of mma.sync each,
// warps 4 to 7 sleep and then issue a batch of one kind, without end. Cycles of the stream, and how many of the other kind came meanwhile.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
constexpr int TURNS=64, BATCH=8, PITCH=4096;
template<int KIND> __global__ void __launch_bounds__(256) both(const uint8_t*g,int*out,int sleep){
  extern __shared__ __align__(1024) uint8_t sm[]; volatile __shared__ int done; uint32_t base=(uint32_t)__cvta_generic_to_shared(sm); int lane=threadIdx.x&31,warp=threadIdx.x>>5; uint32_t x=0; int n=0,start=0,end=0;
  if(threadIdx.x==0) done=0; __syncthreads();
  if(warp<4){ float c[8][4]={}; uint32_t a[4]={(uint32_t)lane,1,2,3},b[2]={4,5}; start=clock();
    #pragma unroll 1
    for(int t=0;t<TURNS;t++){
      #pragma unroll
      for(int i=0;i<128;i++){ float*d=c[i&7]; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(a[0]),"r"(a[1]),"r"(a[2]),"r"(a[3]),"r"(b[0]),"r"(b[1])); } }
    end=clock(); for(int i=0;i<8;i++) for(int j=0;j<4;j++) x+=__float_as_uint(c[i][j]); if(lane==0) atomicAdd((int*)&done,1);
  } else { uint32_t ad=base+lane*16+(warp&3)*4096, to=base+32768+(warp&3)*8192+lane*16; const uint8_t*src=g+(size_t)((warp&3)*64+lane/4)*PITCH+lane%4*16; uint32_t u=lane,v=x; uint32_t w0=1,w1=2,w2=3;
    uint32_t r[4*BATCH]={}; while(done<4){ asm volatile("nanosleep.u32 %0;"::"r"(sleep));
      #pragma unroll
      for(int i=0;i<BATCH;i++){
        if(KIND==1) asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+i*512):"memory");
        if(KIND==2) asm volatile("ldmatrix.sync.aligned.x1.m8n8.shared.b16 {%0},[%1];":"=r"(r[i]):"r"(ad+i*512):"memory");
        if(KIND==3) asm volatile("ld.shared.u32 %0,[%1];":"=r"(r[i]):"r"(ad-lane*12+i*512):"memory");
        if(KIND==4) asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"r"(ad+i*512):"memory");
        if(KIND==5) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(to+i*512),"l"(src+(size_t)i*8*PITCH):"memory");
        if(KIND==6) asm volatile("st.shared.u32 [%0],%1;"::"r"(ad-lane*12+i*512),"r"(w0):"memory");
        if(KIND==7) asm volatile("st.shared.v4.u32 [%0],{%1,%2,%3,%1};"::"r"(ad+i*512),"r"(w0),"r"(w1),"r"(w2):"memory");
        if(KIND==8) asm volatile("lop3.b32 %0,%0,%1,%2,0x96;":"+r"(u):"r"(w0),"r"(w1));
        if(KIND==9) asm volatile("mad.lo.u32 %0,%0,%1,%2;":"+r"(u):"r"(w0),"r"(w1));
        if(KIND==10) asm volatile("add.u32 %0,%0,%1;":"+r"(u):"r"(w0));
        if(KIND==11) asm volatile("cp.async.commit_group;":::"memory");
        if(KIND==13) asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0,%1},[%2];":"=r"(r[2*i]),"=r"(r[2*i+1]):"r"(ad+i*512):"memory");
        if(KIND==14&&i==0) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(to+i*512),"l"(src+(size_t)i*8*PITCH):"memory");
        if(KIND==15&&i<4) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(to+i*512),"l"(src+(size_t)i*8*PITCH):"memory");
        if(KIND==16) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(r[4*i]),"=r"(r[4*i+1]),"=r"(r[4*i+2]),"=r"(r[4*i+3]):"l"(src+(size_t)i*8*PITCH):"memory");
        if(KIND==12) asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(r[i]):"l"(src+(size_t)i*8*PITCH):"memory"); }
      n+=BATCH; }
    for(int i=0;i<4*BATCH;i++) v^=r[i]; x=u^v; }
  if(lane==0){ out[warp]=warp<4?end-start:n; out[64+warp]=x; } }
uint8_t*g; int*out;
template<int KIND> void go(int sleep){ int shared=96*1024; auto k=both<KIND>; CK(cudaFuncSetAttribute(k,cudaFuncAttributeMaxDynamicSharedMemorySize,shared)); double best=0,t=0,c=0;
  for(int r=0;r<4;r++){ k<<<1,256,shared>>>(g,out,sleep); CK(cudaDeviceSynchronize()); int h[8]; CK(cudaMemcpy(h,out,32,cudaMemcpyDeviceToHost)); if(r){ t+=(h[0]+h[1]+h[2]+h[3])/12.; c+=(h[4]+h[5]+h[6]+h[7])/12.; } }
  printf("%d,%d,%d,%.1f,%.1f\n",KIND,sleep,TURNS*128,t,c); fflush(stdout); }
template<int KIND> void all(){ for(int s:{100,300,1000}) go<KIND>(s); }
int main(){ CK(cudaMalloc(&g,(size_t)1<<26)); CK(cudaMemset(g,0,(size_t)1<<26)); CK(cudaMalloc(&out,65536)); printf("kind,sleep,mma,cycles,others\n");
  all<0>(); all<1>(); all<2>(); all<3>(); all<4>(); all<5>(); all<6>(); all<7>(); all<8>(); all<9>(); all<10>(); all<11>(); all<12>(); all<13>(); all<14>(); all<15>(); all<16>(); return 0; }
