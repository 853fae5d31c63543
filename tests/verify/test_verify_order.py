"""CTAs that wait for flags execute in the order that the flags impose; who would wait for ever is named."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import gpusim as gs
from gpusim.errors import SimulatedFailure
from gpusim.program import FlagTable, Program, join_programs
from gpusim.verify import check_program, execute, random_inputs
from gpusim.verify.order import turns

SMALL = {"tile": (64, 64, 32), "warp": (32, 32, 32)}


def record(name: str, M: int, N: int, K: int, **parameters: object) -> Program:
    sizes = {"M": M, "N": N, "K": K}
    return gs.load_program(name).record(gs.load_gpu("h200"), sizes, schedule="source", **SMALL, **parameters)


@pytest.fixture(scope="module")
def serial() -> Program:
    return record("gemm_splitk_serial", 128, 192, 128, slices=3)


def order_of(program: Program) -> list[list[int]]:
    return [turn.tolist() for turn in turns(program, np.arange(program.num_ctas))]


def test_slices_of_all_tiles_take_turns(serial: Program) -> None:
    tiles = 6
    assert order_of(serial) == [list(range(z * tiles, (z + 1) * tiles)) for z in range(3)]


def test_without_flags_there_is_one_turn() -> None:
    program = record("gemm_multistage", 128, 128, 64)
    assert order_of(program) == [[0, 1, 2, 3]]


def test_only_the_chosen_ctas_run_and_may_lack_those_they_wait_for(serial: Program) -> None:
    assert [turn.tolist() for turn in turns(serial, np.array([0, 6]))] == [[0], [6]]
    with pytest.raises(SimulatedFailure, match=r"CTA 6 .* waits for word 0 of semaphore to be 1, where it is 0"):
        list(turns(serial, np.array([6])))


def test_a_word_that_nobody_writes_is_named_with_the_line(serial: Program) -> None:
    words = serial.flags.words.copy()
    words[7] = 30  # the second slice of the second tile looks elsewhere
    lost = dataclasses.replace(serial, flags=FlagTable("semaphore", serial.flags.base_address, words))
    with pytest.raises(SimulatedFailure) as caught:
        execute(lost, random_inputs(lost))
    text = str(caught.value)
    assert "CTA 7 (interior slice 1" in text
    assert "waits for word 30 of semaphore to be 1, where it is 0 and nobody will write it" in text
    assert "gemm_splitk_serial.py" in text or "semaphore.py" in text


def test_sums_that_are_added_in_one_turn_all_count() -> None:
    """Blocks that post partial sums are not ordered; the block that reduces them runs in the next turn."""
    program = record("gemm_streamk", 64, 64, 512)
    found = order_of(program)
    assert len(found) == 2
    reducing = {program.classes[program.cta_class[cta]].name for cta in found[1]}
    posting = {program.classes[program.cta_class[cta]].name for cta in found[0]}
    assert not reducing & posting
    inputs = random_inputs(program)
    assert check_program(program, inputs, gs.load_program("gemm_streamk").expected(program, inputs)).outputs[0].ok


def test_scratch_is_neither_asked_for_nor_compared(serial: Program) -> None:
    assert set(random_inputs(serial)) == {"A", "B"}
    assert set(execute(serial, random_inputs(serial)).outputs) == {"D"}


# launches in sequence


def test_a_sequence_is_one_program() -> None:
    program = record("gemm_splitk_parallel", 128, 64, 128, slices=2)
    gemm, reduction = program.sequence
    assert program.num_ctas == gemm.num_ctas + reduction.num_ctas
    assert len(program.statics) == len(gemm.statics) + len(reduction.statics)
    last = program.classes[-1].roles[0].ops["pc"]
    assert [program.statics[pc] for pc in last] == [reduction.statics[pc] for pc in
                                                    reduction.classes[-1].roles[0].ops["pc"]]
    assert [tensor.name for tensor in program.tensors if tensor.is_output] == ["D"]
    assert join_programs([gemm]) is gemm


def test_launches_on_different_tensors_are_no_sequence() -> None:
    programs = [record("gemm_multistage", 64, 64, 64), record("gemm_multistage", 64, 128, 64)]
    with pytest.raises(ValueError, match="same tensors at the same addresses"):
        join_programs(programs)
