"""Models the advice of a report: what costs time, where, how much, in sentences Nsight Compute users know.
Leaves out what a change would be worth: that is simulated, when asked (gpusim.experiments.what_if)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gpusim.arch import occupancy
from gpusim.report.metric import Run
from gpusim.report.numbers import ctas_per_sm
from gpusim.report.provenance import provenance_of
from gpusim.report.states import ISSUED_STATE, STATES
from gpusim.report.tables import shared_memory_table, source_table, warp_state_table
from gpusim.report.units import compute_units, memory_units

__all__ = ["Advice", "advise"]

_KINDS = {"LD": "shared load", "ST": "shared store", "CP": "shared store from asynchronous copy"}
_NEEDS = {
    "registers": "the registers of its threads", "shared_mem": "its shared memory", "warps": "the warps of an SM",
    "blocks": "the CTAs of an SM",
}
_RELIEF = {
    "tensor": "It works at the rate of its MMA instruction: only another instruction, or less arithmetic, is faster.",
    "shared": "Larger tiles per warp or warpgroup read every operand less often; bank conflicts cost more.",
    "l1": "Accesses of whole 128-byte lines take fewer tags.",
    "l2": "Larger CTA tiles, and neighbours that read the same at the same time (raster), ask it for less.",
    "issue": "Fewer instructions: wider accesses, and addresses that are computed once.",
}
"""What makes a unit's work less, by name of gpusim.report.units."""
_REMEDY = {
    "long_scoreboard": "More stages in flight, or more CTAs per SM, hide it.",
    "short_scoreboard": "Fragments that are loaded a step ahead hide it; bank conflicts make it longer.",
    "wait": "More independent instructions in a warp, or more warps, fill it.",
    "barrier": "It is shorter where warps have equal work, and hidden by more CTAs per SM.",
    "mio_throttle": "Wider accesses are fewer instructions; bank conflicts make each one longer.",
    "lg_throttle": "Wider accesses to global memory are fewer instructions.",
    "math_pipe_throttle": "The pipe has work all the time: nothing to hide.",
    "gmma": "More groups of wgmma in flight before each wait hide it.",
    "branch_resolving": "Loops that are unrolled further branch less.",
}
"""What helps against a stall, by warp state."""
_NOTABLE_WAYS = 1.05
_NOTABLE_SHARE_PCT = 20.0
_BUSY_PCT, _SATURATED_PCT = 60.0, 80.0
"""Nsight Compute's marks: below the first on both sides a kernel is latency bound, above the second a unit is full."""


@dataclass(frozen=True)
class Advice:
    """One rule that found something. ``level``: OPT (can be faster), INF (worth knowing), WRN (doubt the numbers)."""

    level: str
    place: str
    sentence: str

    def __str__(self) -> str:
        return " ".join(part for part in (self.level, self.place, self.sentence) if part)


def advise(run: Run) -> tuple[Advice, ...]:
    """Advice for a simulated program: its bottleneck, bank conflicts by access, stalls, occupancy, assumptions."""
    return (*_bottleneck(run), *_bank_conflicts(run), *_main_stall(run), *_occupancy(run), *_tail(run),
            *_assumptions(run))


def _bottleneck(run: Run) -> Iterator[Advice]:
    compute, memory = compute_units(run)[0], memory_units(run)[0]
    first, second = (compute, memory) if compute.busy_pct >= memory.busy_pct else (memory, compute)
    loads = (f"{first.title} is busy {first.busy_pct:.1f}% of the elapsed cycles, {second.title} "
             f"{second.busy_pct:.1f}%")
    if first.busy_pct < _BUSY_PCT:
        yield Advice("INF", "", f"Latency bound: {loads}. No unit is near its peak, so warps wait for each other or "
                     "for results: look at the warp states, and at what is resident.")
    elif first.busy_pct < _SATURATED_PCT:
        yield Advice("INF", "", f"Partly bound by {first.title}: {loads}. Below {_SATURATED_PCT:.0f}% latencies that "
                     f"nothing hides cost the rest. {_RELIEF.get(first.name, '')}".rstrip())
    else:
        yield Advice("INF", "", f"Bound by {first.title}: {loads}. To be faster, give it less to do. "
                     f"{_RELIEF.get(first.name, '')}".rstrip())


