"""Models moves: MOV, IMAD.MOV, CS2R (zeroing), SHFL, and instructions whose result has no functional model.
Leaves out immediates, constants and special registers: an op without a source group writes zero."""

from __future__ import annotations

import numpy as np

from gpusim.errors import UserError
from gpusim.verify.state import DEFINED
from gpusim.verify.step import Step

__all__ = ["forget", "move", "nothing", "shuffle"]

_LANE_BITS, _CLAMP_SHIFT = 0xFFFF, 16


def move(step: Step) -> None:
    """MOV d, s: copies the register group; zero where the op has no vector source. What has no model moves as such."""
    if not step.writes_vector:
        return
    sources = step.vector_sources
    if not sources:
        step.write(np.zeros(1, np.uint32))
        return
    start, count = sources[0]
    if (step.role.origin[start:start + count] != DEFINED).any() or count != step.op.dst_count:
        step.forget_result()
    else:
        step.write(step.group(start, count))


def shuffle(step: Step) -> None:
    """SHFL.{IDX,UP,DOWN,BFLY} d, data, b, c with immediate b and c: operand = c << 16 | b, as in PTX ``shfl.sync``."""
    data = step.source(0)
    if data is None:
        raise UserError("SHFL needs a data register", place=step.place)
    mode = step.mnemonic.split(".")[1]
    lane_operand, control = step.op.operand & _LANE_BITS, step.op.operand >> _CLAMP_SHIFT
    step.write(data[..., shuffle_sources(mode, lane_operand, control)])


def shuffle_sources(mode: str, lane_operand: int, control: int) -> np.ndarray:
    """Lane that each of the 32 lanes reads (PTX ISA, shfl.sync); a lane out of its segment reads itself."""
    lane = np.arange(32)
    clamp, segment = control & 0x1F, (control >> 8) & 0x1F
    highest = (lane & segment) | (clamp & ~segment)
    lowest = lane & segment
    if mode == "UP":
        source = lane - lane_operand
        return np.where(source >= highest, source, lane)
    source = {"DOWN": lane + lane_operand, "BFLY": lane ^ lane_operand,
              "IDX": lowest | (lane_operand & ~segment)}[mode]
    return np.where(source <= highest, source, lane)


def nothing(step: Step) -> None:
    """Instructions without effect on data: branches, NOP, fences (memory is in order here)."""


def forget(step: Step) -> None:
    """Integer, predicate and address arithmetic: addresses and predicates stand in the access table already."""
    step.forget_result()
