"""Models the tables of a report: accesses, instructions, source lines, warp states, CTAs. Tidy pandas frames.
Leaves out single numbers (gpusim.report.metrics) and how tables are drawn (gpusim.cli, gpusim.report.html)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gpusim.engine.result import WARP_STATES, SimulationResult
from gpusim.program import Program
from gpusim.report.executions import access_executions
from gpusim.report.states import STATES, ncu_state_name

__all__ = [
    "COLUMN_NCU", "all_tables", "column_title", "cta_table", "global_memory_table", "instruction_table",
    "shared_memory_table", "source_table", "warp_state_table",
]

SECTOR_BYTES = 32
_GROUP = ["label", "file", "line", "operation"]
_UPPER = {"pct": "%", "tflops": "TFLOP/s", "cta": "CTA", "sm": "SM", "l2": "L2", "dram": "DRAM", "ncu": "ncu",
          "per": "per", "of": "of"}

COLUMN_NCU = {
    "instructions": "inst_executed", "issued": "inst_executed",
    "wavefronts": "memory_l1_wavefronts_shared", "wavefronts_ideal": "memory_l1_wavefronts_shared_ideal",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "lines": "memory_l1_tag_requests_global",
    "sectors": "memory_l2_theoretical_sectors_global",
    "sectors_per_request": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global.ratio",
}
"""Nsight Compute's metric for a column of the tables by access, by instruction and by line (its source counters)."""


def all_tables(program: Program, result: SimulationResult) -> dict[str, pd.DataFrame]:
    """Every table of a run by file name."""
    return {
        "shared_memory": shared_memory_table(program),
        "global_memory": global_memory_table(program),
        "warp_states": warp_state_table(result),
        "instructions": instruction_table(program, result),
        "source_lines": source_table(program, result),
        "ctas": cta_table(program, result),
    }


def column_title(column: str) -> str:
    """``bank_conflicts`` -> ``Bank Conflicts``, ``lg_throttle`` -> ``LG Throttle``, as Nsight Compute writes them."""
    if column in STATES:
        return STATES[column].title
    return " ".join(_UPPER.get(word, word.capitalize()) for word in column.split("_"))


def shared_memory_table(program: Program) -> pd.DataFrame:
    """Nsight's shared-memory table by access of the whole launch; ``ways`` = wavefronts / ideal, 1.0 is free."""
    accesses = access_executions(program)
    accesses = accesses[accesses["shared"]]
    table = _totals(accesses, ["requests", "wavefronts", "wavefronts_ideal", "bank_conflicts"])
    ways = table["wavefronts"] / table["wavefronts_ideal"].clip(lower=1)
    return table.assign(ways=ways.round(3))


def global_memory_table(program: Program) -> pd.DataFrame:
    """Global-memory side by access: requests, 32-byte sectors per request, share of the sectors' bytes used."""
    accesses = access_executions(program)
    accesses = accesses[accesses["sectors"] > 0]
    table = _totals(accesses, ["requests", "lines", "sectors", "bytes_used"])
    used = 100 * table["bytes_used"] / (table["sectors"] * SECTOR_BYTES).clip(lower=1)
    per_request = table["sectors"] / table["requests"].clip(lower=1)
    return table.assign(sectors_per_request=per_request.round(3), bytes_used_pct=used.round(2))


def _totals(accesses: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Sums over executions by label, file, line and operation, in order of the source."""
    sums = accesses[_GROUP].copy()
    for column in columns:
        sums[column] = accesses[column] * accesses["executions"]
    grouped = sums.groupby(_GROUP, as_index=False, sort=False).sum()
    grouped.insert(len(_GROUP), "instructions", grouped["requests"])
    return grouped.sort_values(["file", "line", "label"], kind="stable", ignore_index=True)


def warp_state_table(result: SimulationResult) -> pd.DataFrame:
    """Warp cycles per issued instruction by state, longest first; they sum to Warp Cycles Per Issued Instruction."""
    cycles = result.state_cycles.sum(axis=0)
    per_issued = cycles / max(result.issued.sum(), 1)
    table = pd.DataFrame(
        {
            "state": WARP_STATES,
            "title": [STATES[name].title for name in WARP_STATES],
            "cycles_per_issued": per_issued,
            "share_pct": 100 * cycles / max(cycles.sum(), 1),
            "ncu_name": [ncu_state_name(name) for name in WARP_STATES],
            "meaning": [STATES[name].sentence for name in WARP_STATES],
        }
    )
    return table.sort_values("cycles_per_issued", ascending=False, kind="stable", ignore_index=True)


def instruction_table(program: Program, result: SimulationResult) -> pd.DataFrame:
    """Instruction statistics by mnemonic: issued in the whole launch, warp cycles waited before issue, by state. What
    nobody runs is not listed."""
    frame = _per_static(program, result)
    table = frame[frame["issued"] > 0].groupby("mnemonic", as_index=False, sort=False).sum()
    table.insert(2, "share_pct", 100 * table["issued"] / max(table["issued"].sum(), 1))
    return table.sort_values("issued", ascending=False, kind="stable", ignore_index=True)


def source_table(program: Program, result: SimulationResult) -> pd.DataFrame:
    """Issued instructions and warp cycles by state for each source line."""
    frame = _per_static(program, result).drop(columns="mnemonic")
    for position, name in enumerate(("file", "line", "scope")):
        frame.insert(position, name, [getattr(static, name) for static in program.statics])
    table = frame.groupby(["file", "line", "scope"], as_index=False, sort=False).sum()
    return table.sort_values(["file", "line"], kind="stable", ignore_index=True)


def _per_static(program: Program, result: SimulationResult) -> pd.DataFrame:
    """One row per static instruction: mnemonic, issued, warp_cycles, and a column per state that occurs."""
    states = result.state_cycles
    columns = {name: states[:, i] for i, name in enumerate(WARP_STATES) if states[:, i].any()}
    base = {
        "mnemonic": [static.mnemonic for static in program.statics],
        "issued": result.issued,
        "warp_cycles": states.sum(axis=1),
    }
    frame = pd.DataFrame(base | columns)
    numbers = [name for name in frame.columns if name != "mnemonic"]
    frame[numbers] = np.rint(frame[numbers]).astype(np.int64)
    return frame


def cta_table(program: Program, result: SimulationResult) -> pd.DataFrame:
    """When and where each simulated CTA ran, in launch order."""
    simulated = np.flatnonzero(result.cta_start >= 0)
    x, y, z = program.cta_index[simulated].T
    return pd.DataFrame(
        {
            "cta": simulated, "block_x": x, "block_y": y, "block_z": z, "sm": result.cta_sm[simulated],
            "start_cycle": result.cta_start[simulated], "end_cycle": result.cta_end[simulated],
        }
    )
