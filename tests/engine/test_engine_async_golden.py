"""Compares mbarriers, bulk copies, wgmma and counted barriers with the golden reference, cycle for cycle."""

from __future__ import annotations

import pytest
from engine_programs import Memory, Row, arrive, expect, follow, loop, program, rows, run, small_gpu, wait, wgmma
from hypothesis import given, settings
from hypothesis import strategies as st
from test_engine_golden import assert_agrees

from gpusim.engine.machine import POLICIES
from gpusim.program import Program

STAGES, TILES = 2, 5
LOAD = Row("UTMALDG.2D", access="tile", read=1, stall=2)
ACCESSES = {
    "tile": Memory("TMALDG", lines=40, warps=1), "ragged": Memory("TMALDG", lines=7, first_line=64, outside_bytes=512),
    "store": Memory("TMASTG", lines=24, warps=1), "some": Memory("MBAR", warps=1), "copy": Memory("CPA16", lines=4),
    "ldsm": Memory("LDSM4"), "sts": Memory("STS128", (1, 4)), "ldg": Memory("LDG128", lines=16, first_line=600),
    "stg": Memory("STG32", lines=8),
}


def producer() -> list[Row]:
    """One thread that keeps a ring of stages full."""
    body = []
    for tile in range(TILES):
        stage, round_ = tile % STAGES, tile // STAGES
        body += [*wait(STAGES + stage, (round_ + 1) % 2, lanes=1), expect(stage, 40 * 128, stall=2),
                 Row("UTMALDG.2D", access="tile", operand=stage, read=1, stall=4)]
    return body


