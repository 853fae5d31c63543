"""Models the verdict on a program: right answer, elements written once, no hazards, bank conflicts of each access.
Leaves out register hazards of control fields (gpusim.dsl.backend) and anything that takes time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.errors import UserError
from gpusim.program import Program, RoleProgram, TensorInfo
from gpusim.verify.executor import ExecutionResult, execute
from gpusim.verify.hazards import Hazard
from gpusim.verify.tolerance import Tolerance, accumulator_dtype, sum_terms, tolerance_for

__all__ = ["AccessCheck", "CheckReport", "OutputCheck", "check_program"]

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class OutputCheck:
    """One output tensor against its reference. Elements of CTAs that did not run are left out."""

    name: str
    dtype: str
    tolerance: Tolerance
    elements: int  # compared
    max_error: float  # largest |got - reference|
    max_relative_error: float  # ... of the largest |reference|
    wrong: int  # elements outside the tolerance
    first_wrong: str  # "[3, 5]: got 1.0, reference 2.0", "": none
    unwritten: int  # elements that no store reached
    rewritten: int  # elements stored more than once by CTAs that no flag orders
    times: int  # stores of the element that is stored most often, in order: slices of k that take turns

    @property
    def ok(self) -> bool:
        return self.wrong == self.unwritten == self.rewritten == 0


@dataclass(frozen=True)
class AccessCheck:
    """Shared-memory accesses of one label, over all CTAs of a class."""

    cta_class: str
    role: str
    label: str
    operation: str
    requests: int  # warp instructions
    wavefronts: int
    ideal_wavefronts: int
    bank_conflicts: float

    @property
    def conflict_free(self) -> bool:
        """As Nsight counts conflicts: a cp.async may take more than its ideal wavefronts without any."""
        return self.bank_conflicts == 0


@dataclass(frozen=True)
class CheckReport:
    """Everything found; ``ok`` leaves bank conflicts out, which cost time but no correctness."""

    program: str
    outputs: tuple[OutputCheck, ...]
    hazards: tuple[Hazard, ...]
    accesses: tuple[AccessCheck, ...]

    @property
    def ok(self) -> bool:
        return not self.hazards and all(output.ok for output in self.outputs)

    @property
    def conflict_free(self) -> bool:
        return all(access.conflict_free for access in self.accesses)

    @property
    def problems(self) -> list[str]:
        """One sentence per thing that is wrong."""
        return [hazard.sentence for hazard in self.hazards] + [
            sentence for output in self.outputs for sentence in _sentences(output)]


def check_program(program: Program, inputs: Arrays, reference: Arrays | Callable[[Arrays], Arrays], *,
                  tolerance: Tolerance | None = None, ctas: Sequence[int] | None = None,
                  ignore: Collection[str] = ()) -> CheckReport:
    """Run ``program`` on ``inputs`` and compare with ``reference``.

    Args:
        program: from any front end.
        inputs: see execute.
        reference: expected outputs by name, or a function of the inputs that returns them; what a masked array leaves
            out is no element, such as the space between two matrices.
        tolerance: by default from each output's type and the program's accumulator (tolerance_for).
        ctas: only these CTAs (launch-order numbers); then only elements that they wrote are compared.
        ignore: outputs that are neither computed nor compared, see execute.

    Raises:
        UserError, SimulatedFailure: as execute; UserError for a reference that lacks an output or has another shape.
    """
    expected = reference(inputs) if callable(reference) else reference
    result = execute(program, inputs, ctas=ctas, ignore=ignore)
    accumulator, terms = accumulator_dtype(program), sum_terms(program)
    outputs = tuple(
        _check_output(info, result, _expected(info, expected, program), tolerance or tolerance_for(
            info.dtype, accumulator, terms, int(result.written[info.name].max(initial=1))), partial=ctas is not None)
        for info in {info.name: info for info in program.tensors}.values() if info.name in result.outputs)
    return CheckReport(program.name, outputs, tuple(result.hazards), _accesses(program))


def _expected(info: TensorInfo, expected: Arrays, program: Program) -> np.ndarray:
    if info.name not in expected:
        raise UserError("a reference must hold every output", place=program.name, got=f"none for '{info.name}'")
    values = np.asanyarray(expected[info.name])
    if values.shape != tuple(info.shape):
        raise UserError("a reference must have its output's shape", place=f"{program.name}: {info.name}",
                        got=values.shape, suggestion=f"make it {tuple(info.shape)}")
    return values


def _check_output(info: TensorInfo, result: ExecutionResult, expected: np.ndarray, tolerance: Tolerance, *,
                  partial: bool) -> OutputCheck:
    got, written = result.outputs[info.name], result.written[info.name]
    elements, expected = ~np.ma.getmaskarray(expected), np.ma.getdata(expected)
    compared = elements & (written > 0) if partial else elements
    with np.errstate(invalid="ignore"):
        error = np.abs(_wide(got) - _wide(expected))
    error = np.where(got == expected, 0.0, np.where(np.isnan(error), np.inf, error))
    wrong = compared & (error > tolerance.bound(expected))
    unwritten = elements & (written == 0)
    largest = float(np.abs(_wide(expected)).max(initial=0.0)) or 1.0
    max_error = float(error.max(initial=0.0, where=compared))
    return OutputCheck(info.name, info.dtype, tolerance, int(compared.sum()), max_error, max_error / largest,
                       int(wrong.sum()), _first(wrong, got, expected), 0 if partial else int(unwritten.sum()),
                       int((result.repeated[info.name] > 1).sum()), int(written.max(initial=0)))


def _wide(values: np.ndarray) -> np.ndarray:
    """As float64 or complex128."""
    return values.astype(np.result_type(values, np.float64))


def _first(wrong: np.ndarray, got: np.ndarray, expected: np.ndarray) -> str:
    if not wrong.any():
        return ""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{list(index)}: got {got[index]}, reference {expected[index]}"


def _sentences(output: OutputCheck) -> list[str]:
    found = []
    if output.wrong:
        found.append(f"{output.name}: {output.wrong} of {output.elements} elements differ from the reference by more "
                     f"than the tolerance ({output.tolerance.reason}), first {output.first_wrong}")
    if output.unwritten:
        found.append(f"{output.name}: every element must be written once, got {output.unwritten} never written")
    if output.rewritten:
        found.append(f"{output.name}: every element must be written once, got {output.rewritten} written repeatedly")
    return found


def _accesses(program: Program) -> tuple[AccessCheck, ...]:
    found = []
    for row, cta_class in enumerate(program.classes):
        ctas = int((program.cta_class == row).sum())
        for role in cta_class.roles:
            found += _role_accesses(role, cta_class.name, ctas)
    return tuple(found)


def _role_accesses(role: RoleProgram, cta_class: str, ctas: int) -> list[AccessCheck]:
    """One entry per (label, operation), in order of first appearance in the access table."""
    table = role.accesses
    performed = role.ops["access"][(role.ops["active"] > 0) & (role.ops["access"] >= 0)]
    times = np.bincount(performed, minlength=len(table))[:, None] * ctas
    active = (table.lane_mask != 0) & (table.ideal_wavefronts > 0)
    columns = [active, table.wavefronts, table.ideal_wavefronts, table.bank_conflicts]
    totals = np.stack([(times * column.astype(np.float64)).sum(1) for column in columns], axis=1)
    groups: dict[tuple[str, str], np.ndarray] = {}
    for name, total in zip(zip(table.label, table.operation, strict=True), totals, strict=True):
        groups[name] = groups.get(name, 0) + total
    return [AccessCheck(cta_class, role.name, label, operation, int(t[0]), int(t[1]), int(t[2]), float(t[3]))
            for (label, operation), t in groups.items() if t[0]]
