"""CUTLASS 2.x main loops beside ptxas': instructions, registers, resident CTAs, and where loads and stores stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op

import gpusim as gs
from gpusim.arch.occupancy import occupancy
from gpusim.dsl.backend import check_hazards, finish
from gpusim.experiments.micro.compiled import CompiledKernel
from gpusim.program import Program

H200 = Path(gs.__file__).parent / "data" / "hardware" / "h200"
NAME = re.compile(r"(h|hh|bf|tf32|s8|simt)_(\d+)x(\d+)x(\d+)_w(\d+)x(\d+)x(\d+)_s(\d)_([tn]{2})(_slicedk|_sm75)?$")
INSTRUCTION = {"tf32": (16, 8, 8), "s8": (16, 8, 32)}
TYPES = {"hh": ("f16", "f16", "f16"), "bf": ("bf16", "f32", "bf16"), "tf32": ("tf32", "f32", "f32"),
         "s8": ("s8", "s32", "s32")}


def compiled_loops() -> dict[str, tuple[int, int]]:
    """Registers and loop instructions by kernel, from the table of main_loops.md."""
    rows = [line.strip("| ").split(" | ") for line in (H200 / "main_loops.md").read_text().splitlines()]
    return {row[0]: (int(row[1]), int(row[3])) for row in rows if len(row) > 4 and NAME.match(row[0])}


LOOPS = compiled_loops()
PIPELINED = [kernel for kernel in LOOPS if "_s2_" in kernel]
MULTISTAGE = pd.read_csv(H200 / "cutlass_loops.csv", dtype=str).set_index("kernel")
TENSOR = ("HMMA", "IMMA")
NO_BARRIER = 7


@cache
def program(kernel: str) -> Program:
    match = NAME.match(kernel)
    assert match is not None
    kind, *sizes, layouts, variant = match.groups()
    tile, warp, stages = tuple(map(int, sizes[:3])), tuple(map(int, sizes[3:6])), int(sizes[6])
    parameters: dict[str, object] = {"tile": tile, "warp": warp, "layouts": layouts}
    if stages > 2:
        parameters["num_stages"] = stages
    if kind != "simt":
        given, accumulator, output = TYPES.get(kind, ("f16", "f32", "f16"))
        instruction = (16, 8, 8) if variant == "_sm75" else INSTRUCTION.get(kind, (16, 8, 16))
        parameters |= {"input_type": given, "accumulator_type": accumulator, "output_type": output,
                       "instruction": instruction}
    name = ("sgemm" if kind == "simt" else "gemm") + ("_pipelined" if stages == 2 else "_multistage")
    return gs.load_program(name).record(gs.load_gpu("h200"), {"M": 256, "N": 256, "K": 512}, **parameters)


def iteration(kernel: str) -> tuple[np.ndarray, list[str]]:
    """The ops of the third trip through the main loop, and their mnemonics without modifiers."""
    statics, ops = program(kernel).statics, program(kernel).classes[0].roles[0].ops
    loop = ops[np.array([static.scope == "main_loop" for static in statics])[ops["pc"]]]
    bases = [statics[pc].mnemonic.split(".")[0] for pc in loop["pc"]]
    ends = [row for row, base in enumerate(bases) if base == "BRA"]
    return loop[ends[1] + 1:ends[2] + 1], bases[ends[1] + 1:ends[2] + 1]


def rows_of(bases: list[str], *names: str) -> np.ndarray:
    return np.array([row for row, base in enumerate(bases) if base in names])


def test_the_table_holds_every_family() -> None:
    assert {NAME.match(kernel)[1] for kernel in LOOPS} == {"h", "hh", "bf", "tf32", "s8", "simt"}  # type: ignore[index]
    assert len(LOOPS) >= 25


def test_loops_have_the_instructions_of_ptxas() -> None:
    error = np.array([len(iteration(kernel)[0]) / count - 1 for kernel, (_, count) in LOOPS.items()])
    assert np.abs(error).mean() < 0.015, dict(zip(LOOPS, error, strict=True))
    assert np.abs(error).max() < 0.09, dict(zip(LOOPS, error, strict=True))


@pytest.mark.parametrize("kernel", LOOPS)
def test_launches_take_the_registers_of_ptxas(kernel: str) -> None:
    """And so as many CTAs fit onto an SM."""
    spec, launch, (registers, _) = gs.load_gpu("h200"), program(kernel).launch, LOOPS[kernel]
    assert launch.registers_per_thread == pytest.approx(registers, rel=0.06)
    fitting = [occupancy(spec, launch.threads_per_cta, count, launch.shared_bytes).blocks_per_sm
               for count in (launch.registers_per_thread, registers)]
    assert fitting[0] == fitting[1]


@pytest.mark.parametrize("kernel", PIPELINED)
def test_loads_from_global_memory_go_ahead_of_their_stores(kernel: str) -> None:
    """A load and its store stand as far apart as the multiplications between allow: half of the loop or more; but
    behind the 0.68 to 0.75 of it where multiplications of 4 cycles never wait for fragments, as in ptxas' loops."""
    _, bases = iteration(kernel)
    math = np.cumsum([base in ("HMMA", "IMMA", "FFMA") for base in bases])
    math = math / math[-1]
    if kernel.endswith("_sm75") and "w32x32" not in kernel:
        assert 0.68 <= math[rows_of(bases, "LDG")[0]] <= 0.75
    else:
        assert math[rows_of(bases, "STS")[0]] - math[rows_of(bases, "LDG")[0]] > 0.5
    assert (rows_of(bases, "LDG") < rows_of(bases, "STS")[0]).all()


