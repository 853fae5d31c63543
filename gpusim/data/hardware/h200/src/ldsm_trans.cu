// Does ldmatrix.trans cost more than ldmatrix, alone and beside tensor instructions? Four warps, eight x4 loads and TENSOR
// mma.m16n8k16 a turn; the eight rows of a matrix stand PITCH bytes apart, free of conflicts by an XOR of 16-byte chunks.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
template<int TRANS,int TENSOR,int PITCH> __global__ void run(unsigned*out,unsigned*sink,int turns){
  extern __shared__ __align__(1024) unsigned char sm[];
  int lane=threadIdx.x&31, warp=threadIdx.x>>5; unsigned base=(unsigned)__cvta_generic_to_shared(sm);
  unsigned row=lane&7, which=lane>>3; unsigned a[8];
  #pragma unroll
  for(int i=0;i<8;i++) a[i]=base+row*PITCH+(((which+4*(i&1))^row)&7)*16+(i>>1)*8*PITCH;
  float c[32]; unsigned f[8][4]; 
  #pragma unroll
  for(int i=0;i<32;i++) c[i]=i;
  #pragma unroll
  for(int i=0;i<8;i++) for(int k=0;k<4;k++) f[i][k]=0;
  __syncthreads(); unsigned t0=0;
  for(int t=0;t<turns;t++){ if(t==2) t0=(unsigned)clock64();
    unsigned step=(t&1)?0u-16384u:16384u;
    #pragma unroll
    for(int i=0;i<8;i++){ a[i]+=step;
      if(TRANS) asm volatile("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(f[i][0]),"=r"(f[i][1]),"=r"(f[i][2]),"=r"(f[i][3]):"r"(a[i]));
      else asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(f[i][0]),"=r"(f[i][1]),"=r"(f[i][2]),"=r"(f[i][3]):"r"(a[i]));
      #pragma unroll
      for(int k=0;k<TENSOR/8;k++){ float*d=c+4*((i*(TENSOR/8)+k)&7); unsigned*p=f[(i+4)&7],*q=f[(i+5)&7];
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(p[0]),"r"(p[1]),"r"(p[2]),"r"(p[3]),"r"(q[0]),"r"(q[1])); } } }
  unsigned t1=(unsigned)clock64(); float s=0; for(int i=0;i<32;i++) s+=c[i]; unsigned u=0; for(int i=0;i<8;i++) u+=f[i][0]^f[i][3];
  sink[threadIdx.x]=u+__float_as_uint(s); if(lane==0) out[warp]=(t1-t0); }
unsigned *out,*sink;
template<int TRANS,int TENSOR,int PITCH> void one(){ CK(cudaFuncSetAttribute(run<TRANS,TENSOR,PITCH>,cudaFuncAttributeMaxDynamicSharedMemorySize,64<<10));
  for(int w=1;w<=8;w*=2){ run<TRANS,TENSOR,PITCH><<<1,32*w,64<<10>>>(out,sink,202); CK(cudaDeviceSynchronize()); unsigned m=0; for(int i=0;i<w;i++) if(out[i]>m) m=out[i];
    printf("%d,%d,%d,%d,%.2f\n",TRANS,TENSOR,PITCH,w,m/200.); } }
template<int TENSOR,int PITCH> void both(){ one<0,TENSOR,PITCH>(); one<1,TENSOR,PITCH>(); }
int main(){ CK(cudaMallocManaged(&out,4096)); CK(cudaMallocManaged(&sink,4096)); printf("trans,tensor,pitch,warps,cycles_per_turn\n");
  both<0,128>(); both<0,256>(); both<0,512>(); both<8,128>(); both<16,128>(); both<32,128>(); both<32,256>(); both<32,512>(); both<64,128>(); both<64,512>(); }
