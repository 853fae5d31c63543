"""Models bulk tensor copies: UTMALDG with zeros outside the tensor, also multicast, UTMASTG of what is inside, groups.
Leaves out reductions, and boxes of more than two modes."""

from __future__ import annotations

import numpy as np

from gpusim.cute.presets import smem_swizzle
from gpusim.errors import UserError
from gpusim.program import NO_ACCESS, BulkBox
from gpusim.verify.dtypes import dtype_bits
from gpusim.verify.step import Step, peers
from gpusim.verify.tracker import Touch

__all__ = ["commit_stores", "copy_in", "copy_out", "wait_for_stores"]

WORD_BYTES = 4


def copy_in(step: Step) -> None:
    """UTMALDG [shared], [descriptor]: in flight until the phase of the mbarrier that counts its bytes is waited for."""
    boxes = _boxes(step)
    targets = [peer for peer, _ in peers(step)] or [step.batch]
    for box in boxes:
        data = _read(step, box)
        for target in targets:
            copy = target.shared.issue_copy(_touch(step, box), data, step.op.operand)
            target.phases[step.op.operand].add_copies([copy], data.shape[1] * WORD_BYTES)


def copy_out(step: Step) -> None:
    """UTMASTG [shared], [descriptor]: reads shared memory until its group has been waited for."""
    memory = step.batch.memory
    for box in _boxes(step):
        touch = _touch(step, box)
        words = step.batch.shared.hold(touch, step.batch.shared.tracker.read_by_proxy(touch))
        step.role.open_stores.append(touch)
        if box.tensor in memory.ignored:
            continue
        offsets, inside = _elements(step, box)
        size = dtype_bits(memory.tensors[box.tensor].dtype) // 8
        values = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1, size)
        memory.write(box.tensor, offsets[:, inside], values[:, inside], step.place)


def commit_stores(step: Step) -> None:
    """UTMACMDFLUSH: the stores since the last one are a group."""
    step.role.store_groups.append(step.role.open_stores)
    step.role.open_stores = []


def wait_for_stores(step: Step, allowed: int) -> None:
    """All but the newest ``allowed`` groups have read what they store."""
    groups = step.role.store_groups
    for group in groups[: max(0, len(groups) - allowed)]:
        for touch in group:
            step.batch.shared.tracker.let_go(touch, by_group=False)
    step.role.store_groups = groups[max(0, len(groups) - allowed):]


def _boxes(step: Step) -> list[BulkBox]:
    if step.op.access == NO_ACCESS:
        raise UserError(f"{step.mnemonic} has no functional model without the box it moves", place=step.place)
    return [box for box in step.role.program.accesses.bulk if box.row == step.op.access]


def _touch(step: Step, box: BulkBox) -> Touch:
    """Words of a box in order of its elements, those along the contiguous mode fastest."""
    info = step.batch.memory.tensors[box.tensor]
    along = info.strides.index(1)
    span = box.box[along] * dtype_bits(info.dtype) // 8
    plain = (box.shared_byte + step.op.shared_offset + np.arange(box.box[1 - along])[:, None] * span
             + np.arange(0, span, WORD_BYTES))
    swizzle = smem_swizzle(box.swizzle).swizzle
    words = (plain if swizzle is None else swizzle(plain)) // WORD_BYTES
    return step.touch(words.reshape(-1, 1), np.full(words.size, box.warp))


def _elements(step: Step, box: BulkBox) -> tuple[np.ndarray, np.ndarray]:
    """(CTAs, n) byte offsets of a box's elements in its tensor, (n,) which of them exist: the same for all CTAs of a
    class."""
    info = step.batch.memory.tensors[box.tensor]
    along, size = info.strides.index(1), dtype_bits(info.dtype) // 8
    across = 1 - along
    base = (step.batch.bases[:, box.tensor] + step.op.global_offset) // size
    row, column = np.divmod(base, info.strides[across])
    rows = row[:, None] + box.origin[across] + np.arange(box.box[across])
    columns = column[:, None] + box.origin[along] + np.arange(box.box[along])
    inside = (rows < info.shape[across])[:, :, None] & (columns < info.shape[along])[:, None, :]
    offsets = (rows * info.strides[across])[:, :, None] + columns[:, None, :]
    return offsets.reshape(len(base), -1) * size, inside[0].reshape(-1)


def _read(step: Step, box: BulkBox) -> np.ndarray:
    """(CTAs, words) of a box, zeros outside."""
    offsets, inside = _elements(step, box)
    size = dtype_bits(step.batch.memory.tensors[box.tensor].dtype) // 8
    data = np.zeros((*offsets.shape, size), np.uint8)
    data[:, inside] = step.batch.memory.read(box.tensor, offsets[:, inside], size, step.place)
    return data.reshape(len(data), -1).view(np.uint32)
