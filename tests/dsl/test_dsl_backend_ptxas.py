"""The back end beside ptxas: main loops of the 20 calibration kernels, where loads, copies and barriers stand in all 60
of gemm.cu, and the compiler's own control fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from backend_strategies import TABLE

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.program import Program
from gpusim.sass import SassLaunch, Scalar, TensorPointer, load_sass

H200 = Path(gs.__file__).parent / "data" / "hardware" / "h200"
LOOPS = pd.read_csv(H200 / "kernel_loops.csv").set_index("kernel")
KERNELS = pd.read_csv(H200 / "kernels.csv").query("source == 'hand'").drop_duplicates("kernel").set_index("kernel")
LETTERS = {"HMMA": "H", "LDSM": "L", "LDGSTS": "G", "LDGDEPBAR": "C", "DEPBAR": "W", "BAR": "B"}


def hand_written(table: str) -> pd.DataFrame:
    rows = pd.read_csv(H200 / table).query("source == 'hand'")
    return rows.drop_duplicates("kernel").set_index("kernel")


GEMM_LOOPS, OTHER_LOOPS = (
    pd.read_csv(H200 / table, dtype=str).set_index("kernel") for table in ("gemm_loops.csv", "other_loops.csv"))
MORE = pd.concat(map(hand_written, ("kernels_more.csv", "kernels_blind.csv", "kernels_fresh.csv")))
GEMM_KERNELS = pd.concat([MORE[~MORE.index.isin(KERNELS.index)], KERNELS])
GEMM_KERNELS = GEMM_KERNELS[~GEMM_KERNELS.index.duplicated()]


@cache
def program(kernel: str) -> Program:
    row = GEMM_KERNELS.loc[kernel]
    warps = (int(row.tile_m // row.warp_m), int(row.tile_n // row.warp_n))
    return gs.load_program("hgemm_multistage").record(
        gs.load_gpu("h200"), {"M": 512, "N": 512, "K": 512}, tile=(int(row.tile_m), int(row.tile_n), int(row.tile_k)),
        warps=warps, num_stages=int(row.stages), swizzle=row.smem_swizzle)


def mnemonics(program: Program) -> list[str]:
    return [static.mnemonic for static in program.statics]


def iteration(program: Program) -> np.ndarray:
    """The ops of the third trip through the main loop."""
    ops = program.classes[0].roles[0].ops
    loop = ops[np.isin(ops["pc"], [i for i, static in enumerate(program.statics) if static.scope == "main_loop"])]
    ends = np.flatnonzero(np.char.startswith(np.array(mnemonics(program))[loop["pc"]], "BRA"))
    return loop[ends[1] + 1:ends[2] + 1]


def positions(word: str) -> Mapping[str, np.ndarray]:
    """For each letter but H, how far through the H of the loop its instructions stand, 0 to 1."""
    tensor = np.cumsum([letter == "H" for letter in word]) / word.count("H")
    return {letter: tensor[[i for i, other in enumerate(word) if other == letter]] for letter in "LGCWB"}


@pytest.mark.parametrize("kernel", LOOPS.index)
def test_the_loop_has_the_order_of_ptxas(kernel: str) -> None:
    """Fragment loads, copies, commit, wait and barrier stand under the same tensor instructions."""
    names = mnemonics(program(kernel))
    word = "".join(LETTERS.get(names[pc].split(".")[0], ".") for pc in iteration(program(kernel))["pc"])
    ours, theirs = positions(word), positions(LOOPS.order[kernel])
    distance = {letter: np.abs(ours[letter] - theirs[letter]).mean() for letter in "LGCWB"}
    assert np.mean(list(distance.values())) < 0.25, distance


@pytest.mark.parametrize(("loops", "most"), [
    (GEMM_LOOPS, {"LDSM": 2.5, "LDGSTS": 3.4, "BAR": 3.8}), (OTHER_LOOPS, {"LDSM": 1.9, "LDGSTS": 3.0, "BAR": 3.1})])
def test_loads_copies_and_barriers_stand_where_ptxas_puts_them(loops: pd.DataFrame, most: Mapping[str, float]) -> None:
    """Tensor instructions between where each stands and where ptxas has it, mean over the loops: rules 6, 8 and 9
    were read from the sixty of gemm.cu, rule 11 from both tables, the others from twenty."""
    distances: dict[str, list[float]] = {"LDSM": [], "LDGSTS": [], "BAR": []}
    for kernel, row in loops.iterrows():
        names = [mnemonics(program(kernel))[pc].split(".")[0] for pc in iteration(program(kernel))["pc"]]
        before = np.cumsum([name == "HMMA" for name in names])
        for name, found in distances.items():
            ours = np.sort(before[[i for i, other in enumerate(names) if other == name]])
            theirs = np.sort(np.array(row[name.lower()].split(), int))
            found.append(float(np.abs(ours - theirs).mean()))
    means = {name: np.mean(found) for name, found in distances.items()}
    print(means)
    assert all(means[name] < distance for name, distance in most.items()), means


def test_the_loops_issue_in_the_time_of_ptxas() -> None:
    """But for 64x64x32 with padding, whose compiled loop takes 26 cycles longer than the one without."""
    ours = np.array([int(iteration(program(kernel))["stall"].sum()) for kernel in LOOPS.index])
    error = ours / LOOPS.stall_count_sum.to_numpy() - 1
    assert np.abs(error).mean() < 0.10, error
    assert np.sort(np.abs(error))[-2] < 0.16 and np.abs(error).max() < 0.22, error


def test_yield_hints_stand_where_ptxas_writes_them() -> None:
    """In front of each k step, of sixty loops; most of ptxas' begin with a tensor instruction, ours not all."""
    table = pd.read_csv(H200 / "access_spacing.csv", dtype=str).set_index("kernel")
    for kernel in GEMM_LOOPS.index:
        ops = iteration(program(kernel))
        tensor = np.cumsum([mnemonics(program(kernel))[pc].startswith("HMMA") for pc in ops["pc"]])
        ours, theirs = tensor[ops["yield_"] > 0].tolist(), list(map(int, table.yields[kernel].split()))
        assert [step for step in ours if step] == [step for step in theirs if step], kernel
        assert (0 in ours) == (tensor[0] == 0)


