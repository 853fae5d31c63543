"""What marks.py puts into CUTLASS, printed by CTA: cta_waves.csv.

In a copy of bench.h and main.cu with CUTLASS 4.2's headers in inc/: python cta_waves.py, then nvcc -O3 -std=c++17
-arch=sm_90a -I inc main.cu k_1.cu k_2.cu, and NAME 3072 1024 K (WARPS of a CTA in the environment) under ncu
--clock-control none with --cache-control all and none. Of the last of four launches: means over SMs by the order in
which CTAs came to an SM, from its first clock to a CTA's first and last one, and the three parts between (means over
warps; first and last ones of a CTA at the ends).
"""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
exec((HERE / "gen.py").read_text().split("G = {}")[0])
G = {"1": [plain(H, (64, 128, 64), (32, 64, 64), 3, "nn"), plain(H, (128, 64, 64), (64, 32, 64), 3, "tn"),
           plain(BF, (128, 64, 32), (64, 32, 32), 6, "nn"), plain(H, (64, 64, 32), (32, 32, 32), 10, "tt")],
     "2": [plain(H, (256, 64, 32), (64, 64, 32), 4, "tn"), plain(H, (256, 128, 64), (64, 64, 64), 3, "tn"),
           plain(H, (64, 256, 32), (64, 64, 32), 4, "nt")]}
for name, lines in G.items():
    Path(f"k_{name}.cu").write_text('#include "bench.h"\n' + "\n".join(lines) + "\n")
subprocess.run([sys.executable, HERE / "marks.py", "inc", "bench.h"], check=True)
text = Path("bench.h").read_text()
begin, end = text.index("    double pro = 0"), text.index("  }\n}\n// alpha 1")
Path("bench.h").write_text(text[:begin] + """    int per = getenv("WARPS") ? atoi(getenv("WARPS")) : 4;
    for (int i = 0; i < n; i += per) {
      long long first = m[i].entry, end = 0; double loop = 0, pro = 0;
      for (int k = 0; k < per; ++k) {
        first = std::min(first, m[i + k].entry); end = std::max(end, m[i + k].end);
        pro += m[i + k].mma - m[i + k].entry; loop += m[i + k].epilogue - m[i + k].mma; }
      std::printf("c,%d,%d,%d,%lld,%.0f,%.0f,%lld\\n", turn, i / per, m[i].sm, first, pro / per, loop / per, end);
    }
""" + text[end:])
