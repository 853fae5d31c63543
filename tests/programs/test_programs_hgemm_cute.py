"""The hgemm of the CuTe notes, from naive to multistage: right answers, the notes' counts, what each step is worth."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.engine import simulate
from gpusim.program import Program
from gpusim.verify import check_program, random_inputs

SPEC = gs.load_gpu("h200")
NOTES = (512, 512, 512)
WAYS = [("none", 4, 1), ("32B", 2, 1), ("64B", 1, 1), ("128B", 1, 1), ("pad:16B", 1, 2)]
"""Wavefronts over the ideal ones: of ldmatrix from (128, 32) and 32-bit stores to the (32, 32) staging tile; of 16-byte
accesses to rows, where eight lanes take two, and padded ones of 80 bytes meet in four banks."""


@cache
def record(name: str, sizes: tuple[int, int, int], schedule: str = "list", **parameters: Any) -> Program:
    return gs.load_program(name).record(SPEC, dict(zip("MNK", sizes, strict=True)), schedule=schedule, **parameters)


def counts(program: Program, scope: str = "") -> Counter[str]:
    """Instructions of a warp by mnemonic, of one scope or of all."""
    statics = [program.statics[pc] for pc in program.classes[0].roles[0].ops["pc"].tolist()]
    return Counter(static.mnemonic for static in statics if scope in ("", static.scope))


def ways(program: Program, operation: str) -> float:
    accesses = program.classes[0].roles[0].accesses
    rows = [row for row, name in enumerate(accesses.operation) if name == operation]
    return float(accesses.wavefronts[rows].sum() / accesses.ideal_wavefronts[rows].sum())


CASES: list[tuple[str, tuple[int, int, int], dict[str, Any]]] = [
    ("hgemm_cute", (256, 128, 160), {}),
    ("hgemm_cute", (128, 256, 32), {"swizzle": "none", "pipe": 1}),
    ("hgemm_cute", (128, 128, 64), {"num_stages": 5}),
    ("hgemm_cute", (64, 128, 192), {"tile": (64, 64, 64), "warps": (1, 2), "swizzle": "128B", "num_stages": 2}),
    ("hgemm_cute", (128, 256, 96), {"warps": (4, 2), "swizzle": "pad:16B"}),
    ("hgemm_single_stage", (256, 128, 96), {}),
    ("hgemm_single_stage", (128, 128, 32), {"swizzle": "64B", "pipe": 2}),
    ("hgemm_single_stage", (64, 128, 192), {"tile": (64, 64, 64), "warps": (1, 2), "swizzle": "128B"}),
    ("hgemm_double_buffer", (128, 256, 96), {}),
    ("hgemm_double_buffer", (128, 128, 32), {"pipe": 0, "swizzle": "pad:16B"}),
    ("hgemm_double_buffer", (192, 64, 128), {"tile": (64, 64, 64), "warps": (2, 1), "swizzle": "none"}),
]


RAGGED = ((200, 136, 104), (72, 8, 40), (130, 264, 8), (128, 128, 72))
TUTORIAL: list[tuple[str, dict[str, Any]]] = [
    ("hgemm_cute", {}), ("hgemm_cute", {"num_stages": 2, "pipe": 1, "swizzle": "pad:16B"}), ("hgemm_single_stage", {}),
    ("hgemm_single_stage", {"pipe": 2}), ("hgemm_double_buffer", {}), ("hgemm_double_buffer", {"pipe": 0}),
    ("hgemm_multistage", {}), ("hgemm_multistage", {"tile": (64, 64, 64), "num_stages": 4}),
]


@pytest.mark.parametrize("sizes", RAGGED)
@pytest.mark.parametrize(("name", "parameters"), TUTORIAL)
def test_a_ragged_problem_comes_out_right_without_a_race(name: str, parameters: dict, sizes: tuple) -> None:
    program = record(name, sizes, **parameters)
    report = check_program(program, random_inputs(program, seed=sum(sizes)), gs.load_program(name).reference)
    assert report.problems == []
    names = [static.mnemonic for static in program.statics]
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


@pytest.mark.parametrize("name", ["hgemm_cute", "hgemm_multistage", "hgemm_single_stage", "hgemm_double_buffer"])
def test_only_a_ragged_problem_pays_for_predicates(name: str) -> None:
    """One predicate per piece: 4 of A and 4 of B, where k is ragged; none of A and B where only n is, of D."""
    whole, k, n = (record(name, (128, size_n, size_k)) for size_n, size_k in ((128, 64), (128, 72), (104, 64)))
    in_loop = [counts(program, "main_loop")["ISETP.LT.AND"] for program in (whole, k, n)]
    assert in_loop == [0, 3 * 8, 2 * 4]
    behind = [counts(program, "epilogue") for program in (whole, k, n)]
    stores = sum(number for mnemonic, number in behind[2].items() if mnemonic.startswith("STG"))
    predicates = [epilogue["ISETP.LT.AND"] for epilogue in behind]
    assert predicates[0] == predicates[1] <= predicates[2] - stores


def test_a_ragged_tile_reads_what_the_tensor_has() -> None:
    """M x K halves of A come in once per CTA along n, and so on; 16 bytes a lane."""
    m, n, k = sizes = (200, 136, 104)
    for name in ("hgemm_cute", "hgemm_single_stage", "hgemm_multistage"):
        program = record(name, sizes)
        taken = 0
        for number, cta_class in enumerate(program.classes):
            role, ctas = cta_class.roles[0], int((program.cta_class == number).sum())
            table = role.accesses
            for row in role.ops["access"][(role.ops["access"] >= 0) & (role.ops["active"] == 1)].tolist():
                if table.operation[row] in ("CPA16", "LDG128"):
                    lanes = table.lane_mask[row] & ~table.zfill_mask[row]
                    taken += ctas * sum(int(mask).bit_count() for mask in lanes)
        assert taken * 8 == m * k * 2 + n * k * 2


@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize(("name", "sizes", "parameters"), CASES)
def test_computes_the_product_once_and_without_a_race(name: str, sizes: tuple, parameters: dict, schedule: str) -> None:
    program = record(name, sizes, schedule, **parameters)
    report = check_program(program, random_inputs(program, seed=sum(sizes)), gs.load_program(name).reference)
    assert report.problems == []
    names = [static.mnemonic for static in program.statics]
    assert check_hazards(program.classes[0].roles[0].ops, names, SPEC.instruction_table) == []


# the numbers of the notes (128 threads, 128x128x32, 3 stages, M = N = K = 512)


def test_launch_and_shared_memory_are_those_of_the_notes() -> None:
    launch = record("hgemm_cute", NOTES).launch
    assert launch.grid[0] * launch.grid[1] == 16
    assert launch.threads_per_cta == 128
    assert launch.shared_bytes == 2 * 128 * 32 * 3 * 2  # the staging tile takes the place of A


def test_the_main_loop_executes_what_the_notes_count() -> None:
    tiles, loop = 512 // 32, counts(record("hgemm_cute", NOTES), "main_loop")
    assert loop["HMMA.16816.F16"] == 1024
    assert loop["HMMA.16816.F16"] * 16 * 8 * 16 * 4 * 16 == 512**3  # warps and CTAs
    assert loop["LDSM.16.M88.4"] == 256
    assert loop["LDGSTS.E.BYPASS.LTC128B.128"] == tiles * (4 + 4)
    assert loop["BAR.SYNC.DEFER_BLOCKING"] == loop["LDGDEPBAR"] == loop["DEPBAR.LE"] == tiles


def test_every_fence_stands_outside_the_condition() -> None:
    """Three stages: as many commits as tiles, though the last two iterations copy nothing; never more than one open."""
    program = record("hgemm_cute", NOTES, "source")
    ops = program.classes[0].roles[0].ops
    names = np.array([static.mnemonic for static in program.statics])[ops["pc"]]
    copies = ops["active"][names == "LDGSTS.E.BYPASS.LTC128B.128"].reshape(-1, 8)
    assert copies.all(axis=1).tolist() == [True] * 16 + [False] * 2
    assert (names == "LDGDEPBAR").sum() == 18 and ops["active"][names == "LDGDEPBAR"].all()
    assert set(ops["operand"][names == "DEPBAR.LE"].tolist()) == {1}


def test_it_is_about_as_long_as_the_same_kernel_in_cuda() -> None:
    """The hgemm of the notes in CUTLASS 4's CuTe, Swizzle<2,3,3>, compiled by nvcc 13 for sm_90a."""
    program = record("hgemm_cute", NOTES)
    assert counts(program, "main_loop").total() / 16 == pytest.approx(130, rel=0.10)
    assert counts(program, "epilogue").total() == pytest.approx(168, rel=0.10)
    assert counts(program, "prologue").total() == pytest.approx(192, rel=0.20)
    assert program.launch.registers_per_thread == pytest.approx(164, abs=4)


