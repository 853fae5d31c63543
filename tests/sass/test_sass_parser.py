"""The text becomes instructions, operands and control fields; what does not parse is refused with file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from sass_helpers import assemble

from gpusim.errors import UserError
from gpusim.program import PREDICATE_BASE, UNIFORM_BASE
from gpusim.sass import parse_sass, read_sass
from gpusim.sass.operands import parse_operand
from gpusim.sass.parser import Control, select_function
from gpusim.sass.registers import register_groups

EXCERPT = """
		Function : gemm
	.headerflags	@"EF_CUDA_ACCELERATORS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   S2R R0, SR_TID.X ;                /* 0x0000000000007919 */
                                                                     /* 0x000e620000002100 */
        /*0010*/                   ISETP.GE.AND P3, PT, R167, 0x20, PT ;   /* 0x00000020a700780c */
                                                                     /* 0x010fc40003f66270 */
        /*0020*/              @!P3 BRA 0x20;                         /* 0xfffffffc00fc7947 */
                                                                     /* 0x000fc0000383ffff */
"""


def test_control_fields_come_out_of_the_encoding() -> None:
    first, second, _ = parse_sass(EXCERPT)[0].instructions
    assert first.control == Control(stall=1, yield_=False, write_barrier=1, read_barrier=7, wait_mask=0)
    assert second.control == Control(stall=2, yield_=True, write_barrier=7, read_barrier=7, wait_mask=0b10000)


def test_guard_mnemonic_and_place_are_kept() -> None:
    branch = parse_sass(EXCERPT, name="gemm.sass")[0].instructions[2]
    assert branch.guard is not None and branch.guard.negated and branch.guard.number == 3
    assert (branch.mnemonic, branch.operands[0].value, branch.place) == ("BRA", 0x20, "gemm.sass:8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R12.reuse", {"kind": "R", "number": 12, "modifiers": ("reuse",)}),
        ("-R12", {"kind": "R", "number": 12, "negated": True}),
        ("~UR5", {"kind": "UR", "number": 5, "inverted": True}),
        ("|R3|", {"kind": "R", "number": 3, "absolute": True}),
        ("RZ", {"kind": "R", "is_zero": True}),
        ("!UPT", {"kind": "UP", "negated": True, "is_zero": True}),
        ("-0x20", {"kind": "immediate", "value": -32}),
        ("c[0x0][0x210]", {"kind": "constant", "number": 0, "value": 0x210}),
        ("[R199+UR4+0x20]", {"kind": "address", "value": 0x20}),
        ("desc[UR10][R226.64+-0x80]", {"kind": "address", "value": -0x80, "descriptor": 10}),
        ("SR_TID.X", {"kind": "other"}),
    ],
)
def test_operand(text: str, expected: dict[str, object]) -> None:
    operand = parse_operand(text)
    assert {name: getattr(operand, name) for name in expected} == expected


def test_address_keeps_its_registers_and_their_width() -> None:
    address = parse_operand("desc[UR10][R226.64+UR4]")
    assert [(part.kind, part.number, part.modifiers) for part in address.parts] == [("R", 226, ("64",)), ("UR", 4, ())]


@pytest.mark.parametrize(
    ("text", "destination", "sources"),
    [
        ("HMMA.16816.F32 R76, R156.reuse, R140, R76", (76, 4), [(156, 4), (140, 2), (76, 4)]),
        ("LDSM.16.M88.4 R132, [R229+UR4]", (132, 4), [(229, 1), (UNIFORM_BASE + 4, 1)]),
        ("IMAD.WIDE.U32 R32, R12, R167, R4", (32, 2), [(12, 1), (167, 1), (4, 2)]),
        ("@!P3 LDGSTS.E.BYPASS.128 [R241], desc[UR10][R226.64]", (0, 0),
         [(241, 1), (226, 2), (PREDICATE_BASE + 3, 1), (UNIFORM_BASE + 10, 2)]),
        ("ISETP.GE.AND P3, PT, R167, 0x20, PT", (PREDICATE_BASE + 3, 1), [(167, 1)]),
        ("STG.E.64 desc[UR10][R6.64], R8", (0, 0), [(6, 2), (8, 2), (UNIFORM_BASE + 10, 2)]),
        ("IADD3 R10, P1, -R132, R4, RZ", (10, 1), [(132, 1), (4, 1)]),
    ],
)
def test_register_groups(text: str, destination: tuple[int, int], sources: list[tuple[int, int]]) -> None:
    instruction = parse_sass(assemble(text))[0].instructions[0]
    assert register_groups(instruction) == (destination, tuple(sources))


def test_gzip_and_plain_files_read_the_same(tmp_path: Path) -> None:
    plain, packed = tmp_path / "k.sass", tmp_path / "k.sass.gz"
    plain.write_text(EXCERPT)
    packed.write_bytes(gzip.compress(EXCERPT.encode()))
    texts = [[i.text for i in read_sass(path)[0].instructions] for path in (plain, packed)]
    assert texts[0] == texts[1] and len(texts[0]) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (EXCERPT.replace("/* 0x000e620000002100 */", ""), "k:4: an instruction without both words of its encoding"),
        (EXCERPT.replace("/* 0x0000000000007919 */", ""), "k:4: an instruction without its encoding"),
        (EXCERPT.replace("/*0010*/", "/*0030*/"), "k:6: instruction addresses must rise by 16 from 0, got 0x30"),
        (EXCERPT.replace("Function :", "Funktion"), "k:4: an instruction before any 'Function :' line"),
        ("nothing here", "k: no function in the disassembly"),
    ],
)
def test_what_does_not_parse_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_sass(text, name="k")
    assert str(caught.value).startswith(sentence)


def test_a_function_is_chosen_by_a_unique_part_of_its_name() -> None:
    functions = parse_sass(assemble("EXIT", name="_Z4copyPf") + assemble("EXIT", name="_Z5scalePf"))
    assert select_function(functions, "scale").name == "_Z5scalePf"
    with pytest.raises(UserError, match="several functions, name one, got 2; known: _Z4copyPf, _Z5scalePf"):
        select_function(functions, None)
    with pytest.raises(UserError, match="no such function, got 'sum'"):
        select_function(functions, "sum")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UserError, match=r"no such disassembly file, got nowhere\.sass"):
        read_sass("nowhere.sass")
