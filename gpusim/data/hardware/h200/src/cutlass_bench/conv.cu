// One launch of one implicit-GEMM convolution of CUTLASS 2.x (forward, NHWC, f16), for ncu. Leaves out checks.
#include <cstring>
#include "bench.h"
#include "cutlass/conv/device/implicit_gemm_convolution.h"
#include "cutlass/conv/kernel/default_conv2d_fprop.h"

template <class TB, class W, int Stages, cutlass::conv::IteratorAlgorithm Iterator> struct Fprop {
  using NHWC = cutlass::layout::TensorNHWC;
  using Kernel = typename cutlass::conv::kernel::DefaultConv2dFprop<F16, NHWC, F16, NHWC, F16, NHWC, float, bench::TensorOp,
      cutlass::arch::Sm80, TB, W, SHAPE(16, 8, 16), cutlass::epilogue::thread::LinearCombination<F16, 8, float, float>,
      cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<1>, Stages, cutlass::arch::OpMultiplyAdd, Iterator>::Kernel;
  static void run(int N, int H, int C, int K, int R, int stride) {   // H x H pixels, R x R filters, R / 2 of padding
    using Conv = cutlass::conv::device::ImplicitGemmConvolution<Kernel>;
    int const pad = R / 2, P = (H + 2 * pad - R) / stride + 1;
    cutlass::conv::Conv2dProblemSize size({N, H, H, C}, {K, R, R, C}, {pad, pad, pad, pad}, {stride, stride}, {1, 1},
                                          {N, P, P, K}, cutlass::conv::Mode::kCrossCorrelation, 1);
    auto *x = bench::fill<F16>(size_t(N) * H * H * C), *w = bench::fill<F16>(size_t(K) * R * R * C);
    auto *y = bench::fill<F16>(size_t(N) * P * P * K);
    typename Conv::Arguments args(size, {x, NHWC::packed({N, H, H, C})}, {w, NHWC::packed({K, R, R, C})},
                                  {y, NHWC::packed({N, P, P, K})}, {y, NHWC::packed({N, P, P, K})}, {1.f, 0.f});
    bench::launch<Conv>(args);
  }
};
template <class TB, class W, int Stages, cutlass::conv::IteratorAlgorithm I> void columns(char const *name) {
  std::printf("%s,cutlass,conv2d_fprop%s,f16,f16,f32,f16,row,col,%d,%d,%d,%d,%d,%d,16,8,16,%d,cutlass,cutlass,1,0,1,1\n",
              name, I == cutlass::conv::IteratorAlgorithm::kAnalytic ? "_analytic" : "", TB::kM, TB::kN, TB::kK, W::kM,
              W::kN, W::kK, Stages);
}
#define KERNELS(DO)                                                                                                   \
  DO("conv_128x128x32_w64x64x32_s3_optimized", SHAPE(128, 128, 32), SHAPE(64, 64, 32), 3, Optimized)                  \
  DO("conv_128x64x32_w64x32x32_s4_optimized", SHAPE(128, 64, 32), SHAPE(64, 32, 32), 4, Optimized)                    \
  DO("conv_128x128x64_w64x64x64_s3_optimized", SHAPE(128, 128, 64), SHAPE(64, 64, 64), 3, Optimized)                  \
  DO("conv_128x128x32_w64x64x32_s3_analytic", SHAPE(128, 128, 32), SHAPE(64, 64, 32), 3, Analytic)
int main(int argc, char **argv) {
  auto constexpr Optimized = cutlass::conv::IteratorAlgorithm::kOptimized, Analytic = cutlass::conv::IteratorAlgorithm::kAnalytic;
  if (argc > 1 && !std::strcmp(argv[1], "--list")) {
    std::puts("kernel,source,family,a_dtype,b_dtype,acc_dtype,out_dtype,layout_a,layout_b,tile_m,tile_n,tile_k,warp_m,"
              "warp_n,warp_k,inst_m,inst_n,inst_k,stages,smem_swizzle,epilogue,split_k,raster_log,cluster_m,cluster_n");
#define LIST(name, TB, W, stages, I) columns<TB, W, stages, I>(name);
    KERNELS(LIST)
    return 0;
  }
  if (argc < 8) { std::fprintf(stderr, "conv --list | NAME N H C K R STRIDE\n"); return 2; }
  int v[6];
  for (int i = 0; i < 6; ++i) v[i] = std::atoi(argv[2 + i]);
#define RUN(name, TB, W, stages, I)                                                                                   \
  if (!std::strcmp(argv[1], name)) return Fprop<TB, W, stages, I>::run(v[0], v[1], v[2], v[3], v[4], v[5]), 0;
  KERNELS(RUN)
  return 2;
}
