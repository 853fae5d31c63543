"""Models the search for a shared-memory layout: a kernel is recorded with every candidate, every access is counted.
Leaves out time (gpusim.experiments.suggest simulates what was found)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpusim.arch import GpuSpec
from gpusim.cute.presets import SMEM_SWIZZLES, smem_swizzle
from gpusim.errors import UserError
from gpusim.experiments.candidates import candidate_swizzles
from gpusim.experiments.config import Plan
from gpusim.experiments.run import record_plan
from gpusim.experiments.shared_accesses import BANK_ROW_BYTES, access_cost, source_accesses
from gpusim.program import AccessTable, Program
from gpusim.report.executions import roles, static_executions

__all__ = ["Candidate", "Search", "search", "with_parameter"]

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Candidate:
    """One layout that was tried: what it costs over the whole launch, or the rule by which it was refused."""

    text: str
    refusal: str = ""
    bank_conflicts: float = 0.0
    wavefronts: int = 0
    shared_bytes: int = 0
    instructions: int = 0

    @property
    def conflict_free(self) -> bool:
        return not self.refusal and self.bank_conflicts == 0

    @property
    def price(self) -> tuple[int, int]:
        """Shared memory and executed instructions."""
        return self.shared_bytes, self.instructions

    @property
    def cost(self) -> tuple[object, ...]:
        """In order of importance: conflicts, shared memory, executed instructions (arithmetic on addresses),
        wavefronts of copies."""
        return bool(self.refusal), self.bank_conflicts, self.shared_bytes, self.instructions, self.wavefronts


@dataclass(frozen=True)
class Search:
    """Every candidate for one parameter, best first, refused ones last. ``before``: the parameter's value."""

    parameter: str
    before: str
    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    @property
    def conflict_free(self) -> tuple[Candidate, ...]:
        return tuple(candidate for candidate in self.candidates if candidate.conflict_free)

    @property
    def refusals(self) -> dict[str, list[str]]:
        """Refused candidates by the rule they break."""
        rules: dict[str, list[str]] = {}
        for candidate in self.candidates:
            if candidate.refusal:
                rules.setdefault(candidate.refusal, []).append(candidate.text)
        return rules


def search(plan: Plan, parameter: str, spec: GpuSpec, progress: Progress | None = None) -> Search:
    """Record the plan's kernel with every candidate for one parameter, and count.

    Among equals the present value wins, then presets and XORs of fewer bits. Raises UserError when the kernel refuses
    all of them.
    """
    before = str(plan.parameters[parameter])
    texts = candidate_swizzles(_tile_bytes(_reference(plan, parameter, spec)))
    texts += [before] if before not in texts else []
    candidates = []
    for number, text in enumerate(texts, start=1):
        candidates.append(_try(with_parameter(plan, parameter, text), text, spec))
        if progress:
            progress(number / len(texts))
    candidates.sort(key=lambda candidate: (*candidate.cost, candidate.text != before, *_complexity(candidate.text)))
    if candidates[0].refusal:
        raise UserError(f"every value of {parameter} is refused: {candidates[0].refusal}", place=plan.name)
    return Search(parameter, before, tuple(candidates))


def with_parameter(plan: Plan, parameter: str, value: object) -> Plan:
    """The plan with another value of one kernel parameter."""
    parameters = {**plan.config.parameters, parameter: value}
    return Plan(plan.name, plan.config.model_copy(update={"parameters": parameters}), plan.program)


def _complexity(text: str) -> tuple[int, bool]:
    swizzle = smem_swizzle(text, BANK_ROW_BYTES).swizzle
    return swizzle.bits if swizzle else 0, text not in SMEM_SWIZZLES


def _try(plan: Plan, text: str, spec: GpuSpec) -> Candidate:
    in_order = plan.config.model_copy(update={"schedule": "source"})  # quicker; it has the same instructions
    try:
        return _count(text, record_plan(Plan(plan.name, in_order, plan.program), spec))
    except UserError as error:
        return Candidate(text, refusal=error.rule)


def _count(text: str, program: Program) -> Candidate:
    wavefronts, conflicts = 0, 0.0
    for access in source_accesses(program):
        cost = access_cost(access)
        wavefronts += int((cost.wavefronts * access.executions).sum())
        conflicts += float((cost.bank_conflicts * access.executions).sum())
    return Candidate(text, "", conflicts, wavefronts, program.launch.shared_bytes,
                     int(static_executions(program).sum()))


def _reference(plan: Plan, parameter: str, spec: GpuSpec) -> Program:
    """The kernel as it is, or without a swizzle where its own is refused."""
    try:
        return record_plan(plan, spec)
    except UserError:
        return record_plan(with_parameter(plan, parameter, "none"), spec)


def _tile_bytes(program: Program) -> int:
    """The most bytes from the lowest to the highest address of one kind of access, stages aside."""
    return max((span for item in roles(program) for span in _spans(item.role.accesses)), default=BANK_ROW_BYTES)


def _spans(table: AccessTable) -> list[int]:
    found = []
    for label in set(table.label):
        addresses = table.shared_address[np.array([name == label for name in table.label])]
        addresses = addresses[addresses >= 0]
        found += [int(addresses.max() - addresses.min()) + 1] if len(addresses) else []
    return found
