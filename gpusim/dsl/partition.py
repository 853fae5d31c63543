"""Models which bytes every lane of every warp addresses in a copy, an ldmatrix, a store.
Leaves out what they cost (gpusim.memory) and when they run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusim.dsl.tensors import GmemTensor, SmemTensor, Tile
from gpusim.dsl.tiled import LANES, TiledCopy, TiledMma, ldmatrix_origins
from gpusim.errors import UserError
from gpusim.program.access_builder import Access

__all__ = [
    "async_copy_accesses", "copy_pieces", "inside", "ldmatrix_accesses", "ldmatrix_matrices", "require_aligned",
    "same_places", "store_accesses", "store_rows", "swizzle_kind",
]

ALL_LANES = 0xFFFFFFFF
ROW_BYTES = 16
"""Of an 8x8 matrix of 16-bit elements, the unit of ldmatrix."""


def copy_pieces(copy: TiledCopy, tile: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """(pieces, threads) first row and column of what each thread moves. Raises UserError unless the copy tiles it."""
    step = copy.tile
    if tile[0] % step[0] or tile[1] % step[1]:
        raise UserError("a tiled copy must divide the tile it moves",
                        got=f"{step[0]}x{step[1]} for {tile[0]}x{tile[1]}",
                        suggestion="choose fewer threads per row or a larger tile")
    rows, columns = copy.thread_coordinates
    origins = [(r, c) for r in range(0, tile[0], step[0]) for c in range(0, tile[1], step[1])]
    return np.array([rows + r for r, _ in origins]), np.array([columns + c for _, c in origins])


def async_copy_accesses(copy: TiledCopy, source: Tile, destination: Tile, *, tensor: int, source_bytes: int,
                        destination_bytes: int) -> list[Access]:
    """One access per piece; ``*_bytes``: what is left of the tiles' offsets after their multiples of a period. What a
    partial tile does not have is left out, or zero where the atom fills."""
    rows, columns = copy_pieces(copy, destination.shape)
    shared = destination.of.addresses(destination_bytes + destination.byte_offsets(rows, columns))  # type: ignore[union-attr]
    offsets = source_bytes + source.byte_offsets(rows, columns)
    width = copy_bytes(copy, source)
    require_aligned(shared, width, destination.of, "cp.async")
    require_aligned(offsets, width, source.of, "cp.async")
    label = f"cp.async {source.of.name} -> {destination.of.name}"
    lanes, fill = inside(source, rows, columns, width * 8 // source.dtype.bits), "ZFILL" in copy.atom.mnemonic
    return [_access(copy.atom.operation, label, width, s, g, tensor, lane, fill)
            for s, g, lane in zip(shared, offsets, lanes, strict=True)]


def inside(tile: Tile, rows: np.ndarray, columns: np.ndarray, elements: int) -> np.ndarray:
    """Which of the vectors of some elements that begin at (rows, columns) the tensor has. Raises UserError for one that
    straddles its end."""
    if tile.inside is None:
        return np.full(rows.shape, True)
    contiguous = tile.inside[int(tile.strides[1] == tile.dtype.bytes)]
    if contiguous % elements:
        raise UserError(f"a tensor must end with a whole vector of {elements} elements", place=tile.of.name,
                        got=contiguous, suggestion="pad the problem or copy fewer bits")
    found: np.ndarray = (rows < tile.inside[0]) & (columns < tile.inside[1])
    return found


def copy_bytes(copy: TiledCopy, source: Tile) -> int:
    """Bytes a thread moves at once. Raises UserError when they differ from the atom's."""
    width = copy.val_layout.size() * source.dtype.bits // 8
    if width != copy.atom.bits_per_thread // 8:
        raise UserError("the values of a tiled copy must fill its atom", got=f"{width} bytes for {copy.atom.name}",
                        suggestion=f"a value layout of {copy.atom.bits_per_thread // source.dtype.bits} elements")
    return width