@pytest.mark.parametrize("loads", [1, 4, 8, 12])
def test_no_multiplication_waits_for_a_load_from_global_memory(loads: int) -> None:
    """However many are under way, they take four of the six barriers, and fragments have one of their own."""
    rows = [op("LDG.E", (100 + n, 1), (200 + 2 * n, 2)) for n in range(loads)]
    rows += [op("LDSM.16.M88.4", (0, 4), (60, 1)), op("LDSM.16.M88.4", (4, 4), (61, 1))]
    rows += [op("HMMA.16816.F32", (8, 4), (0, 4), (4, 2), (8, 4)), *(op("STS", (0, 0), (62, 1), (100 + n, 1))
                                                                    for n in range(loads))]
    ops = finish([block(*rows)], MNEMONICS, TABLE, schedule="source").ops
    taken = set(ops["write_barrier"][:loads].tolist())
    assert len(taken) == min(loads, 4)
    waited = int(ops["wait_mask"][loads + 2])
    assert waited and not any(waited >> barrier & 1 for barrier in taken)


def test_loads_copies_and_barriers_of_multistage_loops_stand_where_ptxas_puts_them() -> None:
    """Tensor instructions between where each stands and where ptxas has it, mean over the loops."""
    distances: dict[str, list[float]] = {"ldsm": [], "ldgsts": [], "ldgdepbar": [], "bar": []}
    for kernel, row in MULTISTAGE.iterrows():
        _, bases = iteration(kernel)
        before = np.cumsum([base in TENSOR for base in bases])
        assert before[-1] == int(row.tensor)
        for name, found in distances.items():
            theirs = np.array(row[name].split(), int)
            found.append(float(np.abs(before[rows_of(bases, name.upper())] - theirs).mean()))
    means = {name: np.mean(found) for name, found in distances.items()}
    assert means["ldsm"] < 1.2 and means["ldgsts"] < 4.9, means
    assert means["ldgdepbar"] < 3.9 and means["bar"] < 3.9, means


