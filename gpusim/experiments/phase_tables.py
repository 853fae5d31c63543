"""Models one warp access as a table: its phases, and the lanes that meet in a bank; or the pieces of a copy.
Leaves out where the addresses come from, and the rules (gpusim.memory)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from gpusim.memory.detail import PhaseDetail, explain
from gpusim.memory.operations import LANES, ROW_BYTES

__all__ = ["copy_table", "lane_ranges", "lanes_of", "phase_table"]


def phase_table(operation: str, addresses: np.ndarray, lane_mask: int) -> pd.DataFrame:
    """One row per phase of a load, store or matrix access: (32,) byte addresses in, wavefronts and collisions out.

    Raises UserError for an unknown operation and for misaligned or negative addresses.
    """
    return pd.DataFrame([_row(number, phase) for number, phase in enumerate(explain(operation, addresses, lane_mask))])


def copy_table(addresses: np.ndarray, offsets: np.ndarray, lane_mask: int) -> pd.DataFrame:
    """One row per pair (128-byte global line, 128-byte shared row) that a copy joins, a wavefront or more each."""
    lanes = lanes_of(lane_mask)
    pairs: dict[tuple[int, int], list[int]] = {}
    for lane in lanes:
        pairs.setdefault((int(offsets[lane]) // ROW_BYTES, int(addresses[lane]) // ROW_BYTES), []).append(lane)
    return pd.DataFrame(
        [{"global_line": line, "shared_row": row, "lanes": lane_ranges(members)}
         for (line, row), members in pairs.items()]
    )


def lanes_of(mask: int) -> list[int]:
    """The lanes of a bit mask."""
    return [lane for lane in range(LANES) if mask >> lane & 1]


def lane_ranges(numbers: Sequence[int]) -> str:
    """``0-3,8`` for 0, 1, 2, 3, 8."""
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in zip(starts, ends, strict=True))


def _row(number: int, phase: PhaseDetail) -> dict[str, object]:
    worst = max(phase.banks, key=lambda bank: len(phase.banks[bank]), default=-1)
    meeting = phase.banks[worst].values() if phase.ways > 1 else ()
    return {
        "phase": number,
        "lanes": lane_ranges(phase.lanes),
        "wavefronts": phase.ways,
        "bank_conflicts": max(0, phase.ways - 1),
        "conflicting_banks": lane_ranges(sorted(phase.collisions)),
        "worst_bank": worst if phase.ways > 1 else -1,
        "lanes_in_worst_bank": " | ".join(lane_ranges(lanes) for lanes in meeting),
    }