@pytest.mark.parametrize(("pipe", "barriers"), [(1, 32), (2, 16), (4, 8)])
def test_the_staged_epilogue(pipe: int, barriers: int) -> None:
    """Sixteen 32x32 tiles: four 32-bit stores, one 16-byte load and one 16-byte store a thread each."""
    epilogue = counts(record("hgemm_cute", NOTES, pipe=pipe), "epilogue")
    assert (epilogue["STS"], epilogue["LDS.128"], epilogue["STG.E.128"]) == (64, 16, 16)
    assert epilogue["BAR.SYNC.DEFER_BLOCKING"] == barriers


@pytest.mark.parametrize(("swizzle", "expected", "by_row"), WAYS)
def test_ways_of_every_shared_access(swizzle: str, expected: int, by_row: int) -> None:
    program = record("hgemm_cute", (128, 128, 64), swizzle=swizzle)
    assert ways(program, "LDSM4") == ways(program, "STS32") == expected
    assert ways(program, "LDS128") == by_row
    single = record("hgemm_single_stage", (128, 128, 64), swizzle=swizzle)
    assert ways(single, "LDSM4") == expected and ways(single, "STS128") == by_row


def output_sectors(program: Program) -> int:
    """Of all stores to global memory of a CTA, instruction by instruction."""
    role = program.classes[0].roles[0]
    accesses = role.accesses
    total = 0
    for row in role.ops["access"][role.ops["access"] >= 0].tolist():
        if accesses.label[row] == "st.global D":
            for first, lines in zip(accesses.request_first[row], accesses.request_count[row], strict=True):
                total += sum(int(mask).bit_count() for mask in accesses.requests["sector_mask"][first : first + lines])
    return total


