// Runs what tensor_shares.py made: one and two busy warps of each sub-partition, one asking warp and four. Cycles per tensor instruction, and per asking one.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <algorithm>
#include <cuda.h>
#define CK(x) do{CUresult e=(x); if(e!=CUDA_SUCCESS){const char*s;cuGetErrorString(e,&s);fprintf(stderr,"%d %s\n",__LINE__,s);exit(1);} }while(0)
constexpr int TENSOR=8192;
int main(int argc,char**argv){ CUdevice d; CUcontext c; CK(cuInit(0)); CK(cuDeviceGet(&d,0)); CK(cuDevicePrimaryCtxRetain(&c,d)); CK(cuCtxSetCurrent(c));
  CUdeviceptr g,out,in; CK(cuMemAlloc(&g,1<<24)); CK(cuMemsetD8(g,0,1<<24)); CK(cuMemAlloc(&out,1<<16)); CK(cuMemAlloc(&in,65536)); CK(cuMemsetD8(in,0,65536));
  printf("what,every,new_b,quiet,tensor_warps,asking_warps,tensor_instructions,tensor_cycles,batches,asking_cycles\n");
  for(int f=1;f<argc;f++){ CUmodule m; CUfunction k; CK(cuModuleLoad(&m,argv[f])); CK(cuModuleGetFunction(&k,m,"tmpl"));
    CK(cuFuncSetAttribute(k,CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,98304));
    std::string n=argv[f]; n=n.substr(n.rfind('/')+1); n=n.substr(0,n.rfind('.')); bool quiet=n.size()>6&&n.substr(n.size()-6)=="_quiet"; if(quiet) n=n.substr(0,n.size()-6); int new_b=n[n.size()-1]-48; n=n.substr(0,n.size()-2); int every=atoi(n.c_str()+n.rfind('_')+1); n=n.substr(0,n.rfind('_')); std::replace(n.begin(),n.end(),'_',' ');
    for(int per:{1,2}) for(int askers:{1,4}){ int busy=4*per,sleep=0; void*a[]={&g,&out,&busy,&sleep,&in}; double t=0,b=0,q=0;
      for(int r=0;r<3;r++){ CK(cuLaunchKernel(k,1,1,1,32*(busy+askers),1,1,98304,0,a,0)); CK(cuCtxSynchronize()); int h[64]; CK(cuMemcpyDtoH(h,out,256)); if(r){ int w=0; for(int i=0;i<per;i++) w=std::max(w,h[8*i]); t+=w/2.; b+=h[2*busy+1]/2.; q+=h[2*busy]/2.; } }
      printf("%s,%d,%d,%d,%d,%d,%d,%.0f,%.1f,%.0f\n",n.c_str(),every,new_b,quiet,per,askers,TENSOR*per,t,b,q); } CK(cuModuleUnload(m)); } }
