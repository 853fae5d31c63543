// ./load_returns_run ARCHIVE 2 | what load_returns.py writes: entry, warp, its first and its last clock. nvcc -std=c++17 load_returns_run.cu -lcuda
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#define CK(x) do{CUresult e=(x); if(e){fprintf(stderr,"%d: %d\n",__LINE__,(int)e);exit(1);} }while(0)
int main(int c,char**v){ CUcontext x; CUdevice d; CK(cuInit(0)); CK(cuDeviceGet(&d,0)); CK(cuDevicePrimaryCtxRetain(&x,d)); CK(cuCtxSetCurrent(x)); CUdeviceptr out,in; CK(cuMemAlloc(&out,65536)); CK(cuMemAlloc(&in,65536)); CK(cuMemsetD8(in,0,65536));
  FILE*f=fopen(v[1],"rb"); uint32_t h[2]; static int o[16*96]; int keep=atoi(v[2]);
  for(int n=0;fread(h,4,2,f)==2;n++){ char*b=(char*)malloc(h[1]); if(fread(b,1,h[1],f)!=h[1]) return 1; CUmodule m; CUfunction k; CK(cuModuleLoadData(&m,b)); CK(cuModuleGetFunction(&k,m,"_Z6canvasPiPKij")); CK(cuFuncSetAttribute(k,CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,65536));
    void*a[]={&out,&in,&h[0]}; for(int i=0;i<2;i++){ CK(cuLaunchKernel(k,1,1,1,512,1,1,65536,0,a,0)); CK(cuCtxSynchronize()); } CK(cuMemcpyDtoH(o,out,sizeof o)); CK(cuModuleUnload(m)); free(b);
    for(int w=0;w<16;w++) if(h[0]>>w&1){ printf("%d,%d",n,w); for(int i=0;i<keep;i++) printf(",%d",o[w*96+i]); printf("\n"); } } return 0; }
