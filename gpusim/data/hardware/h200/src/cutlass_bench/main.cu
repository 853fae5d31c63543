#include <cstring>
#include "bench.h"

int main(int argc, char **argv) {
  if (argc > 1 && !std::strcmp(argv[1], "--list")) {
    std::puts("kernel,source,family,a_dtype,b_dtype,acc_dtype,out_dtype,layout_a,layout_b,tile_m,tile_n,tile_k,warp_m,"
              "warp_n,warp_k,inst_m,inst_n,inst_k,stages,smem_swizzle,epilogue,split_k,raster_log,cluster_m,cluster_n");
    for (auto &e : bench::entries()) std::printf("%s,%s\n", e.name.c_str(), e.columns.c_str());
    return 0;
  }
  if (argc > 1 && !std::strcmp(argv[1], "--params")) { bench::dumping() = true; --argc; ++argv; }
  if (argc < 5) { std::fprintf(stderr, "cutlass_bench --list | NAME M N K [slices or batch]\n"); return 2; }
  for (auto &e : bench::entries())
    if (e.name == argv[1]) {
      e.run(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), argc > 5 ? std::atoi(argv[5]) : e.default_split);
      return 0;
    }
  std::fprintf(stderr, "no kernel %s\n", argv[1]);
  return 2;
}
