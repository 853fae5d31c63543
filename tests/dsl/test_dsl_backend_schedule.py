"""The list scheduler: whatever it does keeps the meaning of a block; what it does looks like ptxas."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op, random_blocks
from hypothesis import HealthCheck, given, settings

from gpusim.arch import Kind
from gpusim.dsl.backend import Block
from gpusim.dsl.backend.copy_order import CopyOrder, copy_order
from gpusim.dsl.backend.graph import dependence_graph
from gpusim.dsl.backend.instruction import ASYNC_ORDER, MEMORY, Instruction, decode
from gpusim.dsl.backend.schedule import list_schedule
from gpusim.dsl.backend.spacing import spaced

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def schedule(given_block: Block, missing_registers: int = 0,
             copies: CopyOrder = "chain") -> tuple[list[Instruction], list[int]]:
    code = spaced(decode(given_block.ops[: given_block.rows], MNEMONICS, TABLE))
    return code, list_schedule(code, dependence_graph(code, given_block.keys), missing_registers, copies)


def meaning(code: list[Instruction], order: list[int]) -> tuple[dict[int, object], dict[int, object]]:
    """What each row reads, and what the registers hold at the end: values are the rows that wrote them."""
    registers: dict[int, object] = {}
    seen: dict[int, object] = {}
    for row in order:
        seen[row] = tuple(registers.get(unit, "before") for unit in code[row].reads)
        registers.update(dict.fromkeys(code[row].writes, row))
    return seen, registers


@MANY
@given(random_blocks(max_rows=25))
def test_every_row_reads_and_leaves_what_it_did_in_source_order(given_block: Block) -> None:
    code, order = schedule(given_block)
    assert sorted(order) == list(range(len(code)))
    assert meaning(code, order) == meaning(code, list(range(len(code))))


@MANY
@given(random_blocks(max_rows=25))
def test_memory_stays_between_its_synchronisations(given_block: Block) -> None:
    code, order = schedule(given_block)
    place = {row: position for position, row in enumerate(order)}
    kinds = [instruction.kind for instruction in code]
    keys = given_block.keys
    writers = {Kind.shared_store, Kind.async_copy, Kind.global_store}
    for first, second in ((a, b) for b in range(len(code)) for a in range(b)):
        pair = {kinds[first], kinds[second]}
        both_sync = pair <= ASYNC_ORDER
        fenced = pair & MEMORY and pair & (ASYNC_ORDER - {Kind.commit})
        group = pair == {Kind.commit, Kind.async_copy}
        copies = pair == {Kind.async_copy}
        conflict = keys[first] >= 0 and keys[first] == keys[second] and pair & writers
        pointers = pair == {Kind.global_load, Kind.global_store}
        if both_sync or fenced or group or copies or conflict or pointers or kinds[second] == Kind.branch:
            assert place[first] < place[second], (first, second)


def test_a_barrier_holds_loads_of_shared_memory_back_but_not_those_of_spilled_registers() -> None:
    """Local memory belongs to its thread, and no register holds the address."""
    rows = block(op("BAR.SYNC.DEFER_BLOCKING"), op("LDS.64", (0, 2), (8, 1)), op("LDL", (2, 1)), keys=(-1, -1, -1))
    barrier = dependence_graph(decode(rows.ops, MNEMONICS, TABLE), rows.keys).after[0]
    assert (1 in barrier, 2 in barrier) == (True, False)



@MANY
@given(random_blocks(max_rows=25))
def test_the_graph_points_forward_and_the_order_obeys_it(given_block: Block) -> None:
    code = decode(given_block.ops[: given_block.rows], MNEMONICS, TABLE)
    graph = dependence_graph(code, given_block.keys)
    place = {row: position for position, row in enumerate(list_schedule(code, graph))}
    for first, followers in enumerate(graph.after):
        for second in followers:
            assert first < second and place[first] < place[second]


def tensor_block(num_tensor: int, num_filler: int, loads: int = 0) -> Block:
    fillers = [op("IMAD", (500 + i, 1), (499, 1)) for i in range(num_filler)]
    fragments = [op("LDSM.16.M88.4", (400 + 4 * i, 4), (498, 1)) for i in range(loads)]
    tensor = [op("HMMA.16816.F32", (4 * i, 4), (300, 4), (304, 2), (4 * i, 4)) for i in range(num_tensor)]
    return block(*fragments, *fillers, *tensor)


def word(given_block: Block, missing_registers: int = 0, copies: CopyOrder = "chain") -> str:
    code, order = schedule(given_block, missing_registers, copies)
    letters = {Kind.mma: "H", Kind.ldmatrix: "L", Kind.async_copy: "G", Kind.commit: "C", Kind.barrier: "B"}
    return "".join(letters.get(code[row].kind, ".") for row in order)


def test_one_arithmetic_instruction_goes_between_two_tensor_instructions() -> None:
    assert word(tensor_block(6, 4)) == "H.H.H.H.HH"


@pytest.mark.parametrize(("num_tensor", "interval"), [(24, 8), (12, 5)])
def test_fragment_loads_leave_as_far_apart_as_the_tensor_work_lets_them(num_tensor: int, interval: int) -> None:
    """Six loads, an HMMA takes 6 cycles: 8 apart beside 24 of them, 5 beside 12."""
    positions = np.cumsum([letter == "H" for letter in word(tensor_block(num_tensor, 0, loads=6))])
    loads = [letter == "L" for letter in word(tensor_block(num_tensor, 0, loads=6))]
    gaps = [later - earlier for earlier, later in pairwise(positions[loads])]
    assert set(gaps) == ({1, 2} if interval > 6 else {1})
    assert sum(gaps) == max(5, 5 * interval // 6)


def test_address_arithmetic_of_the_longest_path_comes_first() -> None:
    """Source order has an idle counter first; the load that tensor work waits for is drawn forward."""
    given_block = block(op("IMAD", (90, 1), (91, 1)), op("LEA", (80, 1), (81, 1)),
                        op("LDSM.16.M88.4", (60, 4), (80, 1)),
                        op("HMMA.16816.F32", (0, 4), (60, 4), (64, 2), (0, 4)))
    assert schedule(given_block)[1][0] == 1


def staged_block(per_step: int, tensor: str = "HMMA.1688.F32", steps: int = 4) -> Block:
    """Steps of tensor instructions on their own accumulators, two fragment loads for the next step in each, and in the
    first one a load from global memory behind two instructions of arithmetic; its result is stored at the end."""
    rows = []
    for step in range(steps):
        ours, others = 300 + 8 * (step % 2), 300 + 8 * ((step + 1) % 2)
        rows += [op("LDSM.16.M88.4", (others + 4 * n, 4), (498, 1)) for n in range(2)]
        if step == 0:
            rows += [op("LEA", (400, 1), (401, 1)), op("LEA", (402, 1), (400, 1)), op("LDG.E", (404, 1), (402, 2))]
        rows += [op(tensor, (4 * i, 4), (ours, 2), (ours + 4, 1), (4 * i, 4)) for i in range(per_step)]
    return block(*rows, op("STS", (0, 0), (410, 1), (404, 1)))


@pytest.mark.parametrize(("per_step", "tensor", "steps", "late"), [
    (16, "HMMA.1688.F32", 4, True), (32, "HMMA.1688.F32", 4, True), (16, "HMMA.1688.F32", 2, True),
    (8, "HMMA.1688.F32", 4, False), (16, "HMMA.16816.F32", 4, False), (64, "HMMA.1688.F32", 5, False)])
def test_loads_come_late_where_short_tensor_instructions_never_wait(per_step: int, tensor: str, steps: int,
                                                                    late: bool) -> None:
    """Rule 5, and where it does not hold: steps shorter than their fragment loads, long instructions, long blocks."""
    code, order = schedule(staged_block(per_step, tensor, steps))
    before = [code[row].kind for row in order[: order.index(next(
        row for row, one in enumerate(code) if one.kind == Kind.global_load))]].count(Kind.mma)
    share = before / (per_step * steps)
    assert 0.7 <= share < 0.8 if late else share < 0.3


def multistage_block(warp_tile: int, arithmetic: int) -> Block:
    """Two k steps of tensor instructions on sums of ``warp_tile`` x ``warp_tile``: in the first one the other step's
    fragments are loaded, then ``arithmetic`` leads to a copy; in the second one, behind a barrier, the first step's."""
    rows_a, rows_b = warp_tile // 16, warp_tile // 8
    sums, fragments = 4 * rows_a * rows_b, 4 * rows_a + 2 * rows_b

    def loads(step: int) -> list[np.ndarray]:
        start = 300 + fragments * step
        return [row for n in range(fragments // 4) for row in (
            op("LEA", (700 + n, 1), (790 + step, 1)), op("LDSM.16.M88.4", (start + 4 * n, 4), (700 + n, 1)))]

    def tensor(step: int) -> list[np.ndarray]:
        start = 300 + fragments * step
        return [op("HMMA.16816.F32", (4 * i, 4), (start + 4 * (i // rows_b), 4),
                   (start + 4 * rows_a + 2 * (i % rows_b), 2), (4 * i, 4)) for i in range(sums // 4)]

    chain = [op("IMAD", (600 + n, 1), (599 + n, 1)) for n in range(arithmetic)]
    copy = [op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (599 + arithmetic, 1), (780, 2)), op("LDGDEPBAR")]
    return block(*loads(1), *chain, *copy, *tensor(0), op("DEPBAR.LE"), op("BAR.SYNC.DEFER_BLOCKING"), *loads(0),
                 *tensor(1))


@pytest.mark.parametrize("warp_tile", [32, 64])
@pytest.mark.parametrize("missing_registers", [0, 20])
def test_arithmetic_for_loads_behind_a_barrier_stays_behind_it(warp_tile: int, missing_registers: int) -> None:
    """Rule 6."""
    code, order = schedule(multistage_block(warp_tile, 90), missing_registers)
    barrier = order.index(next(row for row, one in enumerate(code) if one.kind == Kind.barrier))
    assert not [row for row in order[:barrier] if 790 in code[row].reads]


def stage_advance_block(overwritten: int) -> Block:
    """A copy with address 700, then, behind a barrier, an address that begins with register ``overwritten``."""
    tensor = [op("HMMA.16816.F32", (4 * i, 4), (200, 4), (204, 2), (4 * i, 4)) for i in range(16)]
    copy = [op("LEA", (700, 1), (790, 1)), op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (700, 1), (780, 2)),
            op("LDGDEPBAR")]
    advance = [op("IMAD", (overwritten, 1), (791, 1)), op("LEA", (702, 1), (overwritten, 1)),
               op("LDSM.16.M88.4", (300, 4), (702, 1))]
    return block(*copy, *tensor, op("DEPBAR.LE"), op("BAR.SYNC.DEFER_BLOCKING"), *advance)


@pytest.mark.parametrize(("overwritten", "free"), [(700, True), (701, False)])
def test_what_overwrites_the_address_of_a_copy_does_not_wait_for_the_barrier(overwritten: int, free: bool) -> None:
    """Rule 8: neither it nor what follows from it, up to the load; anything else that leads to the load does."""
    given_block = stage_advance_block(overwritten)
    code = decode(given_block.ops, MNEMONICS, TABLE)
    graph = dependence_graph(code, given_block.keys)
    order = list_schedule(code, graph)
    barrier = next(row for row, one in enumerate(code) if one.kind == Kind.barrier)
    assert [row in graph.after[barrier] for row in (21, 22, 23)] == [not free, not free, True]
    assert order.index(23) > order.index(barrier)


def test_fragments_of_the_next_turn_are_loaded_late() -> None:
    """Rule 9: behind an early barrier, with four loads of 8 cycles, when 62 + 32 cycles of tensor work are left."""
    tensor = [op("HMMA.16816.F32", (4 * (i % 32), 4), (200, 4), (204, 2), (4 * (i % 32), 4)) for i in range(96)]
    copy = [op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (700, 1), (780, 2)), op("LDGDEPBAR"), op("DEPBAR.LE"),
            op("BAR.SYNC.DEFER_BLOCKING")]
    loads = [op("LDSM.16.M88.4", (300 + 4 * i, 4), (790, 1)) for i in range(4)]
    letters = word(block(*copy, *tensor, *loads))
    left = 6 * letters[letters.index("L"):].count("H")
    assert 80 < left <= 62 + 4 * 8
    assert letters[letters.rindex("L"):].count("H") > 8


def test_the_next_step_finds_its_fragments() -> None:
    """Rule 6: arithmetic that its loads need goes before tensor instructions, which must not wait for it later."""
    letters = word(multistage_block(32, 90)).split("B")[0]
    first_step = [i for i, letter in enumerate(letters) if letter == "H"][7]
    assert letters[:first_step].count("L") == 4


@pytest.mark.parametrize("num_tensor", [16, 64])
def test_what_has_been_loaded_becomes_operands_before_addresses_of_copies_are_made(num_tensor: int) -> None:
    """Rule 6: beside much tensor work the path of a conversion is longer than that through copy and barrier."""
    copy = [*(op("LEA", (701 + i, 1), (700 + i, 1)) for i in range(30)),
            op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (730, 1), (780, 2)),
            op("LDGDEPBAR"), op("DEPBAR.LE"), op("BAR.SYNC.DEFER_BLOCKING"), op("LDSM.16.M88.4", (300, 4), (790, 1))]
    half = num_tensor // 2
    tensor = [op("HMMA.16816.F32", (4 * i, 4), (200 if i < half else 210, 4), (204, 2), (4 * i, 4))
              for i in range(num_tensor)]
    _, order = schedule(block(op("IMAD", (210, 1), (220, 1)), *copy, *tensor))
    conversion_first = order.index(0) < order.index(1)
    assert conversion_first == (num_tensor == 64)


