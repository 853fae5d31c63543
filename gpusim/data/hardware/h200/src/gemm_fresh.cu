// Eight more tiles of gemm_blind.cu's kernel, for kernels_fresh.csv: one launch a process, for ncu (cutlass_bench/profile.py).
// nvcc -O3 -std=c++17 -arch=sm_90a gemm_fresh.cu -o gemm_fresh; profile.py ./gemm_fresh out.csv 1792x1280x768 512x768x2560
#include <cstdio>
#include <random>
#define TURN(kt)
#define CTA_ENDS
#include "gemm_blind.cu"
#ifndef TILES
#define TILES tile<128,128,32,64,32,4>(); tile<256,128,64,64,64,2>(); tile<128,64,32,32,32,5>(); tile<64,64,32,32,32,6>(); \
              tile<64,128,32,32,32,4>(); tile<32,64,64,16,32,5>(); tile<128,32,64,32,32,4>(); tile<128,128,64,64,64,2>();
#endif
struct Entry { std::string name, columns; void (*run)(const half *, const half *, half *, int, int, int, long long *); };
static std::vector<Entry> entries;
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void launch(const half *A, const half *B, half *D, int M, int N, int K, long long *cyc) {
  auto kernel = gemm<BM,BN,BK,WM,WN,ST,SW>; int bytes = ST * (BM + BN) * Sm<BK,SW>::LD * 2;
  CK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<dim3(M / BM, N / BN), (BM / WM) * (BN / WN) * 32, bytes>>>(A, B, D, M, N, K, cyc); CK(cudaDeviceSynchronize()); }
template<int BM,int BN,int BK,int WM,int WN,int ST,int SW> void add(const char *swizzle) {
  char name[64], columns[256]; snprintf(name, 64, "%dx%dx%d_w%dx%d_s%d_sw%d", BM, BN, BK, WM, WN, ST, SW);
  snprintf(columns, 256, "hand,multistage,f16,f16,f32,f16,row,col,%d,%d,%d,%d,%d,%d,16,8,16,%d,\"%s\",direct,1,0,1,1", BM, BN, BK, WM, WN, BK, ST, swizzle);
  entries.push_back({name, columns, launch<BM,BN,BK,WM,WN,ST,SW>}); }
template<int BM,int BN,int BK,int WM,int WN,int ST> void tile() {
  add<BM,BN,BK,WM,WN,ST,0>("none"); add<BM,BN,BK,WM,WN,ST,1>("pad:16B");
  add<BM,BN,BK,WM,WN,ST,2>(BK == 64 ? "S<3,4,3>" : "S<2,4,3>"); add<BM,BN,BK,WM,WN,ST,3>(BK == 64 ? "S<1,4,5>" : "S<1,4,4>"); }
static half *random_halves(size_t count) {   // from the host: ncu profiles the first kernel of a process
  std::vector<half> values(count); std::minstd_rand random(7); for (auto &value : values) value = __float2half(random() % 2048 / 1024.0f - 1);
  half *there; CK(cudaMalloc(&there, count * 2)); CK(cudaMemcpy(there, values.data(), count * 2, cudaMemcpyHostToDevice)); return there; }
int main(int argc, char **argv) {
  TILES
  if (argc > 1 && !strcmp(argv[1], "--list")) {
    puts("kernel,source,family,a_dtype,b_dtype,acc_dtype,out_dtype,layout_a,layout_b,tile_m,tile_n,tile_k,warp_m,warp_n,warp_k,inst_m,inst_n,inst_k,stages,smem_swizzle,epilogue,split_k,raster_log,cluster_m,cluster_n");
    for (auto &entry : entries) printf("%s,%s\n", entry.name.c_str(), entry.columns.c_str());
    return 0; }
  if (argc < 5) return 2;
  int M = atoi(argv[2]), N = atoi(argv[3]), K = atoi(argv[4]); half *A = random_halves(size_t(M) * K), *B = random_halves(size_t(N) * K), *D; long long *cyc;
  CK(cudaMalloc(&D, size_t(M) * N * 2)); CK(cudaMalloc(&cyc, 1 << 20));
  for (auto &entry : entries) if (entry.name == argv[1]) { entry.run(A, B, D, M, N, K, cyc); return 0; }
  return 2; }
