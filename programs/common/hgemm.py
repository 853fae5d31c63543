"""Models what the CuTe hgemm programs share: problem, tiles and copies of both operands, epilogues.
Leaves out the main loops, which are what the programs are about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gpusim as gs
from common.copies import along_rows
from gpusim import Context, Fragment, GmemTensor, SmemTensor, Tile, TiledCopy, TiledMma

__all__ = ["SIZES", "async_row_copy", "cta_mma", "epilogue", "flops", "problem",
           "reference", "require_stages", "require_two_k_steps", "row_copy", "staged_epilogue"]

SIZES = {"M": 2048, "N": 2048, "K": 2048}


def problem(M: int, N: int, K: int) -> dict[str, GmemTensor]:
    """B is stored as N x K by row, which is K x N by column."""
    shapes = {"A": (M, K), "B": (N, K), "D": (M, N)}
    return {name: gs.tensor(name, gs.f16, shape) for name, shape in shapes.items()}


def flops(M: int, N: int, K: int) -> float:
    return 2.0 * M * N * K


def reference(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"D": (inputs["A"].astype("f4") @ inputs["B"].astype("f4").T).astype("f2")}


def require_stages(num_stages: int) -> None:
    """Refuse a pipeline without a stage to fill beside the one to read."""
    if num_stages < 2:
        raise gs.UserError("a multistage pipeline needs one stage to fill and one to read",
                           got=f"num_stages={num_stages}", suggestion="num_stages=2 or more")


def require_two_k_steps(tile_k: int, step: int) -> None:
    """Refuse a tile that fragments cannot be double buffered in."""
    if tile_k % step or tile_k < 2 * step:
        raise gs.UserError("register double buffering needs at least two whole k steps in a tile",
                           got=f"tile k {tile_k}", suggestion=f"a multiple of {step}, {2 * step} or more")


def cta_mma(tile: tuple[int, int, int], warps: tuple[int, int]) -> TiledMma:
    """Warps that take turns along m and n, half accumulators. Raises UserError unless two k steps or more fit."""
    mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F16F16F16F16_TN, tile=tile[:2], warps=warps, interleaved=True)
    require_two_k_steps(tile[2], mma.atom.shape_mnk[2])
    return mma


def row_copy(atom: Any, threads: int, columns: int) -> TiledCopy:
    """Neighbouring threads move neighbouring 16 bytes of rows of ``columns`` halves."""
    return along_rows(atom, threads, columns, gs.f16)


def async_row_copy(tile: Tile, threads: int) -> TiledCopy:
    """cp.async of 16 bytes past L1; zeros for what a partial tile does not have."""
    fill = "" if tile.inside is None else "_ZFILL"
    return row_copy(getattr(gs.copy, f"SM80_CP_ASYNC_CACHEGLOBAL{fill}_16B"), threads, tile.shape[1])


def direct_epilogue(ctx: Context, mma: TiledMma, accumulators: Fragment, gD: Tile) -> None:
    """Pairs of accumulators to global memory: eight rows of 16 bytes an instruction."""
    r2g = gs.tiled_copy_C(gs.copy.UniversalCopy_32b, mma)
    tile_m, tile_n = r2g.shape_mn
    tDgD = ctx.partition(r2g, gD.divide((tile_m, tile_n)))
    rows = gD.shape[0] // tile_m
    for number, registers in enumerate(gs.retile(r2g, accumulators)):
        column, row = divmod(number, rows)
        ctx.copy(r2g, registers, tDgD[..., row, column])


def epilogue(ctx: Context, mma: TiledMma, accumulators: Fragment, gD: Tile, *, over: SmemTensor, swizzle: str,
             pipe: int) -> None:
    """Staged, ``pipe`` tiles at a time, or direct (0)."""
    if pipe:
        staged_epilogue(ctx, mma, accumulators, gD, over=over, swizzle=swizzle, pipe=pipe)
    else:
        direct_epilogue(ctx, mma, accumulators, gD)


def staged_epilogue(ctx: Context, mma: TiledMma, accumulators: Fragment, gD: Tile, *, over: SmemTensor, swizzle: str,
                    pipe: int) -> None:
    """Accumulators to global memory through shared memory, in 16-byte stores of rows: ``pipe`` tiles at a time, each of
    two atoms along n of every warp (32 x 32 with 2 x 2 warps).

    ``over``: the shared memory that is used again. Raises UserError where the tiles of a CTA are no multiple of pipe.
    """
    r2s = gs.tiled_copy_C(gs.copy.UniversalCopy_32b, mma)
    tile_m, tile_n = r2s.shape_mn
    s2g = row_copy(gs.copy.UniversalCopy_128b, mma.num_threads, tile_n)
    rows, columns = gD.shape[0] // tile_m, gD.shape[1] // tile_n
    if rows * columns % pipe:
        raise gs.UserError("the staging tiles of a CTA are a multiple of those in flight",
                           got=f"{rows * columns} tiles, {pipe} in flight", suggestion="pipe=1 or pipe=2")
    sD = ctx.smem("sD", gs.f16, (tile_m, tile_n, pipe), swizzle=swizzle, over=over)
    tDrD = gs.retile(r2s, accumulators)
    tDsD_r2s, tDsD_s2g = ctx.partition(r2s, sD.tile()), ctx.partition(s2g, sD.tile())
    tDgD = ctx.partition(s2g, gD.divide((tile_m, tile_n)))
    for first in range(0, rows * columns, pipe):
        for part in range(pipe):
            ctx.copy(r2s, tDrD[first + part], tDsD_r2s[..., part])
        ctx.sync_threads()
        for part in range(pipe):
            column, row = divmod(first + part, rows)
            ctx.copy(s2g, tDsD_s2g[..., part], tDgD[..., row, column])
        ctx.sync_threads()
