"""Small programs: trip counts, predicates, lanes that leave, warps that part, spills, and code that is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sass_helpers import assemble

from gpusim.errors import UserError
from gpusim.program import Program
from gpusim.sass import SassLaunch, Scalar, Struct, TensorPointer, load_sass

N_AT, A_AT = "c[0x0][0x210]", "c[0x0][0x218]"


def load(*lines: str, n: int = 1, threads: int = 64, grid: tuple[int, int, int] = (1, 1, 1)) -> Program:
    """A kernel (int n, float *a) of these lines."""
    params = (Scalar(n), TensorPointer("a", "f32", (1 << 20,)))
    return load_sass(assemble(*lines), launch=SassLaunch(grid, (threads, 1, 1), params, 4096, 32))


def executed(program: Program, role: int = 0, only_active: bool = False) -> list[str]:
    ops = program.classes[0].roles[role].ops
    return [program.statics[op["pc"]].mnemonic for op in ops if op["active"] or not only_active]


@pytest.mark.parametrize("n", [1, 2, 17])
def test_a_loop_runs_as_often_as_its_parameter_says(n: int) -> None:
    program = load("MOV R0, RZ", "VIADD R0, R0, 0x1", f"ISETP.GE.AND P0, PT, R0, {N_AT}, PT", "@!P0 BRA 0x10", "EXIT",
                   "BRA 0x50", n=n)
    assert executed(program).count("VIADD") == n
    assert [s.scope for s in program.statics] == ["prologue", "main_loop", "main_loop", "main_loop", *["epilogue"] * 2]


def test_the_last_trip_of_a_loop_does_not_branch() -> None:
    program = load("MOV R0, RZ", "VIADD R0, R0, 0x1", "ISETP.GE.AND P0, PT, R0, 0x3, PT", "@!P0 BRA 0x10", "EXIT")
    ops = program.classes[0].roles[0].ops
    assert ops["active"][ops["pc"] == 3].tolist() == [1, 1, 0]


def test_each_warp_goes_its_own_way() -> None:
    """Warp w runs the loop w + 1 times; every one becomes a role of its own."""
    program = load("S2R R0, SR_TID.X", "SHF.R.U32.HI R1, RZ, 0x5, R0", "VIADD R1, R1, -0x1",
                   "ISETP.GE.AND P0, PT, R1, RZ, PT", "@P0 BRA 0x20", "EXIT", threads=128)
    roles = program.classes[0].roles
    assert [(role.first_warp, role.num_warps) for role in roles] == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert [executed(program, i).count("VIADD") for i in range(4)] == [1, 2, 3, 4]


def test_warps_that_agree_share_a_role() -> None:
    program = load("S2R R0, SR_TID.X", "ISETP.LT.AND P0, PT, R0, 0x40, PT", "@P0 EXIT", "NOP", "EXIT", threads=160)
    assert [(r.first_warp, r.num_warps, len(r.ops)) for r in program.classes[0].roles] == [(0, 2, 3), (2, 3, 5)]


def test_lanes_that_leave_take_no_part_in_later_accesses() -> None:
    program = load("S2R R0, SR_TID.X", "ISETP.NE.AND P0, PT, R0, 0x5, PT", "@P0 EXIT", "SHF.L.U32 R1, R0, 0x2, RZ",
                   "LDS R2, [R1+0x400]", "EXIT", threads=32)
    role = program.classes[0].roles[0]
    assert role.accesses.lane_mask.tolist() == [[1 << 5]]
    assert executed(program, only_active=True) == ["S2R", "ISETP.NE.AND", "SHF.L.U32", "LDS", "EXIT"]
    assert executed(program).count("EXIT") == 2


def test_predicated_off_instructions_take_a_slot_and_touch_nothing() -> None:
    program = load("@!PT LDS RZ, [RZ]", f"ISETP.GT.AND P0, PT, {N_AT}, 0x5, PT", "@P0 LDS R0, [R9]", "EXIT")
    ops = program.classes[0].roles[0].ops
    assert ops["active"].tolist() == [0, 1, 0, 1]
    assert (ops["access"] == -1).all()


def test_per_lane_predicates_become_lane_masks() -> None:
    program = load("S2R R0, SR_TID.X", "LOP3.LUT R1, R0, 0x1, RZ, 0xc0, !PT", "ISETP.EQ.AND P0, PT, R1, RZ, PT",
                   "@P0 LEA R2, R0, 0x400, 0x2", "@P0 STS [R2], RZ", "EXIT", threads=32)
    table = program.classes[0].roles[0].accesses
    assert table.lane_mask.tolist() == [[0x55555555]]
    assert table.shared_address[0, 0, ::2].tolist() == list(range(0, 128, 8))


def test_shared_addresses_differ_by_multiples_of_128_and_share_a_pattern() -> None:
    program = load("S2R R0, SR_TID.X", "LEA R1, R0, 0x400, 0x2", "LDS R2, [R1]", "LDS R3, [R1+0x100]",
                   "LDS R4, [R1+0x104]", "EXIT", threads=32)
    role = program.classes[0].roles[0]
    loads = role.ops[role.ops["access"] >= 0]
    assert loads["access"].tolist() == [0, 0, 1] and loads["shared_offset"].tolist() == [0, 0x100, 0x100]
    assert role.accesses.shared_address[1, 0, :2].tolist() == [4, 8]


def test_a_spilled_address_comes_back() -> None:
    program = load("LDC R1, c[0x0][0x28]", "S2R R0, SR_TID.X", "LEA R2, R0, 0x400, 0x4", "STL [R1+0x8], R2",
                   "FADD R2, R2, R2", "LDL.LU R2, [R1+0x8]", "LDS.128 R4, [R2]", "EXIT", threads=32)
    role = program.classes[0].roles[0]
    assert role.accesses.shared_address[0, 0].tolist() == list(range(0, 512, 16))
    assert any("LDL" in note for note in program.notes)


def test_control_barriers_keep_their_numbers() -> None:
    program = load("DEPBAR.LE SB0, 0x2", "BAR.SYNC.DEFER_BLOCKING 0x3", "EXIT")
    assert program.classes[0].roles[0].ops["operand"].tolist() == [2, 3, 0]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (("LDS R0, [RZ+0x400]", "LDS R1, [R0]", "EXIT"),
         r"sass:5: the address depends on loaded data, floating point or an unset register, got 'LDS R1, \[R0\]'"),
        (("FSETP.GT.AND P0, PT, R0, R1, PT", "@P0 EXIT", "EXIT"), "sass:5: the predicate depends on loaded data"),
        (("S2R R0, SR_TID.X", "ISETP.LT.AND P0, PT, R0, 0x5, PT", "@P0 BRA 0x40", "NOP", "EXIT"),
         r"sass:7: lanes of a warp disagree about a branch.*got '@P0 BRA 0x40' in warp 0 of block \(0, 0, 0\)"),
        (("BRX R2 0x40",), "sass:3: indirect jumps and calls are not emulated, got 'BRX R2 0x40'"),
        (("NOP",), "a warp runs past the end of the code"),
        (("LDS R0, [RZ+0x1400]", "EXIT"), "sass:3: a shared-memory address lies outside .*got byte 4096 of 4096"),
        (("LDG.E R0, [RZ]", "EXIT"), "sass:3: an address lies outside every tensor parameter.*got 0x0 in 'LDG.E R0"),
    ],
)
def test_what_cannot_be_emulated_is_refused_by_name(lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        load(*lines)


def test_a_register_set_in_some_lanes_is_unknown_in_the_others() -> None:
    lines = ("S2R R0, SR_TID.X", "ISETP.LT.AND P0, PT, R0, 0x8, PT", "@P0 MOV R1, 0x400", "{} LDS R2, [R1]", "EXIT")
    good = load(*(line.format("@P0") for line in lines), threads=32)
    assert good.classes[0].roles[0].accesses.lane_mask.tolist() == [[0xFF]]
    with pytest.raises(UserError, match="the address depends on"):
        load(*(line.format("").strip() for line in lines), threads=32)


STRUCT_LOADS = ("S2R R0, SR_TID.X", "ULDC.64 UR4, c[0x0][0x228]", "ULDC UR6, c[0x0][0x230]", "IADD3 R0, R0, UR6, RZ",
                "LEA R4, P1, R0, UR4, 0x2", "LEA.HI.X R5, R0, UR5, RZ, 0x2, P1", "LDG.E R6, desc[UR8][R4.64]", "EXIT")


def struct_launch(data: bytes) -> SassLaunch:
    """A kernel (int n, struct {float *a; float *b; int first}), a struct whose pointers are at multiples of 8."""
    tensors = (TensorPointer("a", "f32", (1 << 10,)), TensorPointer("b", "f32", (1 << 10,)))
    return SassLaunch((1, 1, 1), (32, 1, 1), (Scalar(7), Struct(data, tensors, 16)), 0, 32)


def test_a_struct_by_value_holds_pointers_into_its_tensors() -> None:
    """0x210: n; 0x220: a, b, first. Tensors stand from 4 GiB on, each with a free page behind it."""
    a, b = 1 << 32, (1 << 32) + (4 << 20)
    data = b"".join(value.to_bytes(8, "little") for value in (a, b, 96))
    program = load_sass(assemble(*STRUCT_LOADS), launch=struct_launch(data))
    table = program.classes[0].roles[0].accesses
    assert [tensor.base_address for tensor in program.tensors] == [a, b]
    assert program.tensors[table.tensor[0]].name == "b"
    first = program.cta_bases[0, 1] + program.classes[0].roles[0].ops["global_offset"].max()
    assert (first + table.global_offset[0, 0]).tolist() == [b + 4 * (96 + lane) for lane in range(32)]
    assert program.launch.parameter_bytes == 4 + 24


def test_a_struct_larger_than_the_constant_bank_is_refused() -> None:
    with pytest.raises(UserError, match="parameters do not fit into the constant bank, got 8736 bytes"):
        load_sass(assemble("EXIT"), launch=struct_launch(bytes(8192)))


@pytest.mark.parametrize("inside", [20, 0])
def test_lanes_that_write_zeros_may_point_past_the_tensor(inside: int) -> None:
    """A tile that hangs over the end of its matrix: cp.async with a source size of zero reads nothing there."""
    rows_left = (1 << 20) - 4 * inside
    program = load("S2R R0, SR_TID.X", f"ISETP.LT.AND P0, PT, R0, {inside:#x}, PT", f"ULDC.64 UR4, {A_AT}",
                   f"IMAD R2, R0, 0x4, {rows_left:#x}", "LEA R4, P1, R2, UR4, 0x2",
                   "LEA.HI.X R5, R2, UR5, RZ, 0x2, P1", "LEA R6, R0, 0x400, 0x4",
                   "LDGSTS.E.BYPASS.128 [R6], desc[UR6][R4.64], P0", "EXIT", threads=32)
    table = program.classes[0].roles[0].accesses
    assert table.lane_mask.tolist() == [[0xFFFFFFFF]]
    assert table.zfill_mask.tolist() == [[0xFFFFFFFF ^ ((1 << inside) - 1)]]
    sectors = np.bitwise_count(table.requests["sector_mask"]).sum()
    assert sectors == inside // 2 and program.tensors[table.tensor[0]].name == "a"


TILE = ("S2R R0, SR_TID.X", "S2R R1, SR_CTAID.X", "IMAD R2, R1, {pitch}, R0", f"ULDC.64 UR4, {A_AT}",
        "LEA R4, P0, R2, UR4, 0x2", "LEA.HI.X R5, R2, UR5, RZ, 0x2, P0", "LDG.E R6, desc[UR6][R4.64]", "EXIT")


def test_base_pointers_follow_the_block_index() -> None:
    program = load(*(line.format(pitch="0x40") for line in TILE), grid=(5, 1, 1))
    base = program.tensors[0].base_address
    assert len(program.classes) == 1 and program.cta_bases[:, 0].tolist() == [base + 256 * x for x in range(5)]


def test_pointers_that_differ_inside_a_line_make_classes() -> None:
    """A pitch of 24 floats: 96 bytes, so origins modulo 128 are 0, 96, 64, 32."""
    program = load(*(line.format(pitch="0x18") for line in TILE), grid=(8, 1, 1))
    assert len(program.classes) == 4
    base = program.tensors[0].base_address
    for cta in range(8):
        role = program.classes[program.cta_class[cta]].roles[0]
        access = role.ops["access"].max()
        offsets = program.cta_bases[cta, 0] + role.ops["global_offset"].max() + role.accesses.global_offset[access]
        assert offsets.reshape(-1).tolist() == [base + 4 * (24 * cta + i) for i in range(64)]
        assert program.cta_bases[cta, 0] % 128 == 0


def test_blocks_that_do_other_work_are_emulated_one_by_one() -> None:
    """Block x runs its loop x + 1 times: no two are alike."""
    lines = ("S2R R1, SR_CTAID.X", "VIADD R1, R1, -0x1", "ISETP.GE.AND P0, PT, R1, RZ, PT", "@P0 BRA 0x10", "EXIT")
    program = load(*lines, grid=(4, 1, 1))
    assert [len(program.classes[c].roles[0].ops) for c in program.cta_class] == [5, 8, 11, 14]
    with pytest.raises(UserError, match=r"block \(1, 0, 0\) differs from block \(0, 0, 0\) by more than base pointers"):
        load(*lines, grid=(2000, 1, 1))


def test_ops_carry_no_registers_for_constants() -> None:
    program = load("MOV R0, RZ", "EXIT")
    assert np.array_equal(program.classes[0].roles[0].ops["src_count"].sum(axis=1), [0, 0])
