"""Models what changes to a run would be worth: rules propose them, each is simulated and set beside its price.
Leaves out combinations of changes (gpusim.experiments.sweep) and the search for a swizzle (swizzle_search)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from gpusim.engine import simulate
from gpusim.experiments.batch import Job, run_jobs
from gpusim.experiments.proposals import Proposal, propose
from gpusim.experiments.run import Outcome
from gpusim.program import AccessTable, Program
from gpusim.report.summary import Summary

__all__ = ["Trial", "what_if", "with_trials", "without_conflicts"]

Progress = Callable[[float], None]
_NOTABLE_PCT = 0.5
"""What a change must be worth to be advised: a printed per cent of the cycles."""


@dataclass(frozen=True)
class Trial:
    """One proposal and what its simulation said. ``speedup_pct``: 100 * (cycles before / cycles then - 1).

    ``possible``: false for a bound, which no change of the kernel reaches by itself. ``price``: what changes besides.
    """

    change: str
    reason: str
    possible: bool
    cycles_before: int
    cycles: int | None = None
    speedup_pct: float | None = None
    price: str = ""
    failure: str = ""

    def __str__(self) -> str:
        if self.cycles is None:
            return f"INF {self.change}: not simulated, {self.failure}"
        takes = f"{self.cycles:,} cycles instead of {self.cycles_before:,}"
        if not self.possible:
            return f"INF Simulated bound: {self.speedup_pct:.1f}% with {self.change}, {takes} ({self.reason})"
        level = "OPT" if (self.speedup_pct or 0.0) >= _NOTABLE_PCT else "INF"
        return (f"{level} Simulated speedup: {self.speedup_pct:.1f}% with {self.change}, {takes} ({self.reason}); "
                f"costs: {self.price}")


def what_if(
    target: str, settings: Sequence[str], outcome: Outcome, *, processes: int = 1, progress: Progress | None = None
) -> tuple[Trial, ...]:
    """Simulate what the rules propose for a run, the most worthwhile first.

    ``target`` and ``settings``: what the outcome was simulated from. Costs one simulation per proposal, shared among
    ``processes``. Proposals that the kernel or the hardware refuses keep the reason.
    """
    proposals = propose(outcome.plan, outcome.summary, outcome.program, outcome.spec)
    report = progress or (lambda share: None)
    settable = [proposal for proposal in proposals if proposal.settings]
    jobs = [Job(target, (*settings, *proposal.settings)) for proposal in settable]
    trials = []
    for result in run_jobs(jobs, processes=processes):
        trials.append(_trial(settable[result.index], outcome.summary, result.summary, result.failure))
        report(len(trials) / len(proposals))
    trials += [_unconflicted(proposal, outcome) for proposal in proposals if not proposal.settings]
    report(1.0)
    return tuple(sorted(trials, key=lambda trial: -(trial.speedup_pct if trial.speedup_pct is not None else -1e9)))


def with_trials(outcome: Outcome, trials: Sequence[Trial]) -> Outcome:
    """The outcome with the trials in its summary: under ``what_if``, and as the first lines of ``advice``."""
    advice = [*map(str, trials), *outcome.summary["advice"]]
    return replace(outcome, summary={
        **outcome.summary, "advice": advice, "what_if": [asdict(trial) for trial in trials]})


def without_conflicts(program: Program) -> Program:
    """The program on a shared memory without banks: every access takes its ideal number of wavefronts."""
    classes = tuple(
        replace(kind, roles=tuple(replace(role, accesses=_ideal(role.accesses)) for role in kind.roles))
        for kind in program.classes)
    return replace(program, classes=classes, sequence=tuple(map(without_conflicts, program.sequence)))


def _ideal(accesses: AccessTable) -> AccessTable:
    return replace(accesses, wavefronts=accesses.ideal_wavefronts, bank_conflicts=accesses.bank_conflicts * 0)


def _unconflicted(proposal: Proposal, outcome: Outcome) -> Trial:
    config = outcome.plan.config
    result = simulate(
        without_conflicts(outcome.program), outcome.spec, fidelity=config.fidelity, l2=config.l2,
        launch_overhead=config.launch_overhead, policy=config.issue_policy)
    return _trial(proposal, outcome.summary, {"cycles": result.cycles}, "")


def _trial(proposal: Proposal, before: Summary, after: Summary | None, failure: str) -> Trial:
    trial = Trial(proposal.change, proposal.reason, proposal.possible, int(before["cycles"]), failure=failure)
    if after is None:
        return trial
    cycles = int(after["cycles"])
    price = _price(before, after) if proposal.possible else ""
    return replace(trial, cycles=cycles, speedup_pct=100 * (before["cycles"] / max(cycles, 1) - 1), price=price)


def _price(before: Summary, after: Summary) -> str:
    """What the change takes, where it differs: ``16,384 bytes more shared memory, 3 instead of 2 CTAs per SM``."""
    found = []
    for key, what in (("shared_bytes", "bytes of shared memory"), ("registers_per_thread", "registers per thread")):
        more = after["occupancy"][key] - before["occupancy"][key]
        if more:
            found.append(f"{abs(more):,} {what} {'more' if more > 0 else 'less'}")
    if after["blocks_per_sm"] != before["blocks_per_sm"]:
        found.append(f"{after['blocks_per_sm']} instead of {before['blocks_per_sm']} CTAs per SM")
    change_pct = 100 * (after["warp_instructions"] / max(before["warp_instructions"], 1) - 1)
    if abs(change_pct) >= 0.05:
        found.append(f"{change_pct:+.1f}% instructions")
    return ", ".join(found) or "nothing"
