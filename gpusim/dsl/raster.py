"""Models rasterisation: which tile of the output a CTA takes by its place in the launch, as CUTLASS's swizzles do.
Leaves out what a CTA computes there (gpusim.dsl.launch) and when it starts (gpusim.engine).

Source: cutlass/gemm/threadblock/threadblock_swizzle.h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.errors import UserError

__all__ = ["MAX_GRID_Z", "Raster", "identity_log", "raster_of"]

MAX_GRID_Z = 65535
"""Of y and of z. CUTLASS takes batch % 65536, which is 0 for 65536 batches."""


@dataclass(frozen=True)
class Raster:
    """``tiles`` along m and n, ``depth`` slices of k or batches along z.

    ``axis`` "m": GemmIdentityThreadblockSwizzle, in bands of 2 ** ``log`` tiles of n (GemmBatchedIdentity... and
    GemmSplitKIdentity... are the same with another meaning of z); "n": GemmHorizontalThreadblockSwizzle.
    """

    tiles: tuple[int, int]
    axis: str = "m"
    log: int = 0
    depth: int = 1

    @property
    def grid(self) -> tuple[int, int, int]:
        width = 1 << self.log
        across, along = self.tiles if self.axis == "m" else self.tiles[::-1]
        return across * width, -(-along // width), self.depth

    def cta_index(self) -> np.ndarray:
        """(C, 3) blockIdx in launch order, x fastest."""
        x, y, z = self.grid
        number = np.arange(x * y * z)
        return np.stack([number % x, number // x % y, number // (x * y)], axis=1)

    def coordinates(self) -> np.ndarray:
        """(C, 3) tile along m, along n, place along z; a band that is not full leaves tiles outside."""
        x, y, z = self.cta_index().T
        if self.axis == "n":
            return np.stack([y, x, z], axis=1)
        width = 1 << self.log
        return np.stack([x // width, y * width + x % width, z], axis=1)


def identity_log(tiles_n: int) -> int:
    """The largest logarithm of GemmIdentityThreadblockSwizzle for so many tiles along n: 8 wide from 6 tiles on, 4 wide
    from 3, 2 wide from 2."""
    return next((log for log, least in ((3, 6), (2, 3), (1, 2)) if tiles_n >= least), 0)


def raster_of(tiles: tuple[int, int], axis: str = "m", log: int = 0, depth: int = 1) -> Raster:
    """A raster whose bands are no wider than CUTLASS makes them. Raises UserError for what a launch refuses."""
    if min(*tiles, depth) < 1:
        raise UserError("a grid needs at least one CTA tile along m and n", got=f"{tiles[0]} x {tiles[1]} tiles",
                        suggestion="a problem no smaller than the tile")
    if axis not in ("m", "n"):
        raise UserError("the raster names the axis along which CTAs start first", got=f"'{axis}'",
                        suggestion="'m' or 'n'")
    if log < 0:
        raise UserError("a band is 2 ** raster_log tiles wide", got=f"raster_log={log}", suggestion="0, 1, 2 or 3")
    raster = Raster(tiles, axis, min(log, identity_log(tiles[1])) if axis == "m" else 0, depth)
    for name, size in zip("yz", raster.grid[1:], strict=True):
        if size > MAX_GRID_Z:
            raise UserError(f"a grid has at most {MAX_GRID_Z} CTAs along {name}", got=size,
                            suggestion="raster='n'" if name == "y" and axis == "m" else "larger tiles")
    return raster
