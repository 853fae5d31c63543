"""Column read: a warp reads a tile in shared memory column by column, one vector of each row: who meets in a bank?

Parameters. tile: (rows, columns), rows at most 32; a warp takes 32 / rows neighbouring vectors of every row at a time.
element: f16 or f32. bits: of a read. swizzle: in bytes. Ways of a read without swizzle, and one that leaves one way:
f32 (32, 128) by 32 bits 32, S<5,2,7>; by 128 bits (four floats) 8, S<3,4,5>; f16 by 128 bits (16, 16) 2, S<1,4,3>;
(16, 32) 4, S<2,4,3>.
"""

from common.copies import along_rows, dtype, pair
from common.copies import copied as reference
from common.copies import no_flops as flops

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
    m, n = ctx.launch((A.shape[0] // rows, A.shape[1] // columns), warps=1)
    sA = ctx.smem("sA", dtype(element), (rows, columns, 1), swizzle=swizzle)
    atom = getattr(gs.copy, f"UniversalCopy_{bits}b")
    fill = along_rows(atom, WARP, min(columns, WARP * values), dtype(element))
    read = gs.tiled_copy(atom, cute.Layout((rows, WARP // rows)), cute.Layout((1, values), (values, 1)))
    ctx.copy(fill, ctx.partition(fill, ctx.local_tile(A, tile, (m, n))), ctx.partition(fill, sA[..., 0]))
    ctx.sync_threads()
    blocks = values * WARP // rows
    tDsA = ctx.partition(read, sA.tile().blocks(blocks))
    tDgD = ctx.partition(read, ctx.local_tile(D, tile, (m, n)).blocks(blocks))
    for block in ctx.range(columns // blocks, name="main_loop"):
        ctx.copy(read, tDsA[..., block, 0], tDgD[..., block])
