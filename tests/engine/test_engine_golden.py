"""Compares the compiled SM with the golden reference, cycle for cycle: every issue of every warp, every warp state."""

from __future__ import annotations

import numpy as np
import pytest
from engine_programs import Memory, Row, issue_cycles, loop, program, rows, run, small_gpu
from engine_reference import simulate_reference
from engine_strategies import ACCESSES, programs
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.engine import WARP_STATES
from gpusim.engine.machine import POLICIES
from gpusim.program import Program

HELD_BY_UNITS = [WARP_STATES.index(name) for name in
                 ("mio_throttle", "lg_throttle", "math_pipe_throttle", "dispatch_stall")]


def assert_agrees(tiny: Program, policy: str = "gto", *settings: str, each_unit: bool = True) -> None:
    """``each_unit`` false: which unit held a warp back is not compared, only for how long units did."""
    gpu = small_gpu(1, *settings)
    result, reference = run(tiny, gpu, policy=policy), simulate_reference(tiny, gpu, policy)
    for (cta, warp), issues in reference.issues.items():
        assert issue_cycles(result, warp, cta) == [cycle for cycle, _ in issues], f"CTA {cta} warp {warp}"
    seen, expected = result.state_cycles.copy(), reference.states.copy()
    if not each_unit:
        for states in (seen, expected):
            states[:, HELD_BY_UNITS] = states[:, HELD_BY_UNITS].sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(seen, expected)


@given(programs(), st.sampled_from(POLICIES))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_random_programs_agree_in_every_cycle(tiny: Program, policy: str) -> None:
    assert_agrees(tiny, policy, each_unit=False)


@given(programs())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_random_programs_agree_when_l1_holds_almost_nothing(tiny: Program) -> None:
    """One way: neighbours' lines push each other out, those under way too."""
    assert_agrees(tiny, "gto", "l1.capacity_bytes=36864", "sm.shared_carveouts_kib=[32]", each_unit=False)


@given(programs())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_random_programs_agree_when_places_in_the_queue_return_late(tiny: Program) -> None:
    assert_agrees(tiny, "gto", "mio.queue_depth=5", "mio.queue_return_cycles=10", each_unit=False)


PIPELINE = rows("""
    LDGSTS access=tile read=3
    LDGSTS access=scattered read=3
    LDGDEPBAR write=5
    DEPBAR.LE operand=327681
    BAR.SYNC stall=5
    LDSM access=ldsm write=0
    LDSM access=ldsm write=1
    HMMA.16816.F32 wait=0
    HMMA.16816.F32 wait=1
    HMMA.16816.F32
    BRA stall=5
""")
STORIES = {
    "a multistage main loop": [(8, loop(PIPELINE, 4))],
    "producers and consumers meet at a named barrier": [
        (4, rows("LDGSTS access=tile\nLDGDEPBAR write=5\nDEPBAR.LE operand=327680\nBAR.SYNC operand=1")),
        (4, rows("BAR.SYNC operand=1\nLDSM access=ldsm write=0\nHMMA.16816.F32 wait=0"))],
    "tensor pipe shared by two warps": [(8, [Row("HMMA.16816.F32")] * 12)],
    "conflicts fill the shared-memory queue": [(4, [Row("LDSM", access="ldsm")] * 20)],
    "scattered copies fill the global queue": [(4, [Row("LDGSTS", access="scattered")] * 20)],
    "registers are overwritten after they were read": [
        (4, loop(rows("STS access=sts read=3\nFFMA wait=3 stall=4"), 6))],
    "loads hit, or wait for what others have asked for": [
        (8, [*loop(rows("LDG access=ldg write=2\nLDG access=again write=2\nFFMA wait=2"), 3),
             *rows("LDGSTS.E.128 access=neighbour\nLDG access=ldg write=2\nLDGSTS.E.128 access=neighbour\nFFMA wait=2"),
             *rows("LDGDEPBAR write=5\nDEPBAR.LE operand=327680\nFFMA stall=4")])],
    "stores drain at the end": [(4, [Row("STG", access="stg")] * 8)],
    "arithmetic late in the interval of a slow tensor instruction": [
        (12, loop([Row("DMMA.16x8x4", stall=12), *[Row("IADD3", reads=(1,))] * 6], 12))],
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("story", STORIES)
def test_stories_agree_in_every_cycle(story: str, policy: str) -> None:
    assert_agrees(program(STORIES[story], ACCESSES), policy, each_unit=False)


def test_without_memory_instructions_every_state_agrees() -> None:
    mixed = rows("FFMA stall=2\nIMAD stall=1\nHMMA.16816.F32 stall=2\nMUFU write=0\nBAR.SYNC\nIMAD wait=0 yields")
    assert_agrees(program([(8, loop(mixed, 6))]))


def test_a_dispatcher_that_waits_for_the_register_file_is_charged_to_the_cycle() -> None:
    copies = {"c": Memory("CPA16", lines=32)}
    body = [Row("LDGSTS", access="c"), *[Row("IMAD", stall=4)] * 6]
    assert_agrees(program([(8, body)], copies))
