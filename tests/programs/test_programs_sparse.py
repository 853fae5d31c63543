"""gemm_sparse: metadata in CUTLASS's order, the right answer on whole and ragged sizes, ptxas' loops, no conflicts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from cutlass_helpers import check, count, mnemonics, record

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.program import Program

SMALL = {"tile": (64, 64, 64), "warp": (32, 32, 64)}
CASES: list[tuple[str, tuple[int, int, int], dict[str, Any]]] = [
    ("h200", (128, 128, 256), {}),
    ("h200", (160, 136, 128), {"clear": "zfill"}),
    ("h200", (32, 72, 192), {**SMALL, "clear": "zfill", "alpha": 0.5, "beta": -2.0}),
    ("h200", (128, 128, 192), {"warp": (64, 32, 64), "output_type": "f32"}),
    ("a100", (96, 200, 64), {"layouts": "nt", "accumulator_type": "f16", "clear": "zfill"}),
    ("rtx4090", (256, 128, 320), {**SMALL, "num_stages": 4, "input_type": "bf16", "output_type": "bf16"}),
]


def recorded(gpu: str, sizes: tuple[int, int, int], **parameters: Any) -> Program:
    problem = dict(zip("MNK", sizes, strict=True))
    return gs.load_program("gemm_sparse").record(gs.load_gpu(gpu), problem, **parameters)


@pytest.mark.parametrize(("gpu", "sizes", "parameters"), CASES)
def test_computes_the_product_once_and_without_a_race(gpu: str, sizes: tuple, parameters: dict) -> None:
    program = recorded(gpu, sizes, **parameters)
    assert check("gemm_sparse", program, seed=sum(sizes)).problems == []
    names, table = [static.mnemonic for static in program.statics], gs.load_gpu(gpu).instruction_table
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, table) == []


def reorder_meta(source: np.ndarray) -> np.ndarray:
    """cutlass/util/host_reorder.h word for word, for elements of 16 bits; ColumnMajorInterleaved<2> in memory order."""
    rows, columns = source.shape
    memory = np.zeros(rows * columns, np.uint16)
    for m in range(rows):
        for k in range(columns):
            row, column = m // 32 * 32 + m % 8 * 4 + m % 32 // 8, k
            if row % 2 == 0 and column % 2 == 1:
                row, column = row + 1, column - 1
            elif row % 2 == 1 and column % 2 == 0:
                row, column = row - 1, column + 1
            memory[column // 2 * rows * 2 + row * 2 + column % 2] = source[m, k]
    return memory


def test_metadata_lie_in_the_order_of_reorder_meta() -> None:
    module = gs.load_program("gemm_sparse").problem.__globals__
    index = module["metadata"](64, 128, seed=3)
    bits = (index.reshape(64, -1, 8) << 2 * np.arange(8)).sum(-1).astype(np.uint16)
    words = module["metadata_words"](index)
    stored = np.ascontiguousarray(words.T.astype(np.int32)).view(np.uint16).reshape(-1)
    np.testing.assert_array_equal(stored, reorder_meta(bits))
    np.testing.assert_array_equal(module["indices"](words), index)


LOOPS = [  # of a warp and a tile of k: instructions, LDSM.4, LDSM.2, LDGSTS as ptxas (CUDA 13.0, sm_90a) compiled them
    ({}, 216, 24, 2, 13), ({"warp": (64, 32, 64)}, 137, 16, 2, 7),
]


@pytest.mark.parametrize(("parameters", "instructions", "four", "two", "copies"), LOOPS)
def test_main_loop_is_the_compiled_one(parameters: dict, instructions: int, four: int, two: int, copies: int) -> None:
    tiles = 4
    program = record("gemm_sparse", (128, 128, 64 * tiles), **parameters)
    names = Counter(mnemonics(program, "main_loop"))
    assert names.total() / tiles == pytest.approx(instructions, rel=0.06)
    assert names["LDSM.16.M88.4"] == tiles * four and names["LDSM.16.M88.2"] == tiles * two
    assert count(program, "LDGSTS", "main_loop") == tiles * copies
    assert names["HMMA.SP.16832.F32"] * 8192 * program.launch.threads_per_cta // 32 == program.flops


def test_two_warps_copy_the_metadata_of_a_tile_and_no_load_has_a_conflict() -> None:
    accesses = record("gemm_sparse", (128, 128, 128)).classes[0].roles[0].accesses
    metadata = [row for row, label in enumerate(accesses.label) if label == "cp.async E -> sE"]
    assert {tuple(mask.tolist()) for mask in accesses.lane_mask[metadata]} == {(0xFFFFFFFF, 0xFFFFFFFF, 0, 0)}
    loads = [row for row, label in enumerate(accesses.label) if label.startswith("LDSM")]
    assert len(loads) > 20 and (accesses.wavefronts[loads] == accesses.ideal_wavefronts[loads]).all()


def test_a_large_warp_tile_has_one_buffer_for_fragments_of_b() -> None:
    """Its loads follow the multiplication that reads the last ones; a smaller warp tile loads a k step ahead."""
    order = []
    for warp in ((64, 64, 64), (32, 64, 64)):
        program = record("gemm_sparse", (128, 128, 256), schedule="source", warp=warp)
        loop = mnemonics(program, "main_loop")
        order.append(loop.index("HMMA.SP.16832.F32") < len(loop) - 1 - loop[::-1].index("LDSM.16.M88.4")
                     and loop[: loop.index("HMMA.SP.16832.F32")].count("LDSM.16.M88.4"))
    assert order == [4, 2 + 8]  # A alone; A and B


@pytest.mark.parametrize(("gpu", "sizes", "parameters", "sentence"), [
    ("h200", (128, 128, 96), {}, "metadata lie in groups of 32 rows and fill whole tiles of k, as zeros are none, "
     "got M=128, K=96; M a multiple of 32, K of the tile's 64"),
    ("h200", (144, 128, 64), {}, "metadata lie in groups of 32 rows .*, got M=144, K=64"),
    ("h200", (128, 128, 64), {"num_stages": 2}, "MmaMultistage has at least 3 stages"),
    ("h200", (128, 128, 64), {"clear": "clear_last_stage"}, "leaves shared memory as it is or zero-fills"),
    ("h200", (128, 128, 64), {"warp": (16, 64, 64)}, "metadata of a warp are 1, 2 or 4 matrices"),
    ("h200", (128, 128, 64), {"input_type": "s8"}, "no such MMA atom, got 'SM80_SPARSE_16x8x32_F32S8S8F32_TN'"),
    ("t4", (128, 128, 64), SMALL, "needs sm_80 or later"),
])
def test_what_it_is_not_made_for_is_refused(gpu: str, sizes: tuple, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        recorded(gpu, sizes, **parameters)