def consumer(columns: int = 128, per_tile: int = 4) -> list[Row]:
    """A warpgroup: wgmma of a tile, then the stage before is free."""
    body = []
    for tile in range(TILES):
        stage = tile % STAGES
        body += [*wait(stage, tile // STAGES % 2), Row("WARPGROUP.ARRIVE", stall=4),
                 *[wgmma(columns) for _ in range(per_tile - 1)], wgmma(columns, closes=True, stall=2),
                 Row("WARPGROUP.DEPBAR.LE", operand=1, stall=2)]
        body += [arrive(STAGES + (tile - 1) % STAGES, access="some")] if tile else []
    return [*body, Row("WARPGROUP.DEPBAR.LE"), Row("STS", access="sts", read=3), Row("FENCE.VIEW.ASYNC.S", write=2),
            Row("BAR.SYNC.DEFER_BLOCKING", operand=1 | 128 << 8, wait=(2, 3)),
            Row("UTMASTG.2D", access="store", operand=-1, read=1, stall=4), Row("UTMACMDFLUSH", read=0),
            Row("DEPBAR.LE", operand=0), Row("BAR.SYNC", operand=1 | 128 << 8)]


def warp_specialised(groups: int = 1, **sizes: int) -> Program:
    arrivals = [1] * STAGES + [32 * groups] * STAGES
    roles = [(1, producer()), (3, rows("USETMAXREG")), *[(4, consumer(**sizes)) for _ in range(groups)]]
    return program(roles, ACCESSES, mbarriers=arrivals)


STORIES = {
    "a warp-specialised kernel": warp_specialised(),
    "two consumer warpgroups share the tensor pipe": program(
        [(1, producer()), (3, []), (4, consumer(64)), (4, [Row("NOP", stall=9), *consumer(64)])], ACCESSES,
        mbarriers=[1, 1, 64, 64]),
    "first come, first served in front of the tensor pipe": program(
        [(8, loop([*[wgmma(32)] * 6, wgmma(32, closes=True), Row("WARPGROUP.DEPBAR.LE")], 4))]),
    "groups of two warpgroups, one ahead": program(
        [(8, loop([Row("WARPGROUP.ARRIVE", stall=4), *[wgmma(128)] * 7, wgmma(128, closes=True, stall=2),
                   Row("WARPGROUP.DEPBAR.LE", operand=1, stall=2)], 5))]),
    "one warp of a warpgroup is late at the fence": program(
        [(1, loop([Row("NOP", stall=15), Row("WARPGROUP.ARRIVE", stall=4), wgmma(32, closes=True),
                   Row("WARPGROUP.DEPBAR.LE")], 3)),
         (3, loop([Row("WARPGROUP.ARRIVE", stall=4), wgmma(32, closes=True), Row("WARPGROUP.DEPBAR.LE")], 3))]),
    "the queue is full": program(
        [(8, loop([Row("WARPGROUP.ARRIVE", stall=4), *[wgmma(64, stall=2)] * 15, wgmma(64, closes=True, stall=2),
                   Row("WARPGROUP.DEPBAR.LE", operand=1, stall=2)], 3))]),
    "lanes that wait alone look from time to time": program(
        [(1, [Row("NOP", stall=15)] * 40 + [arrive(0, stall=2)]), (1, wait(0, 0, lanes=1)),
         (2, [Row("NOP", stall=11), *wait(0, 0, lanes=1), Row("FFMA")])], mbarriers=[32]),
    "A in registers": program([(8, loop([
        *[wgmma(8, registers=True, stall=4)] * 5, wgmma(64, registers=True, closes=True),
        Row("WARPGROUP.DEPBAR.LE", operand=1)], 4))]),
    "warps of a warpgroup come late": program(
        [(1, [Row("NOP", stall=15)] * 12 + [wgmma(16, closes=True), Row("WARPGROUP.DEPBAR.LE")]),
         (3, [wgmma(16, closes=True), Row("WARPGROUP.DEPBAR.LE"), Row("FFMA")])]),
    "wgmma beside mma.sync": program(
        [(4, [wgmma(64)] * 3 + [wgmma(64, closes=True), Row("WARPGROUP.DEPBAR.LE")]),
         (4, [Row("HMMA.16816.F32", stall=2)] * 30)]),
    "wgmma operands and ldmatrix share the data stage": program(
        [(4, [wgmma(128)] * 6 + [wgmma(128, closes=True), Row("WARPGROUP.DEPBAR.LE")]),
         (4, [Row("LDSM", access="ldsm", write=0), Row("FFMA", wait=(0,))] * 12)], ACCESSES),
    "copies arrive at an mbarrier": program(
        [(2, [Row("LDGSTS", access="copy"), follow(0), Row("LDGSTS", access="copy"), follow(1)]),
         (2, [*wait(0, 0), Row("LDSM", access="ldsm"), *wait(1, 0)])], ACCESSES, mbarriers=[64, 64]),
    "a copier that leaves": program([(1, [Row("LDGSTS", access="copy"), follow(0)]), (1, wait(0, 0))], ACCESSES,
                                    mbarriers=[32]),
    "commit groups beside mbarriers": program(
        [(1, [Row("LDGSTS", access="copy"), follow(0), Row("LDGSTS", access="copy"), Row("LDGDEPBAR", write=5),
              Row("DEPBAR.LE", operand=5 << 16), *wait(0, 0)])], ACCESSES, mbarriers=[32]),
    "part of a box lies outside": program(
        [(1, [expect(0, 7 * 128 + 512), Row("UTMALDG.2D", access="ragged"), *wait(0, 0)])], ACCESSES, mbarriers=[1]),
    "bytes land before they are expected": program(
        [(1, [LOAD, *[Row("NOP", stall=15)] * 60, expect(0, 40 * 128)]), (1, wait(0, 0))], ACCESSES, mbarriers=[1]),
    "stores wait for their group": program(
        [(2, loop([Row("UTMASTG.2D", access="store", operand=-1), Row("UTMACMDFLUSH", read=0),
                   Row("DEPBAR.LE", operand=1)], 4))], ACCESSES),
    "loads of all kinds meet in the data stage": program(
        [(1, [expect(0, 40 * 128), LOAD, *wait(0, 0)]),
         (3, [Row("LDG", access="ldg", write=1), Row("LDGSTS", access="copy"), Row("STG", access="stg"),
              Row("LDSM", access="ldsm", write=0), Row("FFMA", wait=(0, 1))])], ACCESSES, mbarriers=[1]),
    "some warps arrive at a barrier and go on": program(
        [(2, rows("BAR.ARV operand=24578\nFFMA\nFFMA")), (1, rows("NOP stall=9\nBAR.SYNC operand=24578\nFFMA"))]),
    "two barriers of half the warps": program([(2, loop(rows("BAR.SYNC operand=16385\nFFMA stall=4"), 3)),
                                               (2, loop(rows("BAR.SYNC operand=16386\nFFMA stall=9"), 3))]),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("story", STORIES)
def test_stories_agree_in_every_cycle(story: str, policy: str) -> None:
    assert_agrees(STORIES[story], policy, each_unit=False)


STEPS = st.one_of(
    st.builds(lambda stall: [Row("FFMA", stall=stall)], st.integers(1, 15)),
    st.just([Row("LDSM", access="ldsm", write=3)]), st.just([Row("STS", access="sts", read=4)]),
    st.builds(lambda n, closes, registers: [wgmma(n, closes=closes, registers=registers, stall=2)],
              st.sampled_from((8, 32, 64, 256)), st.booleans(), st.booleans()),
    st.builds(lambda allowed: [Row("WARPGROUP.DEPBAR.LE", operand=allowed, stall=2)], st.integers(0, 2)),
    st.builds(lambda stall: [Row("WARPGROUP.ARRIVE", stall=stall), wgmma(64)], st.integers(1, 5)),
    st.just([Row("LDGSTS", access="copy")]), st.just([Row("HMMA.16816.F32")]),
    st.just([Row("LDG", access="ldg", write=2)]), st.just([Row("FFMA", wait=(2, 3))]),
    st.builds(lambda stall: [Row("UTMALDG.2D", access="tile", operand=1, read=1, stall=stall)], st.integers(1, 9)),
    st.just([Row("UTMASTG.2D", access="store", operand=-1), Row("UTMACMDFLUSH", read=0)]),
    st.just([Row("DEPBAR.LE", operand=0)]),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Rounds in which all warps of a CTA, with different code, meet at an mbarrier."""
    roles = []
    rounds = draw(st.integers(1, 3))
    for _ in range(draw(st.integers(1, 2))):
        body: list[Row] = []
        for number in range(rounds):
            body += [row for step in draw(st.lists(STEPS, max_size=6)) for row in step]
            lanes = draw(st.sampled_from((1, 32)))
            body += [arrive(0, stall=draw(st.integers(1, 5))), *wait(0, number % 2, lanes=lanes)]
        roles.append((4, [*body, Row("WARPGROUP.DEPBAR.LE")]))
    return program(roles, ACCESSES, mbarriers=[128 * len(roles), 1 << 19], ctas=draw(st.integers(1, 2)))


@given(programs(), st.sampled_from(POLICIES))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_random_programs_agree_in_every_cycle(tiny: Program, policy: str) -> None:
    assert_agrees(tiny, policy, each_unit=False)


def test_the_small_gpu_has_the_units() -> None:
    assert run(warp_specialised(), small_gpu()).counters["bulk_bytes_loaded"] == TILES * 40 * 128