def ldmatrix_matrices(mma: TiledMma, operand: str) -> tuple[int, int]:
    """(matrices of one ldmatrix.x4, ldmatrix per warp): a x4 brings as many whole atoms as fit."""
    per_atom = mma.registers(operand)
    atoms = mma.atoms[operand == "B"]
    if 4 % per_atom or atoms % (4 // per_atom):
        raise UserError("ldmatrix.x4 must bring whole atoms of a warp's tile",
                        got=f"{atoms} atoms of {per_atom} matrices",
                        suggestion="a warp tile of a multiple of 16 rows")
    return 4, atoms // (4 // per_atom)


def ldmatrix_accesses(mma: TiledMma, operand: str, source: Tile, source_bytes: int, operation: str) -> list[Access]:
    """One access per ldmatrix of a warp: lane l gives row l % 8 of matrix l // 8."""
    matrices, count = ldmatrix_matrices(mma, operand)
    origins = np.array(ldmatrix_origins(mma, operand, matrices))
    lane = np.arange(LANES)
    atom_rows = mma.atom_step(operand) * (matrices // mma.registers(operand))
    accesses = []
    for number in range(count):
        rows = mma.warp_rows(operand)[:, None] + number * atom_rows + origins[lane // 8, 0] + lane % 8
        columns = np.broadcast_to(origins[lane // 8, 1], rows.shape)
        shared = source.of.addresses(source_bytes + source.byte_offsets(rows, columns))  # type: ignore[union-attr]
        require_aligned(shared, ROW_BYTES, source.of, "ldmatrix")
        accesses.append(_access(operation, f"ldmatrix {source.of.name}", ROW_BYTES, shared.reshape(-1), None, -1))
    return accesses


def store_rows(mma: TiledMma) -> list[tuple[int, int, int]]:
    """(row block, column block, register pair) in the order stores are written: by m tile, n tile, register pair."""
    pairs = mma.registers("C") // 2
    return [(i, j, pair) for i in range(mma.atoms[0]) for j in range(mma.atoms[1]) for pair in range(pairs)]


def store_accesses(mma: TiledMma, destination: Tile, destination_bytes: int, *, tensor: int, operation: str,
                   width: int) -> list[Access]:
    """One access per store: each lane writes two neighbouring elements of a row."""
    rows, columns = mma.c_coordinates
    warp_m, warp_n = mma.warp_rows("A"), mma.warp_rows("B")
    if destination.strides[1] * 2 != width:
        raise UserError("accumulator pairs must be neighbours in memory", place=destination.of.name,
                        got=f"a column stride of {destination.strides[1]} bytes",
                        suggestion="store to a row-major tensor")
    label, accesses = f"st.global {destination.of.name}", []
    for i, j, pair in store_rows(mma):
        row = warp_m[:, None] + i * mma.atom_step("A") + rows[:, 2 * pair]
        column = warp_n[:, None] + j * mma.atom_step("B") + columns[:, 2 * pair]
        offsets = destination_bytes + destination.byte_offsets(row, column)
        lanes = inside(destination, row, column, 2).reshape(-1)
        accesses.append(_access(operation, label, width, None, offsets.reshape(-1), tensor, lanes))
    return accesses


def swizzle_kind(tensor: SmemTensor, *, divided: bool) -> str:
    """How a compiler sees the tensor's XOR: "" none; "row": of the low bits of the row number, so that row blocks share
    it; "shifted": of higher bits, where it cannot prove that. ``divided``: the row comes from a signed division of the
    warp number, which hides its low bits."""
    swizzle = tensor.swizzle
    if not swizzle.bits:
        return ""
    lowest_row_bit = swizzle.base + swizzle.shift - (tensor.row_bytes.bit_length() - 1)
    return "shifted" if divided and lowest_row_bit > 0 else "row"


def _access(operation: str, label: str, width: int, shared: np.ndarray | None, offsets: np.ndarray | None,
            tensor: int, lanes: np.ndarray | None = None, fill: bool = False) -> Access:
    """``lanes``: which take part, None: all; ``fill``: the others write zeros."""
    given = shared if shared is not None else offsets
    assert given is not None
    warps = given.size // LANES
    shaped = [None if part is None else part.reshape(warps, LANES) for part in (shared, offsets)]
    full = np.full(warps, ALL_LANES, np.uint32)
    taking = full if lanes is None else np.packbits(lanes.reshape(-1, LANES), 1, "little").view(np.uint32)[:, 0]
    return Access(operation, label, width, shaped[0], shaped[1], tensor, full if fill else taking,
                  full & ~taking if fill else np.zeros(warps, np.uint32))


def require_aligned(addresses: np.ndarray, width: int, tensor: GmemTensor | SmemTensor, verb: str) -> None:
    wrong = addresses[addresses % width != 0]
    if not len(wrong):
        return
    swizzle = tensor.swizzle if isinstance(tensor, SmemTensor) else None
    if swizzle is not None and swizzle.bits and 1 << swizzle.base < width:
        raise UserError(f"{verb} of {width} bytes needs a swizzle with base >= {width.bit_length() - 1}",
                        place=tensor.name, got=str(swizzle),
                        suggestion=f"S<{swizzle.bits},{width.bit_length() - 1},{swizzle.shift}> on byte addresses")
    raise UserError(f"{verb} needs addresses aligned to {width} bytes", place=tensor.name, got=int(wrong[0]),
                    suggestion="rows must start at multiples of it: change the padding or the tile")


def same_places(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    """Whether one copy's places begin with the other's."""
    count = min(len(first[0]), len(second[0]))
    return all(np.array_equal(a[:count], b[:count]) for a, b in zip(first, second, strict=True))