@pytest.mark.parametrize(("missing_registers", "early"),
                         [(0, 8), (2, 8), (3, 7), (5, 7), (6, 6), (18, 2), (20, 2), (90, 0)])
def test_where_registers_lack_loads_wait_for_the_addresses_of_copies(missing_registers: int, early: int) -> None:
    """Rule 7: each of the eight loads that waits for the end of the first step makes up for three registers."""
    letters = word(multistage_block(64, 20), missing_registers).split("B")[0]
    first_step = [i for i, letter in enumerate(letters) if letter == "H"][31]
    assert letters[:first_step].count("L") == early
    assert letters[:first_step].count("G") == (early == 8)


def test_the_loads_needed_last_wait() -> None:
    code, order = schedule(multistage_block(64, 20), 18)
    place = {row: position for position, row in enumerate(order)}
    loads = [row for row, one in enumerate(code[:code.index(next(one for one in code if one.kind == Kind.async_copy))])
             if one.kind == Kind.ldmatrix]
    users = {row: next(user for user, one in enumerate(code) if one.kind == Kind.mma and set(one.reads)
                       & set(code[row].writes)) for row in loads}
    early = sorted(loads, key=lambda row: (users[row], row))[:2]
    assert max(place[row] for row in early) < min(place[row] for row in loads if row not in early)


