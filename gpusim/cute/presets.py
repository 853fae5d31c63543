"""Models the spellings of a shared-memory swizzle: ``"64B"``, ``"S<2,4,3>"``, ``"pad:16B"``, ``"none"``, ``"cutlass"``.
Leaves out which of them is conflict-free (gpusim.cute.minimal_swizzle and gpusim.memory).

The unit is the byte, as in CuTe's swizzled pointers and TMA descriptors; ``in_elements`` shows the other unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gpusim.cute.int_tuple import product
from gpusim.cute.layout import Layout
from gpusim.cute.swizzle import ComposedLayout, Swizzle
from gpusim.errors import UserError, did_you_mean

__all__ = ["SMEM_SWIZZLES", "SmemSwizzle", "smem_layout", "smem_swizzle"]

SMEM_SWIZZLES: dict[str, Swizzle | None] = {
    "none": None,
    "32B": Swizzle(1, 4, 3),
    "64B": Swizzle(2, 4, 3),
    "128B": Swizzle(3, 4, 3),
}
"""Presets by the bytes of a row over which 16-byte units are permuted (PTX ISA, tensor-map swizzle modes)."""

_PAD = re.compile(r"pad:(\d+)B?")


@dataclass(frozen=True, slots=True)
class SmemSwizzle:
    """What a swizzle text means: a map of byte offsets, or bytes of padding behind every row."""

    text: str
    swizzle: Swizzle | None = None
    pad_bytes: int = 0

    def in_elements(self, element_bits: int) -> Swizzle | None:
        """The same swizzle on element offsets; UserError where it would act inside an element."""
        return None if self.swizzle is None else self.swizzle.rebased(_log2(element_bits) - 3)

    def describe(self, element_bits: int) -> str:
        """One line for reports, in bytes and elements."""
        if self.pad_bytes:
            return f"rows padded by {self.pad_bytes} B ({self.pad_bytes * 8 // element_bits} elements)"
        if self.swizzle is None:
            return "no swizzle"
        return f"{self.swizzle} on bytes, {self.in_elements(element_bits)} on {element_bits}-bit elements"


def smem_swizzle(text: str | None, row_bytes: int | None = None) -> SmemSwizzle:
    """Read a swizzle text. ``row_bytes`` (contiguous bytes of a tile row) is needed by ``"cutlass"`` only.

    ``"cutlass"`` is the byte map of CUTLASS 2.x's TensorOpMultiplicandCrosswise with that crosswise extent. Raises
    UserError for an unknown text, listing the known ones.
    """
    text = text or "none"
    if text in SMEM_SWIZZLES:
        return SmemSwizzle(text, SMEM_SWIZZLES[text])
    if match := _PAD.fullmatch(text):
        return SmemSwizzle(text, pad_bytes=int(match[1]))
    if text == "cutlass":
        return SmemSwizzle(text, _crosswise_swizzle(row_bytes))
    if text.startswith("S"):
        return SmemSwizzle(text, Swizzle.parse(text))
    known = [*SMEM_SWIZZLES, "pad:16B", "S<3,4,3>", "cutlass"]
    raise UserError("unknown shared-memory swizzle", got=f"'{text}'", suggestion=did_you_mean(text, known))


def _crosswise_swizzle(row_bytes: int | None) -> Swizzle:
    if row_bytes not in (16, 32, 64, 128):
        rule = "the CUTLASS 2.x crosswise layout needs rows of 16, 32, 64 or 128 bytes"
        raise UserError(rule, got=row_bytes, suggestion="choose a byte swizzle such as 128B")
    return Swizzle(3, 4, 3) if row_bytes == 128 else Swizzle(2, 4, 3)


def smem_layout(
    shape: tuple[int, ...], element_bits: int, swizzle: str | SmemSwizzle | None = None, *, contiguous: int = 1
) -> Any:
    """The layout (in elements) of a shared-memory tile ``(rows, columns[, stages])`` with mode ``contiguous`` fastest.

    Padding widens the pitch of the other mode; a swizzle is applied to the whole offset, stages included, as CuTe
    does. Raises UserError where padding is no whole number of elements.
    """
    extent = shape[contiguous]
    spec = swizzle if isinstance(swizzle, SmemSwizzle) else smem_swizzle(swizzle, extent * element_bits // 8)
    if spec.pad_bytes * 8 % element_bits:
        raise UserError(f"padding must be a multiple of the {element_bits}-bit element", got=f"'{spec.text}'")
    pitch = extent + spec.pad_bytes * 8 // element_bits
    plane = pitch * shape[1 - contiguous]
    stages = tuple(plane * product(shape[2:i]) for i in range(2, len(shape)))
    layout = Layout(shape, ((pitch, 1) if contiguous else (1, pitch)) + stages)
    in_elements = spec.in_elements(element_bits)
    return layout if in_elements is None else ComposedLayout(in_elements, 0, layout)


def _log2(value: int) -> int:
    if value < 1 or value & (value - 1):
        raise UserError("an element must have a power of two of bits", got=value)
    return value.bit_length() - 1
