"""Models what one number of a report is: its name, Nsight Compute's name, unit, sentence and formula.
Leaves out which numbers there are (gpusim.report.metrics)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpusim.arch import GpuSpec
from gpusim.engine.result import SimulationResult
from gpusim.program import Program

__all__ = ["Metric", "Run", "Value", "counter", "per_sm_cycle", "seconds"]

Value = float | int | str | None


@dataclass(frozen=True, eq=False)
class Run:
    """What a metric may look at: the program, what the simulation said, and the GPU. Equal only to itself."""

    program: Program
    result: SimulationResult
    spec: GpuSpec


@dataclass(frozen=True)
class Metric:
    """One number: ``value(run)`` in ``unit``; ``ncu`` is empty where Nsight Compute has no such metric."""

    name: str
    title: str
    section: str
    unit: str
    ncu: str
    sentence: str
    value: Callable[[Run], Value]


def counter(name: str) -> Callable[[Run], Value]:
    """A counter of the simulation, None where it has none of this name."""
    return lambda run: run.result.counters.get(name)


def seconds(run: Run) -> float:
    """Elapsed time at the clock that the SMs had."""
    return run.result.cycles / (run.result.clock_mhz * 1e6)


def per_sm_cycle(run: Run, rate: float) -> float:
    """A rate of L2 or DRAM, which do not slow down with the SMs, per cycle of the SMs as they ran."""
    return rate * run.spec.clock.sm_mhz / run.result.clock_mhz
