"""Models the four divides: a layout split into tiles and the rest.
Leaves out products (gpusim.cute.product) and tensors (gpusim.cute.tensor).

A tiler is a layout, an integer, None (keep the mode), or a tuple of tilers applied mode by mode. What is divided is a
layout, a composed layout or a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gpusim.cute.compose import by_mode, complement, composition
from gpusim.cute.int_tuple import is_int
from gpusim.cute.layout import Layout, make_layout, size
from gpusim.cute.modes import check_rank
from gpusim.cute.swizzle import lifted

__all__ = ["flat_divide", "hier_unzip", "logical_divide", "tiled_divide", "tiled_unzip", "zipped_divide"]


@lifted
def logical_divide(layoutA: Any, layoutB: Any) -> Any:
    """``(tile, rest)``: the elements that tiler ``layoutB`` selects, then the repetitions that cover ``layoutA``.

    With a tuple tiler every mode becomes such a pair. Raises UserError where the tiler does not divide the layout.
    """
    if layoutB is None:
        return layoutA
    if isinstance(layoutB, tuple):
        return by_mode(logical_divide, layoutA, layoutB)
    tile = Layout(layoutB) if is_int(layoutB) else layoutB
    return composition(layoutA, make_layout(tile, complement(tile, size(layoutA))))


def hier_unzip(splitter: Callable[[Any, Any], Any], layoutA: Any, layoutB: Any) -> Layout:
    """Split every mode with ``splitter`` and gather the first halves and the second halves: ``((A,B), (a,b,rest))``."""
    if layoutB is None:
        return make_layout(Layout(1, 0), layoutA)
    if not isinstance(layoutB, tuple):
        return splitter(layoutA, layoutB)
    check_rank(splitter.__name__, layoutA, layoutB)
    split = [hier_unzip(splitter, layoutA[i], tile) for i, tile in enumerate(layoutB)]
    untouched = [layoutA[i] for i in range(len(layoutB), len(layoutA))]
    return make_layout(make_layout([s[0] for s in split]), make_layout([s[1] for s in split] + untouched))


def tiled_unzip(zipped: Layout) -> Layout:
    """``(tile, (r0, r1, ...))`` with the rest modes at the top level: ``(tile, r0, r1, ...)``."""
    return make_layout([zipped[0], *zipped[1]])


@lifted
@lru_cache(maxsize=4096)
def zipped_divide(layoutA: Any, layoutB: Any) -> Any:
    """``((TileM, TileN), (RestM, RestN, ...))``."""
    return hier_unzip(logical_divide, layoutA, layoutB)


@lifted
def tiled_divide(layoutA: Any, layoutB: Any) -> Any:
    """``((TileM, TileN), RestM, RestN, ...)``."""
    return tiled_unzip(zipped_divide(layoutA, layoutB))


@lifted
def flat_divide(layoutA: Any, layoutB: Any) -> Any:
    """``(TileM, TileN, RestM, RestN, ...)``."""
    zipped = zipped_divide(layoutA, layoutB)
    return make_layout([*zipped[0], *zipped[1]])
