"""The copy programs: right answers, also at ragged edges, and the inventory's numbers of wavefronts and sectors."""

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
FRAGMENT_LOADS = ["lds", "x1", "x2", "x4", "x1.trans", "x2.trans", "x4.trans"]


@cache
def record(name: str, sizes: tuple[tuple[str, int], ...], schedule: str = "list", **parameters: Any) -> Program:
    return gs.load_program(name).record(SPEC, dict(sizes), schedule=schedule, **parameters)


def sized(**sizes: int) -> tuple[tuple[str, int], ...]:
    return tuple(sizes.items())


def counts(program: Program) -> Counter[str]:
    return Counter(program.statics[pc].mnemonic for pc in program.classes[0].roles[0].ops["pc"].tolist())


def ways(program: Program, operation: str) -> list[float]:
    """Wavefronts over the ideal ones of each access, as far as they differ."""
    accesses = program.classes[0].roles[0].accesses
    rows = [row for row, name in enumerate(accesses.operation) if name == operation]
    return sorted(set((accesses.wavefronts[rows] / accesses.ideal_wavefronts[rows]).reshape(-1).tolist()))


def sectors(program: Program, label: str) -> int:
    """Of the first access with a label, in the first warp."""
    accesses = program.classes[0].roles[0].accesses
    row = accesses.label.index(label)
    first, lines = int(accesses.request_first[row, 0]), int(accesses.request_count[row, 0])
    return sum(int(mask).bit_count() for mask in accesses.requests["sector_mask"][first : first + lines])


CASES: list[tuple[str, dict[str, int], dict[str, Any]]] = [
    *(("copy_global", {"M": 100, "N": 260}, {"bits": bits, "order": order})
      for bits in (32, 64, 128) for order in ("row", "column")),
    ("copy_global", {"M": 1, "N": 4}, {}),
    ("copy_async", {"M": 64, "N": 128}, {}),
    ("copy_async", {"M": 33, "N": 68}, {"bytes": 16, "cache": "ca"}),
    ("copy_async", {"M": 31, "N": 60}, {"bytes": 8, "cache": "ca", "swizzle": "128B"}),
    ("copy_async", {"M": 100, "N": 4}, {"bytes": 4, "cache": "ca", "swizzle": "pad:16B"}),
    *(("transpose_shared", {"M": 100, "N": 75}, {"swizzle": swizzle}) for swizzle in ("none", "pad:4B", "S<5,2,5>")),
    ("transpose_shared", {"M": 64, "N": 32}, {"warps": 4}),
    ("transpose_shared", {"M": 1, "N": 33}, {"tile": 64, "swizzle": "pad:4B"}),
    ("column_read", {"M": 64, "N": 128}, {}),
    ("column_read", {"M": 32, "N": 256}, {"bits": 128, "swizzle": "S<3,4,5>"}),
    ("column_read", {"M": 48, "N": 64}, {"tile": (16, 32), "element": "f16", "bits": 128}),
    ("column_read", {"M": 32, "N": 32}, {"tile": (8, 32), "element": "f16", "bits": 64}),
    *(("copy_fragments", {"M": 128, "K": 64}, {"load": load}) for load in FRAGMENT_LOADS),
    ("copy_fragments", {"M": 64, "K": 96}, {"tile": (32, 32), "warps": 2, "swizzle": "64B", "repeats": 3}),
]


@pytest.mark.parametrize("schedule", ["source", "list"])
@pytest.mark.parametrize(("name", "sizes", "parameters"), CASES)
def test_copies_every_element_once_and_without_a_race(name: str, sizes: dict, parameters: dict, schedule: str) -> None:
    program, file = record(name, sized(**sizes), schedule, **parameters), gs.load_program(name)
    report = check_program(program, random_inputs(program, seed=7), lambda inputs: file.expected(program, inputs))
    assert report.problems == []
    names = [static.mnemonic for static in program.statics]
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