def _bank_conflicts(run: Run) -> Iterator[Advice]:
    table = shared_memory_table(run.program)
    for row in table[(table["ways"] > _NOTABLE_WAYS) & (table["bank_conflicts"] > 0)].itertuples():
        share = 100 * row.bank_conflicts / max(row.wavefronts, 1)
        kind = _KINDS.get(row.operation[:2], "shared access")
        yield Advice(
            "OPT", f"{Path(row.file).name}:{row.line} {row.label}:",
            f"The memory access pattern for {kind}s might not be optimal and causes on average a "
            f"{row.wavefronts / max(row.requests, 1):.1f} - way bank conflict across all {row.requests:.0f} "
            f"{kind} requests. This results in {row.bank_conflicts:.0f} bank conflicts, which represent "
            f"{share:.2f}% of the overall {row.wavefronts:.0f} wavefronts for {kind}s; without them "
            f"{row.wavefronts_ideal:.0f} would do ({row.ways:.2f} ways).",
        )


def _main_stall(run: Run) -> Iterator[Advice]:
    states = warp_state_table(run.result)
    states = states[states["state"] != ISSUED_STATE]
    top = states.iloc[0]
    if top["share_pct"] < _NOTABLE_SHARE_PCT:
        return
    total = float(run.result.state_cycles.sum() / max(run.result.issued.sum(), 1))
    place, share = _worst_line(source_table(run.program, run.result), str(top["state"]))
    yield Advice(
        "INF", place,
        f"On average, each warp of this kernel spends {top['cycles_per_issued']:.1f} cycles in {top['title']}: "
        f"{STATES[top['state']].sentence}. This represents about {top['share_pct']:.1f}% of the total average of "
        f"{total:.1f} cycles between issuing two instructions; {share:.0f}% of it is on this line. "
        f"{_REMEDY.get(top['state'], '')}".rstrip(),
    )


def _worst_line(lines: pd.DataFrame, state: str) -> tuple[str, float]:
    """The source line with most cycles in ``state``, and its share of them in per cent."""
    worst = lines.loc[lines[state].idxmax()]
    return f"{Path(worst['file']).name}:{worst['line']}", float(100 * worst[state] / max(lines[state].sum(), 1))


def _occupancy(run: Run) -> Iterator[Advice]:
    launch, sm = run.program.launch, run.spec.sm
    found = occupancy(run.spec, launch.threads_per_cta, launch.registers_per_thread, launch.shared_bytes)
    limits = " and from ".join(_NEEDS[name] for name, limit in found.limits.items() if limit == found.blocks_per_sm)
    if found.theoretical_pct < _BUSY_PCT:
        yield Advice("INF", "", f"Theoretical occupancy is {found.theoretical_pct:.1f}%: "
                     f"{found.warps_per_sm / sm.sub_partitions:g} of {sm.max_warps // sm.sub_partitions} warps per "
                     f"scheduler. The limit of {ctas_per_sm(found.blocks_per_sm)} comes from {limits}.")


def _tail(run: Run) -> Iterator[Advice]:
    slots = run.result.blocks_per_sm * run.spec.sm.count
    waves = run.program.num_ctas / max(slots, 1)
    last = waves % 1
    if waves > 1 and 0 < last < _BUSY_PCT / 100 and waves < 10:
        yield Advice("INF", "", f"The grid of {run.program.num_ctas} CTAs makes {waves:.2f} waves of {slots}: the last "
                     f"one fills only {100 * last:.0f}% of the SMs' room.")
    elif waves < 1:
        idle = run.spec.sm.count - len(set(run.result.cta_sm[run.result.cta_sm >= 0].tolist()))
        if idle > 0:
            yield Advice("INF", "", f"The grid of {run.program.num_ctas} CTAs leaves {idle} of {run.spec.sm.count} SMs "
                         "without work.")


def _assumptions(run: Run) -> Iterator[Advice]:
    for sentence in (*run.program.notes, *run.result.assumptions):
        yield Advice("WRN", "", sentence)
    yield Advice("WRN", "", provenance_of(run).sentence)
