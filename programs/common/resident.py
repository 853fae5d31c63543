"""Models how many CTAs of a tensor-core kernel stay on an SM, as a persistent launch asks before it is compiled.
Leaves out registers of addresses beyond an allowance."""

from __future__ import annotations

from gpusim import GpuSpec, TiledMma, dtype_named, occupancy

__all__ = ["resident_ctas"]

ADDRESS_REGISTERS = 56
"""Beside accumulators and two buffers of fragments: GemmGrouped has 62 in tiles of 128x128x32 and 52 in 64x64x32,
kernels of one tile 30 to 50 (CUTLASS 4.2, nvcc 13.0, sm_90a)."""
MOST_REGISTERS = 255


def resident_ctas(spec: GpuSpec, mma: TiledMma, tile_k: int, num_stages: int) -> int:
    """CTAs per SM by shared memory and registers, at least one."""
    rows, columns = mma.atoms
    fragments = rows * mma.registers("A") + columns * mma.registers("B")
    registers = min(MOST_REGISTERS, rows * columns * mma.registers("C") + 2 * fragments + ADDRESS_REGISTERS)
    bits = dtype_named(mma.atom.dtype_a).bits
    shared_bytes = sum(mma.tile) * tile_k * bits // 8 * num_stages
    return max(1, occupancy(spec, mma.num_threads, registers, shared_bytes).blocks_per_sm)
