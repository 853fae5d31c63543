"""CTAs that wait for each other: a poll finds what L2 has when it gets there, and each turn of its loop takes time."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from engine_programs import Memory, Row, issue_cycles, program, rows, run, small_gpu
from engine_reference import simulate_reference
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.engine import WARP_STATES
from gpusim.engine.flags import new_flags, note_write, word_value
from gpusim.engine.image import image_of
from gpusim.engine.machine import machine_of, machine_record
from gpusim.engine.memory import serve
from gpusim.engine.memory_state import new_memory
from gpusim.engine.state import COMPLETION, REQUEST_RECORD, STORE_ANSWERS
from gpusim.errors import SimulatedFailure
from gpusim.program import FlagTable, FlagUse, Program
from gpusim.program.flags import FLAG_ACTIONS, JUMP_ALL_THERE, JUMP_MISSING

ACCESSES = {"word": Memory("LDG32", lines=1, warps=1), "put": Memory("STG32", lines=1, warps=1),
            "stg": Memory("STG128", lines=4)}
LOCK = 1 << 23
NO_CLUSTERS = np.zeros((0, 1, 2), np.int64)
AFTER = Row("FFMA", line=99)


def use(value: int, slot: int = 0, span: int = 1) -> int:
    return FlagUse(slot, value, span).operand


def spin(value: int, slot: int = 0, mnemonic: str = "LDG.E.STRONG.GPU") -> list[Row]:
    """Warp 0 polls until the word has the value; then the CTA goes on."""
    return [Row(mnemonic, access="word", write=0, operand=use(value, slot), stall=2, line=7),
            Row("ISETP.NE.AND", wait=(0,), stall=13), Row("BRA", operand=JUMP_MISSING, stall=5), Row("BAR.SYNC")]


def semaphore(value: int) -> list[Row]:
    """CUTLASS's Semaphore: an early fetch, then a loop in which all warps vote."""
    poll = Row("LDG.E.STRONG.GPU", access="word", write=0, operand=use(value), stall=2, line=7)
    vote = Row("BAR.RED.AND.DEFER_BLOCKING", wait=(0,), stall=2)
    return [poll, *rows("IMAD stall=6") * 5, vote, Row("BRA", operand=JUMP_ALL_THERE, stall=5), poll, vote,
            Row("BRA", operand=JUMP_MISSING, stall=5), Row("BAR.SYNC")]


def release(value: int, slot: int = 0) -> list[Row]:
    """What all warps wrote is there before the word is."""
    return [Row("STG.E.128", access="stg"), Row("BAR.SYNC"), Row("MEMBAR.ALL.GPU", access="word", stall=2),
            Row("STG.E.STRONG.GPU", access="put", operand=use(value, slot))]


def flagged(classes: list[list[Row]], words: list[list[int]], warps: int = 2) -> Program:
    """One CTA per class of rows; ``words``: which words its flags are."""
    tiny = program([(warps, classes[0])], ACCESSES, ctas=len(classes), other_classes=classes[1:],
                   cta_class=range(len(classes)))
    roles = tuple(dataclasses.replace(cta, roles=tuple(dataclasses.replace(
        role, accesses=tiny.classes[0].roles[0].accesses) for role in cta.roles)) for cta in tiny.classes)
    return dataclasses.replace(tiny, classes=roles, flags=FlagTable("lock", LOCK, np.array(words)))


WORK = [Row("IMAD", stall=15)] * 60
STORIES = {
    "a spin on a word that comes late": ([[*WORK, *release(1)], [*spin(1), AFTER]], [[0], [0]]),
    "a word that is there already": ([release(1), [*WORK, *WORK, *WORK, *semaphore(1), AFTER]], [[0], [0]]),
    "a semaphore polled in vain": ([[*WORK, *WORK, *release(1)], [*semaphore(1), AFTER]], [[0], [0]]),
    "three slices in turn": ([[*WORK, *release(1)], [*semaphore(1), *WORK, *release(2)], [*semaphore(2), AFTER]],
                             [[5], [5], [5]]),
    "a swap takes what it waited for": ([release(3), [*spin(3, mnemonic="ATOMG.E.CAS.STRONG.GPU"), AFTER]], [[2], [2]]),
}


