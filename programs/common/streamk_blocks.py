"""Models the heuristics of ThreadblockSwizzleStreamK: how many tiles go data-parallel, how many blocks share the rest.
Leaves out what those blocks then do (common.streamk).

Source: get_blocks and get_sk_blocks of cutlass/gemm/threadblock/threadblock_swizzle_streamk.h, with its constants.
"""

from __future__ import annotations

import numpy as np

__all__ = ["divide_up", "dp_and_sk_blocks"]

MIN_ITERS_PER_SK_BLOCK = 2
PEER_COST, WAVE_COST, ITERATION_COST = np.float32(2.0), np.float32(2.0), np.float32(0.02)
"""Of the fix-up, in iterations: per peer, per wave, per peer and iteration where blocks do not end with tiles."""


def divide_up(number: int, by: int) -> int:
    return -(-number // by)


def dp_and_sk_blocks(output_tiles: int, iters_per_tile: int, sms: int, occupancy: int) -> tuple[int, int]:
    """(data-parallel tiles, stream-K blocks for the others); all tiles and none where that is no gain."""
    full_waves, partial = divmod(output_tiles, sms)
    if partial == 0:
        return output_tiles, 0
    if full_waves < occupancy:
        blocks, saved = _sk_blocks(partial, iters_per_tile, sms, occupancy - full_waves, partial_wave=True)
        return (output_tiles, 0) if saved < 0 else (full_waves * sms, blocks)
    if occupancy > 1 and full_waves % occupancy == occupancy - 1:
        blocks, saved = _sk_blocks(partial, iters_per_tile, sms, 1, partial_wave=True)
        if saved >= 0:
            return full_waves * sms, blocks
    room = occupancy - (full_waves - 1) % occupancy
    blocks, saved = _sk_blocks(partial + sms, iters_per_tile, sms, room, partial_wave=False)
    return (output_tiles, 0) if saved < 0 else ((full_waves - 1) * sms, blocks)


def _sk_blocks(tiles: int, iters_per_tile: int, sms: int, occupancy: int, *, partial_wave: bool) -> tuple[int, int]:
    """(blocks, iterations saved) of the best number of blocks, the larger one of two equal; (0, -1): none is possible.

    ``partial_wave``: less than a full wave of blocks may run.
    """
    iterations = tiles * iters_per_tile
    data_parallel = iters_per_tile * divide_up(tiles, sms)
    fewest = min(sms, tiles + 1) if partial_wave else sms
    most = min(sms * occupancy, iterations // MIN_ITERS_PER_SK_BLOCK)
    trials = [(data_parallel - _cost(blocks, tiles, iterations, sms), blocks) for blocks in range(fewest, most + 1)]
    saved, blocks = max(trials, default=(-1, 0))
    return blocks, saved


def _cost(blocks: int, tiles: int, iterations: int, sms: int) -> int:
    """Iterations one after the other, those that fix-up is worth included."""
    waves = divide_up(blocks, sms)
    longest = divide_up(iterations, blocks) * waves
    if blocks % tiles == 0:
        peers, skew = blocks // tiles, np.float32(0)
    else:
        peers = divide_up(blocks, tiles) + 1
        skew = ITERATION_COST * np.float32(peers) * np.float32(longest)
    return longest + int(WAVE_COST * np.float32(waves) + skew + PEER_COST * np.float32(peers))
