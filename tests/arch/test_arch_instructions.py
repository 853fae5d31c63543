"""The instruction table against compiled code and measured pipes."""

from __future__ import annotations

import csv
import gzip
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.arch import INSTRUCTION, InstructionEntry, InstructionTable, Kind, Pipe, gpu_names, load_gpu
from gpusim.arch.atoms import COPY_ATOMS, mma_atoms_of
from gpusim.arch.paths import find_data
from gpusim.errors import UserError

HARDWARE = find_data("gpusim/data/hardware/h200")
INSTRUCTION_LINE = re.compile(r"/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P[T0-9]+\s+)?([A-Z][A-Za-z0-9_.]*)")


@pytest.fixture(scope="module")
def table():
    return load_gpu("h200").instruction_table


def entry(*patterns, pipe="alu", interval=2, latency=4, **more):
    return InstructionEntry(
        patterns=patterns, kind="alu", pipe=pipe, issue_interval_cycles=interval, latency_cycles=latency, **more
    )


def test_the_longest_pattern_of_whole_parts_wins():
    table = InstructionTable(
        [entry("IMAD", latency=1), entry("IMAD.WIDE", latency=2), entry("IMAD.WIDE.U32", latency=3)]
    )
    found = {
        name: table.lookup(name).latency_cycles for name in ("IMAD", "IMAD.MOV.U32", "IMAD.WIDE", "IMAD.WIDE.U32.X")
    }
    assert found == {"IMAD": 1, "IMAD.MOV.U32": 1, "IMAD.WIDE": 2, "IMAD.WIDE.U32.X": 3}
    assert "IMADX" not in table and "IMAD.WIDER" in table


parts = st.lists(st.sampled_from(["A", "B", "AB"]), min_size=1, max_size=4).map(".".join)


@given(st.lists(parts, min_size=1, max_size=6, unique=True), parts)
def test_lookup_equals_a_search_over_all_patterns(patterns, mnemonic):
    table = InstructionTable([entry(pattern, latency=1 + i) for i, pattern in enumerate(patterns)])
    matches = [pattern for pattern in patterns if f"{mnemonic}.".startswith(f"{pattern}.")]
    if not matches:
        assert mnemonic not in table
    else:
        assert table.lookup(mnemonic).latency_cycles == 1 + patterns.index(max(matches, key=len))


def test_an_unknown_mnemonic_is_refused_with_a_suggestion(table):
    with pytest.raises(UserError, match=r"h200: no such instruction .*, got 'LDSMX\.16'; did you mean 'LDSM'\?"):
        table.lookup("LDSMX.16")


def test_every_instruction_of_compiled_kernels_is_known(table):
    names = set()
    for path in sorted((HARDWARE / "sass").glob("*.sass.gz")):
        names |= set(INSTRUCTION_LINE.findall(gzip.decompress(path.read_bytes()).decode()))
    assert len(names) > 50
    assert [name for name in sorted(names) if name not in table] == []


def test_the_array_form_is_the_lookup(table):
    names = ["HMMA.16816.F32", "LDSM.16.M88.4", "LDGSTS.E.BYPASS.LTC128B.128", "BAR.SYNC.DEFER_BLOCKING", "FFMA"]
    rows = table.arrays(names)
    assert rows.dtype == INSTRUCTION
    for row, name in zip(rows, names, strict=True):
        found = table.lookup(name)
        assert (row["kind"], row["pipe"], bool(row["variable_latency"])) == (
            found.kind,
            found.pipe,
            found.variable_latency,
        )
        assert (row["issue_interval"], row["latency"]) == (found.issue_interval_cycles, found.latency_cycles)


