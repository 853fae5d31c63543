"""Models ThreadblockSwizzleStreamK: which blocks share the iterations of which tiles, and who waits for whom.
Leaves out batches and the atomic reduction strategy; CUTLASS's default is the mixed one.

Source: cutlass/gemm/threadblock/threadblock_swizzle_streamk.h, gemm/kernel/gemm_universal_streamk.h.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from common.streamk_blocks import divide_up, dp_and_sk_blocks

__all__ = ["StreamK", "Work", "stream_k"]

COHORT_M, COHORT_N = 8, 4  # tiles rastered together
COHORT_EFFICIENCY = 0.85


@dataclass(frozen=True)
class Work:
    """What a block does with one tile. ``kind``: whole (no peers), share (add to the sums of the tile's first block),
    finish (take them and store), post (leave partial sums for a reduction block), reduce (add those of all peers).

    ``begin``, ``end``: iterations of the tile; ``peers``: blocks that come before this one, of a reduction all there
    are; ``fragment``: the part of the tile that is reduced. Of one threadblock: ``tile``, the ``flag`` that it waits at
    or signals, the place of its sums in the ``workspace`` (in tiles).
    """

    kind: str
    begin: int = 0
    end: int = 0
    peers: int = 0
    fragment: int = 0
    tile: int = 0
    flag: int = 0
    workspace: int = 0

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        """What blocks with the same code have in common."""
        return self.kind, self.begin, self.end, self.peers, self.fragment


@dataclass(frozen=True)
class StreamK:
    """The numbers CUTLASS computes on the host, under its names."""

    tiles: tuple[int, int]
    iters_per_tile: int
    sm_occupancy: int
    avail_sms: int
    fragments: int  # of a tile, in the epilogue
    dp_blocks: int
    dp_first_wave_tiles: int
    reduction_blocks: int
    sk_waves: int
    sk_tiles: int
    sk_regions: int
    sk_blocks_per_region: int
    sk_big_blocks_per_region: int
    sk_iters_per_normal_block: int
    cohort_raster: bool
    remap_block_indices: bool

    @property
    def sk_blocks(self) -> int:
        return self.sk_regions * self.sk_blocks_per_region

    @property
    def sk_iters_per_region(self) -> int:
        return self.sk_tiles * self.iters_per_tile // self.sk_regions

    @property
    def num_active_blocks(self) -> int:
        return self.sk_waves * self.avail_sms + self.dp_blocks + self.reduction_blocks

    @property
    def num_blocks(self) -> int:
        return max(self.num_active_blocks, 4 * self.avail_sms) if self.remap_block_indices else self.num_active_blocks

    @property
    def num_flags(self) -> int:
        return max(self.sk_blocks, self.sk_tiles * self.fragments, 1)

    @property
    def workspace_tiles(self) -> int:
        """Partial sums of a whole tile: two per block where they are reduced apart, else one."""
        return max(1, self.sk_blocks * (2 if self.reduction_blocks else 1))

    def tile_offset(self, tile: int) -> tuple[int, int]:
        """(m, n) of a tile: along the longer axis first, or in cohorts."""
        m, n = self.tiles
        if self.cohort_raster:
            cohort, within = divmod(tile, COHORT_M * COHORT_N)
            down, right = divmod(cohort, divide_up(n, COHORT_N))
            return down * COHORT_M + within // COHORT_N, right * COHORT_N + within % COHORT_N
        return (tile % m, tile // m) if m < n else divmod(tile, n)

    def works(self, launched: int) -> Iterator[Work]:
        """What the block of blockIdx.x ``launched`` does, tile by tile."""
        block = self._block(launched)
        dp_start = self.sk_waves * self.avail_sms
        reduce_start = dp_start + self.dp_blocks
        if dp_start <= block < reduce_start:
            yield from self._whole_tiles(block - dp_start)
        elif block < self.sk_blocks:
            yield from self._stream(block)
        elif reduce_start <= block < reduce_start + self.reduction_blocks:
            yield self._reduction(*divmod(block - reduce_start, self.fragments))

    def _block(self, launched: int) -> int:
        """get_block_idx: blocks of the first two waves side by side, regions interleaved."""
        block = launched
        if self.remap_block_indices and block < 2 * self.avail_sms:
            block = block // 2 + block % 2 * self.avail_sms
        if block < self.sk_blocks:
            in_region, region = divmod(block, self.sk_regions)
            block = region * self.sk_blocks_per_region + in_region
        return block

    def _whole_tiles(self, number: int) -> Iterator[Work]:
        """A data-parallel block: several tiles in the first wave, one behind it."""
        tile, count = (0 if self.cohort_raster else self.sk_tiles) + number, self.dp_first_wave_tiles
        if number >= self.avail_sms:
            tile, count = tile + (count - 1) * self.avail_sms, 1
        m, n = self.tile_offset(tile)
        if tile < self.sk_tiles or m >= self.tiles[0] or n >= self.tiles[1]:
            return
        for visit in range(count):
            yield Work("whole", 0, self.iters_per_tile, tile=tile + visit * self.avail_sms)

    def _stream(self, block: int) -> Iterator[Work]:
        """A stream-K block: its range of iterations, the last tile first."""
        first, end = self.iterations(block)
        while end > first:
            tile = (end - 1) // self.iters_per_tile
            start = tile * self.iters_per_tile
            yield self._share_of_tile(block, tile, max(first, start) - start, end - start)
            end = max(first, start)

    def _share_of_tile(self, block: int, tile: int, begin: int, end: int) -> Work:
        if self.reduction_blocks:
            return Work("post", begin, end, tile=tile, flag=tile * self.fragments, workspace=2 * block + (begin > 0))
        owner = self.block_of(tile * self.iters_per_tile)
        finished, started = end == self.iters_per_tile, begin == 0
        kind = "share" if not finished else "whole" if started else "finish"
        return Work(kind, begin, end, block - owner, tile=tile, flag=owner, workspace=owner)

    def _reduction(self, tile: int, fragment: int) -> Work:
        first, last = (self.block_of(tile * self.iters_per_tile + iteration)
                       for iteration in (0, self.iters_per_tile - 1))
        return Work("reduce", peers=last + 1 - first, fragment=fragment, tile=tile,
                    flag=tile * self.fragments + fragment, workspace=2 * first)

    def iterations(self, block: int) -> tuple[int, int]:
        """get_iter_extents: the first blocks of a region have one iteration more."""
        region, number = divmod(block, self.sk_blocks_per_region)
        big = min(number, self.sk_big_blocks_per_region)
        begin = region * self.sk_iters_per_region + number * self.sk_iters_per_normal_block + big
        return begin, begin + self.sk_iters_per_normal_block + (number < self.sk_big_blocks_per_region)

    def block_of(self, iteration: int) -> int:
        """get_sk_block_idx: the block that does an iteration."""
        region, within = divmod(iteration, self.sk_iters_per_region)
        normal, big = self.sk_iters_per_normal_block, self.sk_big_blocks_per_region
        number = within // (normal + 1)
        if number >= big:
            number = big + (within - big * (normal + 1)) // normal
        return region * self.sk_blocks_per_region + number


def stream_k(tiles: tuple[int, int], iters_per_tile: int, *, sm_occupancy: int, sms: int, fragments: int,
             split_factor: int = 1) -> StreamK:
    """The constructor of ThreadblockSwizzleStreamK for a device of ``sms`` SMs, all of which it may use.

    ``split_factor`` above 1 imitates split-K: so many blocks per tile.
    """
    output_tiles = tiles[0] * tiles[1]
    dp_tiles, sk_blocks = (output_tiles, 0) if sms == 1 else dp_and_sk_blocks(
        output_tiles, iters_per_tile, sms, sm_occupancy)
    if split_factor > 1:
        dp_tiles, sk_blocks = 0, output_tiles * split_factor
    sk_tiles, regions = output_tiles - dp_tiles, 1
    sk_waves = divide_up(sk_blocks, sms)
    sk_iters = sk_tiles * iters_per_tile
    sk_blocks = min(sk_blocks, sk_iters)
    normal, big = divmod(sk_iters, sk_blocks) if sk_blocks else (0, 0)
    if sk_blocks > sk_tiles > 0 and sk_blocks % sk_tiles == 0:
        regions = sk_tiles
    apart = sk_blocks > 0 and sk_waves < sm_occupancy and sk_blocks > 2 * sk_tiles
    reduction_blocks = sk_tiles * fragments if apart else 0
    remap = sk_blocks > 0 and sm_occupancy > 1 and sk_waves * sms + reduction_blocks > 2 * sms
    cohorts = divide_up(tiles[0], COHORT_M) * divide_up(tiles[1], COHORT_N) * COHORT_M * COHORT_N
    cohort_raster = _sk_in_range(tiles, sk_tiles) and dp_tiles >= 2 * sms * sm_occupancy and (
        dp_tiles / cohorts > COHORT_EFFICIENCY)
    first_wave, dp_blocks = (1, cohorts) if cohort_raster else _dp_first_wave(dp_tiles, sk_waves, sms, sm_occupancy)
    return StreamK(tiles, iters_per_tile, sm_occupancy, sms, fragments, dp_blocks, first_wave, reduction_blocks,
                   sk_waves, sk_tiles, regions, sk_blocks // regions, big // regions, normal, cohort_raster, remap)


def _sk_in_range(tiles: tuple[int, int], sk_tiles: int) -> bool:
    """Whether the cohorts of stream-K tiles lie inside the grid."""
    if sk_tiles == 0:
        return True
    across = divide_up(tiles[1], COHORT_N)
    cohort = (sk_tiles - 1) // (COHORT_M * COHORT_N)
    down = cohort // across
    right = across - 1 if down > 0 else cohort % across
    return (down + 1) * COHORT_M < tiles[0] and (right + 1) * COHORT_N < tiles[1]


def _dp_first_wave(dp_tiles: int, sk_waves: int, sms: int, occupancy: int) -> tuple[int, int]:
    """(tiles per block of the first data-parallel wave, blocks): together full sets of waves."""
    excess = (sk_waves + divide_up(dp_tiles, sms)) % occupancy
    if sk_waves > 0 and 1 + excess <= dp_tiles // sms:
        return 1 + excess, dp_tiles - excess * sms
    return 1, dp_tiles
