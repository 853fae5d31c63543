"""Registers that temporaries share: never two values at once in one; copies keep theirs until they are read."""

from __future__ import annotations

import pytest
from backend_strategies import MNEMONICS, TABLE, block, op, random_blocks
from hypothesis import HealthCheck, given, settings

from gpusim.arch import Kind
from gpusim.dsl.backend import Block, reuse
from gpusim.dsl.backend.control import control_fields
from gpusim.dsl.backend.instruction import Instruction, decode
from gpusim.dsl.backend.reuse import with_reused_registers

ALONE = frozenset({(0, 0)})


def code_of(given_block: Block) -> list[Instruction]:
    return decode(given_block.ops, MNEMONICS, TABLE)


def last_writers(code: list[Instruction], units: list[tuple[int, ...]], row: int) -> list[int]:
    """For each of the row's ``units``, the row that wrote it last, -1 before the block."""
    return [max((before for before in range(row) if unit in code[before].writes), default=-1) for unit in units[row]]


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "room_for_registers", lambda code: "overdrawn")


@given(random_blocks())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
def test_who_reads_a_shared_register_finds_its_own_value(crowded: None, given_block: Block) -> None:
    """It was last written by the instruction that wrote the register it stands for."""
    code = code_of(given_block)
    [shared] = with_reused_registers([code], ALONE)
    for row, (own, both) in enumerate(zip(code, shared, strict=True)):
        assert both.reads[: len(own.reads)] == own.reads and both.writes[: len(own.writes)] == own.writes
        extra = [tuple(one.reads[len(plain.reads):]) for plain, one in zip(code, shared, strict=True)]
        writers = last_writers(shared, extra, row)
        assert set(writers) <= set(last_writers(code, [one.reads for one in code], row)) - {-1}


def test_what_lives_on_behind_the_block_keeps_its_register(crowded: None) -> None:
    """The counter is read in the next turn of the loop, the address in this one only."""
    counter, address = op("IMAD", (10, 1), (10, 1)), op("LEA", (20, 1), (10, 1))
    code = code_of(block(counter, address, op("LDSM.16.M88.4", (32, 4), (20, 1))))
    [shared] = with_reused_registers([code], ALONE)
    assert [len(one.writes) for one in shared] == [1, 2, 4]


def crowded_loop() -> list[Instruction]:
    """Sums and fragments fill the registers; an address for a copy, the copy, a temporary for something else."""
    sums = [op("HMMA.16816.F32", (4 * i, 4), (200 + 4 * (i // 8), 4), (216 + 2 * (i % 8), 2), (4 * i, 4))
            for i in range(32)]
    fragments = [op("LDSM.16.M88.4", (200 + 4 * i, 4), (790, 1)) for i in range(16)]
    fillers = [op("IMAD", (600, 1), (601, 1)) for _ in range(70)]
    copy = [op("LEA", (620, 1), (780, 1)), op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (620, 1), (780, 2))]
    later = [op("LEA", (640, 1), (790, 1)), op("LDSM.16.M88.4", (652, 4), (640, 1))]
    return code_of(block(*fragments, *sums, *fillers, *copy, *later))


def test_arithmetic_behind_a_copy_waits_for_the_address_it_overwrites() -> None:
    """Without shared registers nobody does, as nothing else writes them."""
    code = crowded_loop()
    copy = next(row for row, one in enumerate(code) if one.kind == Kind.async_copy)
    alone = control_fields([code], ALONE)[0]
    shared = control_fields(with_reused_registers([code], ALONE), ALONE)[0]
    board = shared.barriers.read[copy]
    assert shared.wait_mask[copy + 1] >> board & 1
    assert not alone.wait_mask[copy + 1]


def test_where_registers_are_left_nobody_shares() -> None:
    code = code_of(block(op("LEA", (20, 1), (10, 1)), op("LDSM.16.M88.4", (32, 4), (20, 1))))
    assert with_reused_registers([code], ALONE) == [code]
