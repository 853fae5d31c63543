// One launch of one CUTLASS 2.x kernel, for ncu. Leaves out checks of the result.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>
#include "cutlass/cutlass.h"
#include "cutlass/gemm/device/gemm.h"
#include "cutlass/gemm/device/gemm_batched.h"
#include "cutlass/gemm/device/gemm_splitk_parallel.h"
#include "cutlass/gemm/device/gemm_universal.h"
#include "cutlass/gemm/threadblock/threadblock_swizzle_streamk.h"

namespace bench {
struct Entry { std::string name, columns; int default_split; void (*run)(int, int, int, int); };
inline void anchor() {}
inline bool &dumping() { static bool flag = false; return flag; }   // --params: print the launch instead of making it
template <class Kernel, class Params> void dump(Params const &params, dim3 grid) {
  auto stub = reinterpret_cast<char *>(cutlass::Kernel<Kernel>), start = reinterpret_cast<char *>(anchor);
  std::printf("%td\n%u %u %u %d %d\n", stub - start, grid.x,   // bytes from bench::anchor on, as nm has both
              grid.y, grid.z, int(Kernel::kThreadCount), int(sizeof(typename Kernel::SharedStorage)));
  for (size_t i = 0; i < sizeof(Params); ++i) std::printf("%02x", reinterpret_cast<unsigned char const *>(&params)[i]);
  std::puts("");
}
inline size_t &next_address() { static size_t address = size_t(1) << 32; return address; }
template <class T> T *fake(size_t count) {   // as gpusim.sass.launch.allocate hands out
  size_t &address = next_address();
  size_t bytes = count * sizeof(T), page = size_t(2) << 20, here = address;
  address += ((bytes + page - 1) / page + 1) * page;
  std::printf("%zu %zu %zu\n", here, bytes, sizeof(T));
  return reinterpret_cast<T *>(here);
}
inline std::vector<Entry> &entries() { static std::vector<Entry> list; return list; }
struct Register { Register(Entry e) { entries().push_back(e); } };

inline void check(cudaError_t e, char const *what) {
  if (e != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e)); std::exit(1); }
}
inline void check(cutlass::Status s, char const *what) {
  if (s != cutlass::Status::kSuccess) { std::fprintf(stderr, "%s: %s\n", what, cutlassGetStatusString(s)); std::exit(1); }
}
template <class T> T *fill(size_t count) {
  if (dumping()) return fake<T>(count);
  // small random values, host side, so that no extra kernel runs
  std::vector<T> host(count);
  std::minstd_rand random(7);
  for (auto &x : host) x = T(float(int(random() % 5) - 2));
  T *device = nullptr;
  check(cudaMalloc(&device, count * sizeof(T)), "cudaMalloc");
  check(cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  return device;
}
inline void *workspace(size_t bytes) {
  void *p = nullptr;
  check(cudaMalloc(&p, bytes ? bytes : 1), "cudaMalloc");
  check(cudaMemset(p, 0, bytes ? bytes : 1), "cudaMemset");
  return p;
}

using Row = cutlass::layout::RowMajor;
using Col = cutlass::layout::ColumnMajor;
using TensorOp = cutlass::arch::OpClassTensorOp;
using Simt = cutlass::arch::OpClassSimt;
template <int M, int N, int K> using S = cutlass::gemm::GemmShape<M, N, K>;

template <class EA_, class EC_, class Acc_, class LA_, class LB_, class TB_, class W_, class I_, int Stages_,
          class Arch_ = cutlass::arch::Sm80, class Op_ = TensorOp, int Count_ = 0>
struct Config {
  using EA = EA_; using EC = EC_; using Acc = Acc_; using LA = LA_; using LB = LB_;
  using TB = TB_; using W = W_; using I = I_; using Arch = Arch_; using Op = Op_;
  static int const stages = Stages_;
  static bool const simt = std::is_same<Op, Simt>::value;
  static int const align = simt ? 1 : 128 / cutlass::sizeof_bits<EA>::value;
  static int const count = Count_ ? Count_ : simt ? 1 : 128 / cutlass::sizeof_bits<EC>::value;
  using Compute = std::conditional_t<std::is_same<Acc, int32_t>::value, int32_t, Acc>;
  using Epilogue = cutlass::epilogue::thread::LinearCombination<EC, count, Acc, Compute>;
  using Math = std::conditional_t<std::is_same<Acc, int32_t>::value, cutlass::arch::OpMultiplyAddSaturate,
                                  cutlass::arch::OpMultiplyAdd>;
  static int lda(int M, int, int K) { return std::is_same<LA, Row>::value ? K : M; }
  static int ldb(int, int N, int K) { return std::is_same<LB, Row>::value ? N : K; }
};
template <class C> struct Operands {
  typename C::EA *a, *b; typename C::EC *c, *d;
  Operands(size_t M, size_t N, size_t K, size_t batch = 1)
      : a(fill<typename C::EA>(M * K * batch)), b(fill<typename C::EA>(N * K * batch)),
        c(fill<typename C::EC>(M * N * batch)), d(fill<typename C::EC>(M * N * batch)) {}
};
template <class Gemm, class Args> void launch(Args const &args) {
  Gemm gemm;
  check(Gemm::can_implement(args), "can_implement");
  check(gemm.initialize(args, workspace(Gemm::get_workspace_size(args))), "initialize");
  check(gemm(), "run");
  check(cudaDeviceSynchronize(), "kernel");
}
// alpha 1, beta 0
template <class C, int Swizzle, bool Serial> void plain(int M, int N, int K, int slices) {
  using Gemm = cutlass::gemm::device::Gemm<typename C::EA, typename C::LA, typename C::EA, typename C::LB, typename C::EC,
      Row, typename C::Acc, typename C::Op, typename C::Arch, typename C::TB, typename C::W, typename C::I,
      typename C::Epilogue, cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<Swizzle>, C::stages, C::align,
      C::align, Serial, typename C::Math>;
  Operands<C> o(M, N, K);
  typename Gemm::Arguments args({M, N, K}, {o.a, C::lda(M, N, K)}, {o.b, C::ldb(M, N, K)}, {o.c, N}, {o.d, N},
                                {typename C::Compute(1), typename C::Compute(0)}, slices);
  if (dumping()) {
    using Swizzle_ = typename Gemm::ThreadblockSwizzle;
    auto tiled = Swizzle_::get_tiled_shape({M, N, K}, {C::TB::kM, C::TB::kN, C::TB::kK}, slices);
    typename Gemm::GemmKernel::Params params{args.problem_size, tiled, args.ref_A.non_const_ref(), args.ref_B.non_const_ref(),
        args.ref_C.non_const_ref(), args.ref_D, args.epilogue, slices > 1 ? fake<int>(tiled.m() * tiled.n()) : nullptr,
        nullptr, nullptr, nullptr};
    return dump<typename Gemm::GemmKernel>(params, Swizzle_::get_grid_shape(tiled));
  }
  launch<Gemm>(args);
}
template <class C> void parallel(int M, int N, int K, int slices) {
  using Gemm = cutlass::gemm::device::GemmSplitKParallel<typename C::EA, typename C::LA, typename C::EA, typename C::LB,
      typename C::EC, Row, typename C::Acc, typename C::Op, typename C::Arch, typename C::TB, typename C::W,
      typename C::I, typename C::Epilogue, cutlass::epilogue::thread::Convert<typename C::Acc, C::Epilogue::kCount, typename C::Acc>,
      cutlass::reduction::thread::ReduceAdd<typename C::Acc, typename C::Acc, C::Epilogue::kCount>,
      cutlass::gemm::threadblock::GemmSplitKHorizontalThreadblockSwizzle, C::stages>;
  Operands<C> o(M, N, K);
  typename Gemm::Arguments args({M, N, K}, {o.a, C::lda(M, N, K)}, {o.b, C::ldb(M, N, K)}, {o.c, N}, {o.d, N},
                                {typename C::Compute(1), typename C::Compute(0)}, slices);
  Gemm gemm;
  check(gemm.initialize(args, workspace(Gemm::get_workspace_size(args))), "initialize");
  check(gemm(), "run");
  check(cudaDeviceSynchronize(), "kernel");
}
template <class C> void batched(int M, int N, int K, int batch) {
  using Gemm = cutlass::gemm::device::GemmBatched<typename C::EA, typename C::LA, typename C::EA, typename C::LB,
      typename C::EC, Row, typename C::Acc, typename C::Op, typename C::Arch, typename C::TB, typename C::W,
      typename C::I, typename C::Epilogue, cutlass::gemm::threadblock::GemmBatchedIdentityThreadblockSwizzle, C::stages,
      C::align, C::align, typename C::Math>;
  Operands<C> o(M, N, K, batch);
  typename Gemm::Arguments args({M, N, K}, {o.a, C::lda(M, N, K)}, int64_t(M) * K, {o.b, C::ldb(M, N, K)},
                                int64_t(N) * K, {o.c, N}, int64_t(M) * N, {o.d, N}, int64_t(M) * N,
                                {typename C::Compute(1), typename C::Compute(0)}, batch);
  launch<Gemm>(args);
}
template <class C, class Swizzle> void universal(int M, int N, int K, int slices) {
  using Gemm = cutlass::gemm::device::GemmUniversal<typename C::EA, typename C::LA, typename C::EA, typename C::LB,
      typename C::EC, Row, typename C::Acc, typename C::Op, typename C::Arch, typename C::TB, typename C::W,
      typename C::I, typename C::Epilogue, Swizzle, C::stages, C::align, C::align, typename C::Math>;
  Operands<C> o(M, N, K);
  typename Gemm::Arguments args(cutlass::gemm::GemmUniversalMode::kGemm, {M, N, K}, slices,
                                {typename C::Compute(1), typename C::Compute(0)}, o.a, o.b, o.c, o.d, int64_t(M) * K,
                                int64_t(N) * K, int64_t(M) * N, int64_t(M) * N, C::lda(M, N, K), C::ldb(M, N, K), N, N);
  launch<Gemm>(args);
}
template <class C> void stream_k(int M, int N, int K, int slices) {
  universal<C, cutlass::gemm::threadblock::ThreadblockSwizzleStreamK>(M, N, K, slices);
}
template <class T> char const *type_name();
template <> inline char const *type_name<cutlass::half_t>() { return "f16"; }
template <> inline char const *type_name<cutlass::bfloat16_t>() { return "bf16"; }
template <> inline char const *type_name<cutlass::tfloat32_t>() { return "tf32"; }
template <> inline char const *type_name<float>() { return "f32"; }
template <> inline char const *type_name<int8_t>() { return "s8"; }
template <> inline char const *type_name<int32_t>() { return "s32"; }
template <class C> std::string columns(char const *family, int split, int raster_log) {
  char text[512];
  auto layout = [](bool row) { return row ? "row" : "col"; };
  std::snprintf(text, sizeof text, "cutlass,%s,%s,%s,%s,%s,%s,%s,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,cutlass,cutlass,%d,%d,1,1",
      family, type_name<typename C::EA>(), type_name<typename C::EA>(), type_name<typename C::Acc>(),
      type_name<typename C::EC>(), layout(std::is_same<typename C::LA, Row>::value),
      layout(std::is_same<typename C::LB, Row>::value), C::TB::kM, C::TB::kN, C::TB::kK, C::W::kM, C::W::kN, C::W::kK,
      C::I::kM, C::I::kN, C::I::kK, C::stages, split, raster_log);
  return text;
}
}  // namespace bench

