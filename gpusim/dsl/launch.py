"""Models the launch of a kernel: which tiles a CTA visits, what CTAs have in common, where their base pointers are.
Leaves out SMs (gpusim.engine). Partial tiles are for iterators with predicates (gpusim.dsl.iterators)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.dsl.clusters import SINGLE, ClusterShape
from gpusim.dsl.raster import Raster, raster_of
from gpusim.dsl.tensors import GmemTensor, Tile
from gpusim.errors import UserError

__all__ = ["SCHEDULE_COLUMNS", "BlockCoordinate", "CtaPlace", "Grid", "Visit", "place_of"]

ALIGNMENT_BYTES = 256
"""Of a tensor's base address, as cudaMalloc gives it."""
SCHEDULE_COLUMNS = ("problem", "m", "n", "z", "slice")
"""Of a schedule, (C, V, 5): the V tiles that each of C CTAs visits in turn; a problem of -1: no more."""
NOBODY = -1
LAST, OUTSIDE = 1, 2
PLACE_COLUMNS = 7  # of a visit in Grid.cta_places
Steps = tuple[int, int, int, int]  # bytes: origin, per tile along m, along n, per place along z


@dataclass(frozen=True)
class BlockCoordinate:
    """The symbolic coordinate of a CTA along m (0), n (1) or z (2)."""

    axis: int


@dataclass(frozen=True)
class Visit:
    """What CTAs of a class know of one tile they compute: whether it is the last along m and n, or outside the problem
    (to fill a cluster), its slice of k, its problem; its coordinates along axes where every tile is a class of its own.
    """

    last: tuple[bool, bool] = (False, False)
    slice: int = 0
    problem: int = 0
    tile: tuple[int, int] = (0, 0)
    number: int = 0  # of those before it
    outside: tuple[bool, bool] = (False, False)

    @property
    def name(self) -> str:
        """For reports: interior, edge m, edge mn, slice 2 ..."""
        edges = "".join(axis for axis, is_last in zip("mn", self.last, strict=True) if is_last)
        beyond = "".join(axis for axis, is_outside in zip("mn", self.outside, strict=True) if is_outside)
        parts = [f"outside {beyond}" if beyond else f"edge {edges}" if edges else "interior"]
        parts += [f"{what} {number}" for what, number in (("slice", self.slice), ("problem", self.problem)) if number]
        return " ".join(parts)


@dataclass(frozen=True)
class CtaPlace:
    """What CTAs of a class have in common: their visits, none where a swizzled grid gives them no tile at all; their
    rank in the cluster."""

    visits: tuple[Visit, ...] = (Visit(),)
    rank: int = 0

    @property
    def idle(self) -> bool:
        return not self.visits

    @property
    def slice(self) -> int:
        return self.visits[0].slice if self.visits else 0

    @property
    def name(self) -> str:
        if self.idle:
            return "idle"
        names = [visit.name for visit in self.visits]
        name = names[0] if len(set(names)) == 1 else ", ".join(names)
        return f"{name} rank {self.rank}" if self.rank else name


