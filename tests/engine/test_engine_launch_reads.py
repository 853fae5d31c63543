"""What a launch reads from L2 besides its loads: the same on however few SMs, nine times the code on an H200."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from engine_programs import Memory, program, rows, run, small_gpu

import gpusim as gs
from gpusim.engine.launch_reads import launch_sectors

MEASURED = pd.read_csv(Path(gs.__file__).parent / "data" / "hardware" / "h200" / "code_sectors.csv")


@pytest.mark.parametrize("row", list(MEASURED.itertuples()), ids=lambda row: f"{row.code_bytes}-{row.ctas}")
def test_code_takes_the_measured_sectors(row: pd.Series) -> None:
    """Straight code of 128 bytes to 64 KiB, 1 to 1,056 CTAs."""
    simulated = launch_sectors(gs.load_gpu("h200"), row.code_bytes // 16)
    assert simulated == pytest.approx(row.l2_sectors_read, rel=0.05)


def test_no_more_code_is_read_than_a_gpc_keeps() -> None:
    spec = gs.load_gpu("h200")
    most = spec.launch.code_bytes // spec.fetch.instruction_bytes
    assert launch_sectors(spec, most - 2) < launch_sectors(spec, most) == launch_sectors(spec, 10 * most)


def test_it_counts_with_the_launch_and_is_found_in_l2() -> None:
    tiny = program(rows("LDG access=a write=0\nFFMA wait=0"), {"a": Memory("LDG32", lines=4)})
    counted, alone = (run(tiny, launch_overhead=counts).counters for counts in (True, False))
    sectors = launch_sectors(small_gpu(), len(tiny.statics))
    for name in ("l2_sectors_read", "l2_sector_hits_read"):
        assert counted[name] - alone[name] == sectors
    assert counted["dram_bytes_read"] == alone["dram_bytes_read"]
