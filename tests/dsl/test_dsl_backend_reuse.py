"""Registers that temporaries share: never two values at once in one; copies keep theirs until they are read."""

from __future__ import annotations

import numpy as np
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op, random_blocks
from hypothesis import given, settings

from gpusim.arch import Kind
from gpusim.dsl.backend import Block
from gpusim.dsl.backend.control import control_fields
from gpusim.dsl.backend.instruction import Instruction, decode
from gpusim.dsl.backend.registers import LOST_REGISTERS, RESERVED_REGISTERS
from gpusim.dsl.backend.reuse import with_reused_registers

ALONE = frozenset({(0, 0)})
ONCE: frozenset[tuple[int, int]] = frozenset()


def code_of(given_block: Block) -> list[Instruction]:
    return decode(given_block.ops, MNEMONICS, TABLE)


def last_writers(code: list[Instruction], units: list[tuple[int, ...]], row: int) -> list[int]:
    """For each of the row's ``units``, the row that wrote it last, -1 before the block."""
    return [max((before for before in range(row) if unit in code[before].writes), default=-1) for unit in units[row]]


@given(random_blocks())
@settings(max_examples=200, deadline=None)
def test_who_reads_a_shared_register_finds_its_own_value(given_block: Block) -> None:
    """It was last written by the instruction that wrote the register it stands for."""
    code = code_of(given_block)
    [shared] = with_reused_registers([code], ALONE)
    for row, (own, both) in enumerate(zip(code, shared, strict=True)):
        assert both.reads[: len(own.reads)] == own.reads and both.writes[: len(own.writes)] == own.writes
        extra = [tuple(one.reads[len(plain.reads):]) for plain, one in zip(code, shared, strict=True)]
        writers = last_writers(shared, extra, row)
        assert set(writers) <= set(last_writers(code, [one.reads for one in code], row)) - {-1}


def test_what_lives_on_behind_the_block_keeps_its_register() -> None:
    """The counter is read in the next turn of the loop, the address in this one only."""
    counter, address = op("IMAD", (10, 1), (10, 1)), op("LEA", (20, 1), (10, 1))
    code = code_of(block(counter, address, op("STS", (0, 0), (20, 1), (10, 1))))
    [shared] = with_reused_registers([code], ALONE)
    assert [len(one.writes) for one in shared] == [1, 2, 0]


def copies(number: int) -> list[np.ndarray]:
    """Copies one after the other, each behind the arithmetic for its address."""
    return [row for n in range(number) for row in (
        op("LEA", (620 + n, 1), (780, 1)), op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (620 + n, 1), (780, 2)))]


def addresses(rows: list[np.ndarray]) -> list[int]:
    [shared] = with_reused_registers([code_of(block(*rows))], ALONE)
    return [one.writes[-1] for one in shared if one.kind == Kind.alu]


def test_registers_to_spare_are_taken_before_those_that_a_copy_has_yet_to_read() -> None:
    """One is needed at once; what assignment loses on average comes on top. Then the latest is taken first."""
    spare = LOST_REGISTERS - RESERVED_REGISTERS
    registers = addresses(copies(spare + 3))
    assert len(set(registers)) == 1 + spare
    assert set(registers[spare:]) == {registers[spare]}


def test_a_launch_with_fewer_registers_spares_none() -> None:
    code = code_of(block(*copies(8)))
    needed = 1 + 2  # an address at once, and the pointer they are made of
    for most in (needed, needed + 2):
        [shared] = with_reused_registers([code], ALONE, RESERVED_REGISTERS + most)
        assert len({one.writes[-1] for one in shared if one.kind == Kind.alu}) == 1 + most - needed


def test_what_arithmetic_has_read_is_taken_first() -> None:
    chain = [op("IMAD", (640 + n, 1), (639 + n, 1)) for n in range(8)]
    assert len(set(addresses([op("LEA", (639, 1), (790, 1)), *chain, op("STS", (0, 0), (647, 1), (790, 1))]))) == 1


def test_arithmetic_behind_a_copy_waits_for_the_address_it_overwrites() -> None:
    """Where tensor instructions leave no register to spare; otherwise nobody waits."""
    for sums, waits in ((60, True), (1, False)):
        crowd = [op("HMMA.16816.F32", (4 * i, 4), (240, 4), (244, 2), (4 * i, 4)) for i in range(sums)]
        code = code_of(block(*crowd, *copies(8)))
        fields = control_fields(with_reused_registers([code], ONCE), ONCE)[0]
        behind = [row for row, one in enumerate(code) if one.kind == Kind.alu][1:]
        assert any(fields.wait_mask[row] for row in behind) is waits


@pytest.mark.parametrize("loads", [0, 2])
def test_what_begins_an_address_behind_a_barrier_overwrites_that_of_the_last_copy(loads: int) -> None:
    """Though there are registers that arithmetic has read, and what goes on from there takes those; and though fragment
    loads read the address that they share later."""
    between = [op("LEA", (660, 1), (790, 1)), *(op("LDSM.16.M88.4", (700 + 4 * n, 4), (660, 1)) for n in range(loads))]
    rows = [*copies(2), *between, op("IMAD", (630, 1), (780, 1)), op("IMAD", (785, 1), (630, 1), (785, 1)),
            op("BAR.SYNC.DEFER_BLOCKING"), op("IMAD", (640, 1), (782, 1)), op("IMAD", (641, 1), (640, 1)),
            op("STS", (0, 0), (641, 1), (781, 1))]
    code = code_of(block(*rows))
    [shared] = with_reused_registers([code], ALONE)
    last_copy = max(row for row, one in enumerate(code) if one.kind == Kind.async_copy)
    begin = next(row for row, one in enumerate(code) if 640 in one.writes)
    assert shared[begin].writes[-1] in shared[last_copy].reads
    assert shared[begin + 1].writes[-1] not in shared[last_copy].reads


def test_nobody_overwrites_the_address_of_a_fragment_load() -> None:
    """The fragment itself does, so the address has only the register of its own."""
    code = code_of(block(op("LEA", (640, 1), (790, 1)), op("LDSM.16.M88.4", (652, 4), (640, 1))))
    assert with_reused_registers([code], ALONE) == [code]


@pytest.mark.parametrize(("sums", "shares"), [(40, True), (41, False)])
def test_among_ffmas_nobody_shares(sums: int, shares: bool) -> None:
    """Twenty copies with their addresses, and multiplications that are fewer or more than those."""
    ffmas = [op("IMAD", (500 + i, 1), (560, 1), (561, 1), (500 + i, 1)) for i in range(sums)]
    code = decode(block(*ffmas, *copies(20)).ops, MNEMONICS, TABLE)
    assert (with_reused_registers([code], ALONE) != [code]) is shares