@pytest.mark.parametrize(("bits", "row", "column"), [(32, 4, 32), (64, 8, 32), (128, 16, 32)])
def test_neighbours_share_sectors_and_columns_do_not(bits: int, row: int, column: int) -> None:
    by_row, by_column = (record("copy_global", sized(M=32, N=128), bits=bits, order=order)
                         for order in ("row", "column"))
    assert (sectors(by_row, "ld.global A"), sectors(by_column, "ld.global A")) == (row, column)
    mnemonic = "LDG.E" if bits == 32 else f"LDG.E.{bits}"
    assert counts(by_row)[mnemonic] == counts(by_column)[mnemonic] == 32 * 128 * 32 // (bits * 128)


@pytest.mark.parametrize(("name", "parameters", "compiled"), [
    ("copy_global", {}, 229), ("transpose_shared", {"swizzle": "pad:4B"}, 144),
    ("transpose_shared", {"swizzle": "S<5,2,5>"}, 189)])
def test_programs_are_about_as_long_as_compiled_ones(name: str, parameters: dict, compiled: int) -> None:
    """The same kernels in CUDA C++, sizes known at run time, nvcc 13 for sm_90a; branches around stores left out."""
    assert counts(record(name, sized(M=64, N=256), **parameters)).total() == pytest.approx(compiled, rel=0.20)


def test_a_sector_for_every_thread_takes_longest() -> None:
    wide, narrow, strided = (int(simulate(record("copy_global", sized(M=2048, N=1024), **parameters), SPEC).cycles)
                             for parameters in ({}, {"bits": 32}, {"bits": 32, "order": "column"}))
    assert 2 * max(wide, narrow) < strided


@pytest.mark.parametrize(("swizzle", "expected"), [("none", 32), ("pad:4B", 1), ("S<5,2,5>", 1), ("S<3,2,5>", 4)])
def test_columns_of_a_transposed_tile(swizzle: str, expected: int) -> None:
    program = record("transpose_shared", sized(M=32, N=32), swizzle=swizzle)
    assert ways(program, "LDS32") == [expected] and ways(program, "STS32") == [1]


COLUMNS: list[tuple[dict[str, Any], str, int]] = [
    ({}, "LDS32", 32),
    ({"swizzle": "S<5,2,7>"}, "LDS32", 1),
    ({"bits": 128}, "LDS128", 8),
    ({"bits": 128, "swizzle": "S<3,4,5>"}, "LDS128", 1),
    ({"tile": (16, 16), "element": "f16", "bits": 128}, "LDS128", 2),
    ({"tile": (16, 16), "element": "f16", "bits": 128, "swizzle": "S<1,4,3>"}, "LDS128", 1),
    ({"tile": (16, 32), "element": "f16", "bits": 128}, "LDS128", 4),
    ({"tile": (16, 32), "element": "f16", "bits": 128, "swizzle": "S<1,4,3>"}, "LDS128", 2),
    ({"tile": (16, 32), "element": "f16", "bits": 128, "swizzle": "S<2,4,3>"}, "LDS128", 1),
    ({"tile": (16, 32), "element": "f16", "bits": 128, "swizzle": "S<3,4,3>"}, "LDS128", 1),
]
"""The notes' examples: parameters, read, ways in every column."""


@pytest.mark.parametrize(("parameters", "operation", "expected"), COLUMNS)
def test_column_reads_of_the_notes(parameters: dict, operation: str, expected: int) -> None:
    assert ways(record("column_read", sized(M=32, N=128), **parameters), operation) == [expected]


def test_a_swizzle_of_pairs_leaves_single_floats_two_way() -> None:
    """The notes print Swizzle<5,1,7>, whose unit is two floats: rows 2 r and 2 r + 1 stay together."""
    assert ways(record("column_read", sized(M=32, N=128), swizzle="S<5,3,7>"), "LDS32") == [2]


