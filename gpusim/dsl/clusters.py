"""Models the shape of a thread-block cluster: ranks of its CTAs, who shares tiles with whom, and the order of CTAs.
Leaves out SMs (gpusim.engine.clusters) and what CTAs send each other (gpusim.dsl.hopper).

A CTA's rank is x + y * m, as block_rank_in_cluster; x goes along m of the problem, y along n, as in CUTLASS's sm90
kernels. CTAs of a row of the cluster (the same x) work on the same rows of A, those of a column (the same y) on the
same rows of B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.errors import UserError

__all__ = ["LARGEST", "SINGLE", "ClusterShape"]

LARGEST = 8
"""CTAs of a cluster that every GPU of the architecture can place. CUDA programming guide, thread block clusters."""
AXES = "mn"


@dataclass(frozen=True)
class ClusterShape:
    """``m`` by ``n`` CTAs. Raises UserError for more than a portable cluster has."""

    m: int = 1
    n: int = 1

    def __post_init__(self) -> None:
        if min(self.m, self.n) < 1 or self.size > LARGEST:
            raise UserError(f"a cluster has 1 to {LARGEST} CTAs", got=f"{self.m} x {self.n}",
                            suggestion="cluster=(2, 1)")

    @property
    def size(self) -> int:
        return self.m * self.n

    def place(self, rank: int) -> tuple[int, int]:
        """Along m and along n."""
        return rank % self.m, rank // self.m

    def sharers(self, rank: int, axis: str) -> tuple[int, ...]:
        """Ranks of the CTAs along an axis ("m" or "n") from the one of a CTA, itself among them."""
        if axis not in tuple(AXES):
            raise UserError("CTAs share a tile along an axis of their cluster", got=f"'{axis}'",
                            suggestion="'m' for B, 'n' for A")
        other = 1 - AXES.index(axis)
        return tuple(peer for peer in range(self.size) if self.place(peer)[other] == self.place(rank)[other])

    def neighbours(self, rank: int) -> tuple[int, ...]:
        """Ranks of the CTAs in the row or column of one, itself among them: those that it may get data from."""
        return tuple(sorted({*self.sharers(rank, "m"), *self.sharers(rank, "n")}))

    def round_up(self, tiles: tuple[int, int]) -> tuple[int, int]:
        """Tiles of whole clusters."""
        return -(-tiles[0] // self.m) * self.m, -(-tiles[1] // self.n) * self.n

    def cta_index(self, grid: tuple[int, int, int]) -> np.ndarray:
        """(C, 3) blockIdx in launch order: cluster after cluster, x fastest, in each by rank. Raises UserError for a
        grid that is not made of whole clusters."""
        if grid[0] % self.m or grid[1] % self.n:
            raise UserError("a grid is made of whole clusters", got=f"{'x'.join(map(str, grid))} CTAs in clusters of "
                            f"{self.m}x{self.n}")
        number = np.arange(grid[0] * grid[1] * grid[2])
        cluster, rank = np.divmod(number, self.size)
        across, up = grid[0] // self.m, grid[1] // self.n
        x, y = cluster % across * self.m + rank % self.m, cluster // across % up * self.n + rank // self.m
        return np.stack([x, y, cluster // (across * up)], axis=1)


SINGLE = ClusterShape()
