// One CUTLASS sm90 GEMM (f16 in and out, f32 sums, A row, B column major), for ncu; -DTM -DTN -DTK tile, -DCM -DCN cluster,
// -DCOOP=1 cooperative, 2 pingpong, 0 warp specialised. Usage: sm90 M N K. Leaves out checks of the result.
#include <cstdio>
#include <cstdlib>
#include "cutlass/cutlass.h"
#include "cute/tensor.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"
using namespace cute;
using TileShape = Shape<Int<TM>, Int<TN>, Int<TK>>;
using ClusterShape = Shape<Int<CM>, Int<CN>, _1>;
#if COOP == 2
using Main = cutlass::gemm::KernelTmaWarpSpecializedPingpong; using Epi = cutlass::epilogue::TmaWarpSpecialized;
#elif COOP
using Main = cutlass::gemm::KernelTmaWarpSpecializedCooperative; using Epi = cutlass::epilogue::TmaWarpSpecializedCooperative;
#else
using Main = cutlass::gemm::KernelTmaWarpSpecialized; using Epi = cutlass::epilogue::TmaWarpSpecialized;
#endif
using H = cutlass::half_t;
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, TileShape, ClusterShape,
  cutlass::epilogue::collective::EpilogueTileAuto, float, float, H, cutlass::layout::RowMajor, 8, H, cutlass::layout::RowMajor, 8, Epi>::CollectiveOp;
using Loop = typename cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, H, cutlass::layout::RowMajor, 8,
  H, cutlass::layout::ColumnMajor, 8, float, TileShape, ClusterShape, cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>, Main>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Loop, Epilogue>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
__global__ void fill(H *p, size_t n, unsigned s) { for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) { unsigned x = unsigned(i) * 2654435761u + s; x ^= x >> 15; x *= 2246822519u; x ^= x >> 13; p[i] = H((x & 0xffff) / 32768.f - 1.f); } }
int main(int c, char **v) {
  int M = atoi(v[1]), N = atoi(v[2]), K = atoi(v[3]); H *A, *B, *D;
  cudaMalloc(&A, size_t(M) * K * 2); cudaMalloc(&B, size_t(N) * K * 2); cudaMalloc(&D, size_t(M) * N * 2);
  fill<<<1024, 256>>>(A, size_t(M) * K, 1); fill<<<1024, 256>>>(B, size_t(N) * K, 77);
  auto sa = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {M, K, 1}); auto sb = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {N, K, 1});
  auto sd = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {M, N, 1});
  cutlass::KernelHardwareInfo hw; hw.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count();
  typename Gemm::Arguments a{cutlass::gemm::GemmUniversalMode::kGemm, {M, N, K, 1}, {A, sa, B, sb}, {{1.f, 0.f}, D, sd, D, sd}, hw};
  Gemm g; size_t w = Gemm::get_workspace_size(a); void *ws = nullptr; if (w) cudaMalloc(&ws, w);
  if (g.can_implement(a) != cutlass::Status::kSuccess || g.initialize(a, ws) != cutlass::Status::kSuccess) { puts("cannot"); return 1; }
  g.run(); if (cudaDeviceSynchronize() != cudaSuccess) { puts("failed"); return 1; }
  printf("%s_%dx%dx%d_c%dx%d stages %d smem %d threads %d\n", COOP == 2 ? "pingpong" : COOP ? "coop" : "ws", TM, TN, TK, CM, CN, (int)Loop::DispatchPolicy::Stages, (int)sizeof(typename Kernel::SharedStorage), (int)Kernel::MaxThreadsPerBlock);
}