@pytest.mark.parametrize(("load", "mnemonic", "instructions"), [
    ("lds", "LDS", 16), ("x1", "LDSM.16.M88", 16), ("x2", "LDSM.16.M88.2", 8), ("x4", "LDSM.16.M88.4", 4),
    ("x1.trans", "LDSM.16.MT88", 16), ("x2.trans", "LDSM.16.MT88.2", 8), ("x4.trans", "LDSM.16.MT88.4", 4),
])
def test_instructions_for_a_fragment(load: str, mnemonic: str, instructions: int) -> None:
    """16 x 64 halves a warp: four fragments of four registers. cp.async has three dead loads in front of it."""
    found = counts(record("copy_fragments", sized(M=64, K=64), load=load))[mnemonic]
    assert found == instructions + (3 if load == "lds" else 0)


@pytest.mark.parametrize("load", FRAGMENT_LOADS)
def test_rows_of_128_bytes_need_a_swizzle_for_fragments(load: str) -> None:
    operation = {"lds": "LDS32"}.get(load, f"LDSM{'T' if 'trans' in load else ''}{load[1]}")
    free, all_rows = (record("copy_fragments", sized(M=64, K=64), load=load, swizzle=swizzle)
                      for swizzle in ("128B", "none"))
    assert ways(free, operation) == [1] and ways(all_rows, operation) == [8]


def test_ldmatrix_of_any_width_takes_as_long_as_its_matrices() -> None:
    """The same wavefronts in fewer instructions: the data stage is what they wait for."""
    took = [int(simulate(record("copy_fragments", sized(M=64, K=64), load=load, repeats=64), SPEC, l2="warm",
                         launch_overhead=False).cycles) for load in ("x1", "x2", "x4")]
    assert took[1] == pytest.approx(took[0], rel=0.03) and took[2] == pytest.approx(took[0], rel=0.03)


@pytest.mark.parametrize(("cache", "width", "mnemonic", "instructions"), [
    ("ca", 4, "LDGSTS.E", 16), ("ca", 8, "LDGSTS.E.64", 8), ("ca", 16, "LDGSTS.E", 4),
    ("cg", 16, "LDGSTS.E.BYPASS", 4)])
def test_cp_async_of_every_size(cache: str, width: int, mnemonic: str, instructions: int) -> None:
    program = record("copy_async", sized(M=32, N=64), bytes=width, cache=cache)
    assert sum(n for name, n in counts(program).items() if name.startswith(mnemonic)) == instructions
    accesses = program.classes[0].roles[0].accesses
    operations = zip(accesses.operation, accesses.label, strict=True)
    name = f"CPA{width}" + "CA" * (cache == "ca" and width == 16)
    assert {operation for operation, label in operations if "cp.async" in label} == {name}


def test_what_lies_outside_arrives_as_zeros() -> None:
    program = record("copy_async", sized(M=33, N=64))
    edge = program.classes[-1].roles[0].accesses
    assert (edge.zfill_mask > 0).any() and not (edge.zfill_mask & ~edge.lane_mask).any()
    assert np.bincount(program.cta_class).tolist() == [1, 1]


@pytest.mark.parametrize(("name", "parameters", "sentence"), [
    ("copy_async", {"bytes": 8}, "16 bytes past it"),
    ("copy_fragments", {"load": "x3"}, "no such way to load a fragment, got 'x3'"),
    ("copy_global", {"bits": 256}, "32, 64 or 128 bits"),
    ("copy_global", {"tile": (32, 96)}, "vectors of a row must divide the threads"),
    ("column_read", {"tile": (12, 128)}, "rows of a tile divide a warp, got 12"),
    ("column_read", {"element": "f64"}, "element types f16 and f32"),
    ("transpose_shared", {"swizzle": "S<1,0,7>"}, "swizzle with base >= 2"),
])
def test_what_is_refused_is_refused_in_one_sentence(name: str, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        gs.load_program(name).record(SPEC, **parameters)