@pytest.mark.parametrize("story", STORIES)
def test_stories_agree_with_the_reference_in_every_cycle(story: str) -> None:
    tiny = flagged(*STORIES[story])
    result, reference = run(tiny), simulate_reference(tiny, small_gpu(), "grr")
    for (cta, warp), issues in reference.issues.items():
        assert issue_cycles(result, warp, cta) == [cycle for cycle, _ in issues], f"CTA {cta} warp {warp}"
    np.testing.assert_array_equal(result.state_cycles, reference.states)


NEARER_SM = 4
"""Its way to the slice of the word is short: what it sends a little later than the writer gets there first."""


def _serve(tiny: Program, cta: int, flag: int, time: int, state: tuple) -> tuple[int, int]:
    memory, machine, image, flags = state
    request, done = np.zeros(1, REQUEST_RECORD), np.zeros(1, COMPLETION)
    request["time"], request["cta"], request["flag"], request["count"] = time, cta, flag, 1
    request["is_write"] = image.flags.ops["action"][flag] >= 2
    request["sm"] = 0 if request["is_write"][0] else NEARER_SM
    count = serve(memory, machine, request, np.zeros(1, np.int64), image.requests, flags, NO_CLUSTERS,
                  np.zeros(1, STORE_ANSWERS), done)
    return (int(done["time"][0]), int(done["flag"][0])) if count else (0, -1)


@pytest.fixture(scope="module")
def handover() -> tuple[Program, tuple]:
    tiny = flagged([release(1), spin(1)], [[0], [0]])
    gpu = small_gpu(NEARER_SM + 1)
    image = image_of(tiny, gpu)
    machine = machine_of(gpu)
    return tiny, (machine, image, [role.ops for cta in tiny.classes for role in cta.roles])


def test_not_there_the_cycle_before_and_there_from_its_cycle_on(handover: tuple) -> None:
    """Of all polls that could be sent, exactly those that reach L2 in or after the cycle of the write succeed."""
    tiny, (machine, image, _) = handover
    poll, write = (int(np.flatnonzero(image.flags.ops["action"] == action)[0]) for action in (0, 2))
    outcomes = []
    for sent in range(1000, 1400, 3):
        flags = new_flags(tiny, image.flags.ops, [[np.array([write])], [np.array([poll])]])
        state = new_memory(machine, np.zeros(NEARER_SM + 1, np.int64)), machine_record(machine), image, flags
        _serve(tiny, 1, poll, 0, state)  # the word's line comes to L2
        _serve(tiny, 0, write, 1000, state)
        there = float(flags.time[0, 0])
        back, missing = _serve(tiny, 1, poll, sent, state)
        at_l2 = sent + (back - sent) / 2
        outcomes.append((at_l2, there, missing == 0))
    assert {found for *_, found in outcomes} == {False, True}
    for at_l2, there, found in outcomes:
        if abs(at_l2 - there) > 8:  # half a round trip is not halved exactly: the slice's own cycles come in between
            assert found == (at_l2 > there)
    found = [found for *_, found in outcomes]
    assert found == sorted(found)


def test_a_value_is_what_the_writes_before_a_time_leave(handover: tuple) -> None:
    tiny, (_, image, _) = handover
    write = int(np.flatnonzero(image.flags.ops["action"] == 2)[0])
    flags = new_flags(tiny, image.flags.ops, [[np.array([write])], []])
    note_write(flags, 0, flags.ops[write], 500.0)
    assert [word_value(flags, 0, time) for time in (0.0, 499.9, 500.0, 1e9)] == [0, 0, 1, 1]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.randoms())
