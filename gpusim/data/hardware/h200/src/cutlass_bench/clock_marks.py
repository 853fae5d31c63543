"""Adds the clock of SMs in main loops to the marks of marks.py: loop_clocks.csv.

In a folder with CUTLASS 4.2's headers in include/ and copies of bench.h, main.cu, edits.py and marks.py:
python marks.py include bench.h && python clock_marks.py include bench.h, then nvcc as marks.py says. Lines begin with
the clock in MHz: cycles of the loop over nanoseconds of the global timer, which counts by 32, so that loops of
10,000 cycles look up to 30 MHz slower than they are.
"""
import sys
from pathlib import Path

from edits import edit

TIMER = """static __device__ __forceinline__ unsigned long long timer_now() {
  unsigned long long t; asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(t)); return t; }
struct Marks {"""
MMA, EPILOGUE = "long long mma_clock = clock64();", "long long epilogue_clock = clock64();"
FORMAT = 'std::printf("%d,%d,%.0f,%.0f,%.0f,%.0f,%.0f\\n", turn, n,'
SHOW = ('double ns = 0; for (int i = 0; i < n; ++i) ns += m[i].pad;\n'
        '    std::printf("%.0f,%d,%d,%.0f,%.0f,%.0f,%.0f,%.0f\\n", 1000. * loop / ns, turn, n,')
edit(Path(sys.argv[1]) / "cutlass/gemm/kernel/gemm.h", ("struct Marks {", TIMER),
     (MMA, f"{MMA} unsigned long long mma_time = timer_now();"),
     (EPILOGUE, f"{EPILOGUE} unsigned long long epilogue_time = timer_now();"),
     ("epilogue_clock, end, sm, 0}", "epilogue_clock, end, sm, int(epilogue_time - mma_time)}"))
edit(Path(sys.argv[2]), (FORMAT, SHOW))
