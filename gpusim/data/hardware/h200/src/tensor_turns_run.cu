// runs patched cubins: for each file one CTA an SM, two, one of eight warps, four; prints when each CTA ends, in cycles per loop iteration
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda.h>
#define CK(x) do{CUresult e=(x); if(e!=CUDA_SUCCESS){const char*s;cuGetErrorString(e,&s);fprintf(stderr,"%d %s\n",__LINE__,s);exit(1);} }while(0)
int main(int argc,char**argv){ CUdevice d; CUcontext c; CK(cuInit(0)); CK(cuDeviceGet(&d,0)); CK(cuDevicePrimaryCtxRetain(&c,d)); CK(cuCtxSetCurrent(c));
  CUdeviceptr out,in; CK(cuMemAlloc(&out,1<<20)); CK(cuMemAlloc(&in,65536)); CK(cuMemsetD8(in,0,65536));
  for(int f=1;f<argc;f++){ CUmodule m; CUfunction k; CK(cuModuleLoad(&m,argv[f])); CK(cuModuleGetFunction(&k,m,"tmpl"));
    printf("%s",argv[f]);
    CK(cuFuncSetAttribute(k,CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,100000));
    for(int mode=0;mode<4;mode++){ int w=mode==0?4:mode==2?8:4, ctas=mode<1?132:mode==1?264:mode==2?132:528; int shm=mode==3?50000:100000; int n=200; void*a[]={&out,&in,&n};
 for(int r=0;r<2;r++){ CK(cuLaunchKernel(k,ctas,1,1,32*w,1,1,shm,0,a,0)); CK(cuCtxSynchronize()); }
 std::vector<unsigned> h(ctas*64); CK(cuMemcpyDtoH(h.data(),out,ctas*256)); std::vector<double> per[4]; double tot=0; int cnt=0;
 for(int sm=0;sm<132;sm++){ std::vector<std::pair<unsigned,unsigned>> v; for(int c=0;c<ctas;c++) if(h[c*64+2]==sm) for(int q=0;q<w;q+=4) v.push_back({h[c*64+4*q],h[c*64+4*q+1]}); if(v.size()!=(mode==0?1:mode==3?4:2)) continue; unsigned lo=~0u,hi=0; for(auto&x:v){ lo=std::min(lo,x.first); hi=std::max(hi,x.second);} tot+=hi-lo; cnt++; std::sort(v.begin(),v.end()); for(size_t q=0;q<v.size();q++) per[q].push_back(v[q].second-lo); }
 printf(",%.1f[",tot/cnt/n); for(auto&p:per) if(p.size()){ double s=0; for(double x:p) s+=x; printf(" %.1f",s/p.size()/n);} printf("]"); } printf("\n"); CK(cuModuleUnload(m)); } }