#define NAME_2(a, b) a##b
#define NAME_1(a, b) NAME_2(a, b)
#define ENTRY(name, family, split, raster_log, function, ...)                                                       \
  static bench::Register NAME_1(entry_, __COUNTER__)(bench::Entry{                                                   \
      name, bench::columns<__VA_ARGS__>(family, split, raster_log), split, function});
#define F16 cutlass::half_t
#define BF16 cutlass::bfloat16_t
#define TF32 cutlass::tfloat32_t
#define TN bench::Row, bench::Col
#define NT bench::Col, bench::Row
#define NN bench::Col, bench::Col
#define TT bench::Row, bench::Row
#define SHAPE(m, n, k) bench::S<m, n, k>
#define CONFIG(...) bench::Config<__VA_ARGS__>
#define PLAIN(name, family, ...) ENTRY(name, family, 1, 0, (bench::plain<__VA_ARGS__, 1, false>), __VA_ARGS__)
#define SWIZZLED(name, family, n, raster_log, ...) ENTRY(name, family, 1, raster_log, (bench::plain<__VA_ARGS__, n, false>), __VA_ARGS__)
#define SERIAL(name, split, ...) ENTRY(name, "multistage_splitkserial", split, 0, (bench::plain<__VA_ARGS__, 1, true>), __VA_ARGS__)
#define PARALLEL(name, split, ...) ENTRY(name, "multistage_splitkparallel", split, 0, (bench::parallel<__VA_ARGS__>), __VA_ARGS__)
#define BATCHED(name, batch, ...) ENTRY(name, "multistage_batched", batch, 0, (bench::batched<__VA_ARGS__>), __VA_ARGS__)
#define STREAMK(name, ...) ENTRY(name, "multistage_streamk", 1, 0, (bench::stream_k<__VA_ARGS__>), __VA_ARGS__)
