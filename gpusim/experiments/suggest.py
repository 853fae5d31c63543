"""Models a suggestion: the best layout for every swizzle parameter of a kernel, its proof, and what it is worth.
Leaves out how candidates are found and counted (gpusim.experiments.swizzle_search, gpusim.experiments.proof)."""

from __future__ import annotations

from collections.abc import Sequence
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
from gpusim.report.summary import Summary

__all__ = ["Suggestion", "suggest"]

Values = dict[str, str]


@dataclass(frozen=True)
class Suggestion:
    """The values found for the swizzle parameters, and the summaries of simulating the kernel ``before`` and ``after``.

    Where the kernel already has the best values, ``before`` is no swizzle at all: the difference is what they are
    worth. Summaries are None where nothing was to be simulated, or could not be.
    """

    name: str
    searches: tuple[Search, ...]
    proof: Proof
    before: Values
    after: Values
    summary_before: Summary | None
    summary_after: Summary | None

    @property
    def already_best(self) -> bool:
        return all(found.before == found.best.text for found in self.searches)

    @property
    def saved_cycles(self) -> int | None:
        if self.summary_before is None or self.summary_after is None:
            return None
        return int(self.summary_before["cycles"]) - int(self.summary_after["cycles"])

    def verdict(self) -> str:
        """``swizzle=64B saves 1,234 cycles against swizzle=none: 1.62x faster``."""
        after, before, saved = _spelled(self.after), _spelled(self.before), self.saved_cycles
        if self.after == self.before:
            return f"{after} is the best there is"
        if saved is None or self.summary_before is None or self.summary_after is None:
            return f"{after} instead of {before}"
        ratio = self.summary_before["cycles"] / self.summary_after["cycles"]
        if saved < 0:
            return f"{after} costs {-saved:,} cycles against {before}: {1 / ratio:.2f}x slower"
        return f"{after} saves {saved:,} cycles against {before}: {ratio:.2f}x faster"


def suggest(
    target: str, settings: Sequence[str] = (), *, parameters: Sequence[str] = (), processes: int = 1,
    simulate: bool = True, progress: Progress | None = None,
) -> Suggestion:
    """Find the layout for each swizzle parameter (all by default), one parameter after the other.

    Raises UserError where the kernel has no such parameter, or refuses every candidate.
    """
    plan = load_plan(target, settings)
    spec = load_gpu(plan.config.gpu)
    searches: list[Search] = []
    for name in _chosen(plan, parameters):
        searches.append(search(plan, name, spec, progress))
        plan = with_parameter(plan, name, searches[-1].best.text)
    after = {found.parameter: found.best.text for found in searches}
    before = {found.parameter: found.before for found in searches}
    before = before if before != after else dict.fromkeys(after, "none")
    proof = prove(record_plan(plan, spec), _unswizzled(plan, after, spec))
    summaries = _simulate(target, settings, before, after, processes) if simulate else (None, None)
    return Suggestion(plan.name, tuple(searches), proof, before, after, *summaries)


def _chosen(plan: Plan, parameters: Sequence[str]) -> list[str]:
    known = swizzle_parameters(plan.parameters)
    if not known:
        raise UserError("the kernel has no parameter that spells a swizzle", place=plan.name,
                        suggestion="allocate its shared tensors with a parameter such as swizzle='none'")
    for name in parameters:
        if name not in known:
            raise UserError("no parameter of this name spells a swizzle", place=plan.name, got=f"'{name}'",
                            suggestion=did_you_mean(name, known))
    return list(parameters) or known


def _unswizzled(plan: Plan, values: Values, spec: GpuSpec) -> Program | None:
    for name in values:
        plan = with_parameter(plan, name, "none")
    try:
        return record_plan(plan, spec)
    except UserError:
        return None


def _simulate(
    target: str, settings: Sequence[str], before: Values, after: Values, processes: int
) -> tuple[Summary | None, Summary | None]:
    if before == after:
        return None, None
    jobs = [Job(target, (*settings, *(f"parameters.{key}={value}" for key, value in values.items())))
            for values in (before, after)]
    found = {result.index: result.summary for result in run_jobs(jobs, processes=processes)}
    return found[0], found[1]


def _spelled(values: Values) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())