def test_direct_stores_use_half_of_every_sector() -> None:
    """A warp stores 8 rows of 16 bytes at a time, half a sector each; staged, 8 rows of 64 bytes, two whole ones."""
    direct, staged = (record("hgemm_single_stage", (128, 128, 32), pipe=pipe) for pipe in (0, 1))
    assert counts(direct, "epilogue")["STG.E"] == 64 and counts(staged, "epilogue")["STG.E.128"] == 16
    assert output_sectors(direct) == 2 * output_sectors(staged) == 2 * 128 * 128 * 2 // 32


def test_barriers_of_the_simple_pipelines() -> None:
    tiles = 4
    single = counts(record("hgemm_single_stage", (128, 128, 32 * tiles)), "main_loop")
    double = counts(record("hgemm_double_buffer", (128, 128, 32 * tiles)), "main_loop")
    assert single["BAR.SYNC.DEFER_BLOCKING"] == 2 * tiles and double["BAR.SYNC.DEFER_BLOCKING"] == tiles
    assert single["LDG.E.128"] == double["LDG.E.128"] == single["STS.128"] == 8 * tiles


# what it is worth


def cycles(name: str, **parameters: Any) -> int:
    return int(simulate(record(name, (512, 512, 1024), **parameters), SPEC).cycles)


def test_every_step_of_the_tutorial_is_faster_than_the_one_before() -> None:
    steps = [cycles("hgemm_single_stage"), cycles("hgemm_single_stage", swizzle="64B"), cycles("hgemm_double_buffer"),
             cycles("hgemm_cute")]
    assert steps == sorted(steps, reverse=True) and steps[0] > 2 * steps[-1]


def test_conflicts_cost_cycles_in_the_order_of_their_ways() -> None:
    none, two_way, free, wider = (cycles("hgemm_cute", swizzle=name) for name in ("none", "32B", "64B", "128B"))
    assert none > two_way > free == pytest.approx(wider, rel=0.01)


# errors


@pytest.mark.parametrize(("name", "parameters", "sentence"), [
    ("hgemm_cute", {"num_stages": 1}, "one stage to fill and one to read, got num_stages=1"),
    ("hgemm_cute", {"tile": (128, 128, 16)}, "at least two whole k steps in a tile, got tile k 16; a multiple of 16"),
    ("hgemm_cute", {"pipe": 3}, "multiple of those in flight, got 16 tiles, 3 in flight"),
    ("hgemm_cute", {"swizzle": "S<2,3,3>"}, "base >= 4"),
    ("hgemm_cute", {"num_stages": 15}, "shared memory of a CTA is limited"),
])
def test_what_is_refused_is_refused_in_one_sentence(name: str, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(name, (256, 256, 64), **parameters)


@pytest.mark.parametrize("name", ["hgemm_cute", "hgemm_single_stage", "hgemm_double_buffer", "hgemm_multistage"])
@pytest.mark.parametrize("sizes", [(130, 128, 44), (128, 129, 32)])
def test_rows_that_do_not_begin_on_vectors_are_refused(name: str, sizes: tuple[int, int, int]) -> None:
    with pytest.raises(gs.UserError, match=r"needs addresses aligned to|whole vector of"):
        record(name, sizes)
