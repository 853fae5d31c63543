"""Clusters of a recorded kernel: ranks and who shares what, the order of CTAs, whole tiles from parts, one arrival of
every warpgroup at every CTA that it may get data from."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl.clusters import ClusterShape
from gpusim.dsl.hopper.pipeline import release_access
from gpusim.program import Program

SHAPES = [(m, n) for m in (1, 2, 3, 4, 8) for n in (1, 2, 4) if m * n <= 8]
shapes = st.sampled_from(SHAPES).map(lambda shape: ClusterShape(*shape))


@given(shapes)
def test_rows_and_columns_of_a_cluster(shape: ClusterShape) -> None:
    for rank in range(shape.size):
        x, y = shape.place(rank)
        assert rank == x + y * shape.m
        assert [shape.place(peer) for peer in shape.sharers(rank, "m")] == [(other, y) for other in range(shape.m)]
        assert [shape.place(peer) for peer in shape.sharers(rank, "n")] == [(x, other) for other in range(shape.n)]
        assert len(shape.neighbours(rank)) == shape.m + shape.n - 1


@given(shapes, st.integers(1, 5), st.integers(1, 5), st.integers(1, 2))
def test_ctas_of_a_cluster_follow_each_other_by_rank(shape: ClusterShape, across: int, up: int, depth: int) -> None:
    grid = across * shape.m, up * shape.n, depth
    index = shape.cta_index(grid)
    assert len({tuple(row) for row in index.tolist()}) == len(index) == np.prod(grid)
    assert (index < grid).all()
    for number, (x, y, _) in enumerate(index.tolist()):
        first = index[number - number % shape.size]
        assert (x - first[0], y - first[1]) == shape.place(number % shape.size)
        assert first[0] % shape.m == first[1] % shape.n == 0


@given(shapes, st.sampled_from([4, 8]))
def test_a_warpgroup_arrives_once_at_each_cta_that_it_may_get_data_from(shape: ClusterShape, warps: int) -> None:
    for rank in range(shape.size):
        access = release_access(shape.neighbours(rank), warps)
        for group in range(warps // 4):
            masks, lanes = access.cta_mask[4 * group : 4 * group + 4], access.lane_mask[4 * group : 4 * group + 4]
            named = Counter(peer for mask in masks.tolist() for peer in range(8) if mask >> peer & 1)
            assert named == Counter(shape.neighbours(rank))
            np.testing.assert_array_equal(np.bitwise_count(masks), np.bitwise_count(lanes))


def test_small_clusters_are_told_by_a_warp_each() -> None:
    masks = release_access((0, 1, 2, 3), 4).cta_mask
    assert masks.tolist() == [1, 2, 4, 8]


@gs.kernel
def share(ctx, B, *, cluster=(2, 1), tile=(128, 64), axis="m", swizzle="128B", major="K",  # type: ignore[no-untyped-def]
          atom="SM90_TMA_LOAD_MULTICAST", consumers=4, raster="m"):
    """CTAs along m need the same tile of B."""
    _, n = ctx.launch((cluster[0], -(-B.shape[0] // tile[0])), warps=1 + consumers, cluster=cluster, raster=raster)
    sB = ctx.smem_operand("sB", gs.f16, (*tile, 1), swizzle=swizzle, major=major)
    gB = ctx.bulk_tile(B, tile, (n, None))
    ring = ctx.pipeline("ring", num_stages=1, tx_bytes=sB.stage_bytes, consumer_warps=consumers)
    with ctx.role("producer", warps=1):
        empty = ring.producer().acquire_and_advance()
        ctx.copy(getattr(gs.copy, atom), gB[..., 0], sB[..., 0], barrier=empty.barrier, multicast=axis or None)
    with ctx.role("consumer", warps=consumers):
        ring.consumer().wait_and_advance().release()


def record(sizes: tuple[int, int] = (128, 64), gpu: str = "h200", **parameters: object) -> Program:
    strides = (1, sizes[0]) if parameters.get("major") == "MN" else (sizes[1], 1)
    return share.record(gs.load_gpu(gpu), gs.tensor("B", gs.f16, sizes, strides=strides), **parameters)


@pytest.mark.parametrize("parameters", [
    {}, {"cluster": (4, 1)}, {"cluster": (8, 1)}, {"cluster": (2, 2)}, {"swizzle": "32B"}, {"tile": (512, 64)},
    {"major": "MN"}, {"major": "MN", "cluster": (4, 2)},
])
def test_parts_make_up_the_tile(parameters: dict) -> None:
    """Every sharer loads as many bytes; together they cover tensor and shared memory once, for all of them."""
    sizes = (2 * parameters.get("tile", (128, 64))[0], 64)
    program = record(sizes, **parameters)
    across = parameters.get("cluster", (2, 1))[0]
    for first in range(0, program.num_ctas, across):
        words, elements = [], []
        for cta in range(first, first + across):
            table = program.classes[program.cta_class[cta]].roles[0].accesses
            row = cta % program.launch.cluster_size // across * across
            assert set(table.cta_mask[:, 0].tolist()) == {((1 << across) - 1) << row}
            words += [byte for box in table.bulk for byte in range(box.shared_byte, box.shared_byte
                                                                   + 2 * box.box[0] * box.box[1], 2)]
            elements += [(m, n) for box in table.bulk for m in range(box.origin[0], box.origin[0] + box.box[0])
                         for n in range(box.origin[1], box.origin[1] + box.box[1])]
        tile = parameters.get("tile", (128, 64))
        assert sorted(words) == list(range(min(words), min(words) + 2 * tile[0] * tile[1], 2))
        assert len(set(elements)) == len(elements) == tile[0] * tile[1]


def test_every_rank_is_a_class_and_the_grid_is_rounded_up() -> None:
    program = record((3 * 128, 64), cluster=(2, 2))
    assert program.launch.grid == (2, 4, 1) and program.launch.cluster == (2, 2, 1)
    assert program.cta_class.reshape(-1, 4).tolist()[0] == program.cta_class[:4].tolist()
    assert all(len(set(row)) == 4 for row in program.cta_class.reshape(-1, 4).tolist())
    outside = [program.classes[number] for number in program.cta_class[6:]]
    assert all("outside n" in cta.name for cta in outside)
    assert all((cta.roles[0].accesses.request_count == 0).all() for cta in outside)
    assert all((cta.roles[0].accesses.bulk_bytes[:, 0] > 0).all() for cta in outside)


def test_the_empty_barrier_counts_warpgroups_of_a_row_and_a_column() -> None:
    counts = {cluster: record(cluster=cluster, consumers=8).mbarriers for cluster in ((1, 1), (2, 1), (2, 2))}
    assert [[barrier.arrivals for barrier in barriers] for barriers in counts.values()] == [[1, 256], [1, 4], [1, 6]]


@pytest.mark.parametrize(("parameters", "sentence"), [
    ({"cluster": (4, 4)}, "a cluster has 1 to 8 CTAs, got 4 x 4"),
    ({"axis": "k"}, "along an axis of their cluster, got 'k'"),
    ({"axis": ""}, "SM90_TMA_LOAD_MULTICAST, and nothing else, names the axis"),
    ({"atom": "SM90_TMA_LOAD"}, "got SM90_TMA_LOAD and multicast=m"),
    ({"cluster": (8, 1), "tile": (32, 64)}, "whole groups of 8 of its rows, got 32 rows for 8 CTAs"),
    ({"consumers": 2}, "whole warpgroups consume what TMA brings, got 2 warps"),
    ({"raster": "n"}, "clusters go with the plain grid"),
    ({"gpu": "a100"}, "needs sm_90a, got sm_80"),
])
def test_what_cannot_run_is_refused(parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(**parameters)


def test_a_schedule_is_made_of_whole_clusters() -> None:
    @gs.kernel
    def persistent(ctx, A) -> None:  # type: ignore[no-untyped-def]
        ctx.persist(np.zeros((3, 1, 5), np.int64), ((1, 1),), warps=1, cluster=(2, 1))

    with pytest.raises(gs.UserError, match="a grid is made of whole clusters, got 3x1x1 CTAs in clusters of 2x1"):
        persistent.record(gs.load_gpu("h200"), gs.tensor("A", gs.f16, (8, 8)))
