"""Integer instructions against Python's own big integers, one lane at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sass_helpers import assemble

from gpusim.sass.decode import decode
from gpusim.sass.division import CONVERSIONS
from gpusim.sass.integer import INTEGER
from gpusim.sass.launch import BANK_BYTES
from gpusim.sass.lut import lut_function
from gpusim.sass.parser import parse_sass
from gpusim.sass.values import Slots, word

WORDS = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1]))
DOUBLES = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 2**32 - 1, 2**32, 2**63, 2**64 - 1]))
M32 = 2**32 - 1


def signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def run(*lines: str, **registers: int) -> dict[str, int]:
    """Execute straight-line code on registers given and asked for by name (R1, P0)."""
    slots = Slots({int(name[1:]): word(value) for name, value in registers.items()})
    bank = np.zeros(BANK_BYTES, np.uint8)
    for instruction in parse_sass(assemble(*lines))[0].instructions:
        step = decode(instruction, bank)
        assert step.compute is not None
        results = step.compute(*(read(slots) for read in step.reads))
        slots.update(dict(zip(step.destinations, results, strict=True)))
        slots.update(Slots().items())
    registers_out = {f"R{n}": int(v[0]) for n, v in slots.items() if n < 255 and v is not None}
    return registers_out | {f"P{n - 320}": int(v[0]) for n, v in slots.items() if 320 <= n < 327 and v is not None}


@given(DOUBLES, DOUBLES)
def test_carry_chain_adds_64_bits(a: int, b: int) -> None:
    out = run("IADD3 R4, P0, R0, R2, RZ", "IADD3.X R5, R1, R3, RZ, P0, !PT",
              R0=a & M32, R1=a >> 32, R2=b & M32, R3=b >> 32)
    assert out["R5"] << 32 | out["R4"] == (a + b) % 2**64


@given(DOUBLES, DOUBLES)
def test_carry_chain_subtracts_64_bits(a: int, b: int) -> None:
    out = run("IADD3 R4, P0, R0, -R2, RZ", "IADD3.X R5, R1, ~R3, RZ, P0, !PT",
              R0=a & M32, R1=a >> 32, R2=b & M32, R3=b >> 32)
    assert out["R5"] << 32 | out["R4"] == (a - b) % 2**64


@given(WORDS, WORDS, DOUBLES, st.booleans())
def test_wide_multiply_add(a: int, b: int, c: int, is_signed: bool) -> None:
    suffix = "" if is_signed else ".U32"
    out = run(f"IMAD.WIDE{suffix} R4, R0, R1, R2", R0=a, R1=b, R2=c & M32, R3=c >> 32)
    product = signed(a) * signed(b) if is_signed else a * b
    assert out["R5"] << 32 | out["R4"] == (product + c) % 2**64


@given(WORDS, WORDS, WORDS)
def test_multiply_add_keeps_the_low_word(a: int, b: int, c: int) -> None:
    assert run("IMAD R3, R0, R1, -R2", R0=a, R1=b, R2=c)["R3"] == (a * b - c) % 2**32


@given(WORDS, DOUBLES, st.integers(0, 31))
def test_lea_pair_makes_a_64_bit_address(index: int, base: int, shift: int) -> None:
    """LEA and LEA.HI.X with the index's sign word: base + (index << shift)."""
    out = run(f"LEA R4, P0, R0, R2, {shift:#x}", f"LEA.HI.X.SX32 R5, R0, R3, {shift:#x}, P0",
              R0=index, R2=base & M32, R3=base >> 32)
    assert out["R5"] << 32 | out["R4"] == (base + (signed(index) << shift)) % 2**64


@given(DOUBLES, st.integers(0, 40))
def test_funnel_shifts(value: int, amount: int) -> None:
    low, high = {"R0": value & M32}, {"R1": value >> 32}
    shift32, shift64 = min(amount, 32), min(amount, 63)
    cases = {
        "SHF.L.U32 R2, R0, {}, RZ": (value & M32) << shift32,
        "SHF.L.U64.HI R2, R0, {}, R1": (value << shift64) >> 32,
        "SHF.R.U64 R2, R0, {}, R1": value >> shift64,
        "SHF.R.U32.HI R2, RZ, {}, R1": (value >> 32) >> shift32,
        "SHF.R.S32.HI R2, RZ, {}, R1": signed(value >> 32) >> shift32,
        "SHF.R.S64 R2, R0, {}, R1": signed(value, 64) >> shift64,
        "SHF.L.W.U32.HI R2, R0, {}, R1": (value << amount % 32) >> 32,
    }
    for text, expected in cases.items():
        assert run(text.format(hex(amount)), **low, **high)["R2"] == expected % 2**32, text


