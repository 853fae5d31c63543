// Runs the cubins that copy_places.py makes: kept.cubin and without.cubin. Columns: off (what ptxas predicates off in front of copies: 3 or 0), loads, copies, accesses (LDS), ways (of the ldmatrix), row (bytes of a line that copies read), warps (each sends all that), warp; cycles from the first one's first clock: issued (all), overwritten (the address of the last LDS).
// nvcc -std=c++17 copy_places_run.cu -lcuda -o copy_places_run; ./copy_places_run kept.cubin without.cubin > copy_places.csv
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#define CK(x) do{CUresult e=(x); if(e){fprintf(stderr,"%d: %d\n",__LINE__,(int)e);exit(1);} }while(0)
CUdeviceptr out,mem; CUmodule module; int off;
void go(int loads,int copies,int n,int ways,int row,int warps){ char name[64]; snprintf(name,64,"_Z6placesILi%dELi%dELi%dEEvPiPKhiij",loads,copies,n); CUfunction f; CK(cuModuleGetFunction(&f,module,name));
  CK(cuFuncSetAttribute(f,CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,210*1024)); unsigned none=0; void*args[]={&out,&mem,&ways,&row,&none}; int h[64];
  for(int i=0;i<3;i++){ CK(cuLaunchKernel(f,1,1,1,32*warps,1,1,210*1024,0,args,0)); CK(cuCtxSynchronize()); } CK(cuMemcpyDtoH(h,out,sizeof h));
  int zero=h[0]; for(int w=1;w<warps;w++) if(h[4*w]-zero<0) zero=h[4*w];
  for(int w=0;w<warps;w++) printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\n",off,loads,copies,n,ways,row,warps,w,h[4*w+1]-zero,h[4*w+2]-zero); }
int main(int c,char**v){ CUcontext x; CUdevice d; CK(cuInit(0)); CK(cuDeviceGet(&d,0)); CK(cuDevicePrimaryCtxRetain(&x,d)); CK(cuCtxSetCurrent(x)); CK(cuMemAlloc(&out,65536)); CK(cuMemAlloc(&mem,1<<22)); CK(cuMemsetD8(mem,0,1<<22));
  printf("off,loads,copies,accesses,ways,row,warps,warp,issued,overwritten\n");
  int many[][2]={{1,1},{2,1},{4,1},{1,2},{2,2},{4,2},{2,3},{2,4}};
  for(int i=1;i<c;i++){ CK(cuModuleLoad(&module,v[i])); off=i==1?3:0;
    for(auto&m:many) for(int ways:{1,8}) for(int warps:{1,2,4}) for(int n=1;n<=22;n++) go(m[0],m[1],n,ways,128,warps);
    for(int m=8;m<=14;m++) for(int row:{16,32,128}) for(int warps:{1,2}) for(int n=1;n<=12;n++) go(0,m,n,1,row,warps); } return 0; }
