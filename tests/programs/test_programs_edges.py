"""Problems that tiles, vectors or 16 bytes do not divide: what is copied there, how, what stays in shared memory.

Compiled loops are those of CUTLASS 4.2's kernels, f16, 128x128x32, warps of 64x64, tn, sm_90a, CUDA 13.0.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from cutlass_helpers import SPEC, active, check, count, mnemonics, record

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.engine import simulate
from gpusim.program import Program
from gpusim.report.summary import summarise

CLEARS = ("none", "zfill", "clear_last_stage")
SMALL = {"tile": (64, 64, 32), "warp": (32, 32, 32)}
S8 = {"input_type": "s8", "accumulator_type": "s32", "output_type": "s32", "instruction": (16, 8, 32),
      "tile": (64, 64, 64), "warp": (32, 32, 64)}
CASES: list[tuple[str, tuple[int, int, int], dict[str, Any]]] = [
    ("gemm_multistage", (200, 132, 100), {"clear": "zfill"}),
    ("gemm_multistage", (70, 66, 34), {"clear": "zfill", **SMALL}),
    ("gemm_multistage", (128, 128, 64), {"alignment": 2}), ("gemm_multistage", (68, 72, 41), {
        "clear": "zfill", "layouts": "nt", **SMALL}),
    ("gemm_multistage", (1, 2, 2), {"clear": "zfill", **SMALL}),
    ("gemm_multistage", (72, 68, 132), {"clear": "zfill", **S8}),
    ("gemm_pipelined", (65, 67, 33), SMALL), ("gemm_pipelined", (66, 70, 38), {"layouts": "nn", **SMALL}),
    ("gemm_pipelined", (64, 1, 1), SMALL), ("gemm_pipelined", (40, 36, 33), S8), ("gemm_pipelined", (40, 36, 34), S8),
    ("sgemm_multistage", (101, 67, 13), {"clear": "zfill"}), ("sgemm_pipelined", (1, 1, 1), {}),
    ("gemm_multistage", (200, 136, 40), {"clear": "clear_last_stage"}),
    ("gemm_multistage", (70, 66, 98), {"clear": "clear_last_stage", "num_stages": 4, **SMALL}),
    ("sgemm_multistage", (70, 66, 13), {"clear": "clear_last_stage", "tile": (64, 64, 8), "warp": (32, 32, 8)}),
    ("gemm_multistage", (192, 320, 32), {"raster": "n", **SMALL}),
    ("gemm_pipelined", (128, 192, 64), {"raster": "n", "alignment": 1, **SMALL}),
    ("sgemm_pipelined", (130, 260, 17), {"raster": "n"}), ("sgemm_multistage", (130, 260, 17), {
        "raster_log": 1, "clear": "zfill"}),
]


@pytest.mark.parametrize(("name", "sizes", "parameters"), CASES)
def test_ragged_problems_come_out_right_and_without_a_race(name: str, sizes: tuple, parameters: dict) -> None:
    program = record(name, sizes, "list", **parameters)
    assert check(name, program, sum(sizes)).problems == []
    names = [static.mnemonic for static in program.statics]
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


def loop_length(program: Program, tiles: int) -> float:
    return len(mnemonics(program, "main_loop")) / tiles


@pytest.mark.parametrize(("alignment", "copies", "compiled"), [(8, 8, 163), (4, 16, 204), (2, 32, 262)])
def test_smaller_alignments_copy_in_more_pieces(alignment: int, copies: int, compiled: int) -> None:
    """Four accesses of 4 bytes to a vector, each with its own predicate."""
    program = record("gemm_multistage", (128, 128, 256), alignment=alignment)
    assert loop_length(program, 8) == pytest.approx(compiled, rel=0.05)
    spelled = {8: ".BYPASS.LTC128B.128", 4: ".LTC128B.64", 2: ".LTC128B"}[alignment]
    body = Counter(mnemonics(program, "main_loop"))
    words = -(-copies // 2 // 16) * 2  # of 16 predicates, per operand; the first of a word needs no comparison
    assert body["LDGSTS.E" + spelled] == 8 * copies == body["ISETP.NE.U32.AND"] + 8 * words
    table = program.classes[0].roles[0].accesses
    copied = [row for row, name in enumerate(table.operation) if name.startswith("CPA")]
    assert set(table.bytes_per_lane[copied].tolist()) == {2 * alignment}


def test_single_halves_are_loaded_and_packed() -> None:
    """ptxas: 64 LDG.U16, 96 PRMT (64 clear, 32 pack), and 482 instructions beside 56 that spill."""
    program = record("gemm_pipelined", (128, 128, 255))
    assert loop_length(program, 8) == pytest.approx(482, rel=0.02)
    body = Counter(mnemonics(program, "main_loop"))
    assert (body["LDG.E.LTC128B.U16"], body["PRMT"], body["STS.128"]) == (8 * 64, 8 * 96, 8 * 8)


def test_residue_of_k_comes_first_and_masks_lanes() -> None:
    """K = 100 by tiles of 32: the first tile has 4 elements of k, one access of 8 bytes a row."""
    program = record("gemm_multistage", (128, 128, 100))
    accesses, ops = program.classes[0].roles[0].accesses, active(program, "LDGSTS")
    first, later = ops[0], ops[16]
    assert program.statics[first["pc"]].mnemonic == "LDGSTS.E.LTC128B.64.ZFILL"
    inside = [int(mask & ~zero).bit_count() for mask, zero in zip(
        accesses.lane_mask[first["access"]], accesses.zfill_mask[first["access"]], strict=True)]
    assert inside == [8] * 4 and first["global_offset"] == 0  # one lane of the four of a row
    row = accesses.global_offset[later["access"], 0, 0] + later["global_offset"]
    assert row == 4 * 2  # the second tile begins behind the residue
    assert (accesses.zfill_mask[later["access"]] == 0).all()


@pytest.mark.parametrize(("clear", "stores", "zero_filled"), [
    ("none", 0, 16), ("zfill", 0, 64), ("clear_last_stage", 8, 16)])
def test_clear_modes(clear: str, stores: int, zero_filled: int) -> None:
    """The prologue always zero-fills (2 stages of 8); the main loop only with zfill; one stage is stored to at most."""
    program = record("gemm_multistage", (128, 128, 192), clear=clear)
    assert count(program, "STS.128", "prologue") == stores
    assert sum("ZFILL" in name for name in mnemonics(program)) == zero_filled
    in_loop = sum("ZFILL" in name for name in mnemonics(program, "main_loop"))
    assert in_loop == (6 * 8 if clear == "zfill" else 0)


def test_only_no_clearing_leaves_what_nobody_wrote() -> None:
    programs = {clear: record("gemm_multistage", (72, 72, 128), clear=clear, **SMALL) for clear in CLEARS}
    kinds = {clear: {hazard.kind for hazard in check("gemm_multistage", program, 1).hazards}
             for clear, program in programs.items()}
    assert kinds == {"none": {"uninitialised"}, "zfill": set(), "clear_last_stage": set()}


@pytest.mark.parametrize(("sizes", "parameters", "sentence"), [
    ((128, 128, 33), {}, "A: cp.async moves 4, 8 or 16 bytes, got accesses of 2 bytes; a larger alignment, or a pipe"),
    ((128, 128, 64), {"alignment": 16}, "A: the alignment divides a vector of 8 elements, got 16"),
    ((128, 128, 60), {"alignment": 8}, "A: a tensor must end with a whole vector of 8 elements, got 28"),
    ((128, 127, 64), {"accumulator_type": "f16"}, "D: half accumulators leave in pairs, got rows of 127 elements"),
    ((128, 128, 64), {"clear": "all"}, "left as it is or cleared, got 'all'; clear=none, zfill, clear_last_stage"),
    ((128, 128, 64), {"raster": "k"}, "the raster names the axis along which CTAs start first, got 'k'"),
])
def test_refusals(sizes: tuple, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record("gemm_multistage", sizes, **parameters)


def test_bands_of_tiles_share_operands_in_l2() -> None:
    """An A of four times the L2, tiles of two waves: bands of tiles of n read it fewer times."""
    rtx3090 = gs.load_gpu("rtx3090")
    spec = rtx3090.model_copy(update={"l2": rtx3090.l2.model_copy(update={"capacity_bytes": 1 << 19})})
    found = []
    for raster in ({"raster_log": 0}, {"raster_log": 1}, {"raster_log": 2}):
        program = gs.load_program("gemm_multistage").record(spec, {"M": 8192, "N": 256, "K": 128}, **raster, **SMALL)
        found.append(summarise("raster", program, simulate(program, spec), spec))
    hits, dram = ([summary[key] for summary in found] for key in ("l2_hit_pct", "dram_bytes_read"))
    assert hits[0] + 10 < hits[1] < hits[2] - 10
    assert dram[0] > 1.5 * dram[1] and dram[1] > 1.5 * dram[2] and dram[2] >= 8192 * 128 * 2


def test_a_cta_without_a_tile_leaves_at_once() -> None:
    """ptxas: 14 instructions up to the EXIT of a CTA outside, here 6 of 16 in bands of 4 over 5 tiles."""
    program = record("gemm_multistage", (128, 320, 32), raster_log=2, **SMALL)
    idle = next(number for number, cta_class in enumerate(program.classes) if cta_class.name.startswith("idle"))
    assert program.launch.grid == (8, 2, 1) and (program.cta_class == idle).sum() == 6
    ops = program.classes[idle].roles[0].ops
    assert len(ops) == 15 and (ops["access"] == -1).all()
    assert program.statics[ops["pc"][-1]].mnemonic == "EXIT"


def test_main_loop_lines_are_those_of_the_shared_loop() -> None:
    """Reports show where in common/multistage.py a warp waits, not only that it is in the main loop."""
    program = record("sgemm_multistage", (128, 128, 64))
    lines = {(static.file, static.line) for static in program.statics if static.scope == "main_loop"}
    assert {file.rpartition("/")[2] for file, _ in lines} == {"multistage.py"} and len(lines) >= 6
    assert np.unique([static.file for static in program.statics]).size == 2
