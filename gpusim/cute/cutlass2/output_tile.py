"""Models CUTLASS 2.x's OutputTileOptimalThreadMap: how warps and lanes share the output tile of an epilogue.
Leaves out what is stored and its predicates. Coordinates are (row, column) in elements.

Source: cutlass/epilogue/threadblock/output_tile_thread_map.h and predicated_tile_iterator_params.h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["OutputTileShape", "OutputTileThreadMap", "optimal_thread_map"]

_WARP_LANES = 32
_ROW_ACCESS_BYTES = 256  # what CUTLASS wants a warp to touch of one row at a time


@dataclass(frozen=True, slots=True)
class OutputTileShape:
    """A five-dimensional extent: columns and rows of lanes, groups and clusters of warps, tiles of iterations."""

    column: int
    row: int
    group: int = 1
    cluster: int = 1
    tile: int = 1


@dataclass(frozen=True, slots=True)
class _Split:
    """How one mode is shared among warps: iterations of each, their distance, and how many warps side by side."""

    iterations: int
    delta: int
    compact_delta: int
    partitions: int
    warps_left: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """How a warp's lanes cover rows: iterations and distances in rows and columns, lanes per row."""

    row_iterations: int
    row_delta: int
    column_iterations: int
    column_delta: int
    access_width: int
    access_rows: int


@dataclass(frozen=True, slots=True)
class OutputTileThreadMap:
    """Accesses of every thread to one step of the output tile, and the rows by which the steps advance."""

    shape: OutputTileShape
    count: OutputTileShape
    threads: int
    elements_per_access: int
    iterations: OutputTileShape
    delta: OutputTileShape
    compact_delta: OutputTileShape
    access_width: int
    access_rows: int
    cluster_partitions: int
    group_partitions: int

    def initial_offset(self, thread: int) -> tuple[int, int]:
        """(row, column) where thread ``thread`` starts."""
        row, column = self.initial_offsets()[thread]
        return int(row), int(column)

    def initial_offsets(self, compact: bool = False) -> np.ndarray:
        """(row, column) where every thread starts; ``compact`` for the shared-memory tile, where count is 1."""
        warp, lane = np.divmod(np.arange(self.threads), _WARP_LANES)
        cluster, rest = np.divmod(warp, self.cluster_partitions)
        group, row = np.divmod(rest, self.group_partitions)
        group_rows = self.shape.row * (1 if compact else self.count.row)
        cluster_rows = group_rows * self.shape.group * (1 if compact else self.count.group)
        first = cluster * cluster_rows + group * group_rows + row * self.iterations.row * self.access_rows
        return np.stack(
            [first + lane // self.access_width, lane % self.access_width * self.elements_per_access], axis=-1
        )

    def accesses(self, compact: bool = False) -> np.ndarray:
        """(row, column) of all accesses of one step: an array (threads, iterations, 2), columns fastest, then rows."""
        its, delta = self.iterations, self.compact_delta if compact else self.delta
        cluster, group, row, column = np.mgrid[: its.cluster, : its.group, : its.row, : its.column]
        rows = cluster * delta.cluster + group * delta.group + row * delta.row
        steps = np.stack([rows.ravel(), (column * delta.column).ravel()], axis=-1)
        return self.initial_offsets(compact)[:, None, :] + steps

    def step_rows(self, step: int | np.ndarray) -> int | np.ndarray:
        """Rows by which step number ``step`` lies below the first (CUTLASS's ``++`` repeated, carries included)."""
        shape, count = self.shape, self.count
        groups = step // count.row
        clusters = groups // count.group
        tiles = clusters // count.cluster
        return (
            step * shape.row
            + groups * (shape.group - 1) * shape.row * count.row
            + clusters * count.group * shape.group * count.row * shape.row
            + tiles * shape.group * shape.row * shape.cluster * shape.tile
        )


def optimal_thread_map(
    shape: OutputTileShape, count: OutputTileShape, threads: int, elements_per_access: int, element_bits: int
) -> OutputTileThreadMap:
    """CUTLASS's choice: warps over clusters, then groups, then rows; lanes so that a row is touched by 256 bytes.

    ``shape`` is what all threads store in one step, ``count`` how many such shapes lie between neighbours of a mode.
    """
    warps = threads // _WARP_LANES
    group_rows = shape.row * count.row
    clusters = _split_clusters(shape, count, warps)
    groups = _split_groups(shape, group_rows, clusters.warps_left)
    rows = _arrange_rows(shape, groups.warps_left, elements_per_access, element_bits)
    return OutputTileThreadMap(
        shape,
        count,
        threads,
        elements_per_access,
        iterations=OutputTileShape(rows.column_iterations, rows.row_iterations, groups.iterations, clusters.iterations),
        delta=OutputTileShape(rows.column_delta, rows.row_delta, groups.delta, clusters.delta),
        compact_delta=OutputTileShape(rows.column_delta, rows.row_delta, groups.compact_delta, clusters.compact_delta),
        access_width=rows.access_width,
        access_rows=rows.access_rows,
        cluster_partitions=clusters.partitions,
        group_partitions=groups.partitions,
    )


def _split_clusters(shape: OutputTileShape, count: OutputTileShape, warps: int) -> _Split:
    if shape.cluster <= warps:
        left = warps // shape.cluster
        return _Split(1, 1, 1, left, left)
    iterations = shape.cluster // warps
    compact = shape.row * shape.group * shape.cluster // iterations
    return _Split(iterations, compact * count.row * count.group, compact, warps, 1)


def _split_groups(shape: OutputTileShape, group_rows: int, warps: int) -> _Split:
    if shape.group <= warps:
        left = warps // shape.group
        return _Split(1, 1, 1, left, left)
    iterations = shape.group // warps
    return _Split(iterations, group_rows * shape.group // iterations, shape.row * shape.group // iterations, 1, 1)


def _arrange_rows(shape: OutputTileShape, warps: int, elements_per_access: int, element_bits: int) -> _Rows:
    vectors = shape.column // elements_per_access
    if shape.row <= warps:
        return _Rows(1, 1, vectors // _WARP_LANES, _WARP_LANES * elements_per_access, _WARP_LANES, 1)
    rows = shape.row // warps
    target_width = _ROW_ACCESS_BYTES // (elements_per_access * element_bits // 8)
    if _WARP_LANES // target_width > rows:
        width, height = _WARP_LANES // rows, rows
    else:
        width = min(vectors, _WARP_LANES, target_width)
        height = min(shape.row, _WARP_LANES // width)
    return _Rows(rows // height, height, vectors // width, width * elements_per_access, width, height)
