"""Flags of the reuse cache: set where the next FFMA reads the same register in the same slot, and sums where ptxas puts
them."""

from __future__ import annotations

import numpy as np

import gpusim as gs
from gpusim.dsl.backend.reuse_cache import reuse_flags
from gpusim.engine.image import image_of
from gpusim.program import empty_ops


def products(*registers: tuple[int, int, int]) -> np.ndarray:
    ops = empty_ops(len(registers))
    ops["src_start"][:, :3], ops["src_count"][:, :3] = registers, 1
    return ops


def test_a_register_is_kept_until_its_slot_reads_another_of_its_bank() -> None:
    """Slot a: 0 0 1 0; slot b: 10 11 10 12; sums all different."""
    ops = products((0, 10, 20), (0, 11, 21), (1, 10, 22), (0, 12, 23))
    assert reuse_flags(ops, np.array([True])).tolist() == [0b011, 0b001, 0, 0]


def test_what_is_not_banked_keeps_nothing() -> None:
    ops = products((0, 10, 20), (0, 10, 21))
    assert not reuse_flags(ops, np.array([False])).any()


def test_blocks_of_two_by_two_ask_no_bank_for_two_registers() -> None:
    """But where a block begins with a new factor in either slot: 8 x 8 products of one step take 16 of them."""
    gpu = gs.load_gpu("h200")
    program = gs.load_program("sgemm_pipelined").record(gpu, {"M": 128, "N": 128, "K": 64})
    image = image_of(program, gpu).ops
    ffma = np.array([program.statics[pc].mnemonic == "FFMA" for pc in image["pc"]])
    at_once = np.maximum(image["even"], image["odd"])[ffma]
    assert at_once.max() == 2
    assert (at_once == 2).sum() <= len(at_once) // 4