@dataclass
class Grid:
    """CTA tiles of a launch and the tensors they cut. ``place`` None: a first look at every problem, of no class."""

    tensors: tuple[GmemTensor, ...]
    place: CtaPlace | None = None
    num_warps: int = 0
    tiles: tuple[tuple[int, int], ...] = ()  # along m and n, per problem
    grid: tuple[int, int, int] = (0, 0, 0)
    schedule: np.ndarray = field(default_factory=lambda: np.zeros((0, 1, len(SCHEDULE_COLUMNS)), np.int64))
    cluster: ClusterShape = SINGLE
    visit: int = 0  # which one is being recorded
    own: tuple[bool, bool] = (False, False)  # along which axes every tile is a class of its own
    alike: np.ndarray | None = None  # per tile along m, the one it shares a class of its own with
    steps: dict[tuple[str, int], Steps] = field(default_factory=dict)  # per tensor and problem
    partial: dict[int, list[bool]] = field(default_factory=dict)  # the last tile along m, n is not whole, per problem

    def launch(self, tiles: tuple[int, int], warps: int, raster: str = "m", slices: int = 1, raster_log: int = 0, *,
               own: tuple[bool, bool] = (False, False), alike: np.ndarray | None = None) -> None:
        """One CTA per tile and slice of k."""
        rastered = raster_of(tiles, raster, raster_log, slices)
        m, n, z = rastered.coordinates().T
        inside = (m < tiles[0]) & (n < tiles[1])
        visits = np.stack([np.where(inside, 0, NOBODY), m, n, z, z], axis=1)
        self.own, self.alike = own, alike
        self.persist(visits[:, None], (tiles,), warps, rastered.grid)

    def launch_clusters(self, tiles: tuple[int, int], warps: int, cluster: ClusterShape) -> None:
        """One CTA per tile, in the plain grid, rounded up to whole clusters: CTAs outside the problem take part."""
        grid = (*cluster.round_up(raster_of(tiles).tiles), 1)
        m, n, z = cluster.cta_index(grid).T
        self.persist(np.stack([z, m, n, z, z], axis=1)[:, None], (tiles,), warps, grid, cluster)

    def launch_batches(self, raster: Raster, batches: int, warps: int) -> None:
        """One CTA per tile and place along z, which takes every ``depth``-th batch from there on."""
        m, n, z = raster.coordinates().T
        batch = z[:, None] + raster.depth * np.arange(-(-batches // raster.depth))
        inside = ((m < raster.tiles[0]) & (n < raster.tiles[1]))[:, None] & (batch < batches)
        visits = np.zeros((*batch.shape, len(SCHEDULE_COLUMNS)), np.int64)
        visits[..., 0] = np.where(inside, 0, NOBODY)
        visits[..., 1], visits[..., 2], visits[..., 3] = m[:, None], n[:, None], batch
        self.persist(visits, (raster.tiles,), warps, raster.grid)

    def persist(self, schedule: np.ndarray, tiles: Sequence[tuple[int, int]], warps: int,
                grid: tuple[int, int, int], cluster: ClusterShape = SINGLE) -> None:
        """CTAs of a ``grid`` that visit the tiles of a ``schedule`` one after another; ``tiles`` of every problem.
        Those of a ``cluster`` follow each other by rank."""
        if warps < 1 or not len(schedule):
            raise UserError("a grid needs at least one CTA, and a CTA a warp",
                            got=f"{len(schedule)} CTAs, {warps} warps")
        if cluster.size > 1:
            cluster.cta_index(grid)
        self.schedule, self.tiles, self.num_warps, self.grid = schedule, tuple(tiles), warps, grid
        self.cluster = cluster
        if self.place is None:
            self.place = CtaPlace(tuple(Visit(problem=number, number=number) for number in range(len(tiles))))

    def visits(self) -> Iterator[Visit]:
        """What CTAs of this class compute, one after another."""
        for number, visit in enumerate(self.place.visits if self.place else ()):
            self.visit = number
            yield visit
        self.visit = 0

    @property
    def present(self) -> Visit:
        """The visit that is being recorded."""
        visits = self.place.visits if self.place else ()
        return visits[self.visit] if visits else Visit()

    @property
    def rank(self) -> int:
        """In the cluster, of CTAs of this class."""
        return self.place.rank if self.place else 0

    @property
    def name(self) -> str:
        """Of this class of CTAs, for reports."""
        return self.place.name if self.place else ""

    # tensors

    def local_tile(self, tensor: GmemTensor, tile: tuple[int, int], coord: tuple[object, object]) -> Tile:
        """The CTA's tile(s): modes with a block coordinate are fixed by the CTA, the others remain to be indexed.

        Raises UserError when the tile does not divide the tensor.
        """
        if len(tensor.shape) != 2 or any(n % t for n, t in zip(tensor.shape, tile, strict=True)):
            raise UserError(f"the tile must divide tensor {tensor.name}",
                            got=f"{'x'.join(map(str, tensor.shape))} by {'x'.join(map(str, tile))}",
                            suggestion="ctx.partial_tile(), or a problem size that is a multiple of the tile")
        strides = tuple(map(tensor.bytes_of, tensor.strides))
        steps, modes = [0, 0], []
        for mode, place in enumerate(coord):
            if isinstance(place, BlockCoordinate):
                steps[place.axis] += tile[mode] * strides[mode]
                self._require_extent(tensor, mode, tile, place)
            elif place is None:
                modes.append((tensor.shape[mode] // tile[mode], tile[mode] * strides[mode]))
            else:
                raise UserError("a tile's coordinate is a block coordinate of launch() or None", got=repr(place))
        self._keep_steps(tensor, steps)
        return Tile(tensor, tensor.dtype, tile, (strides[0], strides[1]), tuple(modes))

    def partial_tile(self, tensor: GmemTensor, tile: tuple[int, int],
                     coord: tuple[BlockCoordinate | None, BlockCoordinate | None]) -> tuple[int, int]:
        """Cut a tensor whose last tiles need not be whole: rows and columns there are in a tile of this class; of a
        mode without block coordinate, all the tensor has."""
        steps, inside = [0, 0], list(tensor.shape)
        for mode, place in enumerate(coord):
            if place is not None:
                steps[place.axis] += tensor.bytes_of(tile[mode] * tensor.strides[mode])
                inside[mode] = self.extent(tensor, tensor.shape[mode], tile[mode], place)
        self._keep_steps(tensor, steps)
        return inside[0], inside[1]

    def extent(self, tensor: GmemTensor, elements: int, tile: int, place: BlockCoordinate) -> int:
        """Of ``elements`` along an axis, those in a tile of this class."""
        count, visit = self.tiles[self.present.problem][place.axis], self.present
        rest = elements - (count - 1) * tile
        if not 0 < rest <= tile:
            raise UserError(f"tensor {tensor.name} must have as many tiles as the grid along {'mn'[place.axis]}",
                            got=f"{elements} elements, {count} CTAs of {tile}")
        self.partial.setdefault(visit.problem, [False, False])[place.axis] |= rest < tile
        if visit.outside[place.axis]:
            return 0
        is_last = visit.tile[place.axis] == count - 1 if self.own[place.axis] else visit.last[place.axis]
        return rest if is_last else tile

    def _keep_steps(self, tensor: GmemTensor, steps: list[int]) -> None:
        found = (tensor.bytes_of(tensor.offset), steps[0], steps[1], tensor.bytes_of(tensor.batch_stride))
        if self.steps.setdefault((tensor.name, self.present.problem), found) != found:
            raise UserError(f"tensor {tensor.name} may be cut along the grid in one way only", got=steps)

    def _require_extent(self, tensor: GmemTensor, mode: int, tile: tuple[int, int], place: BlockCoordinate) -> None:
        count, tiles = tensor.shape[mode] // tile[mode], self.tiles[self.present.problem][place.axis]
        if count != tiles:
            raise UserError(f"tensor {tensor.name} must have as many tiles as the grid along {'mn'[place.axis]}",
                            got=f"{count} tiles for {tiles} CTAs")

    # CTAs

    def addresses(self) -> list[int]:
        """Base addresses of the tensors: one after another, aligned, the first not at 0."""
        bases, free = [], ALIGNMENT_BYTES
        for tensor in self.tensors:
            bases.append(free)
            free = -(-(free + tensor.size_bytes) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return bases

    def cta_index(self) -> np.ndarray:
        """(C, 3) blockIdx in launch order, x fastest, of clusters cluster by cluster."""
        if self.cluster.size > 1:
            return self.cluster.cta_index(self.grid).astype(np.int32)
        return Raster(self.grid[:2], depth=self.grid[2]).cta_index().astype(np.int32)

    def cta_places(self) -> np.ndarray:
        """(C, V * 7 + 1) what makes a class: per visit, whether there is none, whether its tile is the last along m, n
        (0 or 1, where that one is not whole, 2: outside), slice, problem, own coordinates; the rank in the cluster. All
        zeros is the plainest class."""
        problem, m, n, _, piece = np.moveaxis(self.schedule, 2, 0)
        absent, known = problem < 0, np.maximum(problem, 0)
        whole = [False, False]
        partial = np.array([self.partial.get(number, whole) for number in range(len(self.tiles))])[known]
        beyond = np.stack([m, n], axis=2) - (np.array(self.tiles)[known] - 1)
        own = np.stack([m if self.alike is None else self.alike[np.maximum(m, 0)], n], axis=2) * np.array(self.own)
        edges = np.where(beyond > 0, OUTSIDE, (beyond == 0) & partial & ~np.array(self.own))
        columns = [edges[..., 0], edges[..., 1], piece, known, own[..., 0], own[..., 1]]
        places = np.stack([absent, *(np.where(absent, 0, column) for column in columns)], axis=2)
        ranks = np.arange(len(places)) % self.cluster.size
        return np.column_stack([places.reshape(len(places), -1), ranks]).astype(np.int64)

    def cta_addresses(self) -> np.ndarray:
        """(C, V * T) byte address of each tensor's tile at each visit, not yet rounded to lines. For a tile outside the
        problem, the last one's."""
        problem, m, n, z = np.moveaxis(self.schedule[..., :4], 2, 0)
        ends = np.moveaxis(np.array(self.tiles)[np.maximum(problem, 0)], 2, 0) - 1
        where = np.minimum(m, ends[0]), np.minimum(n, ends[1]), z
        none = (0, 0, 0, 0)
        steps = np.array([[self.steps.get((tensor.name, number), none) for tensor in self.tensors]
                          for number in range(len(self.tiles))], np.int64).reshape(len(self.tiles), -1, 4)
        factors = np.where(problem >= 0, np.stack([np.ones_like(problem), *where]), 0)
        moved = np.einsum("fcv,cvtf->cvt", factors, steps[np.maximum(problem, 0)])
        return (np.array(self.addresses(), np.int64) + moved).reshape(len(problem), -1)


def place_of(row: Sequence[int]) -> CtaPlace:
    """The place that a row of Grid.cta_places describes."""
    visits = [row[start : start + PLACE_COLUMNS] for start in range(0, len(row) - 1, PLACE_COLUMNS)]
    present = [(number, visit[1:]) for number, visit in enumerate(visits) if not visit[0]]
    return CtaPlace(tuple(
        Visit((edge_m == LAST, edge_n == LAST), piece, problem, (m, n), number, (edge_m == OUTSIDE, edge_n == OUTSIDE))
        for number, (edge_m, edge_n, piece, problem, m, n) in present), row[-1])
