"""Output operators: every scale type, ReLU, source, output type; what is read and stored; ptxas' instructions.

The counts are those of CUTLASS 4 kernels compiled with CUDA 13.0 for sm_90a (A100's for sm_80).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cutlass_helpers import SPEC, check, count, mnemonics, record
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.program import Program
from gpusim.verify import execute, random_inputs

TILE = {"tile": (64, 64, 32), "warp": (32, 32, 32)}
S8 = {"input_type": "s8", "accumulator_type": "s32", "instruction": (16, 8, 32), "tile": (128, 128, 64),
      "warp": (64, 64, 64)}
F16 = {"clear": "zfill", **TILE}


def on(gpu: str, name: str, sizes: tuple[int, int, int], **parameters: Any) -> Program:
    return gs.load_program(name).record(gs.load_gpu(gpu), dict(zip("MNK", sizes, strict=True)), **parameters)


@settings(max_examples=12, deadline=None)
@given(m=st.integers(1, 6), n=st.integers(1, 6), scale=st.sampled_from(["default", "no_beta_scaling",
                                                                        "only_alpha_scaling", "nothing"]),
       activation=st.sampled_from(["none", "relu"]), alpha=st.sampled_from([1.0, -0.75, 2.5]),
       beta=st.sampled_from([0.0, 1.0, -1.25]), types=st.sampled_from([
           ("f16", "f32", "f16"), ("f16", "f32", "f32"), ("bf16", "f32", "bf16"), ("bf16", "f32", "f32")]),
       epilogue=st.sampled_from(["cutlass", "direct"]))
def test_any_operator_computes_what_it_says(m: int, n: int, scale: str, activation: str, alpha: float, beta: float,
                                            types: tuple[str, str, str], epilogue: str) -> None:
    named = dict(zip(("input_type", "accumulator_type", "output_type"), types, strict=True))
    program = record("gemm_multistage", (16 * m, 16 * n, 32), scale=scale, activation=activation, alpha=alpha,
                     beta=beta, epilogue=epilogue, **named, **F16)
    assert check("gemm_multistage", program, seed=m * n).problems == []


def by_hand(program: Program, scale: str, alpha: float, beta: float) -> np.ndarray:
    """D of exact data, from the definition of the scale types (LinearCombination)."""
    inputs = random_inputs(program, seed=3, exact=True)
    product = inputs["A"].astype(float) @ inputs["B"].astype(float).T
    source = inputs["C"].astype(float) if "C" in inputs else 0
    expected = {"default": alpha * product + beta * source, "no_beta_scaling": alpha * product + source,
                "only_alpha_scaling": alpha * product, "nothing": product}[scale]
    found = execute(program, inputs)
    assert (found.written["D"] == 1).all() and not found.hazards
    np.testing.assert_array_equal(found.outputs["D"], expected)
    return found.outputs["D"]


@pytest.mark.parametrize("scale", ["default", "no_beta_scaling", "only_alpha_scaling", "nothing"])
@pytest.mark.parametrize(("name", "parameters"), [
    ("gemm_multistage", {**F16, "output_type": "f32"}), ("gemm_pipelined", {**TILE, "output_type": "f32"}),
    ("sgemm_pipelined", {"tile": (64, 64, 8), "warp": (32, 32, 8)}), ("wmma_gemm", {**TILE, "output_type": "f32"}),
])
def test_scale_types_by_definition(name: str, parameters: dict, scale: str) -> None:
    by_hand(record(name, (72, 64, 32), alpha=0.5, beta=-2.0, scale=scale, **parameters), scale, 0.5, -2.0)


CHANNELS: list[tuple[tuple[int, int, int], dict[str, Any]]] = [
    ((128, 128, 64), {}), ((72, 104, 40), F16), ((65, 67, 34), F16), ((72, 104, 40), {**F16, "epilogue": "direct"}),
    ((64, 64, 128), {"tile": (64, 64, 64), "warp": (32, 32, 32), "output_type": "f32"}),
    ((128, 144, 160), {**S8, "output_type": "s8", "clear": "zfill"}),
]


@pytest.mark.parametrize("activation", ["none", "relu"])
@pytest.mark.parametrize("scale", ["per_channel_scaling", "only_alpha_per_channel_scaling"])
@pytest.mark.parametrize(("sizes", "parameters"), CHANNELS)
def test_every_column_may_have_factors_of_its_own(sizes: tuple, parameters: dict, scale: str, activation: str) -> None:
    program = record("gemm_multistage", sizes, scale=scale, activation=activation, **parameters)
    assert check("gemm_multistage", program, seed=sum(sizes)).problems == []
    names = [static.mnemonic for static in program.statics]
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


def test_factors_per_channel_by_definition() -> None:
    program = record("gemm_multistage", (72, 64, 32), scale="per_channel_scaling", output_type="f32", **F16)
    inputs = random_inputs(program, seed=3, exact=True)
    a, b, c, alphas, betas = (inputs[name].astype(float) for name in ("A", "B", "C", "alphas", "betas"))
    assert alphas.shape == betas.shape == (1, 64) and len(np.unique(alphas)) > 2
    np.testing.assert_array_equal(execute(program, inputs).outputs["D"], alphas * (a @ b.T) + betas * c)


def test_factors_per_channel_are_loaded_once_by_each_thread() -> None:
    """8 columns a thread: two loads of four floats each of alphas and betas, however many rows it stores."""
    program = record("gemm_multistage", (128, 128, 64), scale="per_channel_scaling")
    labels = program.classes[0].roles[0].accesses.label
    ops = program.classes[0].roles[0].ops
    loaded = [labels[row] for row in ops["access"][ops["access"] >= 0].tolist()]
    assert loaded.count("ld.global alphas") == loaded.count("ld.global betas") == 2


@pytest.mark.parametrize(("beta", "scale", "read"), [
    (0.0, "default", False), (1.5, "default", True), (0.0, "no_beta_scaling", True), (1.5, "only_alpha_scaling", False),
    (1.5, "nothing", False),
])
def test_c_is_read_once_where_the_operator_needs_it(beta: float, scale: str, read: bool) -> None:
    program = record("gemm_multistage", (128, 128, 64), beta=beta, scale=scale)
    assert [info.name for info in program.tensors] == ["A", "B", "D"] + ["C"] * read
    assert count(program, "LDG.", "epilogue") == (16 if read else 0)
    assert count(program, "STG.", "epilogue") == 16


def test_c_of_a_step_is_loaded_before_the_barrier_that_opens_it() -> None:
    """CUTLASS's Epilogue: source.load(); __syncthreads(); push; __syncthreads(); load; apply; store."""
    words = {"LDG.E.128": "C", "BAR.SYNC": "|", "STS.64": "s", "LDS.128": "l", "STG.E.128": "D"}
    found = [next((word for name, word in words.items() if mnemonic.startswith(name)), "")
             for mnemonic in mnemonics(record("gemm_multistage", (128, 128, 64), beta=1.0), "epilogue")]
    assert "".join(found) == "|" + ("CC|" + 8 * "s" + "|" + 4 * "l" + "DD") * 8