@pytest.mark.parametrize("kernel", LOOPS.index)
def test_recorded_kernels_have_no_hazard(kernel: str) -> None:
    assert check_hazards(program(kernel).classes[0].roles[0].ops, mnemonics(program(kernel)), TABLE) == []


@pytest.mark.parametrize("kernel", LOOPS.index)
def test_the_launch_takes_the_registers_of_ptxas(kernel: str) -> None:
    assert program(kernel).launch.registers_per_thread == pytest.approx(KERNELS.registers[kernel], rel=0.06)


@pytest.mark.parametrize("kernel", ["128x128x32_w64x64_s3_sw0", "128x128x32_w64x64_s3_sw2", "64x64x32_w32x32_s4_sw1"])
def test_the_compilers_own_control_fields_are_accepted(kernel: str) -> None:
    """In-order classes, latencies and the two cycles from set to wait are assumptions; ptxas makes the same ones."""
    compiled = load_sass(H200 / "sass" / f"{kernel}.sass.gz", launch=launch_of(kernel))
    for role in compiled.classes[0].roles:
        assert check_hazards(role.ops, mnemonics(compiled), TABLE) == []


@pytest.mark.parametrize("kernel", ["64x64x32_w32x32_s4_sw1"])
def test_the_compilers_waits_are_needed(kernel: str) -> None:
    """Without any one barrier's waits the compiled kernel is unsafe, and the checker says so."""
    compiled = load_sass(H200 / "sass" / f"{kernel}.sass.gz", launch=launch_of(kernel))
    ops = compiled.classes[0].roles[0].ops
    for barrier in range(1, 6):
        weaker = ops.copy()
        weaker["wait_mask"] &= np.uint8(0xFF ^ 1 << barrier)
        assert check_hazards(weaker, mnemonics(compiled), TABLE), barrier


def awaited_fragments(program: Program) -> list[int]:
    """For each LDSM of the first k step, how many tensor instructions stand before the first wait for its barrier."""
    names, ops = mnemonics(program), iteration(program)
    tensor = np.cumsum([names[pc].startswith("HMMA") for pc in ops["pc"]])
    waits, pending = [], 0
    for row, op in enumerate(ops):
        pending += names[op["pc"]].startswith("LDSM")
        if names[op["pc"]].startswith("LDSM") and op["write_barrier"] < 6:  # the last of a batch has the barrier
            awaited = np.flatnonzero(ops["wait_mask"][row + 1:] >> op["write_barrier"] & 1)
            waits += [int(tensor[row + 1 + awaited[0]])] * pending if len(awaited) else []
            pending = 0
    return waits


@pytest.mark.parametrize("kernel", ["128x128x32_w64x64_s3_sw0", "256x128x32_w64x64_s3_sw0"])
def test_fragments_are_awaited_with_those_that_ptxas_puts_on_their_barrier(kernel: str) -> None:
    """Six of eight before the first tensor instruction of the second step, the others sixteen behind it."""
    compiled = load_sass(H200 / "sass" / f"{kernel}.sass.gz", launch=launch_of(kernel))
    assert awaited_fragments(compiled) == awaited_fragments(program(kernel)) == [33] * 6 + [49] * 2


def copies_overwritten(program: Program) -> list[int]:
    """Stall counts between each LDGSTS with a read barrier and the first wait for that."""
    names, ops = mnemonics(program), iteration(program)
    clock = np.cumsum(ops["stall"]) - ops["stall"]
    return [int(clock[row + 1 + awaited[0]] - clock[row]) for row, op in enumerate(ops)
            if names[op["pc"]].startswith("LDGSTS") and op["read_barrier"] < 6
            and len(awaited := np.flatnonzero(ops["wait_mask"][row + 1:] >> op["read_barrier"] & 1))]


def test_what_overwrites_the_address_of_a_copy_stands_as_far_behind_it_as_ptxas_has_it() -> None:
    """Rarely less than 24 cycles; of three to four copies in each of the 20 loops."""
    compiled, ours = ([cycles for kernel in LOOPS.index for cycles in copies_overwritten(given(kernel))]
                      for given in (lambda kernel: load_sass(H200 / "sass" / f"{kernel}.sass.gz",
                                                             launch=launch_of(kernel)), program))
    for distances in (compiled, ours):
        assert 24 <= np.percentile(distances, 25) <= 32
        assert 55 <= len(distances) <= 80  # 67 compiled, 55 here


def launch_of(kernel: str) -> SassLaunch:
    row, size = KERNELS.loc[kernel], 256
    tiles = [int(number) for number in re.findall(r"\d+", kernel)[:2]]
    tensors = [TensorPointer(name, "f16", (size, size), is_output=name == "D") for name in "ABD"]
    cycles = TensorPointer("cycles", "i64", (4096,), is_output=True)
    return SassLaunch((size // tiles[0], size // tiles[1], 1), (int(row.threads), 1, 1),
                      (*tensors, *(Scalar(size) for _ in "MNK"), cycles), 200_000, int(row.registers))
