"""Models the operations that rewrite one layout mode by mode: coalesce, filter, flatten, group, select, append.
Leaves out operations on two layouts (compose, divide, product modules).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpusim.cute.int_tuple import IntTuple, flatten, is_tuple
from gpusim.cute.layout import Layout, LayoutBase, make_layout
from gpusim.cute.swizzle import lifted
from gpusim.errors import UserError

__all__ = [
    "append",
    "coalesce",
    "filter",
    "filter_zeros",
    "flat_modes",
    "flatten_layout",
    "from_modes",
    "group",
    "open_modes",
    "prepend",
    "select",
]


def flat_modes(layout: Layout) -> list[tuple[int, Any]]:
    """The (extent, stride) pairs of a layout's leaves."""
    return list(zip(flatten(layout.shape), flatten(layout.stride), strict=True))


def from_modes(modes: list[tuple[int, Any]]) -> Layout:
    """A flat layout of (extent, stride) pairs; a single pair gives an integer layout, none gives 1:0."""
    if not modes:
        return Layout(1, 0)
    if len(modes) == 1:
        return Layout(*modes[0])
    return Layout(tuple(extent for extent, _ in modes), tuple(stride for _, stride in modes))


def open_modes(layout: LayoutBase) -> Any:
    """The coordinate that keeps every mode of ``layout``: one None per mode, or a single None without modes."""
    return (None,) * len(layout) if isinstance(layout.shape, tuple) else None


def check_rank(what: str, layout: Any, tiler: tuple[Any, ...]) -> None:
    """Raise UserError where a by-mode tiler has more modes than the layout."""
    if len(layout) < len(tiler):
        raise UserError(
            "a tiler must not have more modes than the layout", place=what, got=f"{len(tiler)} modes for {layout}"
        )


@lifted
@lru_cache(maxsize=4096)
def coalesce(layout: Any, profile: IntTuple = None) -> Any:
    """The layout with the fewest modes that is the same function of the linear coordinate.

    With a tuple ``profile`` each mode is coalesced by itself, following the profile's nesting.
    """
    if isinstance(profile, tuple):
        return _by_profile(coalesce, layout, profile)
    merged: list[tuple[int, Any]] = []
    for extent, stride in flat_modes(layout):
        if extent == 1:
            continue
        if merged and merged[-1][0] * merged[-1][1] == stride:
            merged[-1] = (merged[-1][0] * extent, merged[-1][1])
        else:
            merged.append((extent, stride))
    return from_modes(merged)


def _by_profile(operation: Any, layout: Layout, profile: tuple[Any, ...]) -> Layout:
    check_rank(operation.__name__, layout, profile)
    head = [operation(layout[i], item) for i, item in enumerate(profile)]
    return make_layout(head + [layout[i] for i in range(len(profile), len(layout))])


def filter(layout: Layout, profile: IntTuple = None) -> Layout:  # CuTe's name, although it hides the builtin
    """Drop all modes of stride 0 or extent 1, then coalesce."""
    if isinstance(profile, tuple):
        return _by_profile(filter, layout, profile)
    return coalesce(from_modes([(extent, stride) for extent, stride in flat_modes(layout) if stride != 0]))


def filter_zeros(layout: Layout) -> Layout:
    """Give every mode of stride 0 the extent 1, keeping the nesting: one coordinate per distinct offset."""
    return Layout(_without_zeros(layout.shape, layout.stride), layout.stride)


def _without_zeros(shape: IntTuple, stride: IntTuple) -> IntTuple:
    if isinstance(shape, tuple):
        return tuple(_without_zeros(s, d) for s, d in zip(shape, stride, strict=True))
    return 1 if stride == 0 else shape


@lifted
def flatten_layout(layout: Layout) -> Layout:
    """The same leaves without nesting."""
    return Layout(flatten(layout.shape), flatten(layout.stride)) if is_tuple(layout.shape) else layout


@lifted
def select(layout: Layout, *modes: int) -> Layout:
    """The named top-level modes, in that order."""
    return make_layout([layout[mode] for mode in modes])


@lifted
def group(layout: Layout, begin: int, end: int) -> Layout:
    """Top-level modes ``begin`` up to ``end`` gathered into one mode."""
    modes = list(layout)
    return make_layout([*modes[:begin], make_layout(modes[begin:end]), *modes[end:]])


@lifted
def append(layout: Layout, mode: Layout, up_to_rank: int | None = None) -> Layout:
    """``layout`` with ``mode`` added behind, once or until it has ``up_to_rank`` modes."""
    return make_layout([*layout, *[mode] * _missing(layout, up_to_rank)])


@lifted
def prepend(layout: Layout, mode: Layout, up_to_rank: int | None = None) -> Layout:
    """``layout`` with ``mode`` added in front, once or until it has ``up_to_rank`` modes."""
    return make_layout([*[mode] * _missing(layout, up_to_rank), *layout])


def _missing(layout: Layout, up_to_rank: int | None) -> int:
    return 1 if up_to_rank is None else max(0, up_to_rank - len(layout))
