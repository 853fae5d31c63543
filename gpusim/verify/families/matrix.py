"""Models ldmatrix and stmatrix (LDSM, STSM): 8x8 matrices of 16-bit elements, 1, 2 or 4 at once, plain or transposed.
Leaves out the 8-bit and 4-bit element forms of sm_100."""

from __future__ import annotations

import numpy as np

from gpusim.verify.step import Step
from gpusim.verify.tracker import Touch

__all__ = ["load_matrix", "store_matrix"]

ROW_BYTES = 16
_ROWS = 8


def load_matrix(step: Step) -> None:
    """LDSM.16.{M88,MT88}.{2,4} d, [row address]: register j of lane t holds columns 2(t%4), 2(t%4)+1 of row t/4 of
    matrix j, whose rows are addressed by lanes 8j..8j+7; transposed: rows and columns swapped."""
    count = step.op.dst_count
    touch = _touch(step, count)
    words = step.batch.shared.read(touch, used=step.used)
    matrices = words.reshape(len(words), step.role.program.num_warps, count, _ROWS, ROW_BYTES // 4)
    if _transposed(step):
        matrices = _transpose(matrices)
    step.write(np.moveaxis(matrices.reshape(*matrices.shape[:3], 32), 2, 0))


def store_matrix(step: Step) -> None:
    """STSM.16.{M88,MT88}.{2,4} [row address], data: the inverse of load_matrix."""
    start, count = step.vector_sources[-1]
    registers = np.moveaxis(step.group(start, count), 0, 2)
    matrices = np.ascontiguousarray(registers).reshape(*registers.shape[:3], _ROWS, ROW_BYTES // 4)
    if _transposed(step):
        matrices = _transpose(matrices)
    step.batch.shared.write(_touch(step, count), matrices.reshape(len(matrices), -1))


def _transposed(step: Step) -> bool:
    parts = step.mnemonic.split(".")
    return "MT88" in parts or "T" in parts


def _transpose(matrices: np.ndarray) -> np.ndarray:
    """Swap rows and columns of 16-bit elements stored as words (..., 8, 4)."""
    halves = np.ascontiguousarray(matrices).view(np.uint16)
    return np.ascontiguousarray(halves.swapaxes(-1, -2)).view(np.uint32)


def _touch(step: Step, count: int) -> Touch:
    """Words of all rows, ordered (warp, matrix, row, word). Lanes beyond 8 x ``count`` address nothing."""
    rows = step.matrix_rows(count * _ROWS, ROW_BYTES)
    words = (rows // 4)[..., None] + np.arange(ROW_BYTES // 4)
    return step.touch(words.reshape(len(rows), -1), np.arange(len(rows)))
