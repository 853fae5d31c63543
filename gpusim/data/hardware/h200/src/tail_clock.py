"""Profiles tail_clock at several SMS, FIRST and SECOND; columns of tail_clock.csv."""
import csv, io, subprocess, sys
M = ["gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg", "gpc__cycles_elapsed.min", "sm__cycles_active.max", "sm__cycles_active.avg", "gpu__time_duration.sum", "lts__cycles_elapsed.max"]
print("sms,first,second," + ",".join(name.replace(".", "_") for name in M))
for sms in (132, 124, 64, 16, 8, 4, 1):
    for first, second in ((2048, 16), (2048, 1024), (2048, 2048), (2048, 4096), (1024, 16384)):
        text = subprocess.run(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(M),
                               "./tail_clock", str(sms), str(first), str(second)], capture_output=True, text=True, check=True).stdout
        names, _, values, *_ = csv.reader(line for line in text.splitlines() if line.startswith('"'))
        got = dict(zip(names, values))
        print(f"{sms},{first},{second}," + ",".join(got[name].replace(",", "") for name in M), flush=True)
