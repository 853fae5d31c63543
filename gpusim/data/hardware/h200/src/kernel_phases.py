"""Where the cycles of the hand-written kernels go under the profiler: prologue, main loop and epilogue of the mean CTA, first warp, between the clocks of
gemm.cu, elapsed cycles and active ones of the busiest SM and the mean one; medians of three processes, and by how much elapsed cycles differ. ``cold``:
behind the profiler's flush; ``warm``: third launch of a process without it.

    python kernel_phases.py GEMM.CU > kernel_phases.csv    (nvcc and ncu in PATH)
"""
import csv
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

METRICS = {"gpc__cycles_elapsed.max": "elapsed", "sm__cycles_active.max": "busiest_sm", "sm__cycles_active.avg": "mean_sm"}
PHASES = ("cyc_prologue", "cyc_mainloop", "cyc_epilogue")
# Clocks that CTAs store to memory of the host move pages, which is counted when there is one launch and one pass.
CHANGES = {"cudaMallocManaged(&cyc,(size_t)8*4*65536*2)": "cudaMalloc(&cyc,(size_t)8*4*65536*2)",
           "for(size_t i=0;i<nb;i++) for(int q=0;q<4;q++) s[q]+=cyc[4*i+q];":
           "std::vector<long long> h(4*nb); CK(cudaMemcpy(h.data(),cyc,32*nb,cudaMemcpyDeviceToHost)); "
           "for(size_t i=0;i<nb;i++) for(int q=0;q<4;q++) s[q]+=h[4*i+q];"}


def profile(program, size, warm, folder):
    log = folder / "log"
    flush = ["--cache-control", "none"] if warm else []
    out = subprocess.run(["ncu", *flush, "--clock-control", "none", "-k", "regex:gemm", "--metrics", ",".join(METRICS), "--csv", "--log-file", str(log),
                          str(program), str(int(warm)), *map(str, size)], check=True, capture_output=True, text=True).stdout
    launches = {}
    for row in csv.DictReader(line for line in log.read_text().splitlines() if line.startswith('"')):
        launches.setdefault(row["ID"], {})[METRICS[row["Metric Name"]]] = float(row["Metric Value"].replace(",", ""))
    counted = list(launches.values())[2::3] if warm else list(launches.values())
    for row, counters in zip(csv.DictReader(out.splitlines()), counted, strict=True):
        yield row["kernel"], {**{name: float(row[name]) for name in PHASES}, **counters}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder, text = Path(name), Path(sys.argv[1]).read_text()
        for old, new in CHANGES.items():
            assert old in text
            text = text.replace(old, new)
        (folder / "gemm.cu").write_text(text)
        subprocess.run(["nvcc", "-O3", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a", folder / "gemm.cu", "-o", folder / "gemm"], check=True)
        print("kernel,M,N,K,caches,prologue,main_loop,epilogue,elapsed,busiest_sm,mean_sm,elapsed_range")
        for size, warm in (((512, 512, 512), 0), ((512, 512, 512), 1), ((256, 256, 4096), 0), ((256, 256, 4096), 1), ((2048, 2048, 2048), 0)):
            runs = {}
            for _ in range(3):
                for kernel, numbers in profile(folder / "gemm", size, warm, folder):
                    runs.setdefault(kernel, []).append(numbers)
            for kernel, rows in runs.items():
                middle = [f"{statistics.median(row[name] for row in rows):.0f}" for name in (*PHASES, *METRICS.values())]
                elapsed = [row["elapsed"] for row in rows]
                print(kernel, *size, "warm" if warm else "cold", *middle, f"{max(elapsed) - min(elapsed):.0f}", sep=",", flush=True)


main()
