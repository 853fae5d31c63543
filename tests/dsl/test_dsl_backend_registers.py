"""The register estimate: live registers counted by definition, and what is said when they do not fit."""

from __future__ import annotations

import numpy as np
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op, programs
from hypothesis import HealthCheck, given, settings

from gpusim.dsl.backend import Block, finish
from gpusim.dsl.backend.instruction import decode
from gpusim.dsl.backend.registers import LOST_REGISTERS, MAX_REGISTERS, SCARCE_LOST_REGISTERS, missing_registers
from gpusim.program import PREDICATE_BASE

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def naive_peak(ops: np.ndarray, mnemonics: tuple[str, ...]) -> int:
    """A register is live between two rows if a later row reads it before any row writes it."""
    code = decode(ops, mnemonics, TABLE)
    vectors = {unit for row in code for unit in (*row.reads, *row.writes) if unit < PREDICATE_BASE}

    def is_live(unit: int, after: int) -> bool:
        for row in code[after:]:
            if unit in row.reads:
                return True
            if unit in row.writes:
                return False
        return False

    held = [sum(is_live(unit, after) for unit in vectors) for after in range(len(code) + 1)]
    written = [sum(unit < PREDICATE_BASE and (unit in row.writes or is_live(unit, i + 1)) for unit in vectors)
               for i, row in enumerate(code)]
    return max([*held, *written])


@FEW
@given(programs)
def test_peak_is_that_of_the_unrolled_program_or_of_a_way_it_might_have_taken(blocks: list[Block]) -> None:
    result = finish(blocks, MNEMONICS, TABLE)
    assert result.register_estimate.live_peak >= naive_peak(result.ops, result.mnemonics)
    one = finish([Block(blocks[0].ops[: blocks[0].rows], "", blocks[0].memory_key)], MNEMONICS, TABLE)
    assert one.register_estimate.live_peak == naive_peak(one.ops, one.mnemonics)


def test_a_value_carried_round_the_loop_is_live_all_the_way() -> None:
    body = [op("IMAD", (1, 1), (0, 1)), op("IMAD", (0, 1), (1, 1)), op("IMAD", (8, 2), (0, 1)), op("BRA")]
    once, often = (finish([block(*body, repeats=n)], MNEMONICS, TABLE).register_estimate for n in (1, 2))
    assert (once.live_peak, often.live_peak) == (2, 3)


def test_predicates_and_uniform_registers_are_not_counted() -> None:
    estimate = finish([block(op("UIADD3", (PREDICATE_BASE, 1)), op("IMAD", (3, 1), (PREDICATE_BASE, 1)))], MNEMONICS,
                      TABLE).register_estimate
    assert estimate.live_peak == 1


@pytest.mark.parametrize(("values", "spilled"), [(252, 0), (260, 8)])
def test_more_than_the_encoding_holds_is_said(values: int, spilled: int) -> None:
    writes = [op("IMAD", (i, 1)) for i in range(values)]
    reads = [op("IMAD", (300, 1), (i, 1)) for i in range(values)]
    estimate = finish([block(*writes, *reads)], MNEMONICS, TABLE, schedule="source").register_estimate
    assert (estimate.registers, estimate.spilled) == (255, spilled)
    assert (f"{spilled} more than a thread can have" in estimate.note) is (spilled > 0)


def step(late_values: int) -> Block:
    """One k step: 64 registers of sums, 12 of fragments, loaded by addresses; behind it, values live side by side."""
    loads = [row for n in range(3) for row in (op("LEA", (300 + n, 1), (310, 1)),
                                               op("LDSM.16.M88.4", (200 + 4 * n, 4), (300 + n, 1)))]
    tensor = [op("HMMA.16816.F32", (4 * i, 4), (200, 4), (204, 2), (4 * i, 4)) for i in range(16)]
    tensor[-1] = op("HMMA.16816.F32", (60, 4), (204, 4), (208, 2), (60, 4))
    values = [op("IMAD", (400 + i, 1)) for i in range(late_values)]
    reads = [op("STS", (0, 0), (400 + i, 1), (310, 1)) for i in range(late_values)]
    return block(*loads, *tensor, *values, *reads)


def test_sums_and_fragments_keep_their_registers_all_the_way() -> None:
    """74 of them although none is live behind the step, 30 values and an address; and what assignment loses."""
    estimate = finish([step(30)], MNEMONICS, TABLE, schedule="source").register_estimate
    assert estimate.registers == 64 + 10 + 30 + 1 + LOST_REGISTERS
    assert estimate.live_peak == 64 + 12 + 1


@pytest.mark.parametrize(("values", "missing"), [(158, 0), (159, 1), (186, 28)])
@pytest.mark.parametrize("fewer", [0, 87])
def test_registers_lack_beyond_those_of_a_thread_less_what_assignment_may_lose(values: int, missing: int,
                                                                               fewer: int) -> None:
    """All that the encoding has, or the 168 with which three CTAs of 128 threads fit."""
    code = decode(step(values - fewer).ops, MNEMONICS, TABLE)
    assert 64 + 10 + 1 + 158 + SCARCE_LOST_REGISTERS == MAX_REGISTERS
    assert missing_registers([code, code[6:7]], frozenset(), MAX_REGISTERS - fewer) == [missing, 0]
