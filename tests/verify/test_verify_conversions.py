"""Conversions and integer arithmetic of epilogues, lane by lane, against NumPy: packed bytes, halves, immediates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verify_builder import RoleBuilder, make_program, tensors

from gpusim.program import Program
from gpusim.verify import execute

LANES = np.arange(32)
WORDS = st.lists(st.integers(0, 2**32 - 1), min_size=32, max_size=32)
FLOATS = st.lists(st.floats(-1000, 1000, width=32), min_size=32, max_size=32)


def result_of(mnemonic: str, *operands: np.ndarray, **fields: int) -> np.ndarray:
    """Words that one instruction makes of words, a lane each."""
    program = one_instruction(mnemonic, len(operands), **fields)
    inputs = {f"in{n}": np.asarray(words, np.uint32) for n, words in enumerate(operands)}
    return execute(program, inputs).outputs["D"].astype(np.uint32)


def one_instruction(mnemonic: str, operands: int, **fields: int) -> Program:
    role = RoleBuilder()
    names = [f"in{number}" for number in range(operands)]
    for number in range(operands):
        role.load_global((number, 1), 4 * LANES, number)
    role.op(mnemonic, (8, 1), *((number, 1) for number in range(operands)), **fields)
    role.store_global((8, 1), 4 * LANES, operands)
    return make_program(tensors(*((name, "u32", (32,)) for name in (*names, "D"))), role)


def words(values: object, kind: str = "f4") -> np.ndarray:
    return np.asarray(values, kind).view(np.uint32)


@settings(max_examples=20, deadline=None)
@given(high=FLOATS, low=FLOATS, upper=WORDS, kind=st.sampled_from(["S8", "U8"]))
def test_f2ip_packs_two_saturated_bytes_under_a_half(high: list, low: list, upper: list, kind: str) -> None:
    limits = np.iinfo(np.int8 if kind == "S8" else np.uint8)
    first, second = (np.clip(np.rint(np.float32(v)), limits.min, limits.max).astype(np.int64) & 0xFF
                     for v in (low, high))
    expected = first | second << 8 | (np.array(upper) & 0xFFFF) << 16
    found = result_of(f"F2IP.{kind}.F32.NTZ", words(high), words(low), np.array(upper))
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=20, deadline=None)
@given(high=WORDS, low=WORDS, upper=WORDS, bits=st.sampled_from([4, 8]))
def test_i2ip_packs_two_saturated_integers(high: list, low: list, upper: list, bits: int) -> None:
    mask, limit = (1 << bits) - 1, 1 << bits - 1
    first, second = (np.clip(np.array(v, np.uint32).view(np.int32), -limit, limit - 1).astype(np.int64) & mask
                     for v in (low, high))
    expected = (first | second << bits | np.array(upper, np.int64) << 2 * bits) & 0xFFFFFFFF
    np.testing.assert_array_equal(result_of(f"I2IP.S{bits}.S32.SAT", *map(np.array, (high, low, upper))), expected)


@given(data=WORDS)
@settings(max_examples=20, deadline=None)
def test_halves_widen_exactly(data: list) -> None:
    packed = np.array(data, np.uint32)
    for number, selector in enumerate(("H0_H0", "H1_H1")):
        expected = packed.view(np.float16)[number::2].astype(np.float32)
        np.testing.assert_array_equal(result_of(f"HADD2.F32.{selector}", packed).view(np.float32), expected)
    low, high = result_of("IMAD.U32", packed, operand=1 << 16), result_of("LOP3.LUT", packed, operand=-(1 << 16))
    np.testing.assert_array_equal(low, packed << np.uint32(16))
    np.testing.assert_array_equal(high, packed & np.uint32(0xFFFF0000))


@given(a=FLOATS)
@settings(max_examples=20, deadline=None)
def test_tf32_is_the_nearest_one_and_ties_go_away_from_zero(a: list) -> None:
    values = words(np.float32([*a[3:], 1 + 2**-11, -1 - 2**-11, 1 + 3 * 2**-11]))
    found = result_of("F2FP.TF32.F32.PACK_B", values).view(np.float32).astype(np.float64)
    given_values = values.view(np.float32).astype(np.float64)
    ulp = np.exp2(np.floor(np.log2(np.maximum(np.abs(given_values), 2.0**-126))) - 10)  # below, numbers are denormal
    assert (found.astype(np.float32).view(np.uint32) % (1 << 13) == 0).all()
    assert (np.abs(found - given_values) <= ulp / 2).all()
    assert found[-3:].tolist() == [1 + 2**-10, -1 - 2**-10, 1 + 2**-9]


@given(a=WORDS, b=WORDS)
@settings(max_examples=20, deadline=None)
def test_lop3_with_the_truth_table_of_an_exclusive_or(a: list, b: list) -> None:
    left, right = np.array(a, np.uint32), np.array(b, np.uint32)
    np.testing.assert_array_equal(result_of("LOP3.LUT", left, right, operand=0x3C), left ^ right)


@given(a=WORDS, b=WORDS, c=WORDS)
@settings(max_examples=20, deadline=None)
def test_imad_wraps(a: list, b: list, c: list) -> None:
    expected = [(x * y + z) % 2**32 for x, y, z in zip(a, b, c, strict=True)]
    np.testing.assert_array_equal(result_of("IMAD", *map(np.array, (a, b, c))), expected)


@given(a=FLOATS, b=FLOATS)
@settings(max_examples=20, deadline=None)
def test_fmnmx_takes_the_greater_one_and_keeps_nan(a: list, b: list) -> None:
    left, right = np.float32([*a[1:], np.nan]), np.float32(b)
    found = result_of("FMNMX.NAN", words(left), words(right), operand=1).view(np.float32)
    np.testing.assert_array_equal(found, np.maximum(left, right))


def test_a_negated_factor() -> None:
    found = result_of("FFMA", words([2.0] * 32), words([3.0] * 32), words([1.0] * 32), operand=1)
    assert (found.view(np.float32) == -5.0).all()


@pytest.mark.parametrize(("mnemonic", "operands"), [
    ("IMAD.U32", 1), ("LOP3.LUT", 1), ("LOP3.LUT", 2), ("FMNMX.NAN", 2), ("IMAD", 2), ("IMAD.WIDE", 3),
    ("HADD2.F32", 1)])
def test_what_compiled_code_does_not_say_is_no_data(mnemonic: str, operands: int) -> None:
    """Without immediate, predicate or selector, the result has no functional model; storing it is refused."""
    with pytest.raises(Exception, match="has no functional model"):
        result_of(mnemonic, *[np.arange(32)] * operands)


def test_moves_of_immediates() -> None:
    role = RoleBuilder()
    role.op("MOV", (8, 1), operand=-2)
    role.store_global((8, 1), 4 * LANES, 0)
    program = make_program(tensors(("D", "u32", (32,))), role)
    assert (execute(program, {}).outputs["D"] == 0xFFFFFFFE).all()
