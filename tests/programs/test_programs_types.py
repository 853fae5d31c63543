"""Every element type through every pipeline that has it: the right answer on three sizes, ptxas' counts, refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from cutlass_helpers import check, count, record

import gpusim as gs
from gpusim.arch.occupancy import occupancy
from gpusim.dsl.backend import check_hazards
from gpusim.program import Program

SIZES = ((128, 128, 128), (200, 136, 104), (72, 88, 40))
SIMT_SIZES = ((64, 64, 32), (67, 63, 33), (33, 72, 17))
INTEGER = {"accumulator_type": "s32", "output_type": "s32", "clear": "zfill"}
TF32_COMPLEX = {"instruction": (16, 8, 8), "tile": (64, 64, 16), "warp": (32, 32, 16), "num_stages": 3,
                "clear": "zfill"}
TYPES: dict[str, tuple[str, str, dict[str, Any], int]] = {  # program, gpu, parameters, factor on every size
    "f16 in f32": ("gemm_multistage", "h200", {"clear": "zfill"}, 1),
    "f16 in f16": ("gemm_multistage", "h200", {"clear": "zfill", "accumulator_type": "f16"}, 1),
    "bf16": ("gemm_multistage", "h200", {"clear": "zfill", "input_type": "bf16", "output_type": "bf16"}, 1),
    "tf32": ("gemm_multistage", "h200", {"clear": "zfill", "input_type": "tf32", "output_type": "f32",
                                         "instruction": (16, 8, 8), "tile": (128, 128, 16), "warp": (64, 64, 16)}, 1),
    "tf32 turned": ("gemm_multistage", "h200", {
        "clear": "zfill", "input_type": "tf32", "output_type": "f32", "instruction": (16, 8, 8),
        "tile": (128, 128, 16), "warp": (64, 64, 16), "layouts": "nt"}, 1),
    "f64": ("gemm_multistage", "h200", {"clear": "zfill", **dict.fromkeys(
        ("input_type", "accumulator_type", "output_type"), "f64"), "instruction": (8, 8, 4), "tile": (64, 64, 16),
        "warp": (32, 32, 16)}, 1),
    "s8": ("gemm_multistage", "h200", {**INTEGER, "input_type": "s8", "instruction": (16, 8, 32),
                                       "tile": (128, 128, 64), "warp": (64, 64, 64)}, 2),
    "u8": ("gemm_multistage", "h200", {**INTEGER, "input_type": "u8", "instruction": (16, 8, 32),
                                       "tile": (128, 128, 64), "warp": (64, 64, 64)}, 2),
    "s8 to s8": ("gemm_multistage", "h200", {**INTEGER, "input_type": "s8", "output_type": "s8", "alpha": 0.02,
                                             "beta": -0.5, "instruction": (16, 8, 32), "tile": (128, 128, 64),
                                             "warp": (64, 64, 64)}, 2),
    "s4": ("gemm_multistage", "a100", {**INTEGER, "input_type": "s4", "instruction": (16, 8, 64),
                                       "tile": (128, 128, 128), "warp": (64, 64, 128)}, 4),
    "b1 and": ("gemm_multistage", "h200", {**INTEGER, "input_type": "b1", "instruction": (16, 8, 256),
                                           "tile": (128, 128, 512), "warp": (64, 64, 512)}, 16),
    "b1 xor": ("gemm_multistage", "a100", {**INTEGER, "input_type": "b1", "instruction": (16, 8, 256),
                                           "tile": (128, 128, 512), "warp": (64, 64, 512), "operator": "xor_popc"}, 16),
    "e4m3": ("gemm_multistage", "rtx4090", {"clear": "zfill", "input_type": "e4m3", "instruction": (16, 8, 32),
                                            "tile": (128, 128, 64), "warp": (64, 64, 64)}, 2),
    "e5m2": ("gemm_multistage", "rtx4090", {"clear": "zfill", "input_type": "e5m2", "accumulator_type": "f16",
                                            "instruction": (16, 8, 32), "tile": (128, 128, 64),
                                            "warp": (64, 64, 64)}, 2),
    "s8 pipelined": ("gemm_pipelined", "h200", {"input_type": "s8", "accumulator_type": "s32", "output_type": "f32",
                                                "instruction": (16, 8, 32), "tile": (128, 128, 64),
                                                "warp": (64, 64, 64)}, 2),
    "s8 turing": ("gemm_pipelined", "t4", {"input_type": "s8", "accumulator_type": "s32", "output_type": "s8",
                                           "alpha": 0.02, "beta": 0.5, "instruction": (8, 8, 16),
                                           "tile": (128, 128, 64), "warp": (64, 64, 64)}, 2),
    "u4 turing": ("gemm_pipelined", "t4", {"input_type": "u4", "accumulator_type": "s32", "output_type": "f32",
                                           "instruction": (8, 8, 32), "tile": (128, 128, 128),
                                           "warp": (64, 64, 128)}, 4),
    "b1 turing": ("gemm_multistage", "a100", {**INTEGER, "input_type": "b1", "instruction": (8, 8, 128),
                                              "tile": (128, 128, 512), "warp": (64, 64, 512),
                                              "operator": "xor_popc"}, 16),
    "f64 simt": ("sgemm_pipelined", "h200", {"input_type": "f64", "tile": (64, 64, 8), "warp": (32, 32, 8),
                                             "layouts": "tn"}, 1),
    "f64 simt stages": ("sgemm_multistage", "h200", {"input_type": "f64", "tile": (64, 64, 8), "warp": (32, 32, 8),
                                                     "clear": "zfill", "num_stages": 3}, 1),
    "dp4a": ("igemm_dp4a", "h200", {}, 1),
    "dp4a turned": ("igemm_dp4a", "h200", {"layouts": "nt", "output_type": "f32"}, 1),
    "wmma": ("wmma_gemm", "h200", {}, 1),
    "wmma bf16": ("wmma_gemm", "a100", {"input_type": "bf16", "layouts": "nt", "output_type": "f32"}, 1),
    "wmma turing": ("wmma_gemm", "t4", {"accumulator_type": "f16", "layouts": "nn"}, 1),
    "complex": ("complex_gemm", "h200", {"layouts": "tn"}, 1),
    **{f"complex conjugate {which}": ("complex_gemm", "h200", {"conjugate": which, "alpha": (0.5, -2.0)}, 1)
       for which in ("a", "b", "ab")},
    "complex tf32": ("complex_gemm", "h200", {**TF32_COMPLEX, "layouts": "tn"}, 1),
    "complex tf32 turned": ("complex_gemm", "h200", {**TF32_COMPLEX, "layouts": "nt", "beta": (1.0, 0.5)}, 1),
    "complex tf32 ampere": ("complex_gemm", "a100", {**TF32_COMPLEX, "layouts": "nn", "num_stages": 4}, 1),
    **{f"complex tf32 conjugate {which}": ("complex_gemm", "a100", {**TF32_COMPLEX, "conjugate": which, "layouts": "tt",
                                                                    "alpha": (0.5, -2.0)}, 1)
       for which in ("a", "b", "ab")},
    "complex stages": ("complex_gemm", "h200", {"num_stages": 4, "clear": "zfill", "layouts": "nn"}, 1),
}


@cache
def typed(name: str, sizes: tuple[int, int, int], schedule: str = "list") -> Program:
    program, gpu, parameters, factor = TYPES[name]
    problem = dict(zip("MNK", (size * (factor if axis == 2 else 1) for axis, size in enumerate(sizes)), strict=True))
    return gs.load_program(program).record(gs.load_gpu(gpu), problem, schedule=schedule, **parameters)


@pytest.mark.parametrize(("name", "sizes"), [
    (name, sizes) for name in TYPES for sizes in (SIMT_SIZES if "f64 simt" in name or "complex" in name else SIZES)])
def test_computes_the_product_once_and_without_a_race(name: str, sizes: tuple[int, int, int]) -> None:
    program = typed(name, sizes)
    assert check(TYPES[name][0], program, seed=sum(sizes)).problems == []
    names = [static.mnemonic for static in program.statics]
    table = gs.load_gpu(TYPES[name][1]).instruction_table
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, table) == []


COUNTS = [  # instructions of a warp, as in what ptxas (CUDA 13.0, sm_90a) makes of CUTLASS's kernels, for K = 128
    ("f64", {"DMMA.8x8x4": 8 * 64, "LDS.128": 4 + 8 * 16, "LDGSTS.E.LTC128B.64": 16 * 10, "STS.128": 16, "LDS.64": 32,
             "STG.E.64": 32, "DMUL": 32}),
    ("dp4a", {"IDP.4A.S8.S8": 4 * 512, "LDS.128": 4 + 4 * 32, "LDG.E": 8 * 5, "STS.128": 2 * 5, "STG.E": 64}),
    ("wmma", {"HMMA.16816.F32": 4 * 64, "LDSM.16.M88.4": 8 + 4 * 16, "STS.64": 64, "LDS.128": 32,
              "BAR.SYNC": 1 + 4 + 8}),
    ("complex", {"FFMA": 4 * 32 * 128 + 2 * 32, "FMUL": 2 * 32, "LDS.128": 6 + 16 * 48, "LDS.64": 32,
                 "STS.64": 8 * 17 + 32, "STG.E.64": 32}),
]


@pytest.mark.parametrize(("name", "expected"), COUNTS, ids=lambda value: value if isinstance(value, str) else "")
def test_counts_are_those_of_the_compiled_kernel(name: str, expected: dict[str, int]) -> None:
    program = typed(name, (64, 64, 128) if name in ("f64", "complex") else (128, 128, 128))
    found = {}
    for mnemonic in expected:
        exact = sum(static == mnemonic for static in _warp(program))
        found[mnemonic] = exact or count(program, mnemonic)
    assert found == expected


F64, TF32 = TYPES["f64"][2], TYPES["tf32 turned"][2]
LOOPS = [  # instructions of the main loop as ptxas has it; f64 without 56 fillers and waits that DMMA takes on Hopper
    ("gemm_multistage", (64, 64, 64), {**F64, "num_stages": 4, "clear": "none"}, 4, 208),
    ("gemm_multistage", (128, 128, 64), {**TF32, "num_stages": 4, "clear": "none"}, 4, 188),
    ("gemm_multistage", (128, 128, 256), {**TYPES["s8"][2], "clear": "none"}, 4, 164),
    ("igemm_dp4a", (128, 128, 128), {}, 4, 621), ("wmma_gemm", (128, 128, 128), {}, 4, 209),
    ("complex_gemm", (64, 64, 32), {}, 4, 1153),
]


@pytest.mark.parametrize(("name", "sizes", "parameters", "tiles", "instructions"), LOOPS)
def test_main_loop_is_as_long_as_the_compiled_one(name: str, sizes: tuple[int, int, int], parameters: dict, tiles: int,
                                                  instructions: int) -> None:
    program = record(name, sizes, **parameters)
    in_loop = sum(program.statics[pc].scope == "main_loop" for pc in program.classes[0].roles[0].ops["pc"])
    assert in_loop / tiles == pytest.approx(instructions, rel=0.06)


def test_complex_numbers_become_tf32_by_what_the_gpu_has() -> None:
    """sm_90: F2FP in place and moves behind it; before: LOP3 and FFMA to where they belong (LOP3 also for 16 predicates
    and the 16 negated imaginary parts of B). 64 numbers of a warp and tile, 8 rows of 16 bytes an LDS."""
    parameters, found = {**TF32_COMPLEX, "layouts": "tn", "clear": "none"}, {}
    for gpu in ("h200", "a100"):
        program = gs.load_program("complex_gemm").record(gs.load_gpu(gpu), {"M": 64, "N": 64, "K": 64}, **parameters)
        found[gpu] = {name: count(program, name, "main_loop") // 4
                      for name in ("F2FP.TF32", "FFMA", "LOP3", "HMMA.1688.F32.TF32", "LDS.128")}
    assert found == {
        "h200": {"F2FP.TF32": 64, "FFMA": 0, "LOP3": 32, "HMMA.1688.F32.TF32": 64, "LDS.128": 16},
        "a100": {"F2FP.TF32": 0, "FFMA": 64, "LOP3": 96, "HMMA.1688.F32.TF32": 64, "LDS.128": 16}}


def test_complex_fragments_are_free_of_conflicts_in_every_layout() -> None:
    for layouts in ("tn", "nt", "nn", "tt"):
        program = record("complex_gemm", (64, 64, 64), **{**TF32_COMPLEX, "layouts": layouts})
        accesses = program.classes[0].roles[0].accesses
        loads = [row for row, label in enumerate(accesses.label) if label.startswith("LDS128 s")]
        assert loads and (accesses.wavefronts[loads] == accesses.ideal_wavefronts[loads]).all()


COMPLEX_LOOPS = [  # gpu, parameters, instructions of the main loop and registers as ptxas has them
    ("h200", {}, 387, 138), ("h200", {"layouts": "nt"}, 376, 144), ("h200", {"conjugate": "a"}, 391, 142),
    ("h200", {"tile": (32, 32, 16), "warp": (16, 16, 16), "num_stages": 4}, 186, 60),
    ("h200", {"warp": (16, 32, 16)}, 254, 86), ("h200", {"tile": (64, 128, 16), "warp": (32, 64, 16)}, 660, 246),
    ("h200", {"tile": (128, 64, 16), "warp": (64, 32, 16)}, 668, 240),
    ("a100", {}, 347, 130), ("a100", {"layouts": "nt"}, 323, 130),
]


@pytest.mark.parametrize(("gpu", "parameters", "instructions", "registers"), COMPLEX_LOOPS)
def test_complex_tensor_ops_are_about_as_long_and_wide_as_compiled(gpu: str, parameters: dict, instructions: int,
                                                                   registers: int) -> None:
    """As many CTAs fit on an SM as of the compiled kernel."""
    parameters, spec = {**TF32_COMPLEX, "layouts": "tn", "clear": "none", **parameters}, gs.load_gpu(gpu)
    program = gs.load_program("complex_gemm").record(spec, {"M": 128, "N": 128, "K": 64}, **parameters)
    assert count(program, "", "main_loop") / 4 == pytest.approx(instructions, rel=0.09)
    launch = program.launch
    assert launch.registers_per_thread == pytest.approx(registers, abs=24)
    found = [occupancy(spec, launch.threads_per_cta, number, launch.shared_bytes).blocks_per_sm
             for number in (launch.registers_per_thread, registers)]
    assert found[0] == found[1]


def _warp(program: Program) -> list[str]:
    return [program.statics[pc].mnemonic for pc in program.classes[0].roles[0].ops["pc"].tolist()]


def test_a_turned_dp4a_operand_takes_twelve_prmt_per_sixteen_bytes() -> None:
    turned, straight = typed("dp4a turned", (128, 128, 128)), typed("dp4a", (128, 128, 128))
    assert count(turned, "PRMT") == 2 * 5 * 12 and count(straight, "PRMT") == 0
    assert turned.launch.shared_bytes == 2 * 2 * 128 * 32
    assert straight.launch.shared_bytes == 2 * 2 * (128 + 4) * 32


def test_f64_fragments_are_free_of_conflicts_in_every_layout() -> None:
    for layouts in ("tn", "nt", "nn", "tt"):
        program = record("gemm_multistage", (64, 64, 64), layouts=layouts, **TYPES["f64"][2])
        accesses = program.classes[0].roles[0].accesses
        loads = [row for row, label in enumerate(accesses.label) if label.startswith("LDS128 s")]
        assert loads and (accesses.wavefronts[loads] == accesses.ideal_wavefronts[loads]).all()


def test_wmma_stages_lie_side_by_side_in_padded_rows() -> None:
    program = typed("wmma", (128, 128, 128))
    assert program.launch.shared_bytes == 2 * 128 * (2 * 32 + 8) * 2  # 0x1200 bytes between 32 rows, as compiled
    tall = record("wmma_gemm", (128, 128, 64), layouts="nt")
    assert tall.launch.shared_bytes == 2 * 2 * 32 * (128 + 8) * 2


@pytest.mark.parametrize(("gpu", "name", "parameters", "sentence"), [
    ("h200", "gemm_multistage", TYPES["s4"][2], "MMA shape 16x8x64 of s4 x s4 needs sm_80 to sm_89, got sm_90"),
    ("h200", "gemm_multistage", TYPES["e4m3"][2], "MMA shape 16x8x32 of e4m3 x e4m3 needs sm_89, got sm_90"),
    ("a100", "gemm_multistage", TYPES["e5m2"][2], "of e5m2 x e5m2 needs sm_89, got sm_80"),
    ("h200", "gemm_multistage", TYPES["b1 xor"][2], "needs sm_80 to sm_89, got sm_90; use SM80_16x8x256.*ANDPOPC"),
    ("t4", "gemm_pipelined", {"input_type": "bf16", "output_type": "bf16"}, "bf16 x bf16 needs sm_80 or later"),
    ("v100", "wmma_gemm", {}, "SM75_U32x4_LDSM_N needs sm_75 or later"),
    ("h200", "wmma_gemm", {"input_type": "tf32"}, "no such MMA atom, got 'SM80_16x8x16_F32TF32TF32F32_TN'"),
    ("h200", "wmma_gemm", {"warp": (64, 64, 8), "tile": (128, 128, 8)}, "wmma is a multiple of 16x16x16"),
    ("h200", "gemm_multistage", {**TYPES["f64"][2], "instruction": (16, 8, 4)},
     "f64 operands in shared memory are laid out for m8n8k4|no such MMA atom"),
    ("h200", "gemm_multistage", {"operator": "xor_popc"}, "the operator of an MMA is default.*'xor_popc' for f16"),
    ("h200", "igemm_dp4a", {"tile": (128, 128, 30), "warp": (32, 64, 30)}, "dp4a multiplies four k at once"),
    ("h200", "complex_gemm", {**TF32_COMPLEX, "num_stages": 2}, "at least 3 stages.*num_stages=2 and instruction"),
    ("h200", "complex_gemm", {**TF32_COMPLEX, "instruction": (16, 8, 4)}, "laid out for m16n8k8"),
    ("h200", "complex_gemm", {**TF32_COMPLEX, "conjugate": "c"}, "the operands of a product are a and b"),
    ("h200", "complex_gemm", {"conjugate": "c"}, "the operands of a product are a and b, got conjugate='c'"),
    ("h200", "sgemm_pipelined", {"input_type": "s8"}, "a SIMT GEMM has elements of f32 or f64, got 's8'"),
])
def test_a_type_that_is_missing_is_refused_with_a_sentence(gpu: str, name: str, parameters: dict,
                                                           sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        gs.load_program(name).record(gs.load_gpu(gpu), {"M": 128, "N": 128, "K": 512}, **parameters)

