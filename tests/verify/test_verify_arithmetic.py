"""Number formats and the instructions that compute with them, against definitions written out value by value."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verify_builder import RoleBuilder, make_program, tensors

from gpusim.errors import UserError
from gpusim.verify import execute
from gpusim.verify.dtypes import decode, dtype_bits, encode, unit_roundoff
from gpusim.verify.families.moves import shuffle_sources
from gpusim.verify.inputs import random_inputs, random_values

LANE = np.arange(32)


def run_op(mnemonic: str, *operands: np.ndarray, count: int = 1, operand: int = 0) -> np.ndarray:
    """Execute one op on registers (32, n) per operand; the destination (32, ``count``) as uint32."""
    role, start, infos, inputs, groups = RoleBuilder(), 0, [], {}, []
    for tensor, values in enumerate(operands):
        dump = np.ascontiguousarray(values).reshape(32, -1).view(np.uint32)
        for register in range(dump.shape[1]):
            role.load_global((start + register, 1), (LANE * dump.shape[1] + register) * 4, tensor=tensor)
        infos.append((f"T{tensor}", "u32", dump.shape))
        inputs[f"T{tensor}"] = dump
        groups.append((start, dump.shape[1]))
        start += dump.shape[1]
    role.op(mnemonic, (start, count), *groups, operand=operand)
    for register in range(count):
        role.store_global((start + register, 1), (LANE * count + register) * 4, tensor=len(infos))
    program = make_program(tensors(*infos, ("D", "u32", (32, count))), role)
    return execute(program, inputs).outputs["D"]


def floats(*values: float) -> np.ndarray:
    return np.resize(np.array(values, np.float32), 32)


def test_f2fp_puts_its_first_source_into_the_high_half() -> None:
    halves = run_op("F2FP.F16.F32.PACK_AB", floats(1.0), floats(2.0)).view(np.float16)
    assert (halves[:, 0] == 2.0).all() and (halves[:, 1] == 1.0).all()


@pytest.mark.parametrize(("value", "rounded"), [
    (2049.0, 2048.0), (2051.0, 2052.0), (2049.001, 2050.0), (65519.0, 65504.0), (65520.0, math.inf),
    (2.0**-25, 0.0), (1.5 * 2.0**-24, 2.0**-23), (-0.0, -0.0), (math.inf, math.inf),
])
def test_f2fp_rounds_to_nearest_even(value: float, rounded: float) -> None:
    low = run_op("F2FP.F16.F32.PACK_AB", floats(0.0), floats(value)).view(np.float16)[:, 0]
    assert (low == rounded).all() and (np.signbit(low) == np.signbit(rounded)).all()


def test_f2fp_variants() -> None:
    relu = run_op("F2FP.F16.F32.PACK_AB.RELU", floats(-3.0), floats(2.0)).view(np.float16)
    assert relu[0].tolist() == [2.0, 0.0]
    bf16 = decode(run_op("F2FP.BF16.F32.PACK_AB", floats(1.0), floats(1 + 3 * 2.0**-8)).view(np.uint8), "bf16")
    assert bf16[0].tolist() == [1 + 2.0**-6, 1.0]  # a tie between 1 + 2^-7 and 1 + 2^-6: the even mantissa


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3))
@settings(max_examples=40, deadline=None)
def test_ffma_is_within_one_rounding_of_the_exact_value(values: list[float]) -> None:
    a, b, c = values
    got = float(run_op("FFMA", floats(a), floats(b), floats(c)).view(np.float32)[0, 0])
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if abs(exact) < Fraction(2.0**127):
        spacing = Fraction(float(np.spacing(np.float32(got))))
        assert abs(Fraction(got) - exact) <= abs(spacing) * Fraction(51, 100)


def test_simple_arithmetic_on_registers() -> None:
    x, y = floats(1.5, -2.0, 4.0), floats(0.5, 8.0)
    np.testing.assert_array_equal(run_op("FADD", x, y).view(np.float32)[:, 0], x + y)
    np.testing.assert_array_equal(run_op("FMUL", x, y).view(np.float32)[:, 0], x * y)
    pairs = np.stack([x, y], 1).astype(np.float16)
    np.testing.assert_array_equal(run_op("HFMA2", pairs, pairs, pairs).view(np.float16), pairs * pairs + pairs)
    wide = np.linspace(-1, 1, 32)
    np.testing.assert_array_equal(run_op("DFMA", wide, wide, wide, count=2).view(np.float64)[:, 0], wide * wide + wide)
    np.testing.assert_array_equal(run_op("MUFU.RCP", x).view(np.float32)[:, 0], 1 / x)


def test_bf16_arithmetic_rounds_to_bf16() -> None:
    one, small = (np.ascontiguousarray(encode(np.full((32, 2), v), "bf16")) for v in (1.0, 2.0**-9))
    got = decode(run_op("HFMA2.BF16_V2", one, one, small).view(np.uint8), "bf16")
    assert (got == 1.0).all()


@given(st.lists(st.integers(0, 255), min_size=8, max_size=8), st.integers(-(2**31), 2**31 - 1), st.booleans())
@settings(max_examples=30, deadline=None)
def test_dp4a(values: list[int], c: int, signed: bool) -> None:
    kind, dtype = ("S8", np.int8) if signed else ("U8", np.uint8)
    raw = np.array(values, np.uint8).reshape(2, 4)
    a, b = (np.tile(row, (32, 1)) for row in raw)
    got = run_op(f"IDP.4A.{kind}.{kind}", a, b, np.full((32, 1), c, np.int32)).view(np.int32)[0, 0]
    products = int((raw[0].view(dtype).astype(int) * raw[1].view(dtype).astype(int)).sum())
    assert (int(got) - products - c) % 2**32 == 0


def test_conversions() -> None:
    values = np.resize(np.array([1.7, -1.7, 2.5, 1e12, -1e12], np.float32), 32)
    rounded = run_op("F2I", values).view(np.int32)[:5, 0].tolist()
    assert rounded == [2, -2, 2, 2**31 - 1, -(2**31)]
    assert run_op("F2I.TRUNC.NTZ", values).view(np.int32)[:2, 0].tolist() == [1, -1]
    assert run_op("I2F", LANE.astype(np.int32) - 5).view(np.float32)[:, 0].tolist() == (LANE - 5.0).tolist()
    wide = run_op("F2F.F64.F32", values, count=2).view(np.float64)[:, 0]
    np.testing.assert_array_equal(wide, values.astype(np.float64))
    half = run_op("F2F.F16.F32", values).view(np.float16)
    np.testing.assert_array_equal(half[:3, 0], values[:3].astype(np.float16))


def test_moves_copy_or_zero() -> None:
    data = np.arange(32, dtype=np.uint32)
    assert (run_op("IMAD.MOV.U32", data)[:, 0] == data).all()
    assert (run_op("CS2R", count=2) == 0).all()
    with pytest.raises(UserError, match=r"IMAD has no functional model \(or .*\), its result is no data"):
        run_op("IMAD", data)


@pytest.mark.parametrize(("mode", "lane_operand", "control", "expected"), [
    ("BFLY", 1, 0x1F, LANE ^ 1),
    ("BFLY", 16, 0x1F, LANE ^ 16),
    ("IDX", 5, 0x1F, np.full(32, 5)),
    ("DOWN", 4, 0x1F, np.where(LANE + 4 < 32, LANE + 4, LANE)),
    ("UP", 4, 0x00, np.where(LANE >= 4, LANE - 4, LANE)),
    ("DOWN", 1, 0x1807, np.where(LANE % 8 < 7, LANE + 1, LANE)),  # segments of 8 lanes
    ("IDX", 3, 0x1C03, LANE // 4 * 4 + 3),  # segments of 4 lanes
])
def test_shuffles(mode: str, lane_operand: int, control: int, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(shuffle_sources(mode, lane_operand, control), expected)
    data = LANE.astype(np.uint32) * 7
    got = run_op(f"SHFL.{mode}", data, operand=control << 16 | lane_operand)
    np.testing.assert_array_equal(got[:, 0], expected * 7)


DTYPES = ("f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "u1", "s32", "u16")


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_type_can_hold_survives_encoding(dtype: str) -> None:
    values = random_values(np.random.default_rng(2), dtype, (4, 64))
    data = encode(values, dtype)
    assert data.shape == (4, 64 * dtype_bits(dtype) // 8)
    np.testing.assert_array_equal(decode(data, dtype), values)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
def test_rounding_is_to_nearest(dtype: str) -> None:
    values = np.random.default_rng(4).uniform(0.5, 4, (1, 4096)).astype(np.float32)
    rounded = decode(encode(values, dtype), dtype).astype(np.float64)
    assert (np.abs(rounded / values - 1) <= unit_roundoff(dtype) * (1 + 1e-6)).all()
    assert np.abs(rounded / values - 1).max() > unit_roundoff(dtype) / 2


def test_float8_corners() -> None:
    """OCP E4M3 ends at 448 and has no infinity; E5M2 ends at 57344. Conversion saturates."""
    for dtype, largest, smallest in (("e4m3", 448.0, 2.0**-9), ("e5m2", 57344.0, 2.0**-16)):
        values = np.array([[1e9, -1e9, smallest, smallest / 2, np.nan]])
        got = decode(encode(values, dtype), dtype)[0]
        assert got[:4].tolist() == [largest, -largest, smallest, 0.0] and np.isnan(got[4])


def test_packed_formats_begin_with_the_low_bits() -> None:
    assert encode(np.array([[1, -1, 7, -8]]), "s4").tolist() == [[0xF1, 0x87]]
    assert encode(np.array([[1, 0, 0, 0, 0, 0, 0, 1]]), "u1").tolist() == [[0x81]]


def test_unknown_types_are_refused() -> None:
    with pytest.raises(UserError, match="an element type must be known, got f17; did you mean 'f1"):
        dtype_bits("f17")


def test_random_inputs_are_seeded_and_representable() -> None:
    program = make_program(tensors(("A", "bf16", (8, 8)), ("B", "s8", (64,)), ("D", "f32", (4,))), RoleBuilder())
    first, again, other = (random_inputs(program, seed=seed) for seed in (1, 1, 2))
    assert first.keys() == {"A", "B"}
    np.testing.assert_array_equal(first["A"], again["A"])
    assert (first["A"] != other["A"]).any()
    exact = random_inputs(program, exact=True)
    assert set(np.unique(exact["A"])) <= {-2.0, -1.0, 0.0, 1.0, 2.0} and exact["B"].min() >= -2
