// Another eight tiles of gemm_blind.cu's kernel, for kernels_third.csv, as gemm_fresh.cu has them.
// nvcc -O3 -std=c++17 -arch=sm_90a gemm_third.cu -o gemm_third; profile.py ./gemm_third out.csv 1280x1536x1024 768x768x2048
#define TILES tile<256,64,64,64,32,2>(); tile<64,256,64,64,64,2>(); tile<128,128,32,32,32,3>(); tile<64,64,32,64,32,4>(); \
              tile<32,128,32,16,64,5>(); tile<128,64,64,32,32,4>(); tile<64,64,64,32,32,4>(); tile<256,128,32,64,32,2>();
#include "gemm_fresh.cu"
