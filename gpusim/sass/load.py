"""Models the way from a disassembly and a launch to a Program: emulate CTAs, group them into classes, build tables.
Leaves out which kernel it is: what the parameters mean is the caller's knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpusim.program import CtaClass, Launch, Program, RoleProgram, TensorInfo
from gpusim.sass.accesses import Patterns, event_tensors, find_patterns, role_accesses, tensor_origins
from gpusim.sass.ctas import CtaTrace, Placement, place_ctas
from gpusim.sass.decode import Step, decode
from gpusim.sass.emulator import Machine, emulate
from gpusim.sass.launch import SassLaunch, abi_of, allocate, constant_bank
from gpusim.sass.optable import instruction_rows, role_ops, statics_of
from gpusim.sass.parser import SassFunction, parse_sass, read_sass, select_function
from gpusim.sass.trace import WarpTrace, split_roles

__all__ = ["load_sass"]

WITHOUT_ACCESS = frozenset(("LDL", "STL", "UBLKCP", "UTMALDG", "UTMASTG", "SYNCS", "TEX", "SULD", "SUST"))
"""Memory instructions that get no row in the access tables."""


@dataclass(frozen=True)
class _Code:
    function: SassFunction
    steps: tuple[Step, ...]
    launch: SassLaunch
    tensors: tuple[TensorInfo, ...]
    shared_start: int


def load_sass(path_or_text: Path | str, *, launch: SassLaunch, function: str | None = None) -> Program:
    """The Program of a compiled kernel, with the control fields that the compiler chose.

    Every warp is emulated (integers, predicates, addresses), so trip counts, predicated-off instructions and lane
    addresses are exact. CTAs may differ by base pointers that are affine in blockIdx; where the corners of the grid say
    otherwise, every CTA is emulated. CTAs whose pointers differ modulo 128 bytes form classes of their own.

    Args:
        path_or_text: a file (plain or gzip) that ``cuobjdump -sass`` wrote, or such text itself.
        launch: grid, block, parameters in the order of the kernel's signature, shared bytes, registers.
        function: name of the kernel, or a unique part of it; not needed when the text has one function.

    Raises:
        UserError: the text does not parse; code that cannot be emulated (names the instruction); an address outside
            the tensors; CTAs that differ by more than base pointers in a large grid.
    """
    is_text = isinstance(path_or_text, str) and "\n" in path_or_text
    functions = parse_sass(str(path_or_text)) if is_text else read_sass(path_or_text)
    code = _decode(select_function(functions, function), launch)
    placement = place_ctas(launch.grid, lambda cta: _run(code, cta), code.tensors)
    return _program(code, placement)


def _decode(function: SassFunction, launch: SassLaunch) -> _Code:
    abi, tensors = abi_of(function.architecture), allocate(launch.params)
    bank = constant_bank(launch, tensors, abi)
    steps = tuple(decode(instruction, bank) for instruction in function.instructions)
    return _Code(function, steps, launch, tensors, abi.shared_start)


def _run(code: _Code, cta: tuple[int, int, int]) -> CtaTrace:
    roles = split_roles(emulate(Machine(code.steps, code.launch, cta, code.shared_start)))
    tensors = tuple(event_tensors(role, code.function.instructions, code.tensors) for role in roles)
    origins = [tensor_origins(r, t, len(code.tensors)) for r, t in zip(roles, tensors, strict=True)]
    return CtaTrace(cta, roles, tensors, np.min(origins, axis=0) if origins else np.zeros(0, np.int64))


def _program(code: _Code, placement: Placement) -> Program:
    launch, rows = code.launch, instruction_rows(code.function)
    patterns = {id(probe): _patterns(code, probe) for probe in placement.probes}
    pairs = zip(placement.probes, placement.residues, strict=True)
    classes = tuple(_cta_class(code, rows, probe, patterns[id(probe)], residues) for probe, residues in pairs)
    return Program(
        name=code.function.name, statics=statics_of(code.function), classes=classes,
        launch=Launch(launch.grid, launch.threads, launch.registers, launch.shared_bytes,
                      parameter_bytes=launch.parameter_bytes),
        cta_class=placement.cta_class, cta_bases=placement.cta_bases, cta_index=placement.cta_index,
        tensors=code.tensors, notes=_notes(code, placement),
    )


def _patterns(code: _Code, probe: CtaTrace) -> list[Patterns]:
    pairs = zip(probe.roles, probe.event_tensors, strict=True)
    return [find_patterns(role, code.function.instructions, of_event, probe.origins) for role, of_event in pairs]


def _cta_class(
    code: _Code, rows: np.ndarray, probe: CtaTrace, patterns: Sequence[Patterns], residues: np.ndarray
) -> CtaClass:
    """The tables of CTAs whose base pointers leave these residues (T,) modulo the alignment."""
    made, names = [], [t.name for t in code.tensors]
    for role, found in zip(probe.roles, patterns, strict=True):
        accesses = role_accesses(found, residues, names)
        ops = role_ops(role, rows, accesses, code.function)
        made.append(RoleProgram(_role_name(role), role.first_warp, role.num_warps, ops, accesses.table))
    odd = [f"{name} + {residue}" for name, residue in zip(names, residues, strict=True) if residue]
    return CtaClass(f"like block {probe.cta}" + (f", {', '.join(odd)}" if odd else ""), tuple(made))


def _role_name(role: WarpTrace) -> str:
    last = role.first_warp + role.num_warps - 1
    return f"warp {last}" if last == role.first_warp else f"warps {role.first_warp}-{last}"


def _notes(code: _Code, placement: Placement) -> tuple[str, ...]:
    roles = [role for probe in placement.probes for role in probe.roles]
    executed = {code.function.instructions[i].base for role in roles for i in np.unique(role.steps)}
    without_access = sorted(executed & WITHOUT_ACCESS)
    found = [f"{placement.num_emulated} of {len(placement.cta_class)} CTAs emulated"]
    found += [f"memory traffic left out: {', '.join(without_access)}"] if without_access else []
    return tuple(found)
