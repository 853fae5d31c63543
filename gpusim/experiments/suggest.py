"""Models a suggestion: the best layout for every swizzle parameter of a kernel, its proof, and what it is worth.
Leaves out how candidates are found and counted (gpusim.experiments.swizzle_search, gpusim.experiments.proof)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpusim.arch import GpuSpec, load_gpu
from gpusim.errors import UserError, did_you_mean
from gpusim.experiments.batch import Job, run_jobs
from gpusim.experiments.candidates import swizzle_parameters
from gpusim.experiments.config import Plan, load_plan
from gpusim.experiments.proof import Proof, prove
from gpusim.experiments.run import record_plan
from gpusim.experiments.swizzle_search import Progress, Search, search, with_parameter
from gpusim.program import Program

__all__ = ["Suggestion", "Trial", "suggest"]

Values = dict[str, str]
_ALTERNATIVES = 2
"""How many of a parameter's other conflict-free layouts are simulated."""


@dataclass(frozen=True)
class Trial:
    """One set of values that was simulated. ``cycles`` is None where it was not, or failed."""

    values: Values
    cycles: int | None = None

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.values.items())


@dataclass(frozen=True)
class Suggestion:
    """The values found for the swizzle parameters, ``after``, beside those ``before``.

    Where the kernel already has the best values, ``before`` is no swizzle at all: the difference is what they are
    worth. ``alternatives`` are free of conflicts as well, for more shared memory or more instructions. A kernel that
    chooses its layouts itself has a proof, and nothing else.
    """

    name: str
    searches: tuple[Search, ...]
    proof: Proof
    before: Trial
    after: Trial
    alternatives: tuple[Trial, ...]

    @property
    def already_best(self) -> bool:
        return all(found.before == found.best.text for found in self.searches)

    @property
    def saved_cycles(self) -> int | None:
        if self.before.cycles is None or self.after.cycles is None:
            return None
        return self.before.cycles - self.after.cycles

    def faster(self) -> list[str]:
        """A sentence for every alternative that takes fewer cycles than what is suggested."""
        limit = self.after.cycles or 0
        fewer = {str(trial): limit - trial.cycles for trial in self.alternatives if trial.cycles is not None}
        return [f"{trial} takes {cycles:,} cycles fewer than {self.after}, at the price shown above"
                for trial, cycles in fewer.items() if cycles > 0]

    def verdict(self) -> str:
        """``swizzle=64B saves 1,234 cycles against swizzle=none: 1.62x faster``."""
        if not self.after.values:
            answer = "are free of" if self.proof.conflict_free else "have"
            return f"{self.name} has no swizzle parameter; its own layouts {answer} bank conflicts"
        if self.after.values == self.before.values:
            return f"{self.after} is the best there is"
        if self.before.cycles is None or self.after.cycles is None:
            return f"{self.after} instead of {self.before}"
        ratio, saved = self.before.cycles / self.after.cycles, self.before.cycles - self.after.cycles
        if saved < 0:
            return f"{self.after} costs {-saved:,} cycles against {self.before}: {1 / ratio:.2f}x slower"
        return f"{self.after} saves {saved:,} cycles against {self.before}: {ratio:.2f}x faster"


def suggest(
    target: str, settings: Sequence[str] = (), *, parameters: Sequence[str] = (), processes: int = 1,
    simulate: bool = True, progress: Progress | None = None,
) -> Suggestion:
    """Find the layout for each swizzle parameter (all by default), one parameter after the other.

    Raises UserError for the name of no such parameter, and where the kernel refuses every candidate.
    """
    plan = load_plan(target, settings)
    spec = load_gpu(plan.config.gpu)
    names = _chosen(plan, parameters)
    part = _parts(progress, len(names) + simulate)
    searches: list[Search] = []
    for number, name in enumerate(names):
        searches.append(search(plan, name, spec, part(number)))
        plan = with_parameter(plan, name, searches[-1].best.text)
    proof = prove(record_plan(plan, spec), _unswizzled(plan, [found.parameter for found in searches], spec))
    trials = _trials(searches)
    if simulate and searches:
        trials = _simulated(target, settings, trials, processes, part(len(names)))
    return Suggestion(plan.name, tuple(searches), proof, trials[0], trials[1], tuple(trials[2:]))


def _trials(searches: Sequence[Search]) -> list[Trial]:
    """Before, after, and what else is free of conflicts: of each price the first."""
    after = {found.parameter: found.best.text for found in searches}
    before = {found.parameter: found.before for found in searches}
    if before == after:
        before = dict.fromkeys(after, "none")
    trials = [Trial(before), Trial(after)]
    for found in searches:
        prices = {candidate.price: candidate for candidate in reversed(found.conflict_free)}
        others = [candidate.text for candidate in reversed(prices.values()) if candidate.price != found.best.price]
        trials += [Trial({**after, found.parameter: text}) for text in others[:_ALTERNATIVES]]
    return trials


def _chosen(plan: Plan, parameters: Sequence[str]) -> list[str]:
    known = swizzle_parameters(plan.parameters)
    for name in parameters:
        if name not in known:
            raise UserError("no parameter of this name chooses a swizzle", place=plan.name, got=f"'{name}'",
                            suggestion=did_you_mean(name, known) if known else "it has none")
    return list(parameters) or known


def _unswizzled(plan: Plan, parameters: Sequence[str], spec: GpuSpec) -> Program | None:
    """The kernel without a swizzle, where it has one and can do without."""
    if not parameters:
        return None
    for name in parameters:
        plan = with_parameter(plan, name, "none")
    try:
        return record_plan(plan, spec)
    except UserError:
        return None


def _simulated(
    target: str, settings: Sequence[str], trials: Sequence[Trial], processes: int, progress: Progress
) -> list[Trial]:
    jobs = [Job(target, (*settings, *(f"parameters.{key}={value}" for key, value in trial.values.items())))
            for trial in trials]
    cycles: dict[int, int] = {}
    for done, result in enumerate(run_jobs(jobs, processes=processes), start=1):
        if result.summary:
            cycles[result.index] = int(result.summary["cycles"])
        progress(done / len(jobs))
    return [Trial(trial.values, cycles.get(number)) for number, trial in enumerate(trials)]


def _parts(progress: Progress | None, count: int) -> Callable[[int], Progress]:
    """Progress of the n-th of ``count`` parts."""
    report = progress or (lambda share: None)
    return lambda number: lambda share: report((number + share) / count)
