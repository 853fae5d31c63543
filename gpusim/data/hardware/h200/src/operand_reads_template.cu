// Template for patched instruction sequences: 128 placeholders in a loop.
extern "C" __global__ void __launch_bounds__(512,1) tmpl(unsigned*out,volatile unsigned*in,int n){
  extern __shared__ unsigned sm[];
  unsigned r[96];
  #pragma unroll
  for(int i=0;i<96;i++) r[i]=in[i*32+(threadIdx.x&31)];
  unsigned x=in[5000],y=in[5001]; unsigned t0,t1; __syncthreads();
  asm volatile("mov.u32 %0,%%clock;":"=r"(t0)::"memory");
  #pragma unroll 1
  for(int i=0;i<n;i++){
    #pragma unroll
    for(int j=0;j<128;j++) asm volatile("mad.lo.u32 %0,%0,%1,%1;":"+r"(x):"r"(y):"memory");
  }
  asm volatile("mov.u32 %0,%%clock;":"=r"(t1)::"memory");
  #pragma unroll
  for(int i=0;i<96;i++) r[i]+=r[(i*7+1)%96];
  unsigned s=x; 
  #pragma unroll
  for(int i=0;i<96;i++) s^=r[i];
  if((threadIdx.x&31)==0){ out[2*(threadIdx.x>>5)]=t0; out[2*(threadIdx.x>>5)+1]=t1; }
  if(s==12345) out[100]=s;
}
