"""Makes cta_ends of CUTLASS kernels: cta_ends.py CUTLASS/include FOLDER; then, in FOLDER, for each kernel of KERNELS,
nvcc -O3 -std=c++17 -arch=sm_90a --expt-relaxed-constexpr -Iinclude -DWHICH=0 cta_ends.cu && ./a.out M N K ...
A copy of device_kernel.h notes each CTA's SM and its clock at its start and end; one of bench.h launches three times.
"""
import shutil
import sys
from pathlib import Path

SOURCE, FOLDER = Path(sys.argv[1]), Path(sys.argv[2])
KERNELS = ["tf32_64x64x16_w32x32x16_s2_tn TF32 float 8", "h_64x64x32_w32x32x32_s2_tn F16 F16 16",
           "h_128x64x32_w64x32x32_s2_tn F16 F16 16", "h_128x128x32_w64x64x32_s2_tn F16 F16 16",
           "h_64x64x64_w32x32x64_s5_tn F16 F16 16", "h_64x64x32_w32x32x32_s6_tn F16 F16 16",
           "h_128x64x32_w64x32x32_s4_tn F16 F16 16", "h_128x128x32_w64x64x32_s3_tn F16 F16 16"]
NOTE = """  int cta_ = blockIdx.x + gridDim.x * blockIdx.y, sm_;
  asm volatile("mov.u32 %0,%%smid;" : "=r"(sm_));
  if (threadIdx.x == 0) { cta_when[3 * cta_] = sm_; cta_when[3 * cta_ + 1] = clock64(); }
  Operator op;

  op(params, *shared_storage);
  if (threadIdx.x == 0) cta_when[3 * (blockIdx.x + gridDim.x * blockIdx.y) + 2] = clock64();
}"""
SHOW = """inline std::string &title() { static std::string t; return t; }
inline int &ctas() { static int n = 0; return n; }
inline void show(int run) {
  std::vector<long long> h(3 * size_t(ctas()));
  check(cudaMemcpyFromSymbol(h.data(), cutlass::cta_when, h.size() * 8), "symbol");
  for (int i = 0; i < ctas(); ++i)
    std::printf("%s,%d,%d,%lld,%lld,%lld\\n", title().c_str(), run, i, h[3 * i], h[3 * i + 1], h[3 * i + 2]);
}
template <class Gemm, class Args> void launch"""


def replaced(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


shutil.copytree(SOURCE, FOLDER / "include")
header = FOLDER / "include/cutlass/device_kernel.h"
text = replaced(header.read_text(), "namespace cutlass {\n", "namespace cutlass {\n__device__ long long cta_when[3 * 65536];\n")
header.write_text(replaced(text, "  Operator op;\n\n  op(params, *shared_storage);\n  cutlass::arch::synclog_print();\n}", NOTE))
text = replaced(Path(__file__).with_name("bench.h").read_text(), "template <class Gemm, class Args> void launch", SHOW)
(FOLDER / "bench.h").write_text(replaced(
    text, '  check(gemm(), "run");\n  check(cudaDeviceSynchronize(), "kernel");\n',
    '  for (int r = 0; r < 3; ++r) { check(gemm(), "run"); check(cudaDeviceSynchronize(), "kernel"); if (r) show(r); }\n'))
lines = ['#include "bench.h"']
for number, (name, type_in, type_out, k) in enumerate(map(str.split, KERNELS)):
    tile, warp = (part.replace("w", "").split("x") for part in name.split("_")[1:3])
    stages = name.split("_")[3][1:]
    lines += [f"#if WHICH == {number}", f'PLAIN("{name}", "x", CONFIG({type_in}, {type_out}, float, TN, '
              f"SHAPE({', '.join(tile)}), SHAPE({', '.join(warp)}), SHAPE(16, 8, {k}), {stages}))",
              f"static int tm = {tile[0]}, tn = {tile[1]};", "#endif"]
lines += ["int main(int argc, char **argv) {", "  for (int i = 1; i + 2 < argc; i += 3) {",
          "    int M = atoi(argv[i]), N = atoi(argv[i + 1]), K = atoi(argv[i + 2]); char t[160]; auto &e = bench::entries()[0];",
          "    bench::ctas() = ((M + tm - 1) / tm) * ((N + tn - 1) / tn);",
          '    std::snprintf(t, 160, "%s,%d,%d,%d", e.name.c_str(), M, N, K); bench::title() = t; e.run(M, N, K, 1); } }']
(FOLDER / "cta_ends.cu").write_text("\n".join(lines) + "\n")
