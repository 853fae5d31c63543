"""Models which thread of a warp holds which element of an MMA operand, as (thread, value) layouts.
Leaves out which shapes exist (gpusim.arch.atoms.mma).

All tensor-core fragments since Turing follow one rule (PTX ISA, "Matrix fragments for mma"): thread t holds row
t / 4 and, of every group of 4 p columns, columns p (t % 4) to p (t % 4) + p - 1, where p elements fill one register;
values run over the p columns, then over blocks of 8 rows, then over groups of columns. The layouts are those of CuTe's
MMA_Traits: they map to the column-major index in the (rows, columns) tile.
"""

from __future__ import annotations

from gpusim.cute import Layout

__all__ = ["QUAD_PAIR", "WARP", "accumulator_tv", "operand_tv", "volta_accumulator_tv", "volta_operand_tv"]

WARP = Layout(32, 1)
QUAD_PAIR = Layout((4, 2), (1, 16))
"""Volta's MMA belongs to 8 threads: t to t + 3 and t + 16 to t + 19."""

_QUAD_THREADS, _ROW_BLOCK = 4, 8


def operand_tv(rows: int, columns: int, pack: int) -> Layout:
    """A (rows = M) or B (rows = N) of ``columns`` = K; ``pack``: elements per register (1 for f64 and tf32)."""
    group = _QUAD_THREADS * pack
    values = [(pack, rows), (rows // _ROW_BLOCK, _ROW_BLOCK), (columns // group, group * rows)]
    return _fragment(pack * rows, values)


def accumulator_tv(rows: int, columns: int) -> Layout:
    """C and D: pairs of neighbouring columns, whatever their type."""
    return operand_tv(rows, columns, pack=2)


def _fragment(column_stride: int, values: list[tuple[int, int]]) -> Layout:
    modes = [(extent, stride) for extent, stride in values if extent > 1] or [(1, 0)]
    shape, stride = zip(*modes, strict=True)
    value = (shape, stride) if len(modes) > 1 else (shape[0], stride[0])
    return Layout(((_QUAD_THREADS, _ROW_BLOCK), value[0]), ((column_stride, 1), value[1]))


def volta_operand_tv(major: str) -> Layout:
    """A or B of m8n8k4; ``major`` "K": a thread holds a row; "MN": four neighbouring rows of one column."""
    return Layout((8, 4), (1, 8)) if major == "K" else Layout(((4, 2), 4), ((8, 4), 1))


def volta_accumulator_tv(bits: int) -> Layout:
    """C and D of m8n8k4 with 16- or 32-bit elements."""
    return Layout((8, 8), (1, 8)) if bits == 16 else Layout(((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))
