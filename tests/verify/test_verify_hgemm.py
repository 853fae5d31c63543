"""A recorded, scheduled cp.async GEMM gives the right answer, and each of its waits, barriers, commits is needed."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from gpusim.arch import load_gpu
from gpusim.dsl import load_program
from gpusim.program import Program
from gpusim.verify import CheckReport, check_program, random_inputs


def record(size: tuple[int, int, int], **parameters: object) -> Program:
    sizes = dict(zip("MNK", size, strict=True))
    return load_program("hgemm_multistage").record(load_gpu("h200"), sizes, **parameters)


def check(program: Program) -> CheckReport:
    return check_program(program, random_inputs(program), load_program("hgemm_multistage").reference)


@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "pad:16B", "S<1,4,4>"])
def test_the_answer_is_that_of_numpy(swizzle: str, schedule: str) -> None:
    report = check(record((256, 128, 96), swizzle=swizzle, schedule=schedule))
    assert report.problems == []
    assert report.outputs[0].elements == 256 * 128


@pytest.mark.parametrize(("tile", "warps", "num_stages"), [((128, 128, 32), (2, 2), 2), ((64, 64, 64), (2, 2), 5),
                                                          ((64, 128, 32), (2, 2), 4), ((256, 128, 32), (4, 2), 3)])
def test_tiles_and_stages_make_no_difference(tile: tuple[int, int, int], warps: tuple[int, int],
                                             num_stages: int) -> None:
    assert check(record((256, 256, 256), tile=tile, warps=warps, num_stages=num_stages)).problems == []


def test_small_integers_are_exact_in_any_order() -> None:
    program = record((128, 128, 64))
    inputs = random_inputs(program, exact=True)
    exact = inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64).T
    assert check_program(program, inputs, {"D": exact}).outputs[0].max_error == 0


def test_a_few_ctas_of_a_large_problem_can_be_checked_alone() -> None:
    program = record((1024, 1024, 64))
    report = check_program(program, random_inputs(program), load_program("hgemm_multistage").reference, ctas=[0, 37])
    assert report.problems == [] and report.outputs[0].elements == 2 * 128 * 128


def test_a_padded_or_swizzled_tile_has_no_conflicts_in_ldmatrix_and_a_plain_one_has() -> None:
    for swizzle, clean in (("none", False), ("64B", True), ("pad:16B", True)):
        report = check(record((128, 128, 64), swizzle=swizzle))
        loads = [access for access in report.accesses if access.operation == "LDSM4"]
        assert len(loads) == 2 and all(access.conflict_free == clean for access in loads)


@lru_cache
def pipeline(num_stages: int) -> tuple[Program, np.ndarray]:
    program = record((64, 64, 160), tile=(64, 64, 32), num_stages=num_stages)
    mnemonics = np.array([static.mnemonic for static in program.statics])
    return program, mnemonics[program.classes[0].roles[0].ops["pc"]]


def without(program: Program, row: int) -> Program:
    """The program with one instruction predicated off."""
    cta_class = program.classes[0]
    (role,) = cta_class.roles
    ops = role.ops.copy()
    ops["active"][row] = 0
    return replace(program, classes=(replace(cta_class, roles=(replace(role, ops=ops),)),))


@pytest.mark.parametrize("num_stages", [2, 4])
@pytest.mark.parametrize("mnemonic", ["DEPBAR.LE", "BAR.SYNC.DEFER_BLOCKING", "LDGDEPBAR"])
def test_every_wait_barrier_and_commit_is_needed(mnemonic: str, num_stages: int) -> None:
    """Leaving any one out is a wrong answer and a hazard - but for the last, which guards fragments nobody uses."""
    program, mnemonics = pipeline(num_stages)
    rows = np.flatnonzero(mnemonics == mnemonic)
    assert len(rows) >= 6
    for row in rows[:-1]:
        report = check(without(program, row))
        assert report.hazards and report.outputs[0].wrong, f"{mnemonic} at op {row}"
        assert {hazard.kind for hazard in report.hazards} <= {"raw_async", "war"}


def test_a_missing_barrier_lets_a_stage_be_overwritten_under_its_readers() -> None:
    program, mnemonics = pipeline(2)
    third = np.flatnonzero(mnemonics == "BAR.SYNC.DEFER_BLOCKING")[2]
    war = [hazard for hazard in check(without(program, third)).hazards if hazard.kind == "war"]
    assert war and all(hazard.mnemonic.startswith("LDGSTS") and hazard.other_mnemonic.startswith("LDSM")
                       for hazard in war)
    assert war[0].place.startswith("hgemm_multistage.py:")
