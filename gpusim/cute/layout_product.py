"""Models the products: a layout (the block) repeated over another, and tile_to_shape built on them.
Leaves out divides (gpusim.cute.divide).
"""

from __future__ import annotations

from typing import Any

from gpusim.cute.compose import by_mode, complement, composition
from gpusim.cute.divide import hier_unzip, tiled_unzip
from gpusim.cute.int_tuple import IntTuple, is_int, product
from gpusim.cute.layout import Layout, cosize, make_layout, make_ordered_layout, rank, size
from gpusim.cute.modes import append, coalesce
from gpusim.cute.swizzle import lifted
from gpusim.errors import UserError

__all__ = [
    "blocked_product",
    "flat_product",
    "logical_product",
    "raked_product",
    "tile_to_shape",
    "tiled_product",
    "zipped_product",
]


@lifted
def logical_product(layoutA: Any, layoutB: Any) -> Any:
    """``(block, repeats)``: ``layoutA`` repeated as ``layoutB`` says, over the offsets that ``layoutA`` leaves free.

    With a tuple ``layoutB`` every mode becomes such a pair. Raises UserError where the free offsets do not divide.
    """
    if layoutB is None:
        return layoutA
    if isinstance(layoutB, tuple):
        return by_mode(logical_product, layoutA, layoutB)
    tile = Layout(layoutB) if is_int(layoutB) else layoutB
    return make_layout(layoutA, composition(complement(layoutA, size(layoutA) * cosize(tile)), tile))


def zipped_product(layoutA: Any, layoutB: Any) -> Layout:
    """``((BlockM, BlockN), (RepeatM, RepeatN))``."""
    return hier_unzip(logical_product, layoutA, layoutB)


def tiled_product(layoutA: Any, layoutB: Any) -> Layout:
    """``((BlockM, BlockN), RepeatM, RepeatN)``."""
    return tiled_unzip(zipped_product(layoutA, layoutB))


def flat_product(layoutA: Any, layoutB: Any) -> Layout:
    """``(BlockM, BlockN, RepeatM, RepeatN)``."""
    zipped = zipped_product(layoutA, layoutB)
    return make_layout([*zipped[0], *zipped[1]])


@lifted
def blocked_product(block: Any, tiler: Layout) -> Any:
    """``((BlockM, RepeatM), (BlockN, RepeatN))``: blocks lie side by side."""
    return _mixed_product(block, tiler, block_first=True)


@lifted
def raked_product(block: Any, tiler: Layout) -> Any:
    """``((RepeatM, BlockM), (RepeatN, BlockN))``: the elements of a block lie apart, repeats in between."""
    return _mixed_product(block, tiler, block_first=False)


def _mixed_product(block: Any, tiler: Layout, block_first: bool) -> Any:
    modes = max(rank(block), rank(tiler))
    blocks, repeats = logical_product(append(block, Layout(1, 0), modes), append(tiler, Layout(1, 0), modes))
    pairs = zip(blocks, repeats, strict=True) if block_first else zip(repeats, blocks, strict=True)
    return make_layout([make_layout(pair) for pair in pairs])


@lifted
def tile_to_shape(block: Any, shape: IntTuple, order: IntTuple = None) -> Any:
    """``block`` repeated until it fills ``shape``; repeats are laid out by rising ``order`` (default: mode 0 first).

    Every mode is coalesced. Raises UserError where a block extent does not divide the shape.
    """
    padded = append(block, Layout(1, 0), rank(shape))
    extents = tuple(product(mode) for mode in shape) if isinstance(shape, tuple) else (shape,)
    if len(padded) != len(extents):
        raise UserError(
            "the block must not have more modes than the shape", place="tile_to_shape", got=f"{block}, {shape}"
        )
    repeats = tuple(_repeats(i, size(mode), extents[i]) for i, mode in enumerate(padded))
    tiler = make_ordered_layout(repeats, tuple(range(len(repeats))) if order is None else order)
    return coalesce(blocked_product(padded, tiler), (1,) * len(repeats))


def _repeats(mode: int, block: int, extent: int) -> int:
    if extent % block:
        raise UserError(f"mode {mode} must be a multiple of the block's {block}", place="tile_to_shape", got=extent)
    return extent // block
