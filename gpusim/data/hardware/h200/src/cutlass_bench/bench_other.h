// One launch of one other kernel of CUTLASS 2.x, for ncu: sparse, grouped, gathered, interleaved, complex, dp4a, wmma.
#pragma once
#include "bench.h"
#include "cutlass/gemm/device/gemm_complex.h"
#include "cutlass/gemm/device/gemm_grouped.h"
#include "cutlass/gemm/device/gemm_sparse.h"
#include "cutlass/gemm/kernel/default_gemm_grouped.h"
#include "cutlass/epilogue/thread/linear_combination_clamp.h"

namespace bench {
using Identity = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<1>;
using Complex = cutlass::complex<float>;
template <> inline char const *type_name<Complex>() { return "cf32"; }
template <> inline Complex *fill<Complex>(size_t count) { return reinterpret_cast<Complex *>(fill<float>(2 * count)); }

template <class T> T *upload(std::vector<T> const &host) {
  T *device = nullptr;
  check(cudaMalloc(&device, host.size() * sizeof(T)), "cudaMalloc");
  check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  return device;
}
template <class C> void sparse(int M, int N, int K, int) {   // two of every four of A: patterns that exist, at random
  using Gemm = cutlass::gemm::device::SparseGemm<typename C::EA, typename C::LA, typename C::EA, typename C::LB,
      typename C::EC, Row, typename C::Acc, typename C::Op, typename C::Arch, typename C::TB, typename C::W, typename C::I,
      typename C::Epilogue, Identity, C::stages>;
  Operands<C> o(M, N, K);
  int const words = K / Gemm::kSparse / Gemm::kElementsPerElementE;
  std::vector<typename Gemm::ElementE> metadata(size_t(M) * words);
  std::minstd_rand random(9);
  unsigned const pairs[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe};
  for (auto &word : metadata)
    for (int place = 0; place < int(8 * sizeof(word)); place += 4)
      word = typename Gemm::ElementE(word | pairs[random() % 6] << place);
  auto layout = Gemm::LayoutE::packed({M, words});
  typename Gemm::Arguments args({M, N, K}, {o.a, C::lda(M, N, K / 2)}, {o.b, C::ldb(M, N, K)}, {o.c, N}, {o.d, N},
                                {upload(metadata), layout}, {typename C::Compute(1), typename C::Compute(0)});
  launch<Gemm>(args);
}
template <class C> void grouped(int M, int N, int K, int problems) {   // as many of one size
  using Kernel = typename cutlass::gemm::kernel::DefaultGemmGrouped<typename C::EA, typename C::LA,
      cutlass::ComplexTransform::kNone, C::align, typename C::EA, typename C::LB, cutlass::ComplexTransform::kNone,
      C::align, typename C::EC, Row, typename C::Acc, typename C::Op, typename C::Arch, typename C::TB, typename C::W,
      typename C::I, typename C::Epilogue, cutlass::gemm::threadblock::GemmBatchedIdentityThreadblockSwizzle, C::stages,
      cutlass::gemm::kernel::GroupScheduleMode::kDeviceOnly>::GemmKernel;
  using Gemm = cutlass::gemm::device::GemmGrouped<Kernel>;
  Operands<C> o(M, N, K, problems);
  std::vector<cutlass::gemm::GemmCoord> sizes(problems, {M, N, K});
  std::vector<typename C::EA *> a, b; std::vector<typename C::EC *> c, d;
  for (size_t i = 0; i < size_t(problems); ++i) {
    a.push_back(o.a + i * M * K); b.push_back(o.b + i * N * K); c.push_back(o.c + i * M * N); d.push_back(o.d + i * M * N);
  }
  std::vector<int64_t> lda(problems, C::lda(M, N, K)), ldb(problems, C::ldb(M, N, K)), ldc(problems, N);
  typename Gemm::Arguments args(upload(sizes), problems, Gemm::sufficient(sizes.data(), problems),
                                {typename C::Compute(1), typename C::Compute(0)}, upload(a), upload(b), upload(c),
                                upload(d), upload(lda), upload(ldb), upload(ldc), upload(ldc), sizes.data());
  Gemm gemm;
  check(gemm.initialize(args, workspace(Gemm::get_workspace_size(args))), "initialize");
  check(gemm.run(), "run");
  check(cudaDeviceSynchronize(), "kernel");
}
template <class C, bool Gather, bool Scatter> void indexed(int M, int N, int K, int) {   // M of 2 M rows, at random
  using Gemm = cutlass::gemm::device::GemmUniversal<typename C::EA, typename C::LA, typename C::EA, typename C::LB,
      typename C::EC, Row, typename C::Acc, typename C::Op, typename C::Arch, typename C::TB, typename C::W,
      typename C::I, typename C::Epilogue, Identity, C::stages, C::align, C::align, typename C::Math,
      cutlass::ComplexTransform::kNone, cutlass::ComplexTransform::kNone, Gather, false, Scatter>;
  Operands<C> o(size_t(2) * M, N, K);
  auto picked = [&](unsigned seed) {
    std::vector<int> rows(2 * M);
    for (int i = 0; i < 2 * M; ++i) rows[i] = i;
    std::shuffle(rows.begin(), rows.end(), std::mt19937(seed));
    rows.resize(M);
    return upload(rows);
  };
  int *from = Gather ? picked(1) : nullptr, *to = Scatter ? picked(2) : nullptr;
  typename Gemm::Arguments args(cutlass::gemm::GemmUniversalMode::kGemm, {M, N, K}, 1,
                                {typename C::Compute(1), typename C::Compute(0)}, o.a, o.b, o.c, o.d, int64_t(M) * K,
                                int64_t(N) * K, int64_t(M) * N, int64_t(M) * N, C::lda(M, N, K), C::ldb(M, N, K), N, N,
                                from, nullptr, to);
  launch<Gemm>(args);
}
template <class C> void interleaved(int M, int N, int K, int) {
  using Groups = cutlass::layout::ColumnMajorInterleaved<32>;
  using Gemm = cutlass::gemm::device::Gemm<int8_t, Groups, int8_t, cutlass::layout::RowMajorInterleaved<32>, int8_t, Groups,
      int32_t, typename C::Op, typename C::Arch, typename C::TB, typename C::W, typename C::I,
      cutlass::epilogue::thread::LinearCombinationClamp<int8_t, 8, int32_t, float>, Identity, C::stages, 16, 16, false,
      cutlass::arch::OpMultiplyAddSaturate>;
  Operands<C> o(M, N, K);
  typename Gemm::Arguments args({M, N, K}, {o.a, M * 32}, {o.b, N * 32}, {o.c, M * 32}, {o.d, M * 32}, {1.f, 0.f});
  launch<Gemm>(args);
}
template <class C> void complex_numbers(int M, int N, int K, int) {
  using Gemm = cutlass::gemm::device::GemmComplex<Complex, typename C::LA, Complex, typename C::LB, Complex, Row, Complex,
      typename C::Op, typename C::Arch, typename C::TB, typename C::W, typename C::I,
      cutlass::epilogue::thread::LinearCombination<Complex, 1, Complex, Complex>, Identity, C::stages>;
  Operands<C> o(M, N, K);
  typename Gemm::Arguments args({M, N, K}, {o.a, C::lda(M, N, K)}, {o.b, C::ldb(M, N, K)}, {o.c, N}, {o.d, N},
                                {Complex(1), Complex(0)});
  launch<Gemm>(args);
}
template <class C, int Align> void aligned(int M, int N, int K, int) {
  using Gemm = cutlass::gemm::device::Gemm<typename C::EA, typename C::LA, typename C::EA, typename C::LB, typename C::EC,
      Row, typename C::Acc, typename C::Op, typename C::Arch, typename C::TB, typename C::W, typename C::I,
      typename C::Epilogue, Identity, C::stages, Align, Align, false, cutlass::arch::OpMultiplyAdd>;
  Operands<C> o(M, N, K);
  launch<Gemm>(typename Gemm::Arguments({M, N, K}, {o.a, C::lda(M, N, K)}, {o.b, C::ldb(M, N, K)}, {o.c, N}, {o.d, N},
                                        {typename C::Compute(1), typename C::Compute(0)}));
}
}  // namespace bench
#define SPARSE(name, ...) ENTRY(name, "multistage_sparse", 1, 0, (bench::sparse<__VA_ARGS__>), __VA_ARGS__)
#define GROUPED(name, problems, ...) ENTRY(name, "multistage_grouped", problems, 0, (bench::grouped<__VA_ARGS__>), __VA_ARGS__)
#define INDEXED(name, family, gather, scatter, ...) ENTRY(name, family, 1, 0, (bench::indexed<__VA_ARGS__, gather, scatter>), __VA_ARGS__)
#define INTERLEAVED(name, ...) ENTRY(name, "multistage_interleaved", 1, 0, (bench::interleaved<__VA_ARGS__>), __VA_ARGS__)
#define COMPLEX(name, family, ...) ENTRY(name, family, 1, 0, (bench::complex_numbers<__VA_ARGS__>), __VA_ARGS__)
#define ALIGNED(name, family, align, ...) ENTRY(name, family, 1, 0, (bench::aligned<__VA_ARGS__, align>), __VA_ARGS__)
