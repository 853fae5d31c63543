// Template for tensor_turns.py: operand_reads_template.cu, with clocks and SM of each CTA.
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
  unsigned sid; asm volatile("mov.u32 %0,%%smid;":"=r"(sid)); if((threadIdx.x&31)==0){ unsigned*p=out+blockIdx.x*64+4*(threadIdx.x>>5); p[0]=t0; p[1]=t1; p[2]=sid; }
  if(s==12345) out[100]=s;
}
