"""Sums up what mix_ends.cu prints: the first warp's cycles, a turn of the last 24, how far warps end apart.

    nvcc -arch=sm_90a -O3 -std=c++17 -o mix_ends mix_ends.cu && ./mix_ends | python mix_ends.py > ../mix_ends.csv
"""

import sys

import pandas as pd

LAUNCH = ["hmma", "ldsm4", "ldgsts", "ways", "warps", "late", "run"]
LAST_TURNS = 24


def main():
    rows = []
    for launch, warps in pd.read_csv(sys.stdin).groupby(LAUNCH, sort=False):
        ends = warps.sort_values("warp").filter(regex="^turns").to_numpy()
        last = ends[:, -1]
        turn = (last - ends[:, -1 - LAST_TURNS]).mean() / LAST_TURNS
        rows.append([*launch, last[0], round(turn, 1), " ".join(map(str, last - last.min()))])
    pd.DataFrame(rows, columns=[*LAUNCH, "cycles", "turn", "apart"]).to_csv(sys.stdout, index=False)


if __name__ == "__main__":
    main()
