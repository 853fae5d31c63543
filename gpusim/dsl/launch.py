"""Models the launch of a kernel: which tile a CTA works on, in which order CTAs start, where their base pointers are.
Leaves out SMs (gpusim.engine) and partial tiles, which are refused."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusim.dsl.tensors import GmemTensor, Tile
from gpusim.errors import UserError

__all__ = ["BlockCoordinate", "Grid"]

ALIGNMENT_BYTES = 256
"""Of a tensor's base address, as cudaMalloc gives it."""


@dataclass(frozen=True)
class BlockCoordinate:
    """The symbolic coordinate of a CTA along m (0) or n (1)."""

    axis: int


@dataclass
class Grid:
    """CTA tiles of a launch and the tensors they cut."""

    tensors: tuple[GmemTensor, ...]
    tiles: tuple[int, int] = (0, 0)
    num_warps: int = 0
    raster: str = "m"
    steps: dict[str, tuple[int, int]] = field(default_factory=dict)  # per tensor: bytes per step in m, in n

    def launch(self, tiles: tuple[int, int], warps: int, raster: str) -> None:
        if min(tiles) < 1 or warps < 1:
            raise UserError("a grid needs at least one CTA tile along m and n, and a CTA a warp",
                            got=f"{tiles[0]} x {tiles[1]} tiles, {warps} warps",
                            suggestion="a problem no smaller than the tile")
        if raster not in ("m", "n"):
            raise UserError("the raster names the axis along which CTAs start first", got=f"'{raster}'",
                            suggestion="'m' or 'n'")
        self.tiles, self.num_warps, self.raster = tiles, warps, raster

    @property
    def grid(self) -> tuple[int, int, int]:
        return (*self.tiles, 1) if self.raster == "m" else (self.tiles[1], self.tiles[0], 1)

    def local_tile(self, tensor: GmemTensor, tile: tuple[int, int], coord: tuple[object, object]) -> Tile:
        """The CTA's tile(s): modes with a block coordinate are fixed by the CTA, the others remain to be indexed.

        Raises UserError when the tile does not divide the tensor: edge CTAs are not modelled.
        """
        if len(tensor.shape) != 2 or any(n % t for n, t in zip(tensor.shape, tile, strict=True)):
            raise UserError(f"the tile must divide tensor {tensor.name}, partial tiles are not modelled yet",
                            got=f"{'x'.join(map(str, tensor.shape))} by {'x'.join(map(str, tile))}",
                            suggestion="round the problem size up to a multiple of the tile")
        strides = tuple(s * tensor.dtype.bytes for s in tensor.strides)
        steps, modes = [0, 0], []
        for mode, place in enumerate(coord):
            if isinstance(place, BlockCoordinate):
                steps[place.axis] += tile[mode] * strides[mode]
                self._require_extent(tensor, mode, tile, place)
            elif place is None:
                modes.append((tensor.shape[mode] // tile[mode], tile[mode] * strides[mode]))
            else:
                raise UserError("a tile's coordinate is a block coordinate of launch() or None", got=repr(place))
        if self.steps.setdefault(tensor.name, (steps[0], steps[1])) != (steps[0], steps[1]):
            raise UserError(f"tensor {tensor.name} may be cut along the grid in one way only", got=coord)
        return Tile(tensor, tensor.dtype, tile, (strides[0], strides[1]), tuple(modes))

    def _require_extent(self, tensor: GmemTensor, mode: int, tile: tuple[int, int], place: BlockCoordinate) -> None:
        count = tensor.shape[mode] // tile[mode]
        if count != self.tiles[place.axis]:
            raise UserError(f"tensor {tensor.name} must have as many tiles as the grid along {'mn'[place.axis]}",
                            got=f"{count} tiles for {self.tiles[place.axis]} CTAs")

    def addresses(self) -> list[int]:
        """Base addresses of the tensors: one after another, aligned, the first not at 0."""
        bases, free = [], ALIGNMENT_BYTES
        for tensor in self.tensors:
            bases.append(free)
            free = -(-(free + tensor.size_bytes) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return bases

    def cta_index(self) -> np.ndarray:
        """(C, 3) blockIdx in launch order, x fastest."""
        x, y, z = self.grid
        number = np.arange(x * y * z)
        return np.stack([number % x, number // x % y, number // (x * y)], axis=1).astype(np.int32)

    def cta_addresses(self) -> np.ndarray:
        """(C, T) byte address of each tensor's tile, not yet rounded to lines."""
        index = self.cta_index().astype(np.int64)
        coordinates = index[:, :2] if self.raster == "m" else index[:, 1::-1]
        steps = np.array([self.steps.get(tensor.name, (0, 0)) for tensor in self.tensors], np.int64)
        return np.array(self.addresses(), np.int64) + coordinates @ steps.reshape(-1, 2).T
