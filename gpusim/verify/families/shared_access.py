"""Models LDS and STS of 1 to 16 bytes per lane.
Leaves out bank conflicts, and the sign extension of narrow loads: .S8 and .S16 fill with zeros like .U8 and .U16."""

from __future__ import annotations

import numpy as np

from gpusim.verify.step import Step

__all__ = ["load_shared", "store_shared"]


def load_shared(step: Step) -> None:
    """LDS.{U8,U16,32,64,128} d, [address]"""
    size, lanes = step.bytes_per_lane, step.lanes
    addresses = step.shared_addresses(size)
    words = (addresses // 4)[:, None] + np.arange(max(1, size // 4))
    values = step.batch.shared.read(step.touch(words, lanes.warp), used=step.used)
    values = values.reshape(len(values), *words.shape)
    if size < 4:
        shift = (addresses % 4 * 8).astype(np.uint32)[:, None]
        values = (values >> shift) & np.uint32((1 << 8 * size) - 1)
    step.write_lanes(values, lanes)


def store_shared(step: Step) -> None:
    """STS.{U8,U16,32,64,128} [address], data: the data is the last vector source group."""
    size, lanes = step.bytes_per_lane, step.lanes
    addresses = step.shared_addresses(size)
    words = (addresses // 4)[:, None] + np.arange(max(1, size // 4))
    touch = step.touch(words, lanes.warp)
    values = step.stored_data(size)
    if size >= 4:
        step.batch.shared.write(touch, values.view(np.uint32).reshape(len(values), -1))
    else:
        targets = (addresses[:, None] + np.arange(size)).ravel()
        step.batch.shared.write_bytes(touch, targets, values.reshape(len(values), -1))
