"""Models copies as statements: which accesses a copy makes, what of its addresses moves from one time to the next.
Leaves out the addresses of lanes (gpusim.dsl.partition) and instructions (gpusim.dsl.lowering)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpusim.arch.atoms import CopyAtom
from gpusim.dsl.partition import (
    async_copy_accesses,
    copy_pieces,
    ldmatrix_accesses,
    ldmatrix_matrices,
    store_accesses,
    store_rows,
    swizzle_kind,
)
from gpusim.dsl.recorder import Recorder
from gpusim.dsl.statements import AsyncCopy, Instance, LoadMatrix, Store
from gpusim.dsl.tensors import LINE_BYTES, Fragment, GmemTensor, SmemTensor, Tile
from gpusim.dsl.tiled import LANES, TiledCopy
from gpusim.errors import UserError

__all__ = ["Mover"]


@dataclass
class Mover:
    """Makes the copy statements of a CTA class.

    ``tensor_rows``: tensors in global memory by name: row of Program.tensors, which has all of them once for every tile
    that a CTA visits; ``residues``: bytes by which CTA base pointers exceed a multiple of a line, in the same order.
    """

    tensor_rows: dict[str, int]
    residues: tuple[int, ...]
    outputs: set[str] = field(default_factory=set)
    _specs: dict[Any, Any] = field(default_factory=dict)
    _last_stage: dict[str, int] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)  # what an id in a key stands for stays alive
    visit: int = 0  # of the tiles that a CTA visits, the one being recorded

    def row(self, name: str) -> int:
        """Row of Program.tensors of a tensor at the present visit."""
        return self.tensor_rows[name] + self.visit * len(self.tensor_rows)

    def residue(self, name: str) -> int:
        """Bytes by which its CTA base pointer exceeds a multiple of a line; 0 at a first look."""
        row = self.row(name)
        return self.residues[row] if row < len(self.residues) else 0

    def async_copy(self, recorder: Recorder, copy: TiledCopy, source: Tile, destination: Tile,
                   active: bool) -> tuple[AsyncCopy, Instance]:
        """cp.async of a tile. Raises UserError when an active copy leaves its tensors."""
        shared, tensor = destination.of, source.of
        if not isinstance(shared, SmemTensor) or not isinstance(tensor, GmemTensor):
            raise UserError("cp.async copies from global to shared memory", got=f"{tensor.name} to {shared.name}")
        _require_warps(recorder, copy.num_threads, "tiled copy")
        if active and (source.outside or destination.outside):
            raise UserError(f"a copy from {tensor.name} to {shared.name} must stay inside its tensors",
                            got=source.outside or destination.outside, suggestion="guard it with pred=")
        to_moved, to_left = split(destination.offset, shared.period_bytes)
        from_moved, from_left = split(source.offset + self.residue(tensor.name), LINE_BYTES)
        key = (id(copy), self.row(tensor.name), source.shape, source.strides, from_left, shared.name,
               destination.shape, to_left, source.inside)
        row = recorder.access_row(key, lambda: async_copy_accesses(
            copy, source, destination, tensor=self.row(tensor.name), source_bytes=from_left,
            destination_bytes=to_left))
        active = active and ("ZFILL" in copy.atom.mnemonic or source.inside is None or min(source.inside) > 0)
        return self._async_spec(recorder, copy, source, destination), Instance(row, to_moved, from_moved, active)

    def _async_spec(self, recorder: Recorder, copy: TiledCopy, source: Tile, destination: Tile) -> AsyncCopy:
        partial = source.inside is not None
        key = (recorder.name, id(copy), source.of.name, destination.of.name, destination.shape, partial)
        if key not in self._specs:
            rows, columns = copy_pieces(copy, destination.shape)
            tensor = destination.of
            assert isinstance(tensor, SmemTensor)
            self._kept.append(copy)
            self._specs[key] = AsyncCopy(copy.atom.mnemonic, source.of.name, tensor.name, len(rows),
                                         recorder.place_number(rows, columns), tensor.stage_bytes,
                                         swizzle_kind(tensor, divided=True), partial)
        return self._specs[key]

    def ldmatrix(self, recorder: Recorder, atom: CopyAtom, source: Tile,
                 fragment: Fragment) -> tuple[LoadMatrix, Instance]:
        """ldmatrix of one column block of a staged tile."""
        shared, mma = source.of, fragment.mma
        if not isinstance(shared, SmemTensor):
            raise UserError("ldmatrix reads shared memory", got=shared.name)
        if source.outside:
            raise UserError(f"ldmatrix must stay inside {shared.name}", got=source.outside)
        _require_warps(recorder, mma.num_threads, "tiled MMA")
        moved, left = split(source.offset, shared.period_bytes)
        key = (shared.name, source.shape, left, fragment.operand, id(mma))
        row = recorder.access_row(key, lambda: ldmatrix_accesses(mma, fragment.operand, source, left, atom.operation))
        self._kept.append(mma)
        spec = self._ldmatrix_spec(recorder, atom, source, fragment)
        return spec, Instance(row, moved)

    def _ldmatrix_spec(self, recorder: Recorder, atom: CopyAtom, source: Tile, fragment: Fragment) -> LoadMatrix:
        shared, mma = source.of, fragment.mma
        assert isinstance(shared, SmemTensor)
        stage, inside = divmod(source.offset, shared.stage_bytes)
        name = f"{recorder.name}/{shared.name}"
        new_stage, self._last_stage[name] = self._last_stage.get(name) != stage, stage
        key = (name, fragment.groups, inside, new_stage)
        if key not in self._specs:
            matrices, count = ldmatrix_matrices(mma, fragment.operand)
            groups = fragment.groups[:: len(fragment.groups) // count]
            part = inside // (source.shape[1] * source.strides[1])
            kind = swizzle_kind(shared, divided=mma.warps[0] > 1)
            self._specs[key] = LoadMatrix(atom.mnemonic, shared.name, groups, matrices, part, new_stage, kind)
        return self._specs[key]

    def store(self, recorder: Recorder, atom: CopyAtom, fragment: Fragment,
              destination: Tile) -> tuple[Store, Instance]:
        """Stores of a fragment's registers to a tile in global memory."""
        tensor, mma, atom = destination.of, fragment.mma, atom.bind("register", "global")
        if not isinstance(tensor, GmemTensor):
            raise UserError("a fragment is stored to global memory", got=tensor.name)
        if fragment.operand != "C" or fragment.registers * 2 != mma.registers("C"):
            raise UserError("accumulators are converted to the tensor's 16-bit type before they are stored",
                            got=fragment.dtype, suggestion="ctx.convert(accumulators, gs.f16)")
        moved, left = split(destination.offset + self.residue(tensor.name), LINE_BYTES)
        key = ("store", self.row(tensor.name), left, id(mma), destination.inside)
        row = recorder.access_row(key, lambda: store_accesses(
            mma, destination, left, tensor=self.row(tensor.name), operation=atom.operation,
            width=atom.bits_per_thread // 8))
        self.outputs.add(tensor.name)
        columns, pairs = mma.atoms[1], mma.registers("C") // 2
        order = store_rows(mma)
        registers = tuple(fragment.groups[i * columns + j] + pair for i, j, pair in order)
        rows = tuple(i * pairs + pair for i, _, pair in order)
        return Store(atom.mnemonic, tensor.name, registers, rows, destination.inside is not None), \
            Instance(row, 0, moved)


def _require_warps(recorder: Recorder, threads: int, what: str) -> None:
    if threads != recorder.num_warps * LANES:
        raise UserError(f"a {what} uses all threads of its role, {recorder.num_warps * LANES} here", got=threads)


def split(offset: int, unit: int) -> tuple[int, int]:
    """What an op's offset carries, a multiple of ``unit``, and what is left for the lane addresses."""
    return offset - offset % unit, offset % unit
