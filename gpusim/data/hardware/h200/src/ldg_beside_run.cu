#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define CK(x) do{CUresult r=(x); if(r){printf("%s %d\n",#x,r);exit(1);}}while(0)
int main(int n, char** v) { CK(cuInit(0)); CUdevice d; CUcontext c; CK(cuDeviceGet(&d, 0)); CK(cuDevicePrimaryCtxRetain(&c, d)); CK(cuCtxSetCurrent(c)); CUdeviceptr data, out; CK(cuMemAlloc(&data, 64 << 20)); CK(cuMemAlloc(&out, 8192)); CK(cuMemsetD8(data, 0, 64 << 20)); CK(cuMemsetD8(out, 0, 8192));
  printf("kind,behind,warps,cycles\n");
  for (int i = 1; i < n; i++) { const char* b = strrchr(v[i], '/'); int kind, j; if (sscanf(b ? b + 1 : v[i], "%d_%d", &kind, &j) != 2) continue; CUmodule m; CUfunction f; CK(cuModuleLoad(&m, v[i])); char name[99]; sprintf(name, "_Z4loadILi%dEEvPKcPii", kind); CK(cuModuleGetFunction(&f, m, name));
    for (int warps : {1, 2, 4}) { int rounds = 30; void* a[] = {&data, &out, &rounds}; for (int r = 0; r < 4; r++) CK(cuLaunchKernel(f, 1, 1, 1, 32 * warps, 1, 1, 0, 0, a, 0)); CK(cuCtxSynchronize()); int h[4]; CK(cuMemcpyDtoH(h, out, 16)); double s = 0; for (int w = 0; w < warps; w++) s += h[w]; printf("%d,%d,%d,%.2f\n", kind, j, warps, s / warps / rounds); } } }
