"""Models the bank conflicts of a whole program: one row per source access, over all its warps and stages.
Leaves out time; an access is analysed at every address it takes, not sampled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from gpusim.errors import UserError, did_you_mean
from gpusim.experiments.phase_tables import copy_table, phase_table
from gpusim.experiments.shared_accesses import SourceAccess, access_cost, access_phases, source_accesses
from gpusim.program import Program

__all__ = ["AccessDetail", "access_details", "program_banks"]


@dataclass(frozen=True)
class AccessDetail:
    """The most expensive execution of one source access."""

    label: str
    place: str  # file:line
    operation: str
    warp: int
    lowest_address: int
    wavefronts: int
    ideal_wavefronts: int
    table: pd.DataFrame  # see gpusim.experiments.phase_tables


def program_banks(program: Program) -> pd.DataFrame:
    """One row per source access of shared memory, in order of the source.

    ``warps`` of a CTA that make it; ``addresses``: distinct pairs of warp and address checked; ``phases`` in those (for
    an asynchronous copy, which has none, its fewest wavefronts); ``ways``: wavefronts per phase, in the mean over the
    launch and in the worst phase; ``worst_warp`` the first warp that has it; then the launch's totals.
    """
    return pd.DataFrame([_row(access) for access in source_accesses(program)])


def access_details(program: Program, label: str) -> list[AccessDetail]:
    """The worst execution of every source access whose label contains ``label``.

    Raises UserError, naming what there is, when none does.
    """
    accesses = source_accesses(program)
    found = [access for access in accesses if label in access.label]
    if not found:
        raise UserError("no shared-memory access has this label", place=program.name, got=f"'{label}'",
                        suggestion=did_you_mean(label, {access.label for access in accesses}))
    return [_detail(access) for access in found]


def _row(access: SourceAccess) -> dict[str, object]:
    cost = access_cost(access)
    worst = _worst_ways(access)
    wavefronts = int((cost.wavefronts * access.executions).sum())
    ideal = int((cost.ideal_wavefronts * access.executions).sum())
    return {
        "label": access.label, "file": Path(access.file).name, "line": access.line, "operation": access.operation,
        "warps": len(np.unique(access.warp)), "addresses": len(access.shared),
        "phases": int(cost.ideal_wavefronts.sum()), "ways": round(wavefronts / max(ideal, 1), 3),
        "worst_ways": round(float(worst.max()), 3), "worst_warp": int(access.warp[worst == worst.max()].min()),
        "wavefronts": wavefronts, "wavefronts_ideal": ideal,
        "bank_conflicts": float((cost.bank_conflicts * access.executions).sum()),
    }


def _worst_ways(access: SourceAccess) -> np.ndarray:
    """(N,) wavefronts of the worst phase of each execution; of a copy, per wavefront it would need at least."""
    if access.is_copy:
        cost = access_cost(access)
        return cost.wavefronts / np.maximum(cost.ideal_wavefronts, 1)
    patterns, which = access_phases(access)
    return np.array([max((phase.ways for phase in phases), default=0) for phases in patterns])[which]


def _detail(access: SourceAccess) -> AccessDetail:
    cost, ways = access_cost(access), _worst_ways(access)
    row = int(np.lexsort((np.arange(len(ways)), access.warp, -cost.wavefronts, -ways))[0])
    shared, mask = access.shared[row], int(access.lane_mask[row])
    table = copy_table(shared, access.offsets[row], mask) if access.is_copy else phase_table(
        access.operation, shared, mask)
    return AccessDetail(
        access.label, f"{Path(access.file).name}:{access.line}", access.operation, int(access.warp[row]),
        int(shared[shared >= 0].min()), int(cost.wavefronts[row]), int(cost.ideal_wavefronts[row]), table,
    )
