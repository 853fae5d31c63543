"""finish(): what ptxas writes into the control fields, told case by case, and the layout of unrolled loops."""

from __future__ import annotations

import numpy as np
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op, programs
from hypothesis import HealthCheck, given, settings

from gpusim.dsl.backend import Block, finish
from gpusim.errors import UserError
from gpusim.program import NO_BARRIER, PREDICATE_BASE, UNIFORM_BASE

COPY = "LDGSTS.E.BYPASS.LTC128B.128"
LOAD = "LDSM.16.M88.4"
FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def fields(*blocks: Block) -> np.ndarray:
    return finish(blocks, MNEMONICS, TABLE, schedule="source").ops


FLAG, UNIFORM = (PREDICATE_BASE, 1), (UNIFORM_BASE, 1)


@pytest.mark.parametrize(("writer", "result", "reader", "cycles"), [
    ("IMAD", (1, 1), "IMAD", 4), ("IMAD", (1, 1), "LEA", 5), ("LEA", (1, 1), "LEA", 4), ("LEA", (1, 1), "IMAD", 5),
    ("LEA", (1, 1), LOAD, 5), ("LEA", (1, 1), "HMMA.16816.F32", 7), ("UIADD3", UNIFORM, "UIADD3", 4),
    ("UIADD3", UNIFORM, "LEA", 6), ("ISETP.NE.AND", FLAG, "SEL", 4), ("ISETP.NE.AND", FLAG, "IMAD", 13),
    ("HMMA.16816.F32", (1, 4), "MUFU", 24)])
def test_stall_counts_cover_a_fixed_latency_by_who_reads_the_result(writer: str, result: tuple[int, int], reader: str,
                                                                     cycles: int) -> None:
    """Sooner on the pipe of the writer than on another one, later for a tensor instruction, and much later for what a
    predicate guards."""
    ops = fields(block(op(writer, result, (8, 1)), op(reader, (20, 4), result)))
    assert ops["stall"][0] == cycles if cycles <= 15 else ops["stall"][:-1].sum() == cycles
    assert not ops["wait_mask"].any()


@pytest.mark.parametrize("faster", ["IMAD", "LDS.64"])
def test_a_faster_result_does_not_overtake_a_slower_one(faster: str) -> None:
    ops = fields(block(op("HMMA.16816.F32", (4, 4), (8, 4), (12, 2), (4, 4)), op(faster, (4, 1), (20, 1))))
    distance = int(ops["stall"].sum() - ops["stall"][-1])
    assert distance + TABLE.lookup(faster).latency_cycles == TABLE.lookup("HMMA.16816.F32").latency_cycles + 1


def test_a_branch_is_resolved_before_anything_follows() -> None:
    ops = fields(block(op("BRA")), block(op("IMAD", (0, 1), (1, 1))))
    assert ops["stall"][0] == TABLE.lookup("BRA").issue_interval_cycles


def test_a_distance_beyond_fifteen_takes_a_nop() -> None:
    result = finish([block(op("HMMA.16816.F32", (0, 4), (8, 4), (12, 2), (0, 4)), op("IMAD", (20, 1), (0, 1)))],
                    MNEMONICS, TABLE)
    assert [result.mnemonics[pc] for pc in result.ops["pc"]] == ["HMMA.16816.F32", "NOP", "IMAD"]
    assert result.ops["stall"][:2].tolist() == [15, TABLE.lookup("HMMA.16816.F32").latency_cycles - 15]
    assert result.mnemonics == (*MNEMONICS, "NOP")


def test_tensor_instructions_stand_apart_as_the_pipe_needs() -> None:
    ops = fields(block(*(op("HMMA.16816.F32", (4 * i, 4), (80, 4), (84, 2), (4 * i, 4)) for i in range(3))))
    assert ops["stall"][:2].tolist() == [TABLE.lookup("HMMA.16816.F32").issue_interval_cycles] * 2


