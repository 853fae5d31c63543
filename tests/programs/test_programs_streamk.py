"""Stream-K: CUTLASS's heuristics number by number, every iteration done once, sums handed on in order."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutlass_helpers import SPEC, record
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.engine import simulate
from gpusim.verify import check_program, random_inputs

sys.path.insert(0, str(Path(gs.load_program("gemm_streamk").kernel.file).parent))
from common.fixup import access_width
from common.streamk import StreamK, stream_k

SMALL = {"tile": (64, 64, 32), "warp": (32, 32, 32), "clear": "zfill"}
CASES: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((256, 256, 512), SMALL),
    ((256, 192, 320), {**SMALL, "split_factor": 2}),
    ((200, 136, 1000), {**SMALL, "split_factor": 3, "occupancy": 1}),
    ((72, 136, 104), {**SMALL, "alpha": 0.5, "beta": 2.0}),
    ((130, 70, 200), {**SMALL, "num_stages": 2, "clear": "none", "alignment": 2, "output_type": "f32"}),
    ((65, 130, 200), {"tile": (64, 64, 8), "warp": (32, 32, 8), "instruction": (1, 1, 1), "input_type": "f32",
                      "output_type": "f32", "layouts": "nt", "num_stages": 2, "split_factor": 2}),
    ((64, 130, 200), {"tile": (64, 64, 8), "warp": (32, 64, 8), "instruction": (1, 1, 1), "input_type": "f32",
                      "output_type": "f32", "num_stages": 4, "clear": "zfill"}),
]
NAMES = ("dp_blocks", "dp_first_wave_tiles", "reduction_blocks", "sk_waves", "sk_tiles", "sk_regions",
         "sk_blocks_per_region", "sk_big_blocks_per_region", "sk_iters_per_normal_block", "cohort_raster",
         "remap_block_indices", "num_blocks")
CUTLASS = {
    (27, 12, 29, 3, 40, 1, 8): (320, 1, 32, 1, 4, 4, 5, 4, 5, 0, 0, 392),
    (2, 3, 41, 3, 108, 1, 8): (0, 1, 48, 1, 6, 6, 6, 5, 6, 0, 0, 156),
    (7, 18, 145, 2, 40, 1, 8): (120, 1, 48, 1, 6, 6, 6, 1, 24, 0, 1, 208),
    (15, 4, 96, 1, 16, 2, 4): (0, 1, 0, 8, 60, 60, 2, 0, 48, 0, 0, 128),
    (7, 39, 92, 2, 132, 4, 8): (0, 1, 0, 9, 273, 273, 4, 0, 23, 0, 1, 1188),
    (32, 39, 124, 2, 132, 1, 4): (1280, 1, 0, 1, 60, 60, 2, 0, 62, 1, 0, 1412),
    (32, 23, 142, 1, 40, 1, 8): (768, 1, 0, 1, 56, 1, 40, 32, 198, 1, 0, 808),
    (38, 21, 133, 3, 108, 4, 8): (0, 1, 0, 30, 798, 798, 4, 1, 33, 0, 1, 3240),
    (31, 12, 18, 2, 16, 1, 8): (384, 1, 32, 1, 4, 4, 3, 0, 6, 1, 1, 432),
    (23, 34, 93, 2, 108, 1, 8): (864, 1, 208, 1, 26, 26, 4, 1, 23, 1, 1, 1180),
    (13, 40, 132, 3, 108, 1, 8): (216, 2, 0, 1, 196, 1, 108, 60, 239, 0, 0, 324),
    (34, 13, 7, 3, 108, 1, 4): (216, 2, 0, 1, 118, 1, 108, 70, 7, 0, 0, 324),
    (5, 13, 103, 1, 108, 1, 4): (0, 1, 0, 1, 65, 1, 108, 107, 61, 0, 0, 108),
    (27, 31, 68, 1, 16, 1, 8): (816, 1, 0, 1, 21, 1, 16, 4, 89, 0, 0, 832),
    (25, 18, 27, 1, 132, 1, 4): (264, 1, 0, 1, 186, 1, 132, 6, 38, 0, 0, 396),
    (8, 3, 8, 3, 40, 1, 4): (24, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 24),
    (15, 2, 79, 1, 16, 1, 8): (30, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 30),
}
"""What ThreadblockSwizzleStreamK of CUTLASS 4 says (its constructor run on the host; 4,000 such rows agreed): tiles
along m and n, iterations per tile, CTAs per SM, SMs, split factor, fragments of a tile: NAMES."""


@pytest.mark.parametrize("problem", CUTLASS)
def test_heuristics_are_cutlass_own(problem: tuple[int, ...]) -> None:
    m, n, iterations, occupancy, sms, split, fragments = problem
    plan = stream_k((m, n), iterations, sm_occupancy=occupancy, sms=sms, fragments=fragments, split_factor=split)
    assert tuple(int(getattr(plan, name)) for name in NAMES) == CUTLASS[problem]


plans = st.builds(
    lambda m, n, iterations, occupancy, sms, split: stream_k(
        (m, n), iterations, sm_occupancy=occupancy, sms=sms, fragments=8, split_factor=split),
    st.integers(1, 24), st.integers(1, 24), st.integers(1, 60), st.integers(1, 3), st.sampled_from([8, 20, 132]),
    st.sampled_from([1, 1, 1, 2, 5]))


@given(plans)
@settings(max_examples=60, deadline=None)
def test_every_iteration_of_every_tile_is_done_once(plan: StreamK) -> None:
    works = [work for block in range(plan.num_blocks) for work in plan.works(block)]
    done = Counter((work.tile, iteration) for work in works for iteration in range(work.begin, work.end))
    tiles = plan.tiles[0] * plan.tiles[1]
    assert set(done.values()) == {1}
    assert len(done) == tiles * plan.iters_per_tile
    stored = Counter(plan.tile_offset(work.tile) for work in works if work.kind in ("whole", "finish"))
    reduced = Counter(plan.tile_offset(work.tile) for work in works if work.kind == "reduce")
    assert set(stored) | set(reduced) == {(m, n) for m in range(plan.tiles[0]) for n in range(plan.tiles[1])}
    assert set(stored.values()) <= {1}
    assert set(reduced.values()) <= {plan.fragments}


@given(plans)
@settings(max_examples=60, deadline=None)
def test_whoever_takes_sums_waits_for_all_that_were_left(plan: StreamK) -> None:
    works = [work for block in range(plan.num_blocks) for work in plan.works(block)]
    left = Counter(work.tile for work in works if work.kind in ("share", "post"))
    for work in works:
        if work.kind in ("finish", "reduce"):
            assert work.peers == left[work.tile]
    for tile in left:
        turns = sorted(work.peers for work in works if work.kind == "share" and work.tile == tile)
        assert turns == list(range(len(turns)))


@pytest.mark.parametrize(("size", "width"), [(64, 16), (12, 4), (6, 2), (24, 8), (1, 1)])
def test_stripes_are_as_wide_as_the_size_allows(size: int, width: int) -> None:
    assert access_width(size) == width


@pytest.mark.parametrize(("sizes", "parameters"), CASES)
def test_computes_the_product_once_and_without_a_race(sizes: tuple, parameters: dict) -> None:
    program = record("gemm_streamk", sizes, **parameters)
    inputs = random_inputs(program, seed=sum(sizes))
    report = check_program(program, inputs, gs.load_program("gemm_streamk").expected(program, inputs))
    stale = {"uninitialised"} if parameters.get("clear") == "none" or "clear" not in parameters else set()
    assert {hazard.kind for hazard in report.hazards} <= stale
    assert [output.ok for output in report.outputs] == [True]
    names = [static.mnemonic for static in program.statics]
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


def test_every_kind_of_work_occurs_in_these_cases() -> None:
    """Otherwise the products above prove little."""
    kinds = {work.kind for problem in [((4, 4), 16, 1, 3), ((4, 4), 16, 2, 1), ((10, 14), 8, 1, 1)]
             for plan in [stream_k(problem[0], problem[1], sm_occupancy=problem[2], sms=132, fragments=4,
                                   split_factor=problem[3])]
             for block in range(plan.num_blocks) for work in plan.works(block)}
    assert kinds == {"whole", "share", "finish", "post", "reduce"}


def test_blocks_share_the_tail_of_a_wave() -> None:
    """140 tiles on 132 SMs: whole tiles would take two waves, stream-K takes little more than one."""
    sizes, options = (64 * 10, 64 * 14, 384), {"tile": (64, 64, 32), "warp": (32, 32, 32), "occupancy": 1}
    program = record("gemm_streamk", sizes, **options)
    result = simulate(program, SPEC)
    taken = result.cta_end - result.cta_start
    busy = taken[taken > np.median(taken) / 4]
    assert len(program.flags.words) == program.num_ctas
    assert busy.max() < 2.5 * busy.mean()
    assert simulate(program, SPEC, window_cycles=64).cycles == result.cycles