def test_copies_have_their_addresses_one_after_the_other() -> None:
    """They stay in source order, so the first has the longest path; other arithmetic of the same length waits."""
    rows = [op("LEA", (600 + 2 * copy, 1), (780, 1)) for copy in range(3)]
    rows += [op("IMAD", (601 + 2 * copy, 1), (600 + 2 * copy, 1)) for copy in range(3)]
    rows += [op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (601 + 2 * copy, 1), (780, 2)) for copy in range(3)]
    _, order = schedule(block(*rows))
    place = {row: position for position, row in enumerate(order)}
    assert [row for row in order if row >= 6] == [6, 7, 8]
    assert place[3] < place[5] and place[0] < place[1] < place[2]


def copying_block(steps: int = 3, copies: int = 4, late: bool = False) -> Block:
    """Two k steps of 16 tensor instructions: four loads of the second one's fragments, each with an address of its own,
    then ``steps`` instructions for the address of each of the ``copies``; all in front of the tensor instructions, or
    ``late`` behind the first one; behind a barrier the next turn's load."""
    loads = [row for n in range(4) for row in (
        op("LEA", (700 + n, 1), (790, 1)), op("LDSM.16.M88.4", (300 + 4 * n, 4), (700 + n, 1)))]
    chains = [row for n in range(copies) for row in (
        *[op("IMAD", (600 + 10 * n, 1), (600 + 10 * n, 1))] * steps,
        op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (600 + 10 * n, 1), (780, 2)))]
    tensor = [op("HMMA.16816.F32", (4 * (n % 16), 4), (200 + n // 16 * 100, 4), (204 + n // 16 * 100 + n % 4 * 2, 2),
                 (4 * (n % 16), 4)) for n in range(32)]
    barrier = [op("DEPBAR.LE"), op("BAR.SYNC.DEFER_BLOCKING"), op("LEA", (710, 1), (791, 1)),
               op("LDSM.16.M88.4", (200, 4), (710, 1))]
    middle = [*tensor[:1], *chains] if late else [*chains, *tensor[:1]]
    return block(*loads, *middle, op("LDGDEPBAR"), *tensor[1:16], *barrier, *tensor[16:])


def order_of_copies(given_block: Block) -> CopyOrder:
    code = spaced(decode(given_block.ops[: given_block.rows], MNEMONICS, TABLE))
    return copy_order(code, dependence_graph(code, given_block.keys))


def test_copies_in_front_of_tensor_instructions_go_in_turn() -> None:
    """Rule 11: CUTLASS, which has them behind the first k step's, keeps a chain; those with a longer way lead."""
    assert order_of_copies(copying_block(steps=3)) == "behind loads"
    assert order_of_copies(copying_block(steps=12)) == "before loads"
    assert order_of_copies(copying_block(late=True)) == order_of_copies(copying_block(copies=0)) == "chain"


def addresses(steps: int, copies: CopyOrder) -> list[int]:
    """Whose addresses the instructions are, in issue order: of copies 0 to 3, of loads 10 to 13."""
    code, order = schedule(copying_block(steps), copies=copies)
    units = [min(code[row].writes) for row in order if code[row].kind == Kind.alu]
    return [(unit - 600) // 10 if unit < 700 else unit - 690 for unit in units if unit < 710]


def test_addresses_of_copies_come_behind_those_of_loads_unless_they_lead() -> None:
    assert addresses(3, "behind loads")[:4] == [10, 11, 12, 13]
    assert max(addresses(12, "before loads")[:4]) < 10


def test_copies_in_turn_take_one_step_each_and_a_chain_brings_the_first_ones_forward() -> None:
    """Each step of all four beside tensor instructions, not each copy's three."""
    turns, chain = ([copy for copy in addresses(3, copies) if copy < 10] for copies in ("behind loads", "chain"))
    assert turns == [0, 1, 2, 3] * 3
    assert chain[:6] == [0, 0, 0, 1, 1, 1]


def test_copies_that_lead_hold_tensor_instructions_back_as_loads_do() -> None:
    """Rule 2: two instructions of their addresses fit between two tensor instructions then, else one."""
    letters, chain = (word(copying_block(steps=14), copies=copies) for copies in ("before loads", "chain"))
    assert "H..H..H..H" in letters and "H..H" not in chain


def test_no_load_from_global_memory_passes_a_store() -> None:
    """Their pointers may be equal, as those of C and D in an epilogue; what waits for the load is far from it then."""
    store, load = op("STG.E", (0, 0), (0, 2), (2, 1)), op("LDG.E", (4, 1), (6, 2))
    late = [op("IMAD", (2, 1), (8, 1)), store, load, op("IMAD", (5, 1), (4, 1))]
    assert schedule(block(*late))[1] == [0, 1, 2, 3]
    assert schedule(block(load, *late[:2]))[1].index(0) < schedule(block(load, *late[:2]))[1].index(2)


@pytest.mark.parametrize("leads_to_copy", [False, True])
def test_set_up_stays_in_front_of_the_first_copy(leads_to_copy: bool) -> None:
    """Accumulators that are cleared, and what later copies need; a load of shared memory draws that forward."""
    setup = [op("LEA", (20 + n, 1), (60, 1)) for n in range(6)]
    copies = [op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (20 + n if n and leads_to_copy else 70, 1), (72, 2))
              for n in range(6)]
    order = schedule(block(*setup, *copies, op("LDGDEPBAR"), op("DEPBAR.LE"), op("BAR.SYNC.DEFER_BLOCKING"),
                           op("LDSM.16.M88.4", (100, 4), (74, 1))))[1]
    assert max(order.index(row) for row in range(1, 6)) < order.index(len(setup))


def test_dead_loads_stay_in_front_of_the_first_copy() -> None:
    dead = [op("LDS.64") for _ in range(3)]
    given_block = block(*dead, op("LEA", (80, 1), (81, 1)), op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (80, 1), (82, 2)),
                        op("LDGDEPBAR"))
    assert schedule(given_block)[1] == [3, 0, 1, 2, 4, 5]


@pytest.mark.parametrize("count", [0, 1])
def test_blocks_without_choice(count: int) -> None:
    code, order = schedule(block(op("BRA")))
    assert order == [0]
    assert list_schedule(code[:count], dependence_graph(code[:count], np.full(count, -1))) == list(range(count))
