"""Models LDG and STG of 1 to 16 bytes per lane and cp.async (LDGSTS) of 4, 8, 16 bytes with zero fill.
Leaves out caches, atomics, and volatile or ordered accesses: global memory answers at once."""

from __future__ import annotations

import numpy as np

from gpusim.verify.state import Lanes
from gpusim.verify.step import Step

__all__ = ["add_global", "copy_async", "load_global", "store_global"]


def load_global(step: Step) -> None:
    """LDG.E[.U8|.U16|.64|.128] d, [address]"""
    lanes = step.lanes
    data = _read_global(step, lanes, step.bytes_per_lane)
    if data.shape[-1] < 4:
        data = np.pad(data, [(0, 0), (0, 0), (0, 4 - data.shape[-1])])
    step.write_lanes(np.ascontiguousarray(data).view(np.uint32), lanes)


def store_global(step: Step) -> None:
    """STG.E[.U8|.U16|.64|.128] [address], data: the data is the last vector source group."""
    tensor, offsets = step.global_offsets()
    if tensor in step.batch.memory.ignored:
        return
    data = step.stored_data(step.bytes_per_lane)
    step.batch.memory.write(tensor, offsets, data, step.place)


def add_global(step: Step) -> None:
    """RED.E.ADD.F32 [address], data: sums in f32, in an order of the executor's."""
    tensor, offsets = step.global_offsets()
    step.batch.memory.add(tensor, offsets, step.stored_data(step.bytes_per_lane), step.place)


def copy_async(step: Step) -> None:
    """LDGSTS.E[.BYPASS][.64|.128] [shared], [global]: in flight until its group is waited for (families.sync)."""
    size, lanes = step.bytes_per_lane, step.lanes
    words = (step.shared_addresses(size) // 4)[:, None] + np.arange(size // 4)
    values = _read_global(step, lanes, size).view(np.uint32)
    copy = step.batch.shared.issue_copy(step.touch(words, lanes.warp), values.reshape(len(values), -1),
                                        step.role.groups_closed)
    step.role.open_copies.append(copy)


def _read_global(step: Step, lanes: Lanes, size: int) -> np.ndarray:
    """Bytes (CTAs, n, size) of the active lanes; lanes that zero-fill touch no global memory."""
    tensor, offsets = step.global_offsets()
    memory = step.batch.memory
    if not lanes.zfill.any():
        return memory.read(tensor, offsets, size, step.place)
    data = np.zeros((*offsets.shape, size), np.uint8)
    data[:, ~lanes.zfill] = memory.read(tensor, offsets[:, ~lanes.zfill], size, step.place)
    return data
