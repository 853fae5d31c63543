"""Column read: a warp reads a tile in shared memory column by column, one vector of each row: who meets in a bank?

Sizes need not be multiples of the tile, only N of a vector. Ways of a read without swizzle, and a swizzle that leaves
one way: f32 (32, 128) by 32 bits 32 ways, S<5,2,7>; by 128 bits (four floats) 8, S<3,4,5>; f16 by 128 bits (16, 16) 2,
S<1,4,3>; (16, 32) 4, S<2,4,3>.

Parameters. tile: (rows, columns) that a CTA, one warp, keeps in shared memory, rows at most 32; 32 / rows neighbouring
vectors of every row are read at a time. element: type of an element, f16 or f32. bits: width of a read, 32, 64 or 128.
swizzle: layout of the tile in shared memory, in bytes: none, S<b,m,s>, pad:16B.
"""

from common.copies import along_rows, dtype, load_tile, pair
from common.copies import copied as reference
from common.copies import no_flops as flops
from common.tiles import cta_tile, tile_count

import gpusim as gs
from gpusim import cute

__all__ = ["SIZES", "column_read", "flops", "problem", "reference"]

SIZES = {"M": 256, "N": 512}
WARP = 32


def problem(M, N, element):
    return pair((M, N), (M, N), dtype(element))


@gs.kernel
def column_read(ctx, A, D, *, tile=(32, 128), element="f32", bits=32, swizzle="none"):
    rows, columns = tile
    values = bits // dtype(element).bits
    if WARP % rows:
        raise gs.UserError("the rows of a tile divide a warp", got=rows, suggestion="8, 16 or 32 rows")
    m, n = ctx.launch((tile_count(A.shape[0], rows), tile_count(A.shape[1], columns)), warps=1)
    sA = ctx.smem("sA", dtype(element), (rows, columns, 1), swizzle=swizzle)
    atom = getattr(gs.copy, f"UniversalCopy_{bits}b")
    fill = along_rows(atom, WARP, min(columns, WARP * values), dtype(element))
    read = gs.tiled_copy(atom, cute.Layout((rows, WARP // rows)), cute.Layout((1, values), (values, 1)))
    tAgA = ctx.partition(fill, cta_tile(ctx, A, tile, (m, n)))
    tArA = ctx.fragment_like(tAgA)
    load_tile(ctx, fill, tAgA, tArA)
    ctx.copy(fill, tArA, ctx.partition(fill, sA[..., 0]))
    ctx.sync_threads()
    blocks = values * WARP // rows
    tDsA = ctx.partition(read, sA.tile().blocks(blocks))
    tDgD = ctx.partition(read, cta_tile(ctx, D, tile, (m, n)).blocks(blocks))
    for block in ctx.range(columns // blocks, name="main_loop"):
        ctx.copy(read, tDsA[..., block, 0], tDgD[..., block])