@given(WORDS, WORDS, WORDS, st.integers(0, 255))
def test_every_truth_table_of_three_bits(a: int, b: int, c: int, table: int) -> None:
    found = lut_function(table)(word(a), word(b), word(c)) & M32
    expected = sum((table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i for i in range(32))
    assert int(found[0]) == expected


@given(DOUBLES, DOUBLES, st.sampled_from(["LT", "LE", "GT", "GE", "EQ", "NE"]), st.booleans())
def test_two_comparisons_compare_64_bits(a: int, b: int, relation: str, is_signed: bool) -> None:
    suffix = "" if is_signed else ".U32"
    out = run(f"ISETP.{relation}.U32.AND P0, PT, R0, R2, PT", f"ISETP.{relation}{suffix}.AND.EX P1, P2, R1, R3, PT, P0",
              R0=a & M32, R1=a >> 32, R2=b & M32, R3=b >> 32)
    x, y = (signed(a, 64), signed(b, 64)) if is_signed else (a, b)
    expected = {"LT": x < y, "LE": x <= y, "GT": x > y, "GE": x >= y, "EQ": x == y, "NE": x != y}[relation]
    assert (out["P1"], out["P2"]) == (expected, not expected)


@given(WORDS, WORDS, st.integers(0, 0xFFFF))
def test_permute_picks_bytes(a: int, c: int, selector: int) -> None:
    pool = a.to_bytes(4, "little") + c.to_bytes(4, "little")
    nibbles = [selector >> 4 * i & 15 for i in range(4)]
    picked = [(0xFF if pool[n & 7] & 0x80 else 0) if n & 8 else pool[n & 7] for n in nibbles]
    assert run(f"PRMT R2, R0, {selector:#x}, R1", R0=a, R1=c)["R2"] == int.from_bytes(bytes(picked), "little")


@given(WORDS, WORDS)
def test_minimum_maximum_and_select(a: int, b: int) -> None:
    out = run("VIMNMX R2, R0, R1, PT", "VIMNMX R3, R0, R1, !PT", "VIMNMX.U32 R4, R0, R1, PT", "SEL R5, R0, R1, !PT",
              R0=a, R1=b)
    assert (signed(out["R2"]), signed(out["R3"])) == (min(signed(a), signed(b)), max(signed(a), signed(b)))
    assert (out["R4"], out["R5"]) == (min(a, b), b)


@given(WORDS, WORDS, WORDS)
def test_a_sum_and_a_bound(a: int, b: int, bound: int) -> None:
    out = run("VIADDMNMX R3, R0, R1, R2, PT", "VIADDMNMX.U32 R4, R0, R1, R2, !PT", R0=a, R1=b, R2=bound)
    assert signed(out["R3"]) == min(signed((a + b) & M32), signed(bound))
    assert out["R4"] == max((a + b) & M32, bound)


@given(WORDS, st.integers(0, 127), st.integers(0, 127))
def test_predicates_go_into_the_bits_of_a_register(old: int, predicates: int, mask: int) -> None:
    """P2R: bit i of the mask lets predicate i replace bit i."""
    setting = [f"ISETP.NE.AND P{i}, PT, R{1 + i}, RZ, PT" for i in range(7)]
    out = run(*setting, f"P2R R8, PR, R0, {mask:#x}", R0=old, **{f"R{1 + i}": predicates >> i & 1 for i in range(7)})
    assert out["R8"] == old & ~mask | predicates & mask


FLOATS = st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf")]))


@given(FLOATS, FLOATS)
def test_single_precision_comparisons(a: float, b: float) -> None:
    """Nothing equals NaN, and only the unordered comparisons hold for it; -0 is 0."""
    x, y = (int(np.float32(value).view(np.uint32)) for value in (a, b))
    out = run("FSETP.GT.AND P0, PT, R0, R1, PT", "FSETP.NEU.AND P1, PT, R0, R1, PT", "FSETP.EQ.AND P2, PT, R0, R1, PT",
              R0=x, R1=y)
    assert out["P0"] == (a > b) and out["P1"] == (a != b) and out["P2"] == (a == b)


@given(WORDS, st.integers(0, 32), st.integers(0, 31))
def test_bit_fields(a: int, width: int, start: int) -> None:
    out = run(f"SGXT.U32 R1, R0, {width:#x}", f"BMSK R2, {start:#x}, {width:#x}", R0=a)
    assert out["R1"] == a % (1 << width)
    assert out["R2"] == ((1 << width) - 1 << start) % 2**32


@given(WORDS)
def test_a_constant_can_come_through_the_half_precision_pipe(value: int) -> None:
    halves = np.array([value >> 16, value & 0xFFFF], np.uint16).view(np.float16).astype(float)
    if np.isfinite(halves).all():
        text = f"HFMA2.MMA R2, -RZ, RZ, {halves[0]!r}, {halves[1]!r}".replace("np.float64(", "").replace(")", "")
        assert run(text)["R2"] == value


@given(st.integers(1, 2**31 - 1))
def test_reciprocal_is_as_close_as_division_needs(divisor: int) -> None:
    """I2F.RP, MUFU.RCP, minus 2 ulp, F2I: at most 2**32 / divisor, and less by no more than its 22nd bit."""
    value = word(divisor)
    (value,) = CONVERSIONS["I2F"](("RP",))(value)  # type: ignore[misc]
    (value,) = CONVERSIONS["MUFU"](("RCP",))(value)  # type: ignore[misc]
    (value,) = INTEGER["VIADD"](())(value, word(0xFFFFFFE))
    (value,) = CONVERSIONS["F2I"](("FTZ", "U32", "TRUNC", "NTZ"))(value)  # type: ignore[misc]
    exact = 2**32 / divisor
    assert exact * (1 - 2**-21) - 1 <= int(value[0]) <= exact


@pytest.mark.parametrize("text", ["FADD R2, R0, R1", "HMMA.16816.F32 R4, R0, R2, R4", "MUFU.EX2 R2, R0"])
def test_floating_point_has_no_emulation(text: str) -> None:
    step = decode(parse_sass(assemble(text))[0].instructions[0], np.zeros(BANK_BYTES, np.uint8))
    assert step.compute is None and step.kind == "compute"
