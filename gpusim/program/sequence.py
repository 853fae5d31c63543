"""Models launches one after another as one program: everything that describes code and CTAs stands back to back.
Leaves out what one launch leaves to the next in caches (gpusim.engine)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpusim.program.program import CtaClass, Program, RoleProgram, TensorInfo

__all__ = ["join_programs", "launches_of"]


def join_programs(programs: Sequence[Program]) -> Program:
    """One program of several launches on the same tensors; ``launch`` and ``name`` are those of the first one.

    The parts stay in ``sequence``. A single program is returned as it is. Raises ValueError for different tensors.
    """
    if len(programs) == 1:
        return programs[0]
    first = programs[0]
    if len({tuple((t.name, t.base_address) for t in program.tensors) for program in programs}) > 1:
        raise ValueError("launches of one program must have the same tensors at the same addresses")
    statics = np.cumsum([0, *(len(program.statics) for program in programs)])
    classes = np.cumsum([0, *(len(program.classes) for program in programs)])
    return replace(
        first,
        statics=tuple(static for program in programs for static in program.statics),
        classes=tuple(_moved(cta, int(move)) for program, move in zip(programs, statics, strict=False)
                      for cta in program.classes),
        cta_class=np.concatenate([program.cta_class + np.int32(move)
                                  for program, move in zip(programs, classes, strict=False)]),
        cta_bases=np.concatenate([program.cta_bases for program in programs]),
        cta_index=np.concatenate([program.cta_index for program in programs]),
        tensors=tuple(_written_by_any(infos) for infos in zip(*(program.tensors for program in programs), strict=True)),
        flops=sum(program.flops for program in programs),
        notes=tuple(dict.fromkeys(note for program in programs for note in program.notes)),
        mbarriers=max((program.mbarriers for program in programs), key=len),  # each launch numbers its own
        sequence=tuple(programs),
    )


def launches_of(program: Program) -> tuple[Program, ...]:
    """The launches of a program, itself where it is one."""
    return program.sequence or (program,)


def _moved(cta: CtaClass, pcs: int) -> CtaClass:
    return replace(cta, roles=tuple(_moved_role(role, pcs) for role in cta.roles))


def _moved_role(role: RoleProgram, pcs: int) -> RoleProgram:
    ops = role.ops.copy()
    ops["pc"] += pcs
    return replace(role, ops=ops)


def _written_by_any(infos: Sequence[TensorInfo]) -> TensorInfo:
    return replace(infos[0], is_output=any(info.is_output for info in infos))
