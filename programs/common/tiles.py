"""Models how tiles cut a tensor that they need not divide: how many there are, and which one is a CTA's.
Leaves out what its threads do there."""

from __future__ import annotations

from typing import Any

from gpusim import Context, GmemTensor, Tile

__all__ = ["cta_tile", "output_tiles", "tile_count"]


def tile_count(extent: int, tile: int) -> int:
    """Tiles along an extent, the last one possibly partial."""
    return -(-extent // tile)


def output_tiles(A: GmemTensor, B: GmemTensor, tile: tuple[int, ...]) -> tuple[int, int]:
    """Tiles along m and n of the product of A (M x K) and B (N x K); ``tile`` begins with m and n."""
    return tile_count(A.shape[0], tile[0]), tile_count(B.shape[0], tile[1])


def cta_tile(ctx: Context, tensor: GmemTensor, tile: tuple[int, int], coord: tuple[Any, Any]) -> Tile:
    """The CTA's tile(s) of a tensor: predicated where tiles do not divide it. A kernel in CUDA is compiled twice for
    that, as FlashAttention's Is_even_MN and Is_even_K have it."""
    whole = all(extent % n == 0 for extent, n in zip(tensor.shape, tile, strict=True))
    return (ctx.local_tile if whole else ctx.partial_tile)(tensor, tile, coord)
