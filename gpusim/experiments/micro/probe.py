"""Models one measured number of a microbenchmark: the program that asks the same question, and how to read the answer.
Leaves out which tables there are, and the summary over probes (gpusim.experiments.micro.validate)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.engine import EVENT_KINDS, RecordWindow, SimulationResult, simulate
from gpusim.errors import GpusimError, UserError
from gpusim.program import Program

__all__ = ["LEVELS_PCT", "OVERWRITTEN", "NoProgram", "Probe", "Quantity", "cta_bytes_per_cycle", "cycles_between",
           "issue_cycles", "refused", "run_probe"]

Quantity = Literal["latency", "throughput", "bandwidth"]
LEVELS_PCT: dict[Quantity, float] = {"latency": 3.0, "throughput": 3.0, "bandwidth": 10.0}
"""How near a simulated number has to be; a latency may also be within LATENCY_CYCLES."""
LATENCY_CYCLES = 1.0
ISSUE = EVENT_KINDS.index("issue")
WHOLE_RUN = 1 << 40
OVERWRITTEN = "its copies overwrite others under way, which the chip drops: wrong_words of copy_slots.csv"

Build = Callable[[GpuSpec], Program]
Reader = Callable[[SimulationResult], float]


class NoProgram(UserError):
    """No program can ask what this row measured; ``str(error)`` is the reason."""


@dataclass(frozen=True)
class Probe:
    """``build`` makes the program for a GPU, ``read`` takes the number out of its simulation, in ``unit``."""

    mechanism: str
    what: str
    quantity: Quantity
    measured: float
    build: Build
    read: Reader
    unit: str = "cycles"
    gpu: str = ""  # empty: the GPU under test
    l2: str = "warm"
    recorded_sm: int | None = 0  # None: the reader needs no events
    launched: bool = False  # what a launch costs, and cold caches of code and constants, count


def refused(mechanism: str, what: str, measured: float, reason: str, unit: str = "cycles") -> Probe:
    """A bandwidth that is counted without a program, for ``reason``."""
    refuse = partial(_refuse, reason=reason)
    return Probe(mechanism, what, "bandwidth", measured, refuse, refuse, unit, recorded_sm=None)


def _refuse(asked: object, *, reason: str) -> Any:
    raise NoProgram(reason)


def run_probe(probe: Probe, spec: GpuSpec) -> dict[str, Any]:
    """Simulate a probe: a row with ``simulated`` and ``error_pct``, or None and the ``reason``."""
    row: dict[str, Any] = {
        "mechanism": probe.mechanism, "what": probe.what, "gpu": spec.name, "quantity": probe.quantity,
        "unit": probe.unit, "measured": probe.measured, "simulated": None, "error_pct": None, "within_level": None,
        "reason": "",
    }
    try:
        simulated = _simulate(probe, spec)
    except GpusimError as error:
        return row | {"reason": str(error)}
    error_pct = 100.0 * (simulated / probe.measured - 1.0)
    close = probe.quantity == "latency" and abs(simulated - probe.measured) <= LATENCY_CYCLES
    within = close or abs(error_pct) <= LEVELS_PCT[probe.quantity]
    return row | {"simulated": simulated, "error_pct": error_pct, "within_level": within}


def _simulate(probe: Probe, spec: GpuSpec) -> float:
    record = None if probe.recorded_sm is None else RecordWindow(probe.recorded_sm, 0, WHOLE_RUN)
    program = probe.build(spec)
    return probe.read(simulate(program, spec, l2=probe.l2, launch_overhead=probe.launched, record=record))


def issue_cycles(result: SimulationResult, pcs: tuple[int, ...], warp: int = 0) -> np.ndarray:
    """Cycles in which a warp of the recorded SM issued instructions ``pcs``, in the order in which it did."""
    events = result.events
    return np.sort(events["start"][(events["kind"] == ISSUE) & (events["warp"] == warp) & np.isin(events["pc"], pcs)])


def cycles_between(result: SimulationResult, *, pcs: tuple[int, ...], per: float = 1.0) -> float:
    """Cycles between the last two issues of instructions ``pcs`` by the first warp, divided by ``per``.

    What a kernel that reads its clock twice reports. Raises NoProgram when it read fewer than two.
    """
    starts = issue_cycles(result, pcs)
    if len(starts) < 2:
        raise NoProgram("the first warp reads its clock less than twice", got=len(starts))
    return float(starts[-1] - starts[-2]) / per


def cta_bytes_per_cycle(result: SimulationResult, *, cta_bytes: int, writes: bool = False) -> float:
    """Bytes per cycle of the slowest CTA, each of which moves ``cta_bytes``; ``writes`` until they have drained."""
    return cta_bytes / float(result.cycles if writes else (result.cta_end - result.cta_start).max())