PER_STEP = [  # instructions of one of the 8 steps of a warp tile of 64 rows, in compiled kernels
    ("h200", {"beta": 0.5}, {"HADD2.F32": 16, "FMUL": 16, "FFMA": 16, "F2FP.F16.F32": 8}),
    ("h200", {}, {"HADD2.F32": 0, "FMUL": 16, "FFMA": 0, "F2FP.F16.F32": 8}),
    ("h200", {"activation": "relu"}, {"FMUL": 16, "FMNMX.NAN": 16, "F2FP.F16.F32": 8}),
    ("h200", {"scale": "nothing"}, {"FMUL": 0, "F2FP.F16.F32": 8}),
    ("h200", {"accumulator_type": "f16", "beta": 0.5}, {"HMUL2": 8, "HFMA2": 8, "STS": 8, "LDS.128": 2}),
    ("h200", {"input_type": "bf16", "output_type": "bf16", "beta": 0.5},
     {"IMAD.U32": 8, "LOP3.LUT": 8, "FMUL": 16, "FFMA": 16, "F2FP.BF16.F32": 8}),
    ("h200", {**S8, "output_type": "s32"}, {"IMAD": 16, "STG.E.128": 4}),
    ("h200", {**S8, "output_type": "f32", "beta": 0.5}, {"I2FP.F32.S32": 16, "FMUL": 16, "FFMA": 16}),
    ("h200", {**S8, "output_type": "s8"}, {"I2FP.F32.S32": 16, "FMUL": 16, "F2IP.S8.F32.NTZ": 8, "LDS.128": 4}),
    ("h200", {**S8, "output_type": "s8", "beta": 0.5}, {"IDP.4A.S8.S8": 16, "I2FP.F32.S32": 32, "FFMA": 16}),
    ("a100", {**S8, "output_type": "s8"}, {"I2F": 16, "FMUL": 16, "F2I.NTZ": 16, "I2IP.S8.S32.SAT": 8, "LDS.128": 4}),
    ("a100", {**S8, "output_type": "s8", "beta": 0.5}, {"IDP.4A.S8.S8": 16, "I2F": 32, "I2IP.S8.S32.SAT": 8}),
]


