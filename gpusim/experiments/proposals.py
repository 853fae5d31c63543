"""Models the changes that a run's numbers speak for: other swizzles and stages, and bounds that price a bottleneck.
Leaves out what they are worth (gpusim.experiments.what_if simulates them)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpusim.arch import GpuSpec, occupancy
from gpusim.errors import UserError
from gpusim.experiments.candidates import swizzle_parameters
from gpusim.experiments.config import Plan
from gpusim.experiments.swizzle_search import search, with_parameter
from gpusim.program import Program
from gpusim.report.summary import Summary

__all__ = ["Proposal", "propose"]

_STAGES = ("num_stages", "stages")
_FEWEST_STAGES = 2
_NOTABLE_PCT = 5.0
_WAITS = ("long_scoreboard", "barrier")
"""States of a warp that needs data which copies have not brought yet."""


@dataclass(frozen=True)
class Proposal:
    """A change worth simulating. ``settings``: as ``--set`` takes them, none for a run without bank conflicts.

    ``possible``: false for a bound, which no change of the kernel reaches by itself.
    """

    change: str
    reason: str
    settings: tuple[str, ...] = ()
    possible: bool = True


def propose(plan: Plan, summary: Summary, program: Program, spec: GpuSpec) -> tuple[Proposal, ...]:
    """What the numbers of a run speak for. Searches a swizzle, which records the kernel with every candidate."""
    return (*_swizzles(plan, summary, spec), *_stages(plan, summary), *_occupancy(plan, summary, program, spec),
            *_warm(plan, summary))


def _swizzles(plan: Plan, summary: Summary, spec: GpuSpec) -> Iterator[Proposal]:
    conflicts = sum(row["bank_conflicts"] for row in summary["shared_memory"])
    if not conflicts:
        return
    reason = f"{conflicts:,.0f} bank conflicts"
    yield Proposal("no bank conflicts at all", f"what the {reason} cost", possible=False)
    found = _best_swizzles(plan, spec)
    if found:
        change = ", ".join(f"{name}={text} instead of {plan.parameters[name]}" for name, text in found.items())
        yield Proposal(change, f"because of {reason}",
                       tuple(f"parameters.{name}={text}" for name, text in found.items()))


def _best_swizzles(plan: Plan, spec: GpuSpec) -> dict[str, str]:
    """Better values of the kernel's swizzle parameters, one found after the other."""
    found: dict[str, str] = {}
    for name in swizzle_parameters(plan.parameters):
        try:
            best = search(plan, name, spec).best.text
        except UserError:  # the kernel takes no candidate
            continue
        if best != plan.parameters[name]:
            found[name] = best
            plan = with_parameter(plan, name, best)
    return found


def _stages(plan: Plan, summary: Summary) -> Iterator[Proposal]:
    name = next((name for name in _STAGES if isinstance(plan.parameters.get(name), int)), None)
    if name is None:
        return
    stages, states = plan.parameters[name], summary["warp_states"]
    waiting_pct = 100 * sum(states[state] for state in _WAITS) / max(sum(states.values()), 1e-9)
    if waiting_pct >= _NOTABLE_PCT:
        yield Proposal(f"{name}={stages + 1} instead of {stages}",
                       f"because warps wait {waiting_pct:.0f}% of their cycles for copies and barriers",
                       (f"parameters.{name}={stages + 1}",))
    if summary["occupancy"]["limiter"] == "shared_mem" and stages > _FEWEST_STAGES:
        yield Proposal(f"{name}={stages - 1} instead of {stages}", "because shared memory limits the CTAs per SM",
                       (f"parameters.{name}={stages - 1}",))


def _occupancy(plan: Plan, summary: Summary, program: Program, spec: GpuSpec) -> Iterator[Proposal]:
    """One more CTA per SM, where registers stand against it."""
    launch = program.launch
    if summary["occupancy"]["limiter"] != "registers" or program.num_ctas <= summary["blocks_per_sm"] * spec.sm.count:
        return
    fewer = next((registers for registers in range(launch.registers_per_thread - 1, 15, -1)
                  if occupancy(spec, launch.threads_per_cta, registers, launch.shared_bytes).blocks_per_sm
                  > summary["blocks_per_sm"]), None)
    if fewer:
        yield Proposal(f"{fewer} registers per thread instead of {launch.registers_per_thread}",
                       "what the limit of registers costs", (f"registers={fewer}",), possible=False)


def _warm(plan: Plan, summary: Summary) -> Iterator[Proposal]:
    if plan.config.l2 == "cold" and summary["dram_bytes_read"]:
        yield Proposal("a warm L2", "what reading the inputs from DRAM costs", ("l2=warm",), possible=False)
