"""Compiles the kernel of gemm.cu in 360 variants and writes uniform_loops.csv; needs nvcc, cuobjdump and gpusim.

    python uniform_loops.py > ../uniform_loops.csv
"""

import csv
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from gpusim.sass import parse_sass
from gpusim.sass.scopes import main_loop

SHAPES = [
    (256, 128, 64, 64), (128, 256, 64, 64), (128, 128, 64, 64), (64, 256, 64, 64), (256, 64, 64, 64), (64, 128, 64, 64),
    (128, 64, 64, 64), (256, 256, 64, 64), (192, 128, 64, 64), (128, 192, 64, 64), (256, 192, 64, 64), (64, 192, 64, 64),
    (192, 64, 64, 64), (192, 192, 64, 64), (128, 128, 64, 32), (256, 64, 64, 32), (256, 128, 64, 32), (128, 256, 64, 32),
    (128, 128, 32, 64), (64, 64, 32, 32), (128, 64, 64, 32), (128, 128, 128, 32), (128, 128, 32, 128),
    (256, 128, 32, 128), (256, 128, 128, 32)]
COLUMNS = ["tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "stages", "sw", "registers", "uniform_compares",
           "uniform_selects", "ldl", "stl", "instructions"]


def variants():
    """Those whose copies come out even; CTAs of 512 threads with tiles of 256x256 would spill their accumulators."""
    for m, n, warp_m, warp_n in SHAPES:
        threads = m // warp_m * (n // warp_n) * 32
        for k in (32, 64):
            even = not (m * k // 8 % threads or n * k // 8 % threads)
            if even and threads <= 1024 and (threads <= 256 or m * n < 256 * 256):
                yield from ((m, n, k, warp_m, warp_n, stages, sw) for stages in ((2, 3, 4) if k == 32 else (2, 3))
                            for sw in range(4))


def main():
    source = Path(__file__).with_name("gemm.cu").read_text()
    source = source[: source.index("__global__ void init")]
    source += "".join(f"template __global__ void gemm<{','.join(map(str, variant))}>(const half*__restrict__, const "
                      f"half*__restrict__, half*__restrict__, int, int, int, long long*);\n" for variant in variants())
    with tempfile.TemporaryDirectory() as folder:
        code, cubin = Path(folder) / "variants.cu", Path(folder) / "variants.cubin"
        code.write_text(source)
        subprocess.run(["nvcc", "-std=c++17", "-arch=sm_90a", "-cubin", "-o", cubin, code], check=True)
        text, usage = (subprocess.run(["cuobjdump", option, cubin], check=True, capture_output=True, text=True)
                       for option in ("-sass", "-res-usage"))
    registers = dict(re.findall(r"Function (\S+?):\s+REG:(\d+)", usage.stdout + usage.stderr))
    rows = []
    for function in parse_sass(text.stdout):
        loop = main_loop(function)
        names = Counter(one.base for one in function.instructions[loop.first : loop.last + 1])
        rows.append([*map(int, re.findall(r"Li(\d+)E", function.name)), registers[function.name], names["UISETP"],
                     names["USEL"], names["LDL"], names["STL"], loop.size])
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows([COLUMNS, *sorted(rows)])


if __name__ == "__main__":
    main()
