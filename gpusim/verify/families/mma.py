"""Models warp-wide matrix multiply-add (HMMA, IMMA, DMMA, QMMA, BMMA) through the atom's thread-value layouts.
Leaves out the summation order and truncation inside a tensor core, and wgmma."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpusim.errors import UserError
from gpusim.verify.atoms import fragments_for
from gpusim.verify.dtypes import is_float
from gpusim.verify.families.sparse import expand
from gpusim.verify.fragments import Fragments
from gpusim.verify.registers import pack, unpack
from gpusim.verify.step import Step

__all__ = ["mma"]

_INT32 = np.iinfo(np.int32)


def mma(step: Step) -> None:
    """D = A B + C; operands d, a, b, c are source groups 0, 1, 2; an empty group c is zero (RZ).

    Products of up to 16-bit floats are exact in float32, in which an instruction's sum is formed (float64 for DMMA);
    a 16-bit accumulator is rounded to nearest even once per instruction. Integers wrap, or saturate with .SAT. A sparse
    MMA has the metadata of A as its source group 3.
    """
    fragments = _fragments(step)
    a = _matrix(step, 0, fragments.a_dtype, fragments.a)
    b = _matrix(step, 1, fragments.b_dtype, fragments.b)
    c = _matrix(step, 2, fragments.c_dtype, fragments.c)
    if a is None or b is None:
        raise UserError(f"{step.mnemonic} needs registers for A and B", place=step.place)
    if a.shape[-1] < b.shape[-1]:
        a = expand(step, a)
    with np.errstate(over="ignore", invalid="ignore"):
        total = _product(a, b, step.mnemonic, fragments) + (0 if c is None else c)
        total = _to_integer(total, step.mnemonic) if not is_float(fragments.c_dtype) else total
        flat = total.reshape(*total.shape[:2], -1)[..., fragments.d]
        values = flat.reshape(*flat.shape[:2], 32, -1)
        step.write(pack(values, fragments.c_dtype))


def _fragments(step: Step) -> Fragments:
    fragments = fragments_for(step.mnemonic, step.place)
    expected, got = fragments.registers, tuple(step.op.src_count[:3])
    if got[:2] != expected[:2] or step.op.dst_count != expected[2]:
        raise UserError(f"{step.mnemonic} takes registers (a, b, d) = {(*expected[:2], expected[2])}",
                        place=step.place, got=(*got[:2], step.op.dst_count))
    return fragments


def _matrix(step: Step, operand: int, dtype: str, gather: np.ndarray) -> np.ndarray | None:
    """Matrix (CTAs, warps, G, rows, columns) of numbers wide enough to multiply exactly; None where group is empty."""
    registers = step.source(operand)
    if registers is None:
        return None
    values = unpack(registers, dtype)
    matrix = np.take(values.reshape(*values.shape[:2], -1), gather, axis=-1)
    return matrix.astype(_working_type(dtype), copy=False)


@lru_cache
def _working_type(dtype: str) -> np.dtype:
    return np.dtype(np.float64 if dtype in ("f64", "s32") else np.float32)


def _product(a: np.ndarray, b: np.ndarray, mnemonic: str, fragments: Fragments) -> np.ndarray:
    """A times B transposed; for one-bit operands the population count of A AND B or A XOR B."""
    product = a @ b.swapaxes(-1, -2)
    if fragments.a_dtype == "u1" and "XOR" in mnemonic:
        return a.sum(-1)[..., :, None] + b.sum(-1)[..., None, :] - 2 * product
    return product


def _to_integer(total: np.ndarray, mnemonic: str) -> np.ndarray:
    """32-bit integers of exact sums in float64."""
    if "SAT" in mnemonic.split("."):
        total = np.clip(total, _INT32.min, _INT32.max)
    return total.astype(np.int64).astype(np.int32)
