"""Models what sets CUTLASS's sm90 kernel schedules apart: warpgroups, registers, instructions, who takes which tile.
Leaves out what roles do (common.sm90, common.sm90_consumer) and the tile scheduler's swizzle.

Source: cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized{,_cooperative,_pingpong}.hpp, sm90_tile_scheduler.hpp and
tile_scheduler_params.h there. Instructions are counted in the code that nvcc 13 makes, along the branches that a beta
of 0 and numbers of tiles that are powers of two take: of 128x128x64 (warp_specialized) and 256x128x64 (cooperative)
without clusters; of 64x128x64 and 128x128x64 (pingpong), their mean, with and without. Those two differ by a tenth
before the first tile and by a sixth between tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["SCHEDULES", "Schedule", "sm90_tiles"]

MOST_SMS_PER_GPC = 18
WARPS_PER_GROUP = 4


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """``consumers``: warpgroups that multiply. ``takes_turns``: each of them its own tile, one while another stores,
    not all of them the same one. ``own_staging``: the epilogue has shared memory of its own, not that of the main loop.
    ``persistent``: CTAs take tile after tile. ``registers`` of producers and consumers, (0, 0): nobody asks.
    Instructions: ``all_warps`` execute at the start, ``in_cluster`` more of them where CTAs form clusters; who has a
    tile, to find the first one (``first_tile``, 0: counted among the others); ``producer`` and ``consumer`` besides; a
    consumer before its first stored part (``epilogue``); producers and consumers ``between`` tiles and to find that
    there is none (``end``); ``moves``: R2UR per stage, where the producer keeps its counters in vector registers.
    ``parameter_bytes`` that are read: lines of 64 bytes that the code names."""

    consumers: int
    takes_turns: bool
    own_staging: bool
    persistent: bool
    registers: tuple[int, int]
    all_warps: int
    producer: int
    consumer: int
    epilogue: int
    parameter_bytes: int
    in_cluster: int = 0
    first_tile: int = 0
    between: tuple[int, int] = (0, 0)
    end: tuple[int, int] = (0, 0)
    moves: int = 0

    @property
    def turns(self) -> int:
        """Tiles that are multiplied and stored at a time."""
        return self.consumers if self.takes_turns else 1

    @property
    def warps_per_tile(self) -> int:
        return WARPS_PER_GROUP * self.consumers // self.turns


SCHEDULES = {
    "warp_specialized": Schedule(
        consumers=1, takes_turns=False, own_staging=False, persistent=False, registers=(0, 0),
        all_warps=58, producer=40, consumer=4, epilogue=74, parameter_bytes=368),
    "cooperative": Schedule(
        consumers=2, takes_turns=False, own_staging=True, persistent=True, registers=(40, 232),
        all_warps=170, producer=80, consumer=50, epilogue=36, parameter_bytes=688,
        between=(120, 120), end=(30, 30), moves=8),
    "pingpong": Schedule(
        consumers=2, takes_turns=True, own_staging=True, persistent=True, registers=(40, 232),
        all_warps=135, producer=79, consumer=76, epilogue=32, parameter_bytes=688,
        in_cluster=34, first_tile=70, between=(112, 102), end=(46, 24), moves=7),
}


def sm90_tiles(tiles: tuple[int, int], sms: int, cluster: tuple[int, int] = (1, 1)) -> np.ndarray:
    """PersistentTileSchedulerSm90 without swizzle: a ``schedule`` of gs.Context.persist. Clusters take
    clusters of tiles in turn, along m first where there are more tiles along n, else along n; tiles outside the problem
    fill them up."""
    size = cluster[0] * cluster[1]
    clusters = -(-tiles[0] // cluster[0]), -(-tiles[1] // cluster[1])
    number = np.arange(clusters[0] * clusters[1])
    along_m = clusters[1] * cluster[1] > clusters[0] * cluster[0]
    m, n = ((number % clusters[0], number // clusters[0]) if along_m else
            (number // clusters[1], number % clusters[1]))
    rank = np.arange(size)
    places = np.stack([m[:, None] * cluster[0] + rank % cluster[0],
                       n[:, None] * cluster[1] + rank // cluster[0]], axis=2)
    resident = min(_most_ctas(sms, size) // size, len(number))
    visits = -(-len(number) // resident)
    schedule = np.full((visits * resident, size, 5), -1, np.int64)
    schedule[: len(number)] = 0
    schedule[: len(number), :, 1:3] = places
    return schedule.reshape(visits, resident, size, 5).transpose(1, 2, 0, 3).reshape(resident * size, visits, 5)


def _most_ctas(sms: int, size: int) -> int:
    """PersistentTileSchedulerSm90Params::get_max_cta_occupancy: whole clusters in GPCs of 18 SMs and in the rest."""
    if size == 1:
        return sms
    gpcs, left = divmod(sms, MOST_SMS_PER_GPC)
    return max(size, sum(count * (room - room % size) for count, room in ((gpcs, MOST_SMS_PER_GPC), (1, left))))
