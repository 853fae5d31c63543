"""Copy in global memory, D = A: ld.global and st.global of 4, 8 or 16 bytes a thread, neighbours or a column apart.

Sizes need not be multiples of the tile, only N of a vector.

Parameters. tile: (rows, columns) of f32 that a CTA copies. warps: number of warps in a CTA. bits: width of an access,
32, 64 or 128. order: row, neighbouring threads take neighbouring vectors (coalesced); column, they take vectors one
below the other, so that every thread of a warp needs a sector of its own.
"""

from common.copies import along_rows, pair
from common.copies import copied as reference
from common.copies import no_flops as flops
from common.tiles import tile_count

import gpusim as gs
from gpusim import cute

__all__ = ["SIZES", "copy_global", "flops", "problem", "reference"]

SIZES = {"M": 4096, "N": 1024}


def problem(M, N):
    return pair((M, N), (M, N), gs.f32)


@gs.kernel
def copy_global(ctx, A, D, *, tile=(32, 128), warps=4, bits=128, order="row"):
    if bits not in (32, 64, 128) or order not in ("row", "column"):
        raise gs.UserError("an access has 32, 64 or 128 bits, along a row or down a column", got=f"{bits}, '{order}'")
    (rows, columns), threads = tile, 32 * warps
    atom = getattr(gs.copy, f"UniversalCopy_{bits}b")
    copy = along_rows(atom, threads, columns, gs.f32) if order == "row" else gs.tiled_copy(
        atom, cute.Layout((rows, threads // rows)), cute.Layout((1, bits // 32), (bits // 32, 1)))
    m, n = ctx.launch((tile_count(A.shape[0], rows), tile_count(A.shape[1], columns)), warps=warps, raster="n")
    tAgA = ctx.partition(copy, ctx.partial_tile(A, tile, (m, n)))
    tDgD = ctx.partition(copy, ctx.partial_tile(D, tile, (m, n)))
    ctx.copy(copy, tAgA, tDgD)
