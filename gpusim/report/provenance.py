"""Models which numbers of the GPU file a run made use of, and where they come from: measured, published or guessed.
Leaves out how much each of them matters to the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gpusim.arch import GpuSpec, Source, occupancy
from gpusim.arch.provenance import SOURCE_KINDS
from gpusim.arch.section import Section
from gpusim.engine.image import image_of
from gpusim.engine.l1 import l1_bytes
from gpusim.engine.machine import machine_of
from gpusim.engine.register_reads import reads_of_kinds
from gpusim.engine.result import SimulationResult
from gpusim.program import Program
from gpusim.program.sequence import launches_of
from gpusim.report.metric import Run

__all__ = ["Origin", "Traced", "provenance_of", "used_numbers"]

_HOST = ("clock.sm_mhz", "clock.tensor_pct", "sm.count", "noc.", "launch.", "fetch.")
"""What the host of a simulation reads by itself, sections with a dot at the end."""
_WITH_OVERHEAD = {"launch.start_cycles", "launch.end_cycles", "fetch.first_cycles", "fetch.first_constant_cycles",
                  "fetch.sm_interval_cycles", "fetch.tpc_interval_cycles"}


@dataclass(frozen=True)
class Origin:
    """The numbers a run used by kind of source, and the guessed ones by name.

    ``guessed_issue_pct``: warp instructions whose entry of the instruction table has a guessed number, in per cent.
    """

    by_source: dict[str, int]
    guesses: dict[str, Source]
    guessed_issue_pct: float

    @property
    def total(self) -> int:
        return sum(self.by_source.values())

    @property
    def guessed_pct(self) -> float:
        """Share of guesses among the numbers used."""
        return 100 * len(self.guesses) / max(self.total, 1)

    @property
    def sentence(self) -> str:
        """``17 of the 120 numbers used of the GPU are guesses (14 %)``."""
        return f"{len(self.guesses)} of the {self.total} numbers used of the GPU are guesses ({self.guessed_pct:.0f} %)"


class Traced:
    """Stands for a section of a GPU specification and notes the dotted key of every number that is read."""

    def __init__(self, section: Any, seen: set[str], prefix: str = "") -> None:
        self._section, self._seen, self._prefix = section, seen, prefix

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._section, name)
        key = self._prefix + name
        if isinstance(value, Section):
            return Traced(value, self._seen, f"{key}.")
        self._seen.add(key)
        return value


@lru_cache(maxsize=1)
def provenance_of(run: Run) -> Origin:
    """Where the numbers that a run used come from."""
    program, result, spec = run.program, run.result, run.spec
    used = sorted(used_numbers(program, result, spec) & spec.provenance.keys())
    sources = {key: spec.provenance[key] for key in used}
    counted = Counter(source.kind for source in sources.values())
    return Origin(
        by_source={kind: counted[kind] for kind in SOURCE_KINDS if counted[kind]},
        guesses={_readable(key, spec): source for key, source in sources.items() if source.kind == "guess"},
        guessed_issue_pct=_guessed_issue_pct(program, result, spec),
    )


def used_numbers(program: Program, result: SimulationResult, spec: GpuSpec) -> set[str]:
    """Dotted keys of what occupancy and engine read of the GPU, and of the instructions' entries.

    Found by watching them read: the list can neither forget a number nor keep one that is no longer used.
    """
    seen = {key for key in spec.provenance if key.startswith(_HOST)}
    if not result.settings.get("launch_overhead", True):
        seen -= _WITH_OVERHEAD
    traced: Any = Traced(spec, seen)
    machine_of(traced)
    reads_of_kinds(traced)
    for part in launches_of(program):
        image, launch = image_of(part, traced), part.launch
        fit = occupancy(traced, launch.threads_per_cta, launch.registers_per_thread, launch.shared_bytes)
        if image.ops["cached"].any():
            l1_bytes(traced, launch, fit.blocks_per_sm)
    return seen | set(_instruction_keys(spec, _entries(program, spec)))


def _entries(program: Program, spec: GpuSpec) -> list[int]:
    """(P,) which entry of the instruction table each static instruction has."""
    numbers = {id(entry): number for number, entry in enumerate(spec.instructions)}
    return [numbers[id(spec.instruction_table.lookup(static.mnemonic))] for static in program.statics]


def _instruction_keys(spec: GpuSpec, entries: Iterable[int]) -> Iterator[str]:
    numbers = {str(number) for number in entries}
    return (key for key in spec.provenance if key.startswith("instructions.") and key.split(".")[1] in numbers)


def _readable(key: str, spec: GpuSpec) -> str:
    """``instructions.36.latency_cycles`` -> ``LDGSTS latency_cycles``."""
    if not key.startswith("instructions."):
        return key
    _, number, field = key.split(".", 2)
    return f"{', '.join(spec.instructions[int(number)].patterns[:3])} {field}"


def _guessed_issue_pct(program: Program, result: SimulationResult, spec: GpuSpec) -> float:
    guessed = {int(key.split(".")[1]) for key, source in spec.provenance.items()
               if key.startswith("instructions.") and source.kind == "guess"}
    is_guessed = np.isin(_entries(program, spec), list(guessed))
    return 100 * float(result.issued[is_guessed].sum()) / max(float(result.issued.sum()), 1.0)
