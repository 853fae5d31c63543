"""Recording: loops become repeated code, classes of CTAs, roles, launch, source lines."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl import Context, GmemTensor
from gpusim.dsl.lowering import StaticTable
from gpusim.dsl.lowering.emitter import Emitter
from gpusim.dsl.registers import Registers
from gpusim.dsl.source import SourceLine
from gpusim.program import PREDICATE_BASE, Program

SPEC = gs.load_gpu("h200")


def hgemm(M: int, N: int, K: int, **parameters: object) -> Program:
    sizes = {"M": M, "N": N, "K": K}
    return gs.load_program("hgemm_multistage").record(SPEC, sizes, schedule="source", **parameters)


def rows_of(program: Program, prefix: str) -> np.ndarray:
    names = np.array([static.mnemonic for static in program.statics])
    ops = program.classes[0].roles[0].ops
    return ops[np.char.startswith(names[ops["pc"]], prefix)]


@settings(max_examples=8, deadline=None)
@given(st.integers(3, 12), st.integers(2, 4))
def test_an_iteration_more_is_a_loop_body_more(k_tiles: int, num_stages: int) -> None:
    shorter, longer = (hgemm(64, 64, 32 * k, tile=(64, 64, 32), num_stages=num_stages) for k in (k_tiles, k_tiles + 1))
    assert longer.statics == shorter.statics
    counts = [np.bincount(p.classes[0].roles[0].ops["pc"], minlength=len(p.statics)) for p in (shorter, longer)]
    loop = np.array([static.scope == "main_loop" for static in shorter.statics])
    assert ((counts[1] - counts[0]) == loop).all()


def test_offsets_walk_through_stages_and_k() -> None:
    program = hgemm(128, 128, 512, num_stages=3)
    copies = rows_of(program, "LDGSTS").reshape(-1, 8)
    active = copies["active"][:, 0] == 1
    stage_bytes, k = 128 * 64, np.arange(active.sum())
    accesses = program.classes[0].roles[0].accesses
    first = copies[active][:, 0]
    assert np.array_equal(first["shared_offset"], k % 3 * stage_bytes)
    start = accesses.global_offset[first["access"], 0, 0] + first["global_offset"]
    assert np.array_equal(start, k * 64)
    assert (copies["shared_offset"] % 128 == 0).all() and (copies["global_offset"] % 128 == 0).all()


def test_a_pointer_that_misses_a_line_makes_a_class() -> None:
    program = hgemm(64, 96, 64, tile=(32, 32, 32))
    assert program.launch.grid == (2, 3, 1) and len(program.classes) == 2
    assert program.cta_class.tolist() == [0, 0, 1, 1, 0, 0]
    assert (program.cta_bases % 128 == 0).all()
    stores = [c.roles[0].accesses for c in program.classes]
    starts = [int(a.global_offset[[op == "STG32" for op in a.operation]].min()) for a in stores]
    assert starts == [0, 64]
    assert program.cta_index.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0], [1, 2, 0]]


def test_raster_names_the_axis_that_runs_fastest() -> None:
    by_m, by_n = (hgemm(256, 384, 64, raster=raster) for raster in "mn")
    assert by_m.launch.grid == (2, 3, 1) and by_n.launch.grid == (3, 2, 1)
    assert sorted(map(tuple, by_m.cta_bases.tolist())) == sorted(map(tuple, by_n.cta_bases.tolist()))
    assert by_n.cta_bases[1, 0] == by_n.cta_bases[0, 0] and by_m.cta_bases[1, 0] != by_m.cta_bases[0, 0]


def test_tensors_are_apart_and_only_the_stored_one_is_an_output() -> None:
    a, b, d = hgemm(128, 128, 64).tensors
    assert a.base_address + a.size_bytes <= b.base_address and b.base_address + b.size_bytes <= d.base_address
    assert [t.is_output for t in (a, b, d)] == [False, False, True]
    assert all(t.base_address % 256 == 0 for t in (a, b, d))


def test_every_instruction_names_a_line_of_the_kernel() -> None:
    program = hgemm(128, 128, 128)
    kernel = gs.load_program("hgemm_multistage").kernel
    source, first = inspect.getsourcelines(kernel.function)
    used = {pc for pc in program.classes[0].roles[0].ops["pc"].tolist() if program.statics[pc].mnemonic != "EXIT"}
    assert all(first <= program.statics[pc].line < first + len(source) for pc in used)
    text = {static.mnemonic: source[static.line - first] for static in program.statics if static.line}
    assert "ctx.gemm(" in text["HMMA.16816.F32"] and "sync_threads" in text["BAR.SYNC.DEFER_BLOCKING"]
    assert "r2g" in text["STG.E"] and "ctx.copy(g2s" in text["LDGSTS.E.BYPASS.LTC128B.128"]
    assert {static.scope for static in program.statics} == {"prologue", "main_loop", "epilogue"}


def test_register_groups_are_aligned_and_below_the_predicates() -> None:
    for prefix, count in (("HMMA", 4), ("LDSM", 4), ("CS2R", 2)):
        rows = rows_of(hgemm(128, 128, 128), prefix)
        assert (rows["dst_count"] == count).all() and (rows["dst_start"] % count == 0).all()
        assert (rows["dst_start"] + count <= PREDICATE_BASE).all()


def test_registers_can_be_given() -> None:
    assert hgemm(128, 128, 128, registers=128).launch.registers_per_thread == 128


def test_parameters_are_pointers_and_extents_where_nothing_is_said() -> None:
    assert hgemm(64, 64, 64, tile=(64, 64, 32)).launch.parameter_bytes == 3 * (8 + 2 * 4)


@pytest.mark.parametrize(("said", "read"), [(4, 16), (368, 368)])
def test_a_kernel_says_how_many_bytes_of_parameters_it_reads(said: int, read: int) -> None:
    @gs.kernel
    def structured(ctx: Context, A: GmemTensor) -> None:
        ctx.launch((1, 1), warps=1)
        ctx.parameters(said)
        ctx.sync_threads()

    assert structured.record(SPEC, gs.tensor("A", gs.f32, (32, 32))).launch.parameter_bytes == read


@pytest.mark.parametrize("name", ["gemm_multistage", "gemm_pipelined", "sgemm_pipelined", "gemm_splitk_serial"])
def test_kernels_of_cutlass_read_their_whole_structure(name: str) -> None:
    assert gs.load_program(name).record(SPEC, {"M": 128, "N": 128, "K": 256}).launch.parameter_bytes == 368


def test_roles_take_consecutive_warps() -> None:
    @gs.kernel
    def two_roles(ctx: Context, A: GmemTensor) -> None:
        ctx.launch((1, 1), warps=5)
        with ctx.role("producer", warps=1):
            ctx.sync_threads()
        with ctx.role("consumer", warps=4):
            for _ in ctx.range(3):
                ctx.sync_threads()

    roles = two_roles.record(SPEC, gs.tensor("A", gs.f16, (64, 64))).classes[0].roles
    assert [(role.name, role.first_warp, role.num_warps) for role in roles] == [("producer", 0, 1), ("consumer", 1, 4)]


def test_idle_warps_are_refused() -> None:
    @gs.kernel
    def half_used(ctx: Context, A: GmemTensor) -> None:
        ctx.launch((1, 1), warps=4)
        with ctx.role("producer", warps=1):
            ctx.sync_threads()

    with pytest.raises(gs.UserError, match="the roles of a kernel must use all of its warps, got 1 of 4"):
        half_used.record(SPEC, gs.tensor("A", gs.f16, (64, 64)))


def test_statics_number_equal_instructions_by_occurrence() -> None:
    emit, statics = Emitter(Registers()), StaticTable("k.py")
    emit.line = SourceLine(7)
    for _ in range(2):
        emit.new("LEA")
    first, again = statics.pcs(emit.instructions, "s"), statics.pcs(emit.instructions, "s")
    assert first.tolist() == again.tolist() == [0, 1] and len(statics.rows) == 2


def test_an_instruction_with_too_many_sources_is_a_bug() -> None:
    with pytest.raises(ValueError, match="5 register sources, the op table holds 4"):
        Emitter(Registers()).op("IADD3", *[(n, 1) for n in range(5)])


def test_parameters_may_be_numbers_of_numpy() -> None:
    """As rows of a pandas table give them."""
    plain = hgemm(64, 64, 64, tile=(64, 64, 32), num_stages=3)
    numpy = hgemm(64, 64, 64, tile=tuple(np.array([64, 64, 32])), num_stages=np.int64(3))
    assert len(numpy.classes[0].roles[0].ops) == len(plain.classes[0].roles[0].ops)
    assert numpy.launch == plain.launch
