"""Models CuTe's Swizzle (an XOR of two bit fields of an offset) and layouts composed with one.
Leaves out what a swizzle does to shared-memory banks (gpusim.memory) and byte presets (gpusim.cute.presets).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol, runtime_checkable

from gpusim.cute.int_tuple import IntTuple, crd2idx, has_none
from gpusim.cute.layout import Layout, LayoutBase
from gpusim.cute.parse import parse_int_tuple
from gpusim.errors import UserError

__all__ = [
    "ComposedLayout",
    "HasLayout",
    "Swizzle",
    "lifted",
    "make_swizzle",
    "shiftl",
    "shiftr",
    "slice_and_offset",
    "through_layout",
]

_PRINTED = re.compile(r"Sw?\s*<\s*(\d+)\s*,\s*(\d+)\s*,\s*(-?\d+)\s*>|SW_(\d+)_(\d+)_(-?\d+)")


def shiftr(a: Any, s: int) -> Any:
    """``a`` shifted right by ``s`` bits, left for negative ``s``."""
    return a >> s if s >= 0 else a << -s


def shiftl(a: Any, s: int) -> Any:
    return shiftr(a, -s)


@dataclass(frozen=True, slots=True)
class Swizzle:
    """``Swizzle(bits, base, shift)``: x -> x ^ (the ``bits``-wide field at bit ``base + shift``, moved to ``base``).

    A negative ``shift`` moves the lower field up instead. The unit is that of the offsets it is applied to (bytes or
    elements). It is an involution because the two fields must not overlap: UserError where ``abs(shift) < bits``.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0:
            raise UserError("bits and base of a swizzle must not be negative", got=str(self))
        if abs(self.shift) < self.bits:
            raise UserError("a swizzle needs abs(shift) >= bits, or its two bit fields overlap", got=str(self))

    @classmethod
    def parse(cls, text: str) -> Swizzle:
        """A swizzle from ``S<3,4,3>`` (also ``Sw<3,4,3>`` and pycute's ``SW_3_4_3``)."""
        match = _PRINTED.fullmatch(text.strip())
        if match is None:
            raise UserError("a swizzle is written S<bits,base,shift>", got=f"'{text}'", suggestion="e.g. S<3,4,3>")
        return cls(*(int(group) for group in match.groups() if group))

    @property
    def yyy_msk(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def zzz_msk(self) -> int:
        """The bits that change."""
        return ((1 << self.bits) - 1) << (self.base + max(0, -self.shift))

    def __call__(self, offset: Any) -> Any:
        """The swizzled offset; NumPy arrays element by element."""
        return offset ^ shiftr(offset & self.yyy_msk, self.shift)

    def size(self) -> int:
        """The period: offsets in multiples of it are only shifted."""
        return 1 << (self.bits + self.base + abs(self.shift))

    def cosize(self) -> int:
        return self.size()

    def rebased(self, bits: int) -> Swizzle:
        """The same map on units of ``2**bits`` times the size; UserError where it acts inside such a unit."""
        if self.bits and self.base < bits:
            raise UserError(f"a swizzle of base {self.base} acts inside units of 2**{bits}", got=str(self))
        return Swizzle(self.bits, max(0, self.base - bits), self.shift)

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    def __repr__(self) -> str:
        return f"Swizzle({self.bits},{self.base},{self.shift})"


def make_swizzle(yyy_msk: int, zzz_msk: int) -> Swizzle:
    """The swizzle that reads the bits of ``yyy_msk`` and changes those of ``zzz_msk``; both must be contiguous."""
    bits, low_y, low_z = yyy_msk.bit_count(), _low_bit(yyy_msk), _low_bit(zzz_msk)
    contiguous = all(msk >> low == (1 << bits) - 1 for msk, low in ((yyy_msk, low_y), (zzz_msk, low_z)))
    if not contiguous:
        raise UserError("a swizzle needs two contiguous bit fields of the same width", got=f"{yyy_msk:b}, {zzz_msk:b}")
    return Swizzle(bits, min(low_y, low_z), low_y - low_z)


def _low_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1 if mask else 0


def through_layout(swizzle: Swizzle, layout: Layout) -> Swizzle:
    """The swizzle ``S'`` with ``S'(layout(x)) == layout(swizzle(x))``, for layouts that move bits.

    Raises UserError where the layout tears the swizzle's bit fields apart.
    """
    moved = make_swizzle(layout(swizzle.yyy_msk), layout(swizzle.zzz_msk))
    if any(moved(layout(1 << bit)) != layout(swizzle(1 << bit)) for bit in range((layout.size() - 1).bit_length())):
        raise UserError("the layout must keep the order of the swizzle's bits", got=f"{swizzle} through {layout}")
    return moved


@dataclass(frozen=True, slots=True, repr=False)
class ComposedLayout(LayoutBase):
    """``c -> layoutB(offset + layoutA(c))``; usually ``layoutB`` is a Swizzle.

    Prints ``S<3,4,3> o 0 o (8, 64):(64, 1)``.
    """

    layoutB: Any
    offset: Any
    layoutA: Any

    @property
    def shape(self) -> IntTuple:
        return self.layoutA.shape if isinstance(self.layoutA, LayoutBase) else self.layoutA.size()

    @classmethod
    def parse(cls, text: str) -> ComposedLayout:
        """A composed layout from its printed form, ``S<3,4,3> o 0 o (8,64):(64,1)``."""
        parts = [part.strip() for part in text.split(" o ")]
        if len(parts) != 3:
            raise UserError("a composed layout is written SWIZZLE o OFFSET o LAYOUT", got=f"'{text}'")
        return cls(Swizzle.parse(parts[0]), parse_int_tuple(parts[1], text), Layout.parse(parts[2]))

    def __call__(self, *coordinate: Any) -> Any:
        """The offset of a coordinate, or the composed sublayout (with its own offset) where it holds None."""
        if has_none(coordinate):
            rest, offset = slice_and_offset(coordinate[0] if len(coordinate) == 1 else coordinate, self.layoutA)
            return ComposedLayout(self.layoutB, self.offset + offset, rest)
        return self.layoutB(self.offset + self.layoutA(*coordinate))

    def __getitem__(self, mode: Any) -> ComposedLayout:
        return ComposedLayout(self.layoutB, self.offset, self.layoutA[mode])

    def cosize(self) -> int:
        """One more than the largest offset over all coordinates."""
        return int(self.offsets().max()) + 1

    def __str__(self) -> str:
        return f"{self.layoutB} o {self.offset} o {self.layoutA}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self.layoutB!r},{self.offset!r},{self.layoutA!r})"


def slice_and_offset(crd: Any, layout: Any) -> tuple[Any, Any]:
    """The sublayout that ``crd`` leaves open (its None modes) and the offset of what it fixes."""
    if isinstance(layout, ComposedLayout):
        return layout(crd), 0  # its offset acts before the swizzle, so it stays inside
    return layout(crd), crd2idx(crd, layout.shape, layout.stride)


def lifted(operation: Callable[..., Any]) -> Callable[..., Any]:
    """``operation`` on layouts, made to work on composed layouts and tensors as well.

    It only regroups coordinates, so it acts on the inner layout of a composed layout and on the layout of a tensor.
    """

    @wraps(operation)
    def apply(layout: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(layout, Layout):  # asked first: by far the most frequent
            return operation(layout, *arguments, **options)
        if isinstance(layout, ComposedLayout):
            return ComposedLayout(layout.layoutB, layout.offset, apply(layout.layoutA, *arguments, **options))
        if isinstance(layout, HasLayout):
            return layout.with_layout(apply(layout.layout, *arguments, **options))
        return operation(layout, *arguments, **options)

    return apply


@runtime_checkable
class HasLayout(Protocol):
    """A tensor, or anything else that is a view by a layout."""

    @property
    def layout(self) -> Any: ...
    def with_layout(self, layout: Any) -> Any: ...
