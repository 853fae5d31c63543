"""What code outside main loops reads of its parameters and waits for, beside CUTLASS 2.x kernels as nvcc 13.0 compiles
them (cutlass_replays.csv): lines of constants, branches on the output operator, guards of stages."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cutlass_helpers import SPEC, record

from gpusim.engine import simulate
from gpusim.experiments.micro.compiled import CompiledKernel
from gpusim.program import Program
from gpusim.report.executions import static_executions
from gpusim.report.tables import instruction_table

LINE = SPEC.fetch.constant_line_bytes
SIZES = (128, 128, 128)
READS = re.compile(r"/\*[0-9a-f]{4,}\*/ (?:@!?U?P\d+ )?([A-Z0-9.]+)[^;]*c\[0x0\]\[0x([0-9a-f]+)\]")


def compiled_lines(kernel: str) -> tuple[set[int], set[int]]:
    """Lines of constants that a compiled kernel reads before its first and behind its last tensor instruction."""
    found = [(line, READS.search(line)) for line in CompiledKernel("cutlass_replays", kernel).text.splitlines()]
    tensor = [row for row, (line, _) in enumerate(found) if "HMMA" in line]
    reads = [(row, int(match[2], 16) // LINE) for row, (_, match) in enumerate(found) if match]
    return ({place for row, place in reads if row < tensor[0]},
            {place for row, place in reads if row > tensor[-1]})


def recorded_lines(program: Program) -> tuple[set[int], set[int]]:
    pcs = program.classes[0].roles[0].ops["pc"]
    tensor = np.flatnonzero(["HMMA" in program.statics[pc].mnemonic for pc in pcs])
    place = np.array([program.statics[pc].constant // LINE for pc in pcs])
    named = np.array([program.statics[pc].constant >= 0 for pc in pcs])
    rows = np.arange(len(pcs))
    return (set(place[named & (rows < tensor[0])].tolist()), set(place[named & (rows > tensor[-1])].tolist()))


@pytest.mark.parametrize(("kernel", "parameters"), [
    ("h_128x128x32_w64x64x32_s4_tn", {"num_stages": 4}),
    ("h_64x64x64_w32x32x64_s5_tn", {"tile": (64, 64, 64), "warp": (32, 32, 64), "num_stages": 5})])
def test_gemms_read_the_lines_that_compiled_ones_do(kernel: str, parameters: dict[str, object]) -> None:
    before, behind = recorded_lines(record("gemm_multistage", SIZES, "list", **parameters))
    compiled_before, compiled_behind = compiled_lines(kernel)  # behind, with the version that reads C
    assert before == compiled_before
    assert behind <= compiled_behind and behind - before == compiled_behind - compiled_before


@pytest.mark.parametrize(("parameters", "taken"), [
    ({}, 5), ({"beta": 1.0}, 4), ({"scale": "only_alpha_scaling"}, 2), ({"scale": "nothing"}, 0)])
def test_epilogues_jump_over_what_loads_factors_and_reads_c(parameters: dict[str, object], taken: int) -> None:
    """alpha and beta may stand behind a pointer or in an array of them; C is not read where beta is 0."""
    program = record("gemm_multistage", SIZES, "list", **parameters)
    pcs = program.classes[0].roles[0].ops["pc"].tolist()
    run, last = set(pcs), max(row for row, pc in enumerate(pcs) if "HMMA" in program.statics[pc].mnemonic)
    branches = [pc for pc in pcs[last:] if program.statics[pc].mnemonic == "BRA"]
    assert sum(pc + 1 not in run and pc + 1 < len(program.statics) for pc in branches) == taken


def test_a_stage_of_copies_begins_where_the_last_copy_had_its_address() -> None:
    """And the guard of the first one waits for the problem size (20 loops of h200/sass)."""
    program = record("hgemm_multistage", (128, 128, 256), "list")
    ops = program.classes[0].roles[0].ops
    names = [program.statics[pc].mnemonic for pc in ops["pc"]]
    first, second = [row for row, name in enumerate(names) if name == "LDGDEPBAR"][:2]
    copies = [row for row in range(first) if names[row].startswith("LDGSTS")]
    between = range(first, min(row for row in range(first, second) if names[row].startswith("LDGSTS")))
    assert any(ops["dst_start"][row] == ops["src_start"][copies[-1], 0] for row in between if ops["dst_count"][row])
    guard = next(row for row, name in enumerate(names) if name.startswith("ISETP"))
    writers = [names[row] for row in range(guard) if ops["dst_count"][row]
               and ops["dst_start"][row] == ops["src_start"][guard, 0]]
    assert writers == ["LDC"]


def test_what_nobody_runs_is_not_listed() -> None:
    program = record("gemm_multistage", SIZES, "list")
    table = instruction_table(program, simulate(program, SPEC))
    assert any(static.mnemonic == "NOP" for static in program.statics) and "NOP" not in set(table["mnemonic"])
    assert table["issued"].sum() == static_executions(program).sum()
