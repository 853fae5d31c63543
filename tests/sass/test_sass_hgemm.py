"""The measured GEMM kernels: loops as disassembled, executed instructions and wavefronts as counted by the hardware."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sass_helpers import hgemm

from gpusim.program import Program
from gpusim.sass import load_sass, read_sass
from gpusim.sass.scopes import main_loop

QUICK = ("128x128x32_w64x64_s3_sw0", "64x64x32_w32x32_s4_sw2")
INSTRUCTIONS = {"hmma_instructions": "HMMA", "ldsm_instructions": "LDSM", "ldgsts_instructions": "LDGSTS"}


def load(hardware: Path, row: dict[str, str]) -> Program:
    return load_sass(hardware / f"sass/{row['kernel']}.sass.gz", launch=hgemm(row))


def counters(program: Program) -> dict[str, float]:
    """What the profiler would count for the whole launch."""
    bases = np.array([static.mnemonic.partition(".")[0] for static in program.statics])
    found: Counter[str] = Counter()
    for number, times in zip(*np.unique(program.cta_class, return_counts=True), strict=True):
        for role in program.classes[number].roles:
            active = bases[role.ops["pc"]][role.ops["active"] == 1]
            found["warp_instructions"] += len(role.ops) * role.num_warps * int(times)
            for name, base in INSTRUCTIONS.items():
                found[name] += int((active == base).sum()) * role.num_warps * int(times)
            used = role.ops["access"][role.ops["access"] >= 0]
            loads = [a for a in used if role.accesses.operation[a].startswith("LDSM")]
            found["smem_wavefronts_load"] += int(role.accesses.wavefronts[loads].sum()) * int(times)
    return dict(found)


def check_counters(hardware: Path, row: dict[str, str]) -> None:
    found = counters(load(hardware, row))
    for name in ("warp_instructions", *INSTRUCTIONS):
        assert found[name] == float(row[name]), (row["kernel"], name)
    assert found["smem_wavefronts_load"] == pytest.approx(float(row["smem_wavefronts_load"]), rel=0.01)
    print(f"{row['kernel']} {row['M']}x{row['N']}x{row['K']}", *(f"{k}={v:.0f}" for k, v in found.items()))


def test_main_loops_are_the_ones_in_the_table(hardware: Path) -> None:
    with (hardware / "kernel_loops.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        function = read_sass(hardware / f"sass/{row['kernel']}.sass.gz")[0]
        loop = main_loop(function)
        assert loop is not None
        body = function.instructions[loop.first:loop.last + 1]
        bases = Counter(instruction.base for instruction in body)
        stalls = sum(instruction.control.stall for instruction in body)
        found = (len(body), bases["HMMA"], bases["LDSM"], bases["LDGSTS"], bases["BAR"], stalls)
        columns = ("loop_instructions", "hmma", "ldsm", "ldgsts", "bar", "stall_count_sum")
        assert found == tuple(int(row[column]) for column in columns), row["kernel"]
    assert len(rows) == 20


@pytest.mark.parametrize("kernel", QUICK)
@pytest.mark.parametrize("size", [("512", "512", "512"), ("256", "256", "4096")])
def test_counters_of_the_hardware(
    hardware: Path, gemm_rows: list[dict[str, str]], kernel: str, size: tuple[str, str, str]
) -> None:
    fitting = [row for row in gemm_rows if row["kernel"] == kernel and (row["M"], row["N"], row["K"]) == size]
    assert len(fitting) == 1
    check_counters(hardware, fitting[0])


@pytest.mark.slow
def test_counters_of_the_hardware_for_every_kernel_with_a_disassembly(
    hardware: Path, gemm_rows: list[dict[str, str]]
) -> None:
    for row in gemm_rows:
        check_counters(hardware, row)


def test_tensor_addresses_cover_each_operand_tile(hardware: Path, gemm_rows: list[dict[str, str]]) -> None:
    """Over its k loop a CTA reads exactly bM rows of A and bN of B, and writes bM x bN of D, wherever it is."""
    row = next(r for r in gemm_rows if r["kernel"] == QUICK[1] and (r["M"], r["K"]) == ("512", "512"))
    program = load(hardware, row)
    cta = int(np.flatnonzero((program.cta_index == (2, 3, 0)).all(axis=1))[0])
    sectors: dict[str, set[int]] = {}
    for role in program.classes[program.cta_class[cta]].roles:
        for op in role.ops[role.ops["access"] >= 0]:
            tensor = int(role.accesses.tensor[op["access"]])
            if tensor < 0:
                continue
            base = program.cta_bases[cta, tensor] + op["global_offset"] - program.tensors[tensor].base_address
            offsets = role.accesses.global_offset[op["access"]]
            sectors.setdefault(program.tensors[tensor].name, set()).update(
                ((base + offsets[offsets >= 0]) // 32).tolist())
    pitch = 512 * 2 // 32
    assert sectors["A"] == set(range(2 * 64 * pitch, 3 * 64 * pitch))
    assert sectors["B"] == set(range(3 * 64 * pitch, 4 * 64 * pitch))
    assert sectors["D"] == {r * pitch + c for r in range(128, 192) for c in range(3 * 4, 4 * 4)}


def test_the_compilers_scoreboards_cover_every_fragment(hardware: Path, gemm_rows: list[dict[str, str]]) -> None:
    """Loads return in order, so one barrier may serve a run of LDSM: between a load and the first HMMA that reads its
    registers, this or a later load raises a barrier, and something waits for it."""
    row = next(r for r in gemm_rows if r["kernel"] == QUICK[1] and r["K"] == "512")
    program = load(hardware, row)
    ops = program.classes[0].roles[0].ops
    bases = [program.statics[op["pc"]].mnemonic.partition(".")[0] for op in ops]
    loads = [i for i, base in enumerate(bases) if base == "LDSM"]
    checked = 0
    for index in loads:
        start, count = int(ops[index]["dst_start"]), int(ops[index]["dst_count"])
        reads = [j for j in range(index, min(index + 400, len(ops))) if bases[j] == "HMMA" and any(
            a < start + count and start < a + n for a, n in zip(ops[j]["src_start"], ops[j]["src_count"], strict=True))]
        if not reads:
            continue
        checked += 1
        raised = [(k, int(ops[k]["write_barrier"])) for k in loads if index <= k < reads[0]]
        waits = ops["wait_mask"]
        assert count == 4 and any(b < 6 and (waits[k + 1:reads[0] + 1] >> b & 1).any() for k, b in raised)
    assert checked > 50
