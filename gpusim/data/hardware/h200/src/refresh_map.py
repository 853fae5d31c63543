"""What refresh_map.cu wrote, as refresh_map.csv: python refresh_map.py raw.bin > refresh_map.csv.

Every other load is of one line that stands as the clock: of its waits, and of each line's, the densest 220 cycles of
when they end (less the line's latency) modulo the interval count; end_cycles is how much later the line's are.
"""

import sys

import numpy as np

INTERVAL, WINDOW = 3813.5, 110


def read(path):
    raw, at = np.memmap(path, dtype=np.uint8, mode="r"), 0
    while at < len(raw):
        lines, stride, samples, _ = np.frombuffer(raw[at: at + 16], np.int32)
        at, n = at + 16, lines * samples
        latency = np.frombuffer(raw[at: at + 2 * n], np.uint16).reshape(lines, samples).astype(int)
        at += 2 * n
        back = np.frombuffer(raw[at: at + 8 * n], np.uint64).reshape(lines, samples).astype(np.int64)
        at += 8 * n
        yield int(stride), latency, back


def end(latency, back, usual, start):
    late = (latency > usual + 40) & (latency < usual + 560)
    if late.sum() < 2:
        return np.nan, late.sum()
    ends = (back[late] - usual - start) % INTERVAL
    apart = (ends[:, None] - ends[None, :] + INTERVAL / 2) % INTERVAL - INTERVAL / 2
    middle = (abs(apart) < WINDOW).sum(0).argmax()
    near = abs(apart[:, middle]) < WINDOW
    return (ends[middle] + apart[near, middle].mean()) % INTERVAL, late.sum()


print("address_bytes,cycles,late,end_cycles")
for (stride, latency, back), base in zip(read(sys.argv[1]), (0, 64 << 20), strict=True):
    clock = np.median(latency[:, 0::2])
    for line in range(len(latency)):
        usual, start = np.median(latency[line, 1::2]), back[line, 0]
        mine, late = end(latency[line, 1::2], back[line, 1::2], usual, start)
        other, seen = end(latency[line, 0::2], back[line, 0::2], clock, start)
        known = min(late, seen) >= 2
        print(base + line * stride, int(usual), late, round((mine - other) % INTERVAL) if known else -1, sep=",")