def test_multistage_loops_issue_in_the_time_of_ptxas() -> None:
    """Loops of 32 tensor instructions take up to a sixth longer, those of 64 a percent less."""
    ours = np.array([int(iteration(kernel)[0]["stall"].sum()) for kernel in MULTISTAGE.index])
    error = ours / MULTISTAGE.stall_sum.astype(int).to_numpy() - 1
    assert np.abs(error).mean() < 0.05 and np.abs(error).max() < 0.17, dict(zip(MULTISTAGE.index, error, strict=True))


REPLAYED = sorted(set(pd.read_csv(H200 / "cutlass_replays.csv").kernel).intersection(MULTISTAGE.index))


def before_first_copy(mnemonics: list[str]) -> int:
    return next(row for row, mnemonic in enumerate(mnemonics) if mnemonic.startswith("LDGSTS"))


@pytest.mark.parametrize("kernel", REPLAYED)
def test_set_up_code_stands_in_front_of_the_first_copy(kernel: str) -> None:
    """So copies begin when ptxas' do, within a fifth of the instructions before them."""
    text = CompiledKernel("cutlass_replays", kernel).text
    code = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][^ ;]*)[^;]*;", text)
    statics, ops = program(kernel).statics, program(kernel).classes[0].roles[0].ops
    ours = before_first_copy([statics[pc].mnemonic for pc in ops["pc"]])
    assert ours == pytest.approx(before_first_copy(code), rel=0.2)


def cases(kernels: list[str], misses: Mapping[str, str]) -> list[object]:
    """One per kernel; those that the rules are known to miss are expected to fail, with the reason."""
    return [pytest.param(kernel, marks=[pytest.mark.xfail(strict=True, reason=misses[kernel])]
                         if kernel in misses else []) for kernel in kernels]


WIDE = {"h_128x128x64_w64x64x64_s3_tn": "K-major rows of 128 bytes: ptxas sums one first address here, the rules none"}


@pytest.mark.parametrize("kernel", cases(list(MULTISTAGE.index), WIDE))
def test_a_sum_addresses_the_first_fragments_of_each_k_major_operand(kernel: str) -> None:
    """Behind the last copy, in front of the loads of the next tile; other operands add a uniform register in the load
    itself."""
    _, bases = iteration(kernel)
    sums, loads = rows_of(bases, "LEA"), rows_of(bases, "LDSM")
    assert len(sums) == len(str(MULTISTAGE.lea.fillna("")[kernel]).split())
    assert all(rows_of(bases, "LDGSTS")[-1] < row < loads[loads > rows_of(bases, "BAR")[0]][0] for row in sums)


def awaited_copies(ops: np.ndarray, bases: list[str]) -> list[int]:
    """Rows from the last copy to the barrier that wait until copies have read their registers."""
    read = {int(op["read_barrier"]) for op, base in zip(ops, bases, strict=True) if base == "LDGSTS"} - {NO_BARRIER}
    start, stop = rows_of(bases, "LDGSTS")[-1], rows_of(bases, "BAR")[0]
    return [row for row in range(start, stop) if any(ops["wait_mask"][row] >> board & 1 for board in read)]


NARROW = [kernel for kernel in MULTISTAGE.index if kernel.endswith("_tn") and kernel not in WIDE]


@pytest.mark.parametrize("kernel", NARROW)
def test_a_k_major_loop_waits_for_a_copys_registers_in_front_of_its_barrier(kernel: str) -> None:
    """Pointers have moved in place to the last row, from where they go on to the next tile."""
    assert MULTISTAGE.read_waits[kernel]
    assert awaited_copies(*iteration(kernel))


@pytest.mark.parametrize("kernel", [*PIPELINED, "simt_128x128x8_w32x64x8_s4_tn", "h_64x64x64_w32x32x64_s5_tn"])
def test_recorded_loops_have_no_hazard(kernel: str) -> None:
    mnemonics = [static.mnemonic for static in program(kernel).statics]
    assert check_hazards(program(kernel).classes[0].roles[0].ops, mnemonics, TABLE) == []
