"""Models number formats as bits: bytes to numbers and numbers to bytes, with rounding to nearest even.
Leaves out stochastic rounding, scale factors of block formats, and the formats of 6 bits."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpusim.errors import UserError, did_you_mean

__all__ = ["decode", "dtype_bits", "encode", "is_float", "unit_roundoff"]

_PLAIN: dict[str, np.dtype] = {
    "f16": np.dtype("<f2"), "f32": np.dtype("<f4"), "f64": np.dtype("<f8"), "cf32": np.dtype("<c8"),
    "s8": np.dtype("i1"), "u8": np.dtype("u1"), "s16": np.dtype("<i2"), "u16": np.dtype("<u2"),
    "s32": np.dtype("<i4"), "u32": np.dtype("<u4"), "s64": np.dtype("<i8"), "u64": np.dtype("<u8"),
    "i8": np.dtype("i1"), "i16": np.dtype("<i2"), "i32": np.dtype("<i4"), "i64": np.dtype("<i8"),
}
_SPECIAL_BITS = {"bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s4": 4, "u4": 4, "s2": 2, "u2": 2, "u1": 1}
_MANTISSA_BITS = {"f16": 10, "bf16": 7, "tf32": 10, "f32": 23, "cf32": 23, "f64": 52, "e4m3": 3, "e5m2": 2}
_TF32_DROPPED_BITS = 13
_BF16_DROPPED_BITS = 16


def dtype_bits(dtype: str) -> int:
    """Bits of one element in memory (tf32 occupies 32). Raises UserError for an unknown name."""
    if dtype in _PLAIN:
        return _PLAIN[dtype].itemsize * 8
    if dtype in _SPECIAL_BITS:
        return _SPECIAL_BITS[dtype]
    raise UserError("an element type must be known", got=dtype,
                    suggestion=did_you_mean(dtype, [*_PLAIN, *_SPECIAL_BITS]))


def is_float(dtype: str) -> bool:
    return dtype in _MANTISSA_BITS


def unit_roundoff(dtype: str) -> float:
    """Largest relative error of rounding to nearest in ``dtype`` (half an ulp); 0 for integers, which are exact."""
    return 2.0 ** -(_MANTISSA_BITS[dtype] + 1) if is_float(dtype) else 0.0


def decode(data: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers in ``data`` (uint8, (..., bytes)); shape (..., elements). Packed formats begin with the low bits."""
    if dtype in _PLAIN:
        return data.view(_PLAIN[dtype])
    if dtype == "bf16":
        return (data.view("<u2").astype("<u4") << _BF16_DROPPED_BITS).view("<f4")
    if dtype == "tf32":
        return (data.view("<u4") & np.uint32(-(1 << _TF32_DROPPED_BITS) & 0xFFFFFFFF)).view("<f4")
    if dtype in ("e4m3", "e5m2"):
        return _float8_values(dtype)[data]
    return _unpack(data, dtype_bits(dtype), signed=dtype.startswith("s"))


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Bytes (uint8, (..., bytes)) of ``values`` (..., elements), rounded to nearest even; float8 saturates."""
    values = np.ascontiguousarray(values)
    if dtype in _PLAIN:
        with np.errstate(over="ignore"):
            return values.astype(_PLAIN[dtype], copy=False).view(np.uint8)
    if dtype == "bf16":
        return (_round_low_bits(values, _BF16_DROPPED_BITS) >> _BF16_DROPPED_BITS).astype("<u2").view(np.uint8)
    if dtype == "tf32":
        return _round_low_bits(values, _TF32_DROPPED_BITS).view(np.uint8)
    if dtype in ("e4m3", "e5m2"):
        return _encode_float8(values, dtype)
    return _pack(values, dtype_bits(dtype))


def _round_low_bits(values: np.ndarray, dropped: int) -> np.ndarray:
    """float32 bit patterns with the ``dropped`` low bits rounded to nearest even and cleared."""
    bits = values.astype("<f4").view("<u4").astype(np.uint64)
    odd = (bits >> np.uint64(dropped)) & np.uint64(1)
    rounded = bits + np.uint64((1 << (dropped - 1)) - 1) + odd
    rounded = np.where(np.isnan(values), bits | np.uint64(1 << 22), rounded)
    return (rounded & np.uint64(-(1 << dropped) & 0xFFFFFFFF)).astype("<u4")


def _unpack(data: np.ndarray, bits: int, *, signed: bool) -> np.ndarray:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    fields = (data[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    values = fields.reshape(*data.shape[:-1], -1).astype(np.int8)
    return np.where(values >= 1 << (bits - 1), values - (1 << bits), values).astype(np.int8) if signed else values


def _pack(values: np.ndarray, bits: int) -> np.ndarray:
    per_byte = 8 // bits
    fields = (values.astype(np.int64) & ((1 << bits) - 1)).astype(np.uint8)
    fields = fields.reshape(*values.shape[:-1], -1, per_byte) << np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(fields, axis=-1).astype(np.uint8)


@lru_cache(maxsize=2)
def _float8_values(dtype: str) -> np.ndarray:
    """Value of each of the 256 codes: OCP E4M3 (no infinity, S.1111.111 is NaN) and E5M2 (IEEE-like)."""
    mantissa_bits, bias = _MANTISSA_BITS[dtype], 7 if dtype == "e4m3" else 15
    code = np.arange(256)
    exponent, mantissa = (code & 0x7F) >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    normal = np.ldexp(1 + mantissa / (1 << mantissa_bits), exponent - bias)
    subnormal = np.ldexp(mantissa / (1 << mantissa_bits), 1 - bias)
    value = np.where(exponent > 0, normal, subnormal)
    if dtype == "e4m3":
        value[(code & 0x7F) == 0x7F] = np.nan
    else:
        value[exponent == 31] = np.where(mantissa[exponent == 31] == 0, np.inf, np.nan)
    return np.where(code >= 128, -value, value).astype(np.float32)


def _encode_float8(values: np.ndarray, dtype: str) -> np.ndarray:
    table = _float8_values(dtype)[:128].astype(np.float64)
    finite = table[np.isfinite(table)]
    magnitude = np.minimum(np.abs(values.astype(np.float64)), finite[-1])
    upper = np.clip(np.searchsorted(finite, magnitude), 1, len(finite) - 1)
    middle = (finite[upper - 1] + finite[upper]) / 2
    # Codes of neighbouring magnitudes are neighbours, so "to even" means the even code.
    up = (magnitude > middle) | ((magnitude == middle) & (upper % 2 == 0))
    code = np.where(np.isnan(values), 0x7F, np.where(up, upper, upper - 1))
    return (code | np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)