def test_a_batch_of_fragment_loads_sets_one_barrier() -> None:
    """Both operands of the first HMMA are awaited together, so the load issued first needs no barrier of its own."""
    ops = fields(block(op(LOAD, (80, 4), (0, 1)), op(LOAD, (84, 4), (1, 1)),
                       op("HMMA.16816.F32", (4, 4), (80, 4), (84, 2), (4, 4))))
    assert (ops["write_barrier"][0], ops["read_barrier"][0]) == (NO_BARRIER, NO_BARRIER)
    assert ops["wait_mask"][2] == 1 << ops["write_barrier"][1]


def test_global_loads_return_out_of_order_so_each_sets_a_barrier() -> None:
    ops = fields(block(op("LDG.E", (80, 1), (0, 2)), op("LDG.E", (84, 1), (2, 2)),
                       op("IMAD", (5, 1), (80, 1), (84, 1))))
    assert NO_BARRIER not in ops["write_barrier"][:2]
    assert ops["wait_mask"][2] == np.bitwise_or.reduce(1 << ops["write_barrier"][:2])


def test_operands_get_a_read_barrier_only_if_they_are_overwritten() -> None:
    store = op("STG.E", (0, 0), (0, 2), (4, 1))
    assert fields(block(store))["read_barrier"][0] == NO_BARRIER
    ops = fields(block(store, op("IMAD", (4, 1), (8, 1))))
    assert ops["wait_mask"][1] == 1 << ops["read_barrier"][0]


def test_the_last_copy_before_an_overwrite_speaks_for_the_earlier_ones() -> None:
    ops = fields(block(op(COPY, (0, 0), (0, 1), (2, 2)), op(COPY, (0, 0), (4, 1), (2, 2)), op("IMAD", (2, 1), (8, 1))))
    assert ops["read_barrier"][0] == NO_BARRIER
    assert ops["wait_mask"][2] == 1 << ops["read_barrier"][1]


def test_copy_groups_own_barrier_zero() -> None:
    ops = fields(block(op(COPY, (0, 0), (0, 1), (2, 2)), op("LDGDEPBAR"), op("DEPBAR.LE"), op("LDG.E", (8, 1), (2, 2)),
                       op("IMAD", (0, 1), (8, 1))))
    assert ops["write_barrier"][1] == 0
    others = np.delete(ops, 1)
    assert 0 not in others["write_barrier"] and 0 not in others["read_barrier"]
    assert ops["stall"][1] >= 2


def test_a_loop_waits_at_its_top_for_what_its_bottom_loaded() -> None:
    """Fragments loaded under the last tensor instructions are first used in the next iteration."""
    tensor = op("HMMA.16816.F32", (0, 4), (80, 4), (84, 2), (0, 4))
    body = block(tensor, op(LOAD, (80, 4), (8, 1)), op("BRA"), repeats=3)
    prologue = block(op("LDS.64", (84, 2), (9, 1)), op(LOAD, (80, 4), (8, 1)))
    ops = fields(prologue, body)
    ops = ops[ops["pc"] < len(MNEMONICS)]  # without NOPs
    iterations = ops[2:].reshape(3, -1)
    assert (iterations["wait_mask"] == iterations["wait_mask"][0]).all()
    assert iterations["wait_mask"][0, 0] & 1 << iterations["write_barrier"][0, 1]
    assert iterations["wait_mask"][0, 0] & 1 << ops["write_barrier"][1]


@FEW
@given(programs)
def test_repeats_are_the_same_as_separate_blocks(blocks: list[Block]) -> None:
    separate = [Block(copy, b.scope, b.memory_key) for b in blocks for copy in b.ops.reshape(b.repeats, b.rows)]
    together, apart = finish(blocks, MNEMONICS, TABLE), finish(separate, MNEMONICS, TABLE)
    assert together.ops.tobytes() == apart.ops.tobytes()
    assert together.register_estimate == apart.register_estimate


