"""Models how CUTLASS 2.x divides a threadblock tile: warps, tensor-core instruction, copies per k step.
Leaves out the main loops themselves."""

from __future__ import annotations

import gpusim as gs
from gpusim import TiledMma, dtype_named

__all__ = ["interleaved_pieces", "tensor_op_mma"]

POPC = {"and_popc": "_ANDPOPC", "xor_popc": "_XORPOPC"}


def tensor_op_mma(tile: tuple[int, int, int], warp: tuple[int, int, int], instruction: tuple[int, int, int],
                  input_type: str, accumulator_type: str, operator: str = "default", *,
                  sparse: bool = False) -> TiledMma:
    """The warps' MMA of a tile; where the warp's k is a part of the tile's, several warps share it (sliced-K).

    ``operator``: and_popc (default) or xor_popc for single bits. ``sparse``: A holds two of every four k. Raises
    UserError for shapes that do not divide, fewer than two k steps or odd ones, and types without an instruction.
    """
    k_steps, rest = divmod(warp[2], instruction[2])
    if rest or k_steps < 2 or k_steps % 2:
        raise gs.UserError("a warp tile has an even number of k steps, two or more",
                           got=f"{warp[2]} by {instruction[2]}", suggestion=f"warp k of {2 * instruction[2]}")
    if any(t % w for t, w in zip(tile, warp, strict=True)):
        raise gs.UserError("warp tiles must divide the threadblock tile", got=f"{tile} by {warp}")
    name = _atom_name(instruction, dtype_named(input_type), dtype_named(accumulator_type), operator)
    atom = getattr(gs.mma, name.replace("_", "_SPARSE_", 1) if sparse else name)
    return gs.tiled_mma(atom, tile=tile[:2], warps=(tile[0] // warp[0], tile[1] // warp[1]),
                        partitions=tile[2] // warp[2])


def _atom_name(instruction: tuple[int, int, int], operand: gs.DType, accumulator: gs.DType, operator: str) -> str:
    """CuTe's name: the architecture that brought the type, shape, types, and what happens to integers."""
    if operator != "default" and (operand.name != "u1" or operator not in POPC):
        raise gs.UserError("the operator of an MMA is default, for single bits and_popc or xor_popc",
                           got=f"'{operator}' for {operand}")
    a, c, shape = str(operand).upper(), str(accumulator).upper(), "x".join(map(str, instruction))
    tail = "_SATURATE" if accumulator.name == "s32" else ""
    tail = POPC.get(operator, POPC["and_popc"]) if operand.name == "u1" else tail
    return f"SM{89 if operand.name in ('e4m3', 'e5m2') else 80}_{shape}_{c}{a}{a}{c}_TN{tail}"


def interleaved_pieces(pieces: int, step: int, k_steps: int) -> range:
    """Pieces of a tile that MmaMultistage copies beside k step ``step``."""
    group = -(-pieces // k_steps)
    return range(min(pieces, step * group), min(pieces, (step + 1) * group))
