// runs patched cubins: for each file, 4, 8 and 16 warps; prints cycles per loop iteration
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda.h>
#define CK(x) do{CUresult e=(x); if(e!=CUDA_SUCCESS){const char*s;cuGetErrorString(e,&s);fprintf(stderr,"%d %s\n",__LINE__,s);exit(1);} }while(0)
int main(int argc,char**argv){ CUdevice d; CUcontext c; CK(cuInit(0)); CK(cuDeviceGet(&d,0)); CK(cuDevicePrimaryCtxRetain(&c,d)); CK(cuCtxSetCurrent(c));
  CUdeviceptr out,in; CK(cuMemAlloc(&out,4096)); CK(cuMemAlloc(&in,65536)); CK(cuMemsetD8(in,0,65536));
  for(int f=1;f<argc;f++){ CUmodule m; CUfunction k; CK(cuModuleLoad(&m,argv[f])); CK(cuModuleGetFunction(&k,m,"tmpl"));
    printf("%s",argv[f]);
    CK(cuFuncSetAttribute(k,CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,100000));
    for(int w:{1,4,8,16}){ double best=1e9; for(int r=0;r<3;r++){ int n=200; void*a[]={&out,&in,&n}; CK(cuLaunchKernel(k,1,1,1,32*w,1,1,100000,0,a,0)); CK(cuCtxSynchronize()); std::vector<unsigned> h(2*w); CK(cuMemcpyDtoH(h.data(),out,8*w)); unsigned lo=~0u,hi=0; for(int i=0;i<w;i++){ lo=std::min(lo,h[2*i]); hi=std::max(hi,h[2*i+1]); } best=std::min(best,(hi-lo)/(double)n); } printf(",%.2f",best); }
    printf("\n"); CK(cuModuleUnload(m)); } }