@settings(max_examples=20, deadline=None)
def test_arrivals_are_counted_in_any_order(delays: list[int], random: object) -> None:
    """Whoever comes last lets the waiting CTA go, and it never goes before."""
    add = Row("RED.E.ADD.S32.STRONG.GPU", access="put", operand=use(1))
    peers = [[*[Row("IMAD", stall=1)] * delay, add] for delay in delays]
    tiny = flagged([*peers, [*spin(len(delays)), AFTER]], [[4]] * (len(peers) + 1), warps=1)
    result = run(tiny, small_gpu(2))
    last = max(issue_cycles(result, 0, cta)[-2] for cta in range(len(peers)) if len(issue_cycles(result, 0, cta)))
    assert result.cta_end[len(peers)] > last


def test_neither_window_nor_workers_change_a_wait() -> None:
    tiny = flagged(*STORIES["three slices in turn"])
    gpu, options = small_gpu(4), ((None, 1), (1, 1), (70, 2))
    results = [run(tiny, gpu, window_cycles=window, workers=workers) for window, workers in options]
    for other in results[1:]:
        np.testing.assert_array_equal(other.cta_end, results[0].cta_end)
        np.testing.assert_array_equal(other.state_cycles, results[0].state_cycles)


def test_polls_go_round_the_memory_one_after_the_other() -> None:
    """Twice the wait, about twice the polls: each takes a round trip, and each is an instruction."""
    polls = []
    for length in (20, 40):
        tiny = flagged([[*WORK * length, *release(1)], spin(1)], [[0], [0]])
        issued = run(tiny, record=None).issued
        polls.append(sum(int(n) for n, static in zip(issued, tiny.statics, strict=True)
                         if static.mnemonic == "LDG.E.STRONG.GPU") - 1)  # the other warp passes once
    l2 = small_gpu().l2
    round_trip_cycles = 20 * 60 * 15 / polls[0]
    longest = l2.hit_latency_cycles + l2.hit_latency_spread_cycles + l2.fabric_latency_cycles
    assert l2.hit_latency_cycles - l2.hit_latency_spread_cycles < round_trip_cycles < longest + 120
    assert polls[1] == pytest.approx(2 * polls[0], rel=0.1)


def test_a_fence_waits_for_the_writes_before_it_as_membar() -> None:
    """A CTA that stores a lot waits longer in front of its release, and the wait has a name."""
    waits = []
    for stores in (1, 60):
        tiny = flagged([[*[Row("STG.E.128", access="stg")] * stores, *release(1)]], [[0]])
        result = run(tiny, record=None)
        waits.append(int(result.state_cycles[:, WARP_STATES.index("membar")].sum()))
    assert waits[0] >= small_gpu().l2.lookahead_cycles
    assert waits[1] > waits[0]


def test_who_waits_for_nobody_is_named() -> None:
    tiny = flagged([[*WORK, *release(2)], [*semaphore(1), AFTER]], [[3], [3]])
    with pytest.raises(SimulatedFailure) as caught:
        run(tiny)
    assert "CTA 1 warp 0 (SM 0) waits for word 3 of lock to be 1, where it is 2 and nobody will write it" in str(
        caught.value)
    assert "no CTA can ever go on" in str(caught.value)
    assert "CTA 0" not in str(caught.value)


def test_ctas_that_wait_for_each_other_are_both_named() -> None:
    tiny = flagged([[*spin(1, 0), *release(1, 1)], [*spin(1, 1), *release(1, 0)]], [[0, 1], [0, 1]])
    with pytest.raises(SimulatedFailure) as caught:
        run(tiny, small_gpu(2))
    assert re.findall(r"CTA (\d) warp 0", str(caught.value)) == ["0", "1"]


def test_a_use_survives_its_encoding() -> None:
    for slot, value, span in ((0, 0, 1), (255, 65535, 32), (3, 7, 8)):
        assert FlagUse.of(FlagUse(slot, value, span).operand) == FlagUse(slot, value, span)
    with pytest.raises(ValueError, match="out of range"):
        FlagUse(0, 1 << 16)
    assert len(set(FLAG_ACTIONS.values())) == len(FLAG_ACTIONS)