@pytest.mark.parametrize(("gpu", "parameters", "expected"), PER_STEP)
def test_a_step_takes_the_instructions_that_ptxas_emits(gpu: str, parameters: dict, expected: dict[str, int]) -> None:
    program = on(gpu, "gemm_multistage", (128, 128, 128), schedule="source", **parameters)
    names = mnemonics(program, "epilogue")
    steps = " ".join(names).split("BAR.SYNC.DEFER_BLOCKING")[2:]  # of the main loop's last one, and of the first step
    last = " ".join(steps[-2:]).split()
    found = {name: sum(word == name or word.startswith(f"{name}.") for word in last) for name in expected}
    assert found == expected


@pytest.mark.parametrize(("output", "columns", "factor"), [
    ("f16", 128, 1), ("f32", 128, 1), ("s32", 128, 1), ("s8", 128, 1), ("s8", 64, 1), ("s8", 256, 4),
])
def test_mixed_orders_keep_the_tile_free_of_conflicts(output: str, columns: int, factor: int) -> None:
    """CUTLASS: "Threadblock::kN = 256 still has bank conflicts", for bytes."""
    parameters = {**S8, "tile": (64, columns, 64), "warp": (32, min(64, columns // 2), 64), "output_type": output}
    accesses = on("a100", "gemm_multistage", (64, columns, 64), **parameters).classes[0].roles[0].accesses
    rows = [row for row, label in enumerate(accesses.label) if label.endswith(" sD")]
    assert (accesses.wavefronts[rows] <= factor * accesses.ideal_wavefronts[rows]).all()
    assert (accesses.wavefronts[rows] == accesses.ideal_wavefronts[rows]).all() == (factor == 1)


WAYS = [  # of a store to shared memory: E6, E9, E15 and W21 of the inventory
    ("sgemm_pipelined", {}, 1), ("sgemm_pipelined", {"epilogue_padding": 17}, 1),
    ("sgemm_pipelined", {"epilogue_padding": 0}, 4),
    ("sgemm_pipelined", {"epilogue_stores": "vector"}, 1),
    ("sgemm_pipelined", {"epilogue_stores": "vector", "epilogue_padding": 16}, 1),
    ("sgemm_pipelined", {"epilogue_stores": "vector", "epilogue_padding": 0}, 2),
    ("gemm_multistage", {"output_type": "f32"}, 1),
    ("gemm_multistage", {"output_type": "f32", "epilogue_padding": 8}, 1),
    ("gemm_multistage", {"output_type": "f32", "epilogue_padding": 0}, 4),
    ("gemm_multistage", {"accumulator_type": "f16"}, 2),
    ("gemm_multistage", {"accumulator_type": "f16", "epilogue_padding": 16}, 2),
    ("gemm_multistage", {"accumulator_type": "f16", "epilogue_padding": 8}, 1),
    ("gemm_multistage", {"accumulator_type": "f16", "epilogue_padding": 0}, 8),
]


@pytest.mark.parametrize(("name", "parameters", "ways"), WAYS)
def test_paddings_cost_the_ways_that_the_inventory_derives(name: str, parameters: dict, ways: int) -> None:
    program = record(name, (128, 128, 32), **parameters)
    accesses = program.classes[0].roles[0].accesses
    stores = [row for row, label in enumerate(accesses.label) if label.startswith("STS") and label.endswith("sD")]
    assert stores and (accesses.wavefronts[stores] == ways * accesses.ideal_wavefronts[stores]).all()
    assert check(name, program, seed=7).problems == []


def test_shared_memory_of_the_epilogues() -> None:
    """E15: 16 x 136 and 16 x 145 floats, of which the padding of the last row holds nothing."""
    tensor_op = record("gemm_multistage", (128, 128, 32), tile=(128, 128, 32), warp=(64, 64, 32), output_type="bf16")
    simt = record("sgemm_pipelined", (128, 128, 32))
    assert highest_byte(tensor_op) == 16 * 136 * 4 - 8 * 4 and highest_byte(simt) == 16 * 145 * 4 - 17 * 4


def highest_byte(program: Program) -> int:
    """Of what the epilogue stores to shared memory."""
    accesses = program.classes[0].roles[0].accesses
    rows = [row for row, label in enumerate(accesses.label) if label.startswith("STS") and label.endswith("sD")]
    return int(max((accesses.shared_address[row] + accesses.bytes_per_lane[row]).max() for row in rows))


def test_a_direct_epilogue_has_no_barrier_and_no_shared_memory() -> None:
    program = record("gemm_multistage", (128, 128, 64), epilogue="direct")
    names = mnemonics(program, "epilogue")
    assert not [name for name in names if name.startswith(("STS", "LDS"))]
    assert count(program, "BAR", "epilogue") == 1  # the main loop's
    assert count(program, "STG.E", "epilogue") == 64 * 64 // 64  # two halves a lane


@pytest.mark.parametrize(("output", "low", "high"), [("s8", -128, 127), ("u8", 0, 255)])
def test_bytes_saturate(output: str, low: int, high: int) -> None:
    program = on("a100", "gemm_multistage", (64, 64, 64), **{**S8, "tile": (64, 64, 64), "warp": (32, 32, 64)},
                 output_type=output, alpha=100.0)
    inputs = random_inputs(program, seed=5)
    found = execute(program, inputs).outputs["D"]
    assert (found.min(), found.max()) == (low, high)


def test_nan_passes_relu() -> None:
    program = record("gemm_multistage", (64, 64, 32), activation="relu", output_type="f32", **F16)
    inputs = random_inputs(program, seed=6)
    inputs["A"][5, 3] = np.nan
    found = execute(program, inputs).outputs["D"]
    assert np.isnan(found[5]).all() and (np.delete(found, 5, axis=0) >= 0).all()


def test_the_functional_configuration_of_the_seed() -> None:
    """N11: 64 x 32 x 16 halves, A and B by column, alpha 1.5, beta -1.25."""
    program = record("gemm_multistage", (64, 32, 16), layouts="nn", alpha=1.5, beta=-1.25, **F16)
    assert check("gemm_multistage", program, seed=0x2024).problems == []


def test_a_kernel_takes_its_last_tensors_only_where_they_are_wanted() -> None:
    kernel, tensors = gs.load_program("gemm_multistage").kernel, [gs.tensor(name, gs.f16, (64, 64)) for name in "ABDC"]
    assert len(kernel.record(SPEC, *tensors[:3], **TILE).tensors) == 3
    assert len(kernel.record(SPEC, *tensors, beta=1.0, **TILE).tensors) == 4
    with pytest.raises(gs.UserError, match="gemm_multistage takes the tensors A, B, D, C, alphas, betas, got 2"):
        kernel.record(SPEC, *tensors[:2], **TILE)
    with pytest.raises(gs.UserError, match="an output operator that adds beta"):
        kernel.record(SPEC, *tensors[:3], beta=1.0, **TILE)


# interleaved integers


@pytest.mark.parametrize("sizes", [(128, 128, 128), (136, 160, 96), (24, 32, 224)])
@pytest.mark.parametrize(("kind", "depth", "beta"), [("s8", 1, 0.0), ("s8", 1, 0.5), ("u8", 1, 0.5), ("s4", 2, 0.0)])
def test_interleaved(sizes: tuple[int, int, int], kind: str, depth: int, beta: float) -> None:
    m, n, k = (sizes[0], sizes[1] * depth, sizes[2] * depth)
    program = on("a100", "gemm_interleaved", (m, n, k), input_type=kind, tile=(128, 128, 64 * depth),
                 warp=(64, 64, 64 * depth), instruction=(16, 8, 32 * depth), alpha=0.02, beta=beta, clear="zfill")
    assert check("gemm_interleaved", program, seed=sum(sizes)).problems == []


def test_interleaved_counts_and_traffic() -> None:
    """Compiled for sm_80: 16 STG.64 in an epilogue without barriers; copies of whole lines, no conflicts."""
    program = on("a100", "gemm_interleaved", (128, 128, 128))
    assert count(program, "STG.E.64", "epilogue") == 16 and count(program, "STS", "epilogue") == 0
    assert count(program, "IMMA.16832.S8.S8.SAT") == 128 and count(program, "LDSM") == 5 * 8
    accesses = program.classes[0].roles[0].accesses
    assert accesses.bank_conflicts.sum() == 0


@pytest.mark.parametrize(("name", "parameters", "sentence"), [
    ("gemm_multistage", {"scale": "alpha"}, "no such scale type, got 'alpha'; one of default, no_beta_scaling"),
    ("gemm_pipelined", {"scale": "per_channel_scaling"}, "factors per channel are for gemm_multistage, and f32 of its"),
    ("gemm_multistage", {"scale": "only_alpha_per_channel_scaling", "accumulator_type": "f16"}, "and f32 of its output "
     "operator, got scale=only_alpha_per_channel_scaling, f16; scale=default"),
    ("complex_gemm", {"scale": "per_channel_scaling"}, "complex numbers have no factors per channel"),
    ("gemm_multistage", {"activation": "gelu"}, "no such activation, got 'gelu'"),
    ("gemm_multistage", {"epilogue": "none"}, "accumulators go through shared memory or directly, got 'none'"),
    ("gemm_multistage", {**S8, "output_type": "s32", "alpha": 0.5}, "alpha and beta are integers where"),
    ("gemm_multistage", {**S8, "output_type": "s32", "activation": "relu"}, "ReLU computes with f32 or f16, got s32"),
    ("gemm_multistage", {"tile": (64, 64, 64), "warp": (32, 32, 32), "epilogue": "direct"},
     "warps that share k add their sums in shared memory"),
    ("gemm_multistage", {"output_type": "s8"}, "an epilogue converts f32 to f32, f16, bf16, got s8"),
    ("gemm_interleaved", {"input_type": "f16"}, "interleaved layouts are for integers of 8 and 4 bits, got f16"),
])
def test_refusals(name: str, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(name, (128, 128, 64), **parameters)


def test_interleaved_needs_whole_groups() -> None:
    with pytest.raises(gs.UserError, match="n and k are whole groups of 32 elements, got N=100, K=64"):
        record("gemm_interleaved", (128, 100, 64))
