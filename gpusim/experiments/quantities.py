"""Models what is compared with hardware: columns of kernels.csv, the metric that answers each, and how errors count.
Leaves out the kernels (gpusim.experiments.families) and their statistics (gpusim.experiments.accuracy)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusim.engine.result import WARP_STATES
from gpusim.report.summary import Summary

__all__ = ["QUANTITIES", "Quantity", "errors_pct", "measured_values", "simulated_values"]


@dataclass(frozen=True)
class Quantity:
    """One compared quantity.

    Errors are in per cent of ``scale(measured)``: the measured value itself, or, where that may be next to nothing,
    what it is a part of (conflicts of wavefronts, a stall of all warp cycles per issued instruction).
    """

    name: str
    column: str
    simulated: Callable[[Summary], float | None]
    scale: Callable[[Mapping[str, float]], float]
    scale_text: str = "measured value"


def _metric(name: str) -> Callable[[Summary], float | None]:
    return lambda summary: summary[name]


def _launch(name: str) -> Callable[[Summary], float | None]:
    return lambda summary: summary["occupancy"][name]


def _plain(name: str, column: str, simulated: Callable[[Summary], float | None]) -> Quantity:
    return Quantity(name, column, simulated, lambda measured: measured[name])


def _part(name: str, column: str, metric: str, whole: str) -> Quantity:
    return Quantity(name, column, _metric(metric), lambda measured: measured.get(whole, 0.0), f"measured {whole}")


def _stall(state: str) -> Quantity:
    name = f"stall_{state}"
    return Quantity(name, name, _metric(name), _all_stalls, "measured warp cycles per issued instruction")


def _all_stalls(measured: Mapping[str, float]) -> float:
    return sum(value for name, value in measured.items() if name.startswith("stall_"))


def _same(*names: str) -> list[Quantity]:
    return [_plain(name, name, _metric(name)) for name in names]


QUANTITIES: tuple[Quantity, ...] = (
    _plain("cycles", "cycles_elapsed", _metric("cycles")),
    _plain("sm_active_cycles", "sm_cycles_active", _metric("sm_active_cycles")),
    *_same("warp_instructions", "hmma_instructions"),
    _plain("ldsm_instructions", "ldsm_instructions", _metric("ldsm_instructions")),
    _plain("ldgsts_instructions", "ldgsts_instructions", _metric("ldgsts_instructions")),
    *(
        _plain(f"smem_wavefronts_{kind}", f"smem_wavefronts_{kind}", _metric(f"shared_wavefronts_{kind}"))
        for kind in ("load", "store", "ldgsts")
    ),
    *(
        _part(f"bank_conflicts_{kind}", f"bank_conflicts_{kind}", f"bank_conflicts_{kind}", f"smem_wavefronts_{kind}")
        for kind in ("load", "ldgsts")
    ),
    *_same("l2_sectors_read", "l2_sectors_write", "l2_hit_pct", "dram_bytes_read", "dram_bytes_written"),
    *_same("issue_active_pct", "achieved_occupancy_pct", "blocks_per_sm"),
    _plain("registers", "registers", _launch("registers_per_thread")),
    _plain("smem_bytes", "smem_bytes", _launch("shared_bytes")),
    *(_stall(state) for state in WARP_STATES),
)


def measured_values(row: Mapping[str, Any]) -> dict[str, float]:
    """The measured quantities that a row has."""
    found = {quantity.name: row.get(quantity.column) for quantity in QUANTITIES}
    return {name: float(value) for name, value in found.items() if value is not None and value == value}


def simulated_values(summary: Summary) -> dict[str, float]:
    """The same quantities of a simulation."""
    found = {quantity.name: quantity.simulated(summary) for quantity in QUANTITIES}
    return {name: float(value) for name, value in found.items() if value is not None}


def errors_pct(measured: Mapping[str, float], simulated: Mapping[str, float]) -> dict[str, float | None]:
    """Signed errors in per cent; None where hardware measured nothing to compare with and the model says something."""
    return {
        quantity.name: _error_pct(measured[quantity.name], simulated[quantity.name], quantity.scale(measured))
        for quantity in QUANTITIES
        if quantity.name in measured and quantity.name in simulated
    }


def _error_pct(measured: float, simulated: float, scale: float) -> float | None:
    if scale == 0:
        return 0.0 if measured == simulated else None
    return 100 * (simulated - measured) / scale
