"""The verdict on a program: a small GEMM by hand passes, and each way to spoil it is found and told in a sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from verify_builder import RoleBuilder, make_program, tensors

from gpusim.errors import UserError
from gpusim.program import Program
from gpusim.verify import Tolerance, check_program, random_inputs, tolerance_for
from gpusim.verify.tolerance import accumulator_dtype, sum_terms

LANE = np.arange(32)
K = 64


def tiny_gemm(*, stages: int = 2, wait: bool = True, barrier: bool = True, skip_row_block: bool = False,
              twice: bool = False) -> Program:
    """D (16 x 16, f16) = A (16 x K) B (16 x K)^T, f16: two warps of 16 x 8, a ring of k tiles of 16, cp.async."""
    role, bytes_per_stage = RoleBuilder(num_warps=2), 1024
    warp = np.arange(2)[:, None]
    row, half = LANE // 2, LANE % 2
    # Warp 0 copies A's tile (bytes 0..511 of a stage), warp 1 copies B's (512..1023).
    copy = [role.access("CPA16", 16, shared=warp * 512 + LANE * 16, glob=row * 2 * K + half * 16, tensor=tensor,
                        mask=mask) for tensor, mask in ((0, [0xFFFFFFFF, 0]), (1, [0, 0xFFFFFFFF]))]
    load_a = role.access("LDSM4", 16, shared=LANE % 16 * 32 + LANE // 16 * 16)
    load_b = role.access("LDSM2", 16, shared=512 + warp * 256 + LANE % 8 * 32 + LANE // 8 % 2 * 16,
                         mask=0xFFFF)

    def issue(k: int) -> None:
        if k < K // 16:
            for access in copy:
                role.op("LDGSTS.E.BYPASS.128", access=access, shared_offset=k % stages * bytes_per_stage,
                        global_offset=k * 32)
        role.commit()

    role.op("CS2R", (0, 2))
    role.op("CS2R", (2, 2))
    for k in range(stages - 1):
        issue(k)
    for k in range(K // 16):
        if wait:
            role.wait(stages - 2)
        if barrier:
            role.barrier()
        role.op("LDSM.16.M88.4", (4, 4), access=load_a, shared_offset=k % stages * bytes_per_stage)
        role.op("LDSM.16.M88.2", (8, 2), access=load_b, shared_offset=k % stages * bytes_per_stage)
        issue(k + stages - 1)
        role.op("HMMA.16816.F32", (0, 4), (4, 4), (8, 2), (0, 4))
    for block in range(1 if skip_row_block else 2):
        role.op("F2FP.F16.F32.PACK_AB", (10, 1), (2 * block + 1, 1), (2 * block, 1))
        for _ in range(2 if twice else 1):
            role.store_global((10, 1), (LANE // 4 + 8 * block) * 32 + warp * 16 + LANE % 4 * 4, tensor=2)
    infos = tensors(("A", "f16", (16, K)), ("B", "f16", (16, K)), ("D", "f16", (16, 16)))
    return make_program(infos, role)


def reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"D": inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64).T}


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("exact", [True, False])
def test_a_right_program_passes(stages: int, exact: bool) -> None:
    program = tiny_gemm(stages=stages)
    report = check_program(program, random_inputs(program, exact=exact), reference)
    assert report.ok and report.problems == []
    (output,) = report.outputs
    assert (output.elements, output.wrong, output.unwritten, output.rewritten) == (256, 0, 0, 0)
    assert output.max_error == 0 if exact else 0 < output.max_relative_error < 1e-3


def test_a_missing_wait_or_barrier_is_a_wrong_answer_and_a_hazard() -> None:
    for program in (tiny_gemm(wait=False), tiny_gemm(barrier=False)):
        report = check_program(program, random_inputs(program), reference)
        assert not report.ok and report.outputs[0].wrong > 200
        assert {hazard.kind for hazard in report.hazards} >= {"raw_async"}
        assert any("elements differ from the reference" in problem for problem in report.problems)


def test_a_ring_of_one_stage_less_than_the_pipeline_needs_is_war() -> None:
    """Copies are issued after the fragment loads of the same stage, with no barrier between."""
    program = tiny_gemm(stages=1)
    report = check_program(program, random_inputs(program), reference)
    assert "war" in {hazard.kind for hazard in report.hazards}


def test_unwritten_and_rewritten_elements_are_told() -> None:
    program = tiny_gemm(skip_row_block=True)
    report = check_program(program, random_inputs(program), reference)
    assert "D: every element must be written once, got 128 never written" in report.problems
    program = tiny_gemm(twice=True)
    report = check_program(program, random_inputs(program), reference)
    assert report.problems == ["D: every element must be written once, got 256 written repeatedly"]


def test_a_wrong_element_is_named() -> None:
    program = tiny_gemm()
    inputs = random_inputs(program, exact=True)
    expected = reference(inputs)["D"]
    got = expected[3, 5]
    expected[3, 5] += 1
    report = check_program(program, inputs, {"D": expected})
    assert report.outputs[0].first_wrong == f"[3, 5]: got {got}, reference {got + 1}"
    assert check_program(program, inputs, {"D": expected}, tolerance=Tolerance(0, 1.0, "anything")).ok


def test_bank_conflicts_are_summed_per_access() -> None:
    """Rows of 32 bytes: eight of them touch each bank twice, so every ldmatrix takes twice its ideal wavefronts."""
    report = check_program(tiny_gemm(), random_inputs(tiny_gemm()), reference)
    by_operation = {access.operation: access for access in report.accesses}
    loads = by_operation["LDSM4"]
    assert (loads.requests, loads.wavefronts, loads.ideal_wavefronts, loads.conflict_free) == (8, 64, 32, False)
    assert by_operation["CPA16"].requests == 8 and not report.conflict_free
    assert report.ok, "bank conflicts cost time, not correctness"


def test_the_reference_must_match() -> None:
    program = tiny_gemm()
    inputs = random_inputs(program)
    with pytest.raises(UserError, match="a reference must hold every output, got none for 'D'"):
        check_program(program, inputs, {})
    with pytest.raises(UserError, match=r"must have its output's shape, got \(16, 8\); make it \(16, 16\)"):
        check_program(program, inputs, {"D": np.zeros((16, 8))})


def test_tolerance_follows_the_types() -> None:
    assert accumulator_dtype(tiny_gemm()) == "f32"
    assert tolerance_for("s32", "f32", 64).bound(np.array([5, -7])).tolist() == [0, 0]
    half, single = tolerance_for("f16", "f32", 1024), tolerance_for("f32", "f32", 1024)
    assert half.rtol == 2.0**-10 and single.rtol == 2.0**-23 and half.atol == single.atol == 2.0**-19
    assert tolerance_for("f16", "f16", 1024).atol == 2.0**-6
    assert "f16: half an ulp" in half.reason and "sums of 1024 terms rounded to f32 in another order" in half.reason


def test_the_number_of_terms_comes_from_the_operations() -> None:
    assert sum_terms(replace(tiny_gemm(), flops=2.0 * 16 * 16 * K)) == K
