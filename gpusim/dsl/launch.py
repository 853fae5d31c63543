"""Models the launch of a kernel: which tile a CTA works on, in which order CTAs start, where their base pointers are.
Leaves out SMs (gpusim.engine). Partial tiles are for iterators with predicates (gpusim.dsl.iterators)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusim.dsl.tensors import GmemTensor, Tile
from gpusim.errors import UserError

__all__ = ["BlockCoordinate", "CtaPlace", "Grid"]

ALIGNMENT_BYTES = 256
"""Of a tensor's base address, as cudaMalloc gives it."""


@dataclass(frozen=True)
class BlockCoordinate:
    """The symbolic coordinate of a CTA along m (0) or n (1)."""

    axis: int


@dataclass(frozen=True)
class CtaPlace:
    """What CTAs of a class have in common: whether they are the last along m and along n, their k slice, and whether
    a swizzled grid gives them no tile at all."""

    last: tuple[bool, bool] = (False, False)
    slice: int = 0
    idle: bool = False

    @property
    def name(self) -> str:
        """For reports: interior, edge m, edge mn, slice 2 ..."""
        edges = "".join(axis for axis, is_last in zip("mn", self.last, strict=True) if is_last)
        if self.idle:
            return "idle"
        return (f"edge {edges}" if edges else "interior") + (f" slice {self.slice}" if self.slice else "")


def identity_log(tiles_n: int) -> int:
    """The largest logarithm of GemmIdentityThreadblockSwizzle for so many tiles along n: 8 wide from 6 tiles on, 4 wide
    from 3, 2 wide from 2."""
    return next((log for log, least in ((3, 6), (2, 3), (1, 2)) if tiles_n >= least), 0)


@dataclass
class Grid:
    """CTA tiles of a launch and the tensors they cut."""

    tensors: tuple[GmemTensor, ...]
    tiles: tuple[int, int] = (0, 0)
    num_warps: int = 0
    raster: str = "m"
    steps: dict[str, tuple[int, int]] = field(default_factory=dict)  # per tensor: bytes per step in m, in n
    slices: int = 1  # of k, along z
    raster_log: int = 0  # of CUTLASS's identity swizzle
    place: CtaPlace = CtaPlace()
    partial: list[bool] = field(default_factory=lambda: [False, False])  # the last tile along m, along n is not whole

    def launch(self, tiles: tuple[int, int], warps: int, raster: str, slices: int = 1, raster_log: int = 0) -> None:
        if min(*tiles, slices) < 1 or warps < 1:
            raise UserError("a grid needs at least one CTA tile along m and n, and a CTA a warp",
                            got=f"{tiles[0]} x {tiles[1]} tiles, {warps} warps",
                            suggestion="a problem no smaller than the tile")
        if raster not in ("m", "n"):
            raise UserError("the raster names the axis along which CTAs start first", got=f"'{raster}'",
                            suggestion="'m' or 'n'")
        self.tiles, self.num_warps, self.raster, self.slices = tiles, warps, raster, slices
        self.raster_log = min(raster_log, identity_log(tiles[1])) if raster == "m" else 0

    @property
    def grid(self) -> tuple[int, int, int]:
        width = 1 << self.raster_log
        across, along = self.tiles if self.raster == "m" else self.tiles[::-1]
        return across * width, -(-along // width), self.slices

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
        self._keep_steps(tensor, (steps[0], steps[1]))
        return Tile(tensor, tensor.dtype, tile, (strides[0], strides[1]), tuple(modes))

    def _keep_steps(self, tensor: GmemTensor, steps: tuple[int, int]) -> None:
        if self.steps.setdefault(tensor.name, steps) != steps:
            raise UserError(f"tensor {tensor.name} may be cut along the grid in one way only", got=steps)

    def partial_tile(self, tensor: GmemTensor, tile: tuple[int, int],
                     coord: tuple[BlockCoordinate | None, BlockCoordinate | None]) -> tuple[int, int]:
        """Cut a tensor whose last tiles need not be whole: rows and columns there are in a tile of this class; of a
        mode without block coordinate, all the tensor has."""
        steps, inside = [0, 0], list(tensor.shape)
        for mode, place in enumerate(coord):
            if place is None:
                continue
            steps[place.axis] += tile[mode] * tensor.strides[mode] * tensor.dtype.bytes
            rest = tensor.shape[mode] - (self.tiles[place.axis] - 1) * tile[mode]
            if not 0 < rest <= tile[mode]:
                raise UserError(f"tensor {tensor.name} must have as many tiles as the grid along {'mn'[place.axis]}",
                                got=f"{tensor.shape[mode]} elements, {self.tiles[place.axis]} CTAs of {tile[mode]}")
            self.partial[place.axis] |= rest < tile[mode]
            inside[mode] = rest if self.place.last[place.axis] else tile[mode]
        self._keep_steps(tensor, (steps[0], steps[1]))
        return inside[0], inside[1]

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

    def cta_coordinates(self) -> np.ndarray:
        """(C, 3) tile along m, along n, slice of k."""
        index = self.cta_index().astype(np.int64)
        if self.raster == "n":
            return index[:, [1, 0, 2]]
        x, y, z = index.T
        width = 1 << self.raster_log
        return np.stack([x // width, y * width + x % width, z], axis=1)

    def cta_places(self) -> np.ndarray:
        """(C, 4) whether a CTA has the partial tile along m, along n (0 or 1); its slice; whether it has no tile."""
        coordinates = self.cta_coordinates()
        last = (coordinates[:, :2] == np.array(self.tiles) - 1) & np.array(self.partial)
        idle: np.ndarray = np.any(coordinates[:, :2] >= np.array(self.tiles), axis=1)
        return np.column_stack([last & ~idle[:, None], np.where(idle, 0, coordinates[:, 2]), idle])

    def cta_addresses(self) -> np.ndarray:
        """(C, T) byte address of each tensor's tile, not yet rounded to lines."""
        coordinates = self.cta_coordinates()[:, :2]
        steps = np.array([self.steps.get(tensor.name, (0, 0)) for tensor in self.tensors], np.int64)
        return np.array(self.addresses(), np.int64) + coordinates @ steps.reshape(-1, 2).T
