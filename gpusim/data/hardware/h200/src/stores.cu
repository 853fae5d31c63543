// Stores of pieces of rows to L2-resident data: cycles per STG of one warp instruction, by bytes per row, rows per instruction, warps, SMs. A
// piece's neighbour is written by the next instruction (as an epilogue does) or never. Warm L2, every CTA its own rows.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e));exit(1);} }while(0)
// V: bytes per lane 4, 8, 16; lanes per row L; rows 32/L; pitch bytes; n instructions: column advances by L*V each, then wraps to next rows.
template<int V,int L> __global__ void st(char*D,size_t pitch,int cols,int n,long long*out){
  int lane=threadIdx.x&31,warp=threadIdx.x>>5,nw=blockDim.x>>5; constexpr int R=32/L;
  char*base=D+((size_t)(blockIdx.x*nw+warp)*64)*pitch+(size_t)(lane/L)*pitch+(lane%L)*V; __syncthreads();
  long long t0=clock64();
  for(int i=0;i<n;i+=8){
    #pragma unroll
    for(int j=0;j<8;j++){ int k=i+j; char*p=base+(size_t)((k/cols)%(64/R))*R*pitch+(size_t)(k%cols)*L*V;
      if constexpr(V==4) *(volatile int*)p=k; else if constexpr(V==8) asm volatile("st.global.v2.b32 [%0],{%1,%1};"::"l"(p),"r"(k):"memory"); else asm volatile("st.global.v4.b32 [%0],{%1,%1,%1,%1};"::"l"(p),"r"(k):"memory"); } }
  long long t1=clock64(); asm volatile("membar.gl;":::"memory"); long long t2=clock64(); __syncthreads(); long long t3=clock64();
  if((threadIdx.x&31)==0){ out[3*(blockIdx.x*nw+warp)]=t1-t0; out[3*(blockIdx.x*nw+warp)+1]=t2-t0; out[3*(blockIdx.x*nw+warp)+2]=t3-t0; } }
char*D; long long*out;
template<int V,int L> void go(int n,int cols,int warps,int ctas,size_t pitch){ std::vector<long long> h(3*warps*ctas); double best[3]={1e18,1e18,1e18};
  for(int r=0;r<4;r++){ st<V,L><<<ctas,warps*32>>>(D,pitch,cols,n,out); CK(cudaDeviceSynchronize()); if(!r) continue; CK(cudaMemcpy(h.data(),out,24*warps*ctas,cudaMemcpyDeviceToHost)); double s[3]={}; for(int i=0;i<warps*ctas;i++) for(int q=0;q<3;q++) s[q]+=h[3*i+q]; for(int q=0;q<3;q++) best[q]=std::min(best[q],s[q]/warps/ctas); }
  printf("%d,%d,%d,%d,%d,%d,%zu,%.2f,%.2f,%.2f\n",V,L,n,cols,warps,ctas,pitch,best[0]/n/warps,best[1]/n/warps,best[2]/n/warps); }
int main(){ CK(cudaMalloc(&D,(size_t)1<<31)); CK(cudaMalloc(&out,3*8*132*32)); CK(cudaMemset(D,0,(size_t)1<<31));
  printf("bytes_per_lane,lanes_per_row,instructions,columns,warps,ctas,pitch,issue_cycles,membar_cycles,cta_cycles_per_instruction\n");
  int cs[6]={1,4,16,33,66,132};
  for(int c:cs) for(int w:{4,8}) for(int n:{64,256}){ go<4,4>(n,8,w,c,4096); go<4,8>(n,4,w,c,4096); go<4,16>(n,2,w,c,4096); go<4,32>(n,1,w,c,4096); go<8,4>(n,4,w,c,4096); go<16,2>(n,4,w,c,4096); go<16,4>(n,2,w,c,4096); go<16,8>(n,1,w,c,4096); go<16,32>(n,4,w,c,4096); }
  for(int w:{1,2}) for(int n:{64}){ go<4,4>(n,8,w,1,4096); go<4,32>(n,1,w,1,4096); go<16,8>(n,1,w,1,4096); }
  for(int c:{132}) for(int w:{4}) { go<4,4>(64,8,w,c,4096+128); go<4,4>(64,8,w,c,8192); go<4,4>(64,1,w,c,4096); go<16,2>(64,1,w,c,4096);} }
