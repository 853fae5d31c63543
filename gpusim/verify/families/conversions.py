"""Models conversions between number types in registers: scalar, packed in pairs and fours, and halves of a register.
Leaves out rounding other than to nearest even, truncation and saturation."""

from __future__ import annotations

import numpy as np

from gpusim.verify.dtypes import dtype_bits, encode, is_float
from gpusim.verify.registers import pack, unpack
from gpusim.verify.step import Step

__all__ = ["convert", "mask_bits", "pack_bytes", "pack_pair", "shift_by_product", "widen_half"]


_HALF_TF32_ULP = np.uint32(1 << 12)
_XOR = 0x3C  # the truth table

def pack_pair(step: Step) -> None:
    """F2FP.{F16,BF16}.F32.PACK_AB[.RELU] d, hi, lo: two float32 to a pair, rounded to nearest even; or
    F2FP.TF32.F32.PACK_B d, a: to tf32, ties away from zero.

    Operand order as in SASS: source group 0 becomes the HIGH half, group 1 the LOW half (the lower address).
    """
    high, low = step.source(0), step.source(1)
    if "TF32" in step.mnemonic and high is not None:
        step.write(high + _HALF_TF32_ULP & ~(2 * _HALF_TF32_ULP - np.uint32(1)))
        return
    if high is None or low is None:
        step.forget_result()
        return
    values = np.stack([unpack(low, "f32"), unpack(high, "f32")], axis=-1)
    if "RELU" in step.mnemonic:
        values = np.maximum(values, 0)
    halves = encode(values, "bf16" if "BF16" in step.mnemonic else "f16")
    step.write(np.moveaxis(halves.view(np.uint32)[..., 0], -1, 0))


def convert(step: Step) -> None:
    """F2F.d.s, I2F[.d].s, F2I.d[.s], by default f32 and s32; F2I truncates (.TRUNC) and saturates like hardware."""
    data = None if step.is_address(0) else step.source(0)
    target, origin = _conversion_types(step.mnemonic)
    if data is None:
        step.forget_result()
        return
    values = unpack(data, origin)[..., :1] if target != origin else unpack(data, origin)
    if not is_float(target):
        values = _saturated(np.trunc(values) if "TRUNC" in step.mnemonic else values, target)
    step.write(pack(values, target))


def pack_bytes(step: Step) -> None:
    """F2IP.t.F32, I2IP.t.S32.SAT d, second, first[, upper]: two saturated numbers of 8 or 4 bits to the low end of d,
    above them the low end of ``upper`` (zero if none)."""
    second, first, upper = step.source(0), step.source(1), step.source(2)
    if second is None or first is None:
        step.forget_result()
        return
    target = step.mnemonic.split(".")[1].lower()
    origin = "f32" if step.mnemonic.startswith("F2IP") else "s32"
    values = np.concatenate([unpack(first, origin), unpack(second, origin)], axis=-1)
    low = pack(_saturated(values, target), target)
    step.write(low if upper is None else low | upper << np.uint32(2 * dtype_bits(target)))


def widen_half(step: Step) -> None:
    """HADD2.F32.{H0_H0,H1_H1} d, a: a half of a register as f32. The operand's selector stands in the mnemonic."""
    data, selector = step.source(0), step.mnemonic.split(".")[-1]
    if data is None or selector not in ("H0_H0", "H1_H1"):
        step.forget_result()
        return
    half = int(selector == "H1_H1")
    step.write(pack(unpack(data, "f16")[..., half : half + 1], "f32"))


def shift_by_product(step: Step) -> None:
    """IMAD.U32 d, a, immediate: how ptxas shifts a bf16 to the upper half of its f32."""
    data = step.source(0) if step.immediate else None
    if data is None:
        step.forget_result()
        return
    step.write(data * np.uint32(step.immediate))


def mask_bits(step: Step) -> None:
    """LOP3.LUT d, a, immediate as an AND; d, a, b, 0x3c as an exclusive OR; any other, address arithmetic."""
    data = step.source(0) if step.immediate else None
    if data is None:
        step.forget_result()
    elif step.op.src_count[1] == 0:
        step.write(data & np.uint32(step.immediate))
    elif step.immediate == _XOR:
        step.write(data ^ step.source(1))
    else:
        step.forget_result()


def _saturated(values: np.ndarray, target: str) -> np.ndarray:
    """Rounded to nearest even and clipped to an integer type; not-a-number becomes 0."""
    kind, bits = target[0], dtype_bits(target)
    low = -(1 << bits - 1) if kind == "s" else 0
    return np.clip(np.nan_to_num(np.rint(values.astype(np.float64))), low, low + (1 << bits) - 1)


_TYPES = {"F16", "F32", "F64", "BF16", "S8", "U8", "S16", "U16", "S32", "U32", "S64", "U64"}


def _conversion_types(mnemonic: str) -> tuple[str, str]:
    """(target, origin) of a conversion."""
    parts = mnemonic.split(".")
    named = [part.lower() for part in parts if part in _TYPES]
    if len(named) >= 2:
        return named[0], named[1]
    first, second = {"I2F": ("f32", "s32"), "F2I": ("s32", "f32"), "F2F": ("f32", "f32")}[parts[0].removesuffix("P")]
    if not named:
        return first, second
    return (first, named[0]) if parts[0].startswith("I2F") else (named[0], second)