KINDS = {
    "HMMA.16816.F32": Kind.mma,
    "LDS.128": Kind.shared_load,
    "STS.64": Kind.shared_store,
    "LDSM.16.MT88.4": Kind.ldmatrix,
    "STSM.16.M88.4": Kind.stmatrix,
    "LDGSTS.E.BYPASS.LTC128B.128": Kind.async_copy,
    "LDGDEPBAR": Kind.commit,
    "DEPBAR.LE": Kind.depbar,
    "BAR.SYNC.DEFER_BLOCKING": Kind.barrier,
    "LDG.E.128": Kind.global_load,
    "STG.E.64": Kind.global_store,
    "RED.E.ADD.F32.FTZ.RN.STRONG.GPU": Kind.atomic,
    "ULDC.64": Kind.constant_load,
    "S2UR": Kind.special_register,
    "SHFL.BFLY": Kind.shuffle,
    "BRA": Kind.branch,
    "EXIT": Kind.exit,
    "NOP": Kind.nop,
    "MEMBAR.SC.GPU": Kind.membar,
    "HGMMA.64x128x16.F32": Kind.wgmma,
    "WARPGROUP.ARRIVE": Kind.wgmma_control,
    "SYNCS.PHASECHK.TRANS64.TRYWAIT": Kind.mbarrier,
    "UTMALDG.2D": Kind.bulk_copy,
    "UBLKCP.S.G": Kind.bulk_copy,
    "UCGABAR_WAIT": Kind.cluster_barrier,
    "IMAD.MOV.U32": Kind.alu,
    "F2FP.F16.F32.PACK_AB": Kind.alu,
    "IDP.4A.S8.S8": Kind.alu,
    "MUFU.EX2": Kind.alu,
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds(table, name):
    assert table.lookup(name).kind == KINDS[name]


def pipes_csv():
    rows = {}
    with (HARDWARE / "pipes.csv").open() as file:
        for row in csv.DictReader(file):
            rows[row["op"], int(row["warps"]), int(row["ilp"])] = row
    return rows


MEASURED = {  # op of pipes.csv: mnemonic
    "ffma": "FFMA",
    "fadd": "FADD",
    "imad": "IMAD",
    "lop3": "LOP3.LUT",
    "dp4a": "IDP.4A.S8.S8",
    "dfma": "DFMA",
    "mufu_ex2": "MUFU.EX2",
    "mma_m16n8k8_f16_f32": "HMMA.1688.F32",
    "mma_m16n8k16_f16_f32": "HMMA.16816.F32",
    "mma_m16n8k16_f16_f16": "HMMA.16816.F16",
    "mma_m16n8k16_bf16_f32": "HMMA.16816.F32.BF16",
    "mma_m16n8k4_tf32_f32": "HMMA.1684.F32.TF32",
    "mma_m16n8k8_tf32_f32": "HMMA.1688.F32.TF32",
    "mma_m16n8k32_s8_s32": "IMMA.16832.S8.S8",
    "mma_m16n8k256_b1_s32": "BMMA.168256.AND.POPC",
}


@pytest.mark.parametrize("op", MEASURED)
def test_intervals_and_latencies_are_those_that_were_measured(table, op):
    rows, found = pipes_csv(), table.lookup(MEASURED[op])
    throughput = max(float(row["inst_per_cyc_sm"]) for key, row in rows.items() if key[0] == op)
    assert 4 / throughput == pytest.approx(found.issue_interval_cycles, rel=0.08)
    dependent = min(float(rows[op, 1, ilp]["cyc_per_inst_per_warp"]) * ilp for ilp in (1, 2))
    assert dependent == pytest.approx(found.latency_cycles, rel=0.09)


@pytest.mark.parametrize(
    ("op", "name", "wavefronts"),
    [
        ("lds32", "LDS", 1),
        ("lds128", "LDS.128", 1),
        ("ldsm1", "LDSM.16.M88", 1),
        ("ldsm2", "LDSM.16.M88.2", 2),
        ("ldsm4", "LDSM.16.M88.4", 4),
    ],
)
def test_shared_load_latency_grows_with_wavefronts_as_measured(table, op, name, wavefronts):
    more = (wavefronts - 1) * load_gpu("h200").shared.latency_cycles_per_wavefront
    measured = float(pipes_csv()[op, 1, 1]["cyc_per_inst_per_warp"])
    assert measured == pytest.approx(table.lookup(name).latency_cycles + more, abs=0.2)


def test_barrier_cost_grows_with_warps_as_measured():
    barrier = load_gpu("h200").barrier
    for warps in (1, 2, 4, 8, 16, 32):
        cycles = barrier.base_cycles + barrier.cycles_per_warp * warps
        assert float(pipes_csv()["bar_sync", warps, 1]["cyc_per_inst_per_warp"]) == pytest.approx(cycles, abs=0.5)


def test_results_reach_their_own_pipe_first(table):
    """Stall counts that ptxas encodes between dependent instructions (see the disassembly in h200/sass)."""
    cycles = {
        ("IMAD", "IMAD.IADD"): 4,
        ("IMAD", "LOP3.LUT"): 5,
        ("LOP3.LUT", "SHF.R.U32.HI"): 4,
        ("LOP3.LUT", "IMAD"): 5,
        ("VIADD", "IMAD.SHL.U32"): 4,
        ("LEA", "LDGSTS.E.BYPASS.LTC128B.128"): 5,
        ("ISETP.NE.AND", "SEL"): 4,
        ("IMAD.MOV.U32", "HMMA.16816.F32"): 7,
        ("HMMA.16816.F32", "HMMA.16816.F32"): 24,
        ("HMMA.16816.F32", "F2FP.F16.F32.PACK_AB"): 24,
        ("UIADD3", "UISETP.GE.AND"): 4,
        ("ULEA", "IADD3"): 6,
    }
    for (writer, reader), expected in cycles.items():
        assert table.lookup(writer).latency_to_cycles(table.lookup(reader)) == expected, (writer, reader)
    assert table.lookup("ISETP.GE.AND").latency_to_cycles(table.lookup("BRA"), guard=True) == 13


@pytest.mark.parametrize("gpu", gpu_names())
def test_a_gpu_knows_the_cost_of_every_atom_it_executes(gpu):
    spec = load_gpu(gpu)
    names = [atom.mnemonic for atom in mma_atoms_of(spec)]
    names += [
        atom.mnemonic for atom in COPY_ATOMS.values() if atom.mnemonic and atom.min_arch <= spec.compute_capability
    ]
    assert [name for name in names if name not in spec.instruction_table] == []
    assert all(
        spec.instruction_table.lookup(atom.mnemonic).pipe == Pipe.tensor
        for atom in mma_atoms_of(spec)
        if atom.thr_id.size() > 1
    )


def test_no_pattern_stands_in_two_entries():
    patterns = [pattern for one in load_gpu("h200").instructions for pattern in one.patterns]
    assert len(set(patterns)) == len(patterns)
