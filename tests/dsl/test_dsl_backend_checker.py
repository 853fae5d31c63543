"""The hazard checker: proves random finished programs, agrees with a naive model, and notices every weakened field."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op, programs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.dsl.backend import Block, FinishedOps, check_hazards, finish
from gpusim.dsl.backend.block import block_signature
from gpusim.dsl.backend.instruction import IN_ORDER, decode, late_reads
from gpusim.program import NO_BARRIER

SCHEDULES = st.sampled_from(["source", "list"])
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(MANY, max_examples=25)


def finished(blocks: Sequence[Block], schedule: str = "source") -> FinishedOps:
    return finish(blocks, MNEMONICS, TABLE, schedule=schedule)  # type: ignore[arg-type]


def hazards(ops: np.ndarray, mnemonics: Sequence[str]) -> set[tuple[str, int, int, int]]:
    found = check_hazards(ops, mnemonics, TABLE, limit=10_000)
    return {(hazard.kind, hazard.first, hazard.second, hazard.register) for hazard in found}


def naive_hazards(ops: np.ndarray, mnemonics: Sequence[str]) -> set[tuple[str, int, int, int]]:
    """Every pair of rows, every register, every wait in between: the definition, in cubic time."""
    code = decode(ops, mnemonics, TABLE)
    cycle = np.cumsum(ops["stall"], dtype=np.int64) - ops["stall"]

    def waited(barrier: int, first: int, last: int) -> bool:
        waits = [row for row in range(first + 1, last + 1) if ops["wait_mask"][row] >> barrier & 1]
        return barrier != NO_BARRIER and any(cycle[row] - cycle[first] >= 2 for row in waits)

    def done(first: int, last: int, *, result: bool) -> bool:
        order = IN_ORDER.get(code[first].kind)
        later = [row for row in range(first + 1, last) if order is not None and IN_ORDER.get(code[row].kind) == order]
        return any(waited(int(ops["write_barrier"][row]), row, last)
                   or (not result and waited(int(ops["read_barrier"][row]), row, last)) for row in (first, *later))

    def same_class(first: int, last: int) -> bool:
        return IN_ORDER.get(code[first].kind, "first") == IN_ORDER.get(code[last].kind, "last")

    found = set()
    for last, late in enumerate(code):
        for unit in {*late.reads, *late.writes}:
            writers = [row for row in range(last) if unit in code[row].writes]
            for first in writers[-1:]:
                kinds = (["RAW"] if unit in late.reads else []) + (["WAW"] if unit in late.writes else [])
                for kind in kinds:
                    if kind == "WAW" and same_class(first, last):
                        continue
                    slack = late.latency_cycles - 1 if kind == "WAW" else 0
                    near = cycle[last] - cycle[first] < code[first].latency_cycles - slack
                    if not done(first, last, result=True) if code[first].variable else near:
                        found.add((kind, first, last, unit))
            if unit in late.writes:
                since = writers[-1] + 1 if writers else 0
                readers = [row for row in range(since, last) if unit in late_reads(code[row])]
                found |= {("WAR", row, last, unit) for row in readers
                          if not same_class(row, last) and not done(row, last, result=False)}
    return found


@MANY
@given(programs, SCHEDULES)
def test_finished_programs_have_no_hazard(blocks: list[Block], schedule: str) -> None:
    result = finished(blocks, schedule)
    assert check_hazards(result.ops, result.mnemonics, TABLE) == []


@FEW
@given(programs, st.randoms(use_true_random=False))
def test_agrees_with_the_definition(blocks: list[Block], random) -> None:
    result = finished(blocks)
    ops = result.ops.copy()
    for row in random.sample(range(len(ops)), k=min(len(ops), 6)):
        ops["wait_mask"][row] &= random.getrandbits(6)
        ops["stall"][row] = random.randint(1, int(ops["stall"][row]))
    found = hazards(ops, result.mnemonics)
    naive = naive_hazards(ops, result.mnemonics)
    assert found <= naive
    assert {(kind, row, unit) for kind, _, row, unit in found} == {(kind, row, unit) for kind, _, row, unit in naive}


def with_groups_off(ops: np.ndarray) -> list[np.ndarray]:
    """The rows as they are, and with the copies behind each commit switched off, as a predicate may do."""
    is_copy = ops["pc"] == MNEMONICS.index("LDGSTS.E.BYPASS.LTC128B.128")
    ways = [ops]
    for commit in np.flatnonzero(ops["pc"] == MNEMONICS.index("LDGDEPBAR")):
        ways.append(ops.copy())
        ways[-1]["active"][is_copy & (np.arange(len(ops)) > commit)] = 0
    return ways


@MANY
@given(programs, SCHEDULES)
def test_copies_may_be_switched_off_by_groups(blocks: list[Block], schedule: str) -> None:
    result = finished(blocks, schedule)
    for ops in with_groups_off(result.ops):
        assert check_hazards(ops, result.mnemonics, TABLE) == []


@MANY
@given(programs, SCHEDULES)
def test_every_wait_on_a_straight_way_is_needed(blocks: list[Block], schedule: str) -> None:
    """Where nothing repeats there is one way through the blocks, and each wait bit covers some hazard on it.

    Temporaries keep their own registers here: the op table knows nothing of those they share.
    """
    once = {block_signature(b): Block(b.ops[: b.rows], b.scope, b.memory_key) for b in blocks}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["gpusim.dsl.backend.finish"], "with_reused_registers", lambda codes, *given: [*codes])
        result = finished(list(once.values()), schedule)
    for row in range(len(result.ops)):
        for barrier in range(6):
            if result.ops["wait_mask"][row] >> barrier & 1:
                weaker = result.ops.copy()
                weaker["wait_mask"][row] ^= 1 << barrier
                ways = with_groups_off(weaker)
                assert any(check_hazards(ops, result.mnemonics, TABLE) for ops in ways), (row, barrier)


@FEW
@given(programs)
def test_every_tight_stall_is_needed(blocks: list[Block]) -> None:
    """Between a fixed-latency write and a read exactly its latency later no stall count can shrink."""
    result = finished(blocks)
    ops, code = result.ops, decode(result.ops, result.mnemonics, TABLE)
    cycle = np.cumsum(ops["stall"], dtype=np.int64) - ops["stall"]
    for last, late in enumerate(code):
        for first in range(last):
            tight = not code[first].variable and cycle[last] - cycle[first] == code[first].latency_cycles
            unwritten = set(code[first].writes) - {unit for row in code[first + 1:last] for unit in row.writes}
            if tight and unwritten & set(late.reads) and ops["stall"][last - 1] > 1:
                weaker = ops.copy()
                weaker["stall"][last - 1] -= 1
                assert ("RAW", first, last) in {h[:3] for h in hazards(weaker, result.mnemonics)}


def test_a_hazard_reads_as_a_sentence() -> None:
    result = finished([block(op("LDG.E", (8, 1), (0, 2)), op("IMAD", (9, 1), (8, 1)))])
    result.ops["wait_mask"] = 0
    (hazard,) = check_hazards(result.ops, result.mnemonics, TABLE)
    assert str(hazard) == "RAW hazard on R8: row 1 (IMAD) does not wait long enough for row 0 (LDG.E)"


def test_a_wait_in_the_very_next_cycle_does_not_count() -> None:
    result = finished([block(op("LDG.E", (8, 1), (0, 2)), op("IMAD", (9, 1), (8, 1)))])
    result.ops["stall"][0] = 1
    assert [hazard.kind for hazard in check_hazards(result.ops, result.mnemonics, TABLE)] == ["RAW"]


@pytest.mark.parametrize(("load", "covered"), [("LDSM.16.M88.4", True), ("LDG.E", False)])
def test_a_later_load_covers_an_earlier_one_only_in_order(load: str, covered: bool) -> None:
    """Shared-memory loads return in order; global loads overtake each other."""
    result = finished([block(op(load, (8, 1), (0, 2)), op(load, (12, 1), (0, 2)),
                             op("IMAD", (16, 1), (8, 1), (12, 1)))])
    ops = result.ops.copy()
    ops["write_barrier"][:3], ops["wait_mask"][:3] = (7, 2, 7), (0, 0, 4)
    ops["stall"][:2] = 2
    assert (check_hazards(ops, result.mnemonics, TABLE) == []) is covered


@pytest.mark.parametrize(("commits", "safe"), [(0, True), (1, False)])
def test_a_copy_predicated_off_proves_that_those_of_its_group_before_it_have_read(commits: int, safe: bool) -> None:
    """It passes the queue behind them, as ptxas knows: what overwrites an early address waits for the last copies."""
    copy = "LDGSTS.E.BYPASS.LTC128B.128"
    result = finished([block(op(copy, (0, 0), (20, 1), (22, 2)), *[op("LDGDEPBAR")] * commits,
                             op(copy, (0, 0), (24, 1), (26, 2)), op("IMAD", (24, 1), (30, 1)),
                             op("IMAD", (20, 1), (30, 1)))])
    ops, last = result.ops.copy(), 1 + commits
    ops["read_barrier"][:last], ops["read_barrier"][last], ops["wait_mask"][last + 1:] = NO_BARRIER, 2, 1 << 2
    ops["stall"][last] = 2
    ops["active"][last] = 0
    assert (check_hazards(ops, result.mnemonics, TABLE) == []) is safe


def test_an_instruction_predicated_off_proves_nothing() -> None:
    result = finished([block(op("LDSM.16.M88.4", (8, 1), (0, 1)), op("LDSM.16.M88.4", (12, 1), (0, 1)),
                             op("IMAD", (16, 1), (8, 1), (12, 1)))])
    assert check_hazards(result.ops, result.mnemonics, TABLE) == []
    result.ops["active"][1] = 0
    assert [hazard.register for hazard in check_hazards(result.ops, result.mnemonics, TABLE)] == [8]
