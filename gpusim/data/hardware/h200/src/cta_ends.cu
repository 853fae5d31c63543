// When each CTA of hand-written kernels runs, and on which SM, where CTAs are left over for a part of a wave, on a warm L2.
#include "cta_runs.cuh"
int main(){ prepare();
#define FOUR(F,...) F<__VA_ARGS__,0>(2048,2048,2048); F<__VA_ARGS__,1>(2048,2048,2048); F<__VA_ARGS__,2>(2048,2048,2048); F<__VA_ARGS__,3>(2048,2048,2048)
  FOUR(go,64,64,32,32,32,4); FOUR(go,64,64,64,32,32,3); FOUR(go,128,64,32,64,32,4); FOUR(go,64,128,32,32,64,3); FOUR(go,128,128,32,64,64,2);
  go<64,64,32,32,32,4,1>(1536,1536,1536); go<64,64,32,32,32,4,1>(4096,4096,1024); return 0; }
