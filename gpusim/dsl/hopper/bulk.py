"""Models TMA statements: the boxes of a tile, the lines and bytes they move, and the code that starts them.
Leaves out when they arrive (gpusim.engine) and what becomes visible when (gpusim.verify)."""

from __future__ import annotations

import numpy as np

from gpusim.arch.atoms.warpgroup import BulkAtom
from gpusim.dsl.hopper.operands import Box, BulkTile, OperandTile
from gpusim.dsl.moves import Mover, split
from gpusim.dsl.recorder import Recorder
from gpusim.dsl.registers import Registers
from gpusim.dsl.statements import Code, Instance, Line
from gpusim.dsl.tensors import LINE_BYTES
from gpusim.errors import UserError
from gpusim.program import BulkBox
from gpusim.program.access_builder import Access, BulkRows

__all__ = ["BULK_GROUP", "bulk_copy"]

FIRST_LANE = 1
BULK_GROUP = 1 << 20
"""Memory key that keeps stores in front of the commit of their group."""
COORDINATES = 5
"""Shared address, barrier and coordinates of a copy, in uniform registers one after another."""
VERBS = {"TMALDG": "tma.load {global} -> {shared}", "TMASTG": "tma.store {shared} -> {global}"}


def bulk_copy(recorder: Recorder, mover: Mover, atom: BulkAtom, tile: BulkTile, shared: OperandTile,
              barrier: int, sharers: tuple[int, ...] = (), part: int = 0) -> tuple[Code, Instance]:
    """One warp's lane starts the copies of a tile's boxes: the role's first warp. ``sharers``: ranks of the CTAs that
    need the tile, of which this one loads a ``part`` for all of them. Raises UserError where the tiles differ."""
    if tile.along is not None or tile.shape != shared.of.layout.extent or tile.tensor.dtype != shared.of.dtype:
        raise UserError("a bulk copy moves equal tiles", got=f"{tile.shape} of {tile.tensor.dtype} and "
                        f"{shared.of.layout.extent} of {shared.of.dtype}",
                        place=f"{tile.tensor.name}, {shared.of.name}")
    if (tile.contiguous == 1) != (shared.of.layout.major == "K"):
        raise UserError("TMA keeps neighbours neighbours: the shared tile has the tensor's contiguous mode",
                        place=f"{tile.tensor.name}, {shared.of.name}", suggestion="major='K' for a tensor by row, 'MN'")
    moved, left = split(_bytes(tile, tile.start) + mover.residue(tile.tensor.name), LINE_BYTES)
    row_number = mover.row(tile.tensor.name)
    boxes = list(shared.boxes(part, max(1, len(sharers))))
    inside = tuple(max(0, whole - start) for whole, start in zip(tile.inside, tile.start, strict=True))
    clipped = tuple(min(n, rest - origin) for n, rest, origin in zip(tile.shape, inside, tile.origin, strict=True))
    key = (atom.name, row_number, tile.shape, tile.origin, clipped, left, shared.of.name, sharers, part)
    row = recorder.access_row(key, lambda: [
        _access(atom, tile, (inside[0], inside[1]), box, shared, left, row_number, recorder.num_warps,
                sum(1 << rank for rank in sharers)) for box in boxes])
    code = recorder.kept(("bulk", atom.name, tile.tensor.name, shared.of.name), lambda: _code(
        recorder.registers, atom, len(boxes)))
    if atom.target == "global":
        mover.outputs.add(tile.tensor.name)
    return code, Instance(row, shared.stage * shared.of.stage_bytes, moved, operand=barrier)


def _bytes(tile: BulkTile, place: tuple[int, int]) -> int:
    return sum(tile.tensor.bytes_of(n * stride) for n, stride in zip(place, tile.tensor.strides, strict=True))


def _access(atom: BulkAtom, tile: BulkTile, inside: tuple[int, int], box: Box, shared: OperandTile, left: int,
            tensor: int, warps: int, ctas: int) -> Access:
    """The elected lane of the first warp copies, the others do nothing; ``inside``: elements that the tensor has from
    the tile's start on, 0 for a tile outside it, whose base is the last tile's; ``ctas``: who gets it, a bit each."""
    element, along = tile.tensor.dtype.bytes, tile.contiguous
    across, pitch = 1 - along, tile.tensor.bytes_of(tile.tensor.strides[1 - along])
    first = tile.origin[0] + box.origin[0], tile.origin[1] + box.origin[1]
    rows = first[across] + np.arange(box.shape[across])
    columns = max(0, min(box.shape[along], inside[along] - first[along]))
    offsets = np.zeros((warps, len(rows)), np.int64)
    bytes_inside, moved = np.zeros((warps, len(rows)), np.int64), np.zeros(warps, np.int64)
    offsets[0] = left + rows * pitch + first[along] * element
    bytes_inside[0] = np.where(rows < inside[across], columns * element, 0)
    moved[0] = box.shape[0] * box.shape[1] * element
    origin = [0, 0]
    origin[across], origin[along] = first[across], first[along] + left // element
    beyond = [shape * (whole == 0) for shape, whole in zip(tile.tensor.shape, tile.inside, strict=True)]
    origin = [place + more for place, more in zip(origin, beyond, strict=True)]
    place = BulkBox(-1, 0, tensor, (origin[0], origin[1]), box.shape, box.shared_byte, shared.of.layout.swizzle)
    names = {"global": tile.tensor.name, "shared": shared.of.name}
    mask, targets = np.zeros(warps, np.uint32), np.zeros(warps, np.uint16)
    mask[0], targets[0] = FIRST_LANE, ctas
    return Access(atom.operation, VERBS[atom.operation].format(**names), 0, None, None, tensor, mask,
                  np.zeros(warps, np.uint32), BulkRows(offsets, bytes_inside, moved, (place,)), cta_mask=targets)


def _code(registers: Registers, atom: BulkAtom, boxes: int) -> Code:
    """A role that stores has other warps, which a branch leads past: they execute as many instructions here."""
    lines: list[Line] = []
    if atom.target == "global":
        elected = registers.predicate()
        lines += [Line("BSSY"), Line("ISETP.GT.U32.AND", elected), Line("BRA", (0, 0), (elected,))]
    for number in range(boxes):
        descriptor, place = registers.uniform(2), registers.uniform(COORDINATES)
        low, high = (descriptor[0], 1), (descriptor[0] + 1, 1)
        lines += [Line("UIADD3", low), Line("UIADD3.X", high, (low,)), Line("ULEA", (place[0], 1))]
        if atom.source == "global":
            hint = registers.uniform(2)
            lines += [Line("UMOV", (hint[0], 1)), Line("UMOV", (hint[0] + 1, 1))]
            lines += [Line("UMOV", (place[0] + n, 1)) for n in range(1, 2)]
            lines.append(Line(atom.mnemonic, (0, 0), (place, descriptor, hint), number, operand=True))
        else:
            lines += [Line("UIADD3", (place[0] + n, 1)) for n in range(1, 3)]
            lines.append(Line(atom.mnemonic, (0, 0), (place, descriptor), number, BULK_GROUP, operand=True))
    return Code(tuple(lines))
