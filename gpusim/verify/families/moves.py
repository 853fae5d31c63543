"""Models moves: MOV, IMAD.MOV, CS2R (zeroing), SHFL, and instructions whose result has no functional model.
Leaves out constants, special registers, and immediates of compiled code: without a source group such ops write 0."""

from __future__ import annotations

import numpy as np

from gpusim.errors import UserError
from gpusim.verify.state import DEFINED, NEVER_WRITTEN
from gpusim.verify.step import Step

__all__ = ["forget", "move", "nothing", "permute", "shuffle"]

_LANE_BITS, _CLAMP_SHIFT = 0xFFFF, 16


def move(step: Step) -> None:
    """MOV d, s: copies the register group; the immediate (operand, 0: none) where the op has no vector source. What has
    no model moves as such."""
    if not step.writes_vector:
        return
    sources = step.vector_sources
    if not sources:
        step.write(np.full(1, step.immediate, np.uint32))
        return
    start, count = sources[0]
    if (step.role.origin[start:start + count] != DEFINED).any() or count != step.op.dst_count:
        step.forget_result()
    else:
        step.write(step.group(start, count))


def permute(step: Step) -> None:
    """PRMT d, a, selector, c with the selector as immediate operand: nibble n of it names the byte of c:a that becomes
    byte n, its bit 3 repeats that byte's sign. With one source group ``a`` is zero. Without a selector, or from
    addresses, nothing is known; bytes that were never written stay what they are."""
    starts = [start for start, count in step.vector_sources if count == 1]
    known = all(step.role.origin[start] in (DEFINED, NEVER_WRITTEN) for start in starts)
    if not (step.op.operand and known and len(starts) == len(step.vector_sources) in (1, 2)):
        step.forget_result()
        return
    words = [step.role.registers[start] for start in starts]
    a, c = words if len(words) == 2 else (np.zeros_like(words[0]), words[0])
    pool = np.concatenate([np.ascontiguousarray(word)[..., None].view(np.uint8) for word in (a, c)], axis=-1)
    nibbles = [step.op.operand >> 4 * n & 0xF for n in range(4)]
    chosen = [pool[..., nibble & 7] for nibble in nibbles]
    signed = [np.where(byte >= 0x80, 0xFF, 0).astype(np.uint8) if nibble & 8 else byte
              for nibble, byte in zip(nibbles, chosen, strict=True)]
    step.write(np.stack(signed, axis=-1).view(np.uint32)[None, ..., 0])


def shuffle(step: Step) -> None:
    """SHFL.{IDX,UP,DOWN,BFLY} d, data, b, c with immediate b and c: operand = c << 16 | b, as in PTX ``shfl.sync``."""
    if step.is_address(0):
        step.forget_result()
        return
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
