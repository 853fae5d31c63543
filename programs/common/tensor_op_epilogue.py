"""Models DefaultEpilogueTensorOp: the thread map, padding and column order with which fragments pass shared memory.
Leaves out the steps themselves (common.epilogue)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import gpusim as gs
from common.epilogue import VECTOR_BITS, Epilogue, EpilogueTile, Push
from common.output_op import PLAIN, LinearCombination
from common.split_vectors import SplitThreadMap
from gpusim import LANES, BlockCoordinate, Context, Fragment, GmemTensor, SmemArray, TiledMma, widest_alignment
from gpusim.cute.cutlass2 import OutputTileShape, OutputTileThreadMap, optimal_thread_map

__all__ = ["ROWS_PER_STEP", "push_rows", "require_output", "tensor_op_epilogue", "widest_thread_map"]

ROWS_PER_STEP = 8
MIXED_COLUMNS, WORD_VECTOR = 32, 4  # elements of 32 bits: columns between two orders, of a 16-byte load
TWO_FRAGMENTS = {("f32", "f16", 8), ("f32", "f32", 4), ("s32", "f16", 8), ("s32", "bf16", 8)}
"""Accumulators, output and vector for which CUTLASS allocates two tiles (kFragmentsPerIteration), and uses one."""
OUTPUTS = {"s32": ("s32", "f32", "s8", "u8", "s4", "u4", "f16", "bf16"), "f32": ("f32", "f16", "bf16"), "f16": ("f16",),
           "f64": ("f64",)}


def require_output(accumulators: gs.DType, output: gs.DType) -> None:
    """Raise UserError for an output type that no epilogue makes of these accumulators."""
    known = OUTPUTS[accumulators.name]
    if output.name not in known:
        raise gs.UserError(f"an epilogue converts {accumulators} to {', '.join(known)}", got=output)


def tensor_op_epilogue(ctx: Context, destination: GmemTensor, coords: tuple[BlockCoordinate, BlockCoordinate],
                       mma: TiledMma, accumulators: Fragment, over: SmemArray,
                       op: LinearCombination = PLAIN, source: GmemTensor | None = None,
                       padding: int = -1, vector_bits: int = VECTOR_BITS,
                       channels: Mapping[str, GmemTensor] | None = None) -> Epilogue:
    """The epilogue of a tensor-core main loop: steps of 8 rows of every warp.

    ``source``: tensor C, where ``op`` reads one (also the output itself). ``padding``: elements of a row in shared
    memory, -1: as CUTLASS has it. ``vector_bits``: of a thread's vector; beyond 128 it is stored in parts.
    ``channels``: vectors of factors, where ``op`` has them.
    """
    require_output(accumulators.dtype, destination.dtype)
    thread_map = widest_thread_map(mma, destination, vector_bits=vector_bits)
    padding = padding if padding >= 0 else 64 // accumulators.dtype.bits * 4
    elements, types = thread_map.elements_per_access, (accumulators.dtype.name, destination.dtype.name)
    parts = elements * destination.dtype.bits // VECTOR_BITS
    tile = EpilogueTile(
        SplitThreadMap(thread_map, parts) if parts > 1 else thread_map, mma.warp_tile[0] // ROWS_PER_STEP,
        ROWS_PER_STEP * mma.warps[0], mma.tile[1] + padding,
        accumulators.dtype, lambda step: push_rows(mma, accumulators, step),
        _column_order(accumulators.dtype, destination.dtype, mma.tile[1], elements), mma.partitions,
        int((*types, elements) in TWO_FRAGMENTS and mma.partitions == 1))
    return Epilogue(ctx, destination, mma.tile, coords, tile, over, op, source, channels or {})


def _column_order(accumulators: gs.DType, output: gs.DType, columns: int, elements: int
                  ) -> Callable[[np.ndarray], np.ndarray]:
    """CUTLASS's mixed-precision order: the 16-byte parts of a vector change places by an XOR with the number of the 32
    columns, so that loads of neighbouring vectors are conflict-free. Not for every pair of types and width."""
    mixed = accumulators.bits == 32 and elements > WORD_VECTOR and (
        output.name == "f16" or (output.name == "bf16" and accumulators.name == "s32")
        or (output.bits <= 8 and columns < 256 and not (columns == 128 and elements == 8)))
    parts = elements // WORD_VECTOR
    return (lambda n: n ^ n // MIXED_COLUMNS % parts * WORD_VECTOR) if mixed else (lambda n: n)


def widest_thread_map(mma: TiledMma, destination: GmemTensor, step_rows: int = ROWS_PER_STEP, *,
                      vector_bits: int = VECTOR_BITS) -> OutputTileThreadMap:
    """Vectors of ``vector_bits``, or smaller ones where rows are not aligned to those, or where all threads together
    store more than a step of them; f64 one by one, as its kernels are aligned."""
    tile_n, steps, bits = mma.tile[1], mma.warp_tile[0] // step_rows, destination.dtype.bits
    shape, count = OutputTileShape(tile_n, step_rows, mma.warps[0]), OutputTileShape(1, steps, tile=steps)
    elements = 1 if bits == 64 else widest_alignment(destination, vector_bits // bits)
    least = min(elements, max(1, 32 // bits))
    if elements == 1 and mma.atom.dtype_c == "f16":
        raise gs.UserError("half accumulators leave in pairs", place=destination.name,
                           got=f"rows of {destination.shape[1]} elements", suggestion="an even N, or f32 accumulators")
    while elements >= least:
        thread_map = optimal_thread_map(shape, count, mma.num_threads, elements, bits)
        if min(thread_map.iterations.row, thread_map.iterations.column) > 0:
            return thread_map
        elements //= 2
    raise gs.UserError("the epilogue has more threads than elements to store in a step",
                       got=f"{mma.num_threads} threads", suggestion="fewer warps or a wider tile")


def push_rows(mma: TiledMma, accumulators: Fragment, step: int) -> Push:
    """Rows step * 8 .. step * 8 + 7 of every warp: half an atom of 16 rows, two neighbouring columns a lane."""
    lane, warp_m = np.arange(LANES), mma.warp_tile[0]
    atom_m, atom_n, _ = mma.atom.shape_mnk
    halves, columns = atom_m // ROWS_PER_STEP, mma.atoms[1]
    warp_rows = mma.warp_rows("A") // warp_m + mma.warp_partitions * mma.warps[0]
    row = (warp_rows * ROWS_PER_STEP)[:, None] + lane // 4
    column = mma.warp_rows("B")[:, None] + lane % 4 * 2
    width = accumulators.registers // halves
    starts = accumulators.groups[step // halves * columns : (step // halves + 1) * columns]
    groups = [(start + step % halves * width, width) for start in starts]
    columns_of = [column + n * atom_n for n in range(columns)]
    return Push(np.stack([row.reshape(-1)] * columns), np.stack([c.reshape(-1) for c in columns_of]), groups)
