"""Models the launch of a stream-K kernel: how many threadblocks fit on an SM, what each of them visits, its flags.
Leaves out the heuristics (common.streamk)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from common.simt_loop import SimtLoop
from common.streamk import StreamK, Work, divide_up, stream_k
from common.tensor_op_loop import TensorOpLoop
from common.threadblock import Threadblock
from gpusim import LANES, GpuSpec, Group, dtype_named, occupancy

__all__ = ["StreamKSchedule", "accumulators"]

NOBODY = -1
ROWS_PER_STEP = 8  # of a warp, in an epilogue on tensor cores
OTHER_REGISTERS, MOST_REGISTERS = 36, 255
"""Of a thread beside accumulators and fragments: what the compiled kernels of h200/kernels.csv need."""


def epilogue_steps(block: Threadblock) -> int:
    """Slices of the accumulators in the epilogue: rows of a thread's tile, or of 8 rows of a warp on tensor cores."""
    return block.shape.thread_tile[0] if block.is_simt else block.warp[0] // ROWS_PER_STEP


def accumulators(loop: TensorOpLoop | SimtLoop) -> list[Group]:
    """Registers of a thread's sums, one by one."""
    if isinstance(loop, SimtLoop):
        return [(register, 1) for register in loop.accumulators]
    return [(start + n, 1) for start in loop.accumulators.groups for n in range(loop.accumulators.registers)]


class StreamKSchedule:
    """What the threadblocks of one problem on one GPU do.

    ``works``: what they do with a tile, one of each kind; ``schedule`` (C, V, 5) as Context.persist takes it, with the
    number of the work as slice; ``flags`` (C, V): the word each visit waits at or signals.
    """

    def __init__(self, spec: GpuSpec, block: Threadblock, tiles: tuple[int, int], K: int, split_factor: int,
                 sm_occupancy: int) -> None:
        self.tiles = tiles
        self.plan: StreamK = stream_k(
            tiles, divide_up(K, block.tile[2]), sm_occupancy=sm_occupancy or _occupancy(spec, block),
            sms=spec.sm.count, fragments=epilogue_steps(block), split_factor=split_factor)
        blocks = [list(self.plan.works(number)) for number in range(self.plan.num_blocks)]
        self._visits = np.full((len(blocks), max(map(len, blocks)), 6), NOBODY, np.int64)
        self.works: list[Work] = []
        numbers: dict[object, int] = {}
        for number, works in enumerate(blocks):
            for visit, work in enumerate(works):
                if work.key not in numbers:
                    numbers[work.key] = len(self.works)
                    self.works.append(work)
                self._visits[number, visit] = (0, *self.plan.tile_offset(work.tile), work.workspace,
                                               numbers[work.key], work.flag)

    @property
    def schedule(self) -> np.ndarray:
        return self._visits[..., :5]

    @property
    def flags(self) -> np.ndarray:
        return np.maximum(self._visits[..., 5], 0)

    @cached_property
    def has_peers(self) -> bool:
        return any(work.kind != "whole" for work in self.works)


def _occupancy(spec: GpuSpec, block: Threadblock) -> int:
    """Threadblocks per SM, as the host asks the driver before it decides."""
    threads, (m, n, k) = block.num_warps * LANES, block.tile
    fragments = 2 * (block.warp[0] + block.warp[1]) * block.instruction[2] * dtype_named(block.input_type).bits // 1024
    registers = min(MOST_REGISTERS, m * n // threads + fragments + OTHER_REGISTERS)
    shared_bytes = block.num_stages * (m + n) * k * dtype_named(block.input_type).bits // 8
    return max(1, occupancy(spec, threads, registers, shared_bytes).blocks_per_sm)