def test_copies_keep_their_own_accesses_and_share_one_schedule() -> None:
    body = block(op(LOAD, (80, 4), (8, 1)), op("IMAD", (9, 1), (10, 1)), op("BRA"), repeats=4)
    body.ops["access"][0::3] = 5
    body.ops["shared_offset"][0::3] = np.arange(4) * 128
    body.ops["active"][0::3] = [1, 1, 0, 0]
    ops = finish([body], MNEMONICS, TABLE).ops.reshape(4, -1)
    loads = ops["access"] == 5
    assert ops["shared_offset"][loads].tolist() == [0, 128, 256, 384]
    assert ops["active"][loads].tolist() == [1, 1, 0, 0]
    assert (ops["stall"] == ops["stall"][0]).all() and (ops["pc"] == ops["pc"][0]).all()


def test_blocks_of_another_stage_are_recognised_by_their_conflicts() -> None:
    """Memory keys name stages; two blocks with the same pattern of keys share a schedule, another pattern does not."""
    rows = [op("STS", (0, 0), (0, 1), (1, 1)), op("LDS.64", (8, 2), (2, 1))]
    results = [finish([block(*rows, keys=(3, 3)), block(*rows, keys=second)], MNEMONICS, TABLE).ops["pc"]
               for second in ((7, 7), (4, 5))]
    assert results[0].tolist()[:2] == results[0].tolist()[2:]
    assert results[1].tolist()[2:] == results[1].tolist()[:2][::-1]


def test_another_word_for_the_schedule_is_refused() -> None:
    with pytest.raises(UserError, match="no such schedule, got 'lst'; did you mean 'list'\\?"):
        finish([], MNEMONICS, TABLE, schedule="lst")  # type: ignore[arg-type]


def test_nothing_to_finish() -> None:
    assert len(finish([], MNEMONICS, TABLE).ops) == 0


def test_what_the_next_iteration_starts_with_shares_one_barrier() -> None:
    loads = [op(LOAD, (80 + 4 * i, 4), (8, 1)) for i in range(4)]
    tensor = [op("HMMA.16816.F32", (4 * i, 4), (80, 4), (84 + 4 * i, 2), (4 * i, 4)) for i in range(3)]
    ops = fields(block(*tensor, *loads, op("BRA"), repeats=2))
    set_by_loads = {int(barrier) for barrier in ops["write_barrier"]} - {NO_BARRIER}
    assert len(set_by_loads) == 1
    assert ops["wait_mask"].tolist().count(1 << set_by_loads.pop()) == 2


@pytest.mark.parametrize("commits", [False, True])
def test_copies_of_another_group_say_nothing_of_those_before(commits: bool) -> None:
    """A predicate may switch off the later ones, so nothing sets their barrier; within a group the last has it."""
    first, second = op(COPY, (0, 0), (20, 1), (22, 2)), op(COPY, (0, 0), (24, 1), (26, 2))
    between = [op("LDGDEPBAR")] if commits else []
    ops = fields(block(first, *between, second, op("IMAD", (24, 1), (30, 1)), op("IMAD", (20, 1), (30, 1))))
    barriers = ops["read_barrier"][ops["pc"] == MNEMONICS.index(COPY)].tolist()
    assert (barriers[0] == NO_BARRIER) is not commits
    awaited = [barrier for barrier in barriers if barrier != NO_BARRIER]
    assert [int(mask) for mask in ops["wait_mask"][-2:] if mask] == [1 << barrier for barrier in awaited[::-1]]


def test_a_warp_steps_back_in_front_of_each_k_step() -> None:
    """As in 148 loops compiled by ptxas 13.0, and nowhere else; what is in front of the first step is another block."""
    tensor = [op("HMMA.16816.F32", (4 * (i % 3), 4), (80, 4), (84, 2), (4 * (i % 3), 4)) for i in range(9)]
    ops = fields(block(*tensor, op("IMAD", (90, 1), (91, 1)), op("BRA"), repeats=2))
    ops = ops[ops["pc"] < len(MNEMONICS)].reshape(2, -1)  # without NOPs
    assert [np.flatnonzero(copy).tolist() for copy in ops["yield_"]] == [[2, 5], [2, 5]]
