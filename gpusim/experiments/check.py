"""Models the check of a kernel without timing: right answer, no races, registers covered, which accesses conflict.
Leaves out how each is found (gpusim.verify, gpusim.dsl.backend)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusim.arch import GpuSpec, load_gpu
from gpusim.dsl.backend import check_hazards
from gpusim.experiments.config import Plan
from gpusim.experiments.run import record_plan
from gpusim.program import Program
from gpusim.report.tables import shared_memory_table
from gpusim.verify import OutputCheck, check_program, random_inputs

__all__ = ["CheckResult", "Verdict", "check", "small"]

_SMALL_SIZE = 256
"""Sizes above are cut to this for the check: a few tiles each way, a second or two of NumPy."""


@dataclass(frozen=True)
class Verdict:
    """One question and its answer. ``verdict``: pass, FAIL, or note (worth knowing, no failure)."""

    question: str
    verdict: str
    detail: str


@dataclass(frozen=True)
class CheckResult:
    """All verdicts on one program, and the sizes they were found at."""

    name: str
    problem: dict[str, int]
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        return all(verdict.verdict != "FAIL" for verdict in self.verdicts)


def check(plan: Plan, *, seed: int = 0) -> CheckResult:
    """Record the plan's program, execute it on random data, and ask every question.

    Raises UserError when the kernel cannot be recorded, SimulatedFailure when it deadlocks.
    """
    spec = load_gpu(plan.config.gpu)
    program = record_plan(plan, spec)
    verdicts = (*_function(plan, program, seed), *_registers(program, spec), *_conflicts(program))
    return CheckResult(plan.name, plan.problem, verdicts)


def small(problem: dict[str, int]) -> list[str]:
    """Settings that cut a problem to a size that executes in a moment."""
    return [f"problem.{name}={min(size, _SMALL_SIZE)}" for name, size in problem.items()]


def _function(plan: Plan, program: Program, seed: int) -> Iterator[Verdict]:
    inputs = random_inputs(program, seed=seed)
    report = check_program(program, inputs, plan.program.expected(program, inputs))
    for output in report.outputs:
        yield Verdict(f"{output.name} equals NumPy", _verdict(not output.wrong), _answer(output))
        once = output.unwritten == output.rewritten == 0
        detail = f"{output.unwritten:,} elements never, {output.rewritten:,} repeatedly"
        turns = f", {output.times} times in turn" if output.times > 1 else ""
        yield Verdict(f"{output.name} written once", _verdict(once), f"every element{turns}" if once else detail)
    races = [hazard.sentence for hazard in report.hazards]
    yield Verdict("shared memory without races", _verdict(not races), _first_of(races) or "no hazards")


def _answer(output: OutputCheck) -> str:
    if output.wrong:
        return f"{output.wrong:,} of {output.elements:,} elements are wrong, first {output.first_wrong}"
    return f"{output.elements:,} {output.dtype} elements, largest error {output.max_error:.2e}"


def _registers(program: Program, spec: GpuSpec) -> Iterator[Verdict]:
    mnemonics = [static.mnemonic for static in program.statics]
    for kind in program.classes:
        for role in kind.roles:
            hazards = check_hazards(role.ops, mnemonics, spec.instruction_table)
            detail = _first_of(hazards) or f"{len(role.ops):,} instructions covered"
            yield Verdict(f"control fields, {kind.name} {role.name}", _verdict(not hazards), detail)


def _conflicts(program: Program) -> Iterator[Verdict]:
    for row in shared_memory_table(program).itertuples():
        free = row.wavefronts <= row.wavefronts_ideal
        detail = "conflict-free" if free else f"{row.ways:.2f} ways, {row.bank_conflicts:,.0f} bank conflicts"
        yield Verdict(f"{row.label}, {Path(row.file).name}:{row.line}", "pass" if free else "note", detail)


def _first_of(found: Sequence[object]) -> str:
    """The first of several findings, and how many there are."""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[0]}{more}" if found else ""


def _verdict(passed: bool) -> str:
    return "pass" if passed else "FAIL"
