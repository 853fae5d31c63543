"""Models wgmma: operands are read, and accumulators written, some time before the wait for their group returns.
Leaves out the summation order inside a tensor core.

The executor reads at the last moment, so a stage that is filled again too early gives a wrong product, and so do
registers of A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.arch.atoms.warpgroup import GmmaAtom, gmma_of
from gpusim.errors import UserError
from gpusim.program import MatrixOperand
from gpusim.verify.dtypes import decode
from gpusim.verify.registers import pack, unpack
from gpusim.verify.state import DEFINED, NEVER_WRITTEN
from gpusim.verify.step import Step
from gpusim.verify.tracker import Touch

__all__ = ["fence", "multiply", "wait_for_groups"]

CLOSES_GROUP, FROM_REGISTERS = 1, 2
GROUP_WARPS = 4


@dataclass(frozen=True)
class _Operand:
    """An operand of one warpgroup: ``words`` (rows, k) that hold its elements, ``high``: in their upper half;
    ``tokens`` of the copies that were on their way to them when the instruction was issued."""

    touch: Touch
    words: np.ndarray
    high: np.ndarray
    tokens: np.ndarray


@dataclass(frozen=True)
class _Product:
    """A wgmma under way, of all warpgroups of a role."""

    step: Step
    atom: GmmaAtom
    operands: tuple[tuple[_Operand, ...], ...]  # per warpgroup: A, where it is in shared memory, and B
    accumulates: bool


def fence(step: Step) -> None:
    """WARPGROUP.ARRIVE: registers written so far may be given to wgmmas."""
    step.role.fenced = True


def multiply(step: Step) -> None:
    """HGMMA.64xNx16.{F32,F16} d, gdesc[UR][, d]: d += A B, or d = A B without d among the sources."""
    atom = gmma_of(step.mnemonic, a_in_registers=bool(step.op.operand & FROM_REGISTERS))
    if atom is None:
        raise UserError(f"{step.mnemonic} has no functional model with these operands", place=step.place)
    role, places = step.role, _places(step)
    if not role.fenced:
        step.note_register_hazard("wgmma_fence", -1)
    shared = "B" if atom.a_in_registers else "AB"
    operands = tuple(tuple(_operand(step, atom, places[group, name], group) for name in shared)
                     for group in range(role.program.num_warps // GROUP_WARPS))
    if atom.a_in_registers:
        _borrow(step)
    accumulates = (step.op.dst_start, step.op.dst_count) in step.vector_sources
    role.open_products.append(_Product(step, atom, operands, accumulates))
    registers = slice(step.op.dst_start, step.op.dst_start + step.op.dst_count)
    role.flying[registers], role.accumulates[registers] = step.op.pc, True
    if step.op.operand & CLOSES_GROUP:
        role.product_groups.append(role.open_products)
        role.open_products = []


def _borrow(step: Step) -> None:
    """A's registers belong to the wgmma until its group has been waited for. Raises UserError where they hold nothing.
    """
    start, count = step.vector_sources[0]
    registers = slice(start, start + count)
    if (step.role.origin[registers] != DEFINED).any():
        raise UserError("A must be in registers before a wgmma reads it", place=step.place, got=f"R{start}",
                        suggestion="ctx.load_operand first")
    step.role.flying[registers], step.role.accumulates[registers] = step.op.pc, True


def wait_for_groups(step: Step) -> None:
    """WARPGROUP.DEPBAR.LE gsb0, n: all but the newest n groups are done."""
    role = step.role
    done = max(0, len(role.product_groups) - step.op.operand)
    for group in role.product_groups[:done]:
        for product in group:
            _finish(product)
    role.product_groups = role.product_groups[done:]


def _places(step: Step) -> dict[tuple[int, str], MatrixOperand]:
    found = {(matrix.warpgroup, matrix.operand): matrix for matrix in step.role.program.accesses.matrices
             if matrix.row == step.op.access}
    if not found:
        raise UserError(f"{step.mnemonic} needs to know where its operands lie", place=step.place, got="no access")
    return found


def _operand(step: Step, atom: GmmaAtom, place: MatrixOperand, group: int) -> _Operand:
    rows = atom.shape_mnk[0] if place.operand == "A" else atom.shape_mnk[1]
    mn, k = np.indices((rows, atom.shape_mnk[2]))
    addresses = place.descriptor.addresses(mn, k, 2) + step.op.shared_offset
    words = addresses // 4
    distinct = np.unique(words)
    touch = step.touch(distinct[:, None], np.full(len(distinct), group * GROUP_WARPS))
    tracker = step.batch.shared.tracker
    tracker.hold(touch, tracker.read_by_proxy(touch))
    return _Operand(touch, words, addresses % 4 != 0, tracker.flight_token[words].copy())


def _finish(product: _Product) -> None:
    step, atom = product.step, product.atom
    role, start, count = step.role, step.op.dst_start, step.op.dst_count
    sums = np.stack([_product(step, atom, group, pair) for group, pair in enumerate(product.operands)],
                    axis=1)  # (CTAs, groups, 64, n)
    index = atom.C_tv.offsets().reshape(128, -1)
    flat = np.swapaxes(sums, -1, -2).reshape(*sums.shape[:2], -1)[..., index]
    values = flat.reshape(len(flat), -1, 32, index.shape[1])
    if product.accumulates:
        _require_defined(step)
        values = values + unpack(role.registers[start:start + count], atom.dtype_d)
    role.registers[start:start + count] = pack(values.astype(np.float32), atom.dtype_d)
    role.origin[start:start + count] = DEFINED
    role.flying[start:start + count] = -1
    if atom.a_in_registers:
        first, length = step.vector_sources[0]
        role.flying[first:first + length] = -1
    for pair in product.operands:
        for operand in pair:
            step.batch.shared.tracker.let_go(operand.touch, by_group=True)


def _require_defined(step: Step) -> None:
    start, count = step.op.dst_start, step.op.dst_count
    if (step.role.origin[start:start + count] == NEVER_WRITTEN).any():
        raise UserError("accumulators must be written before a wgmma adds to them", place=step.place,
                        got=f"R{start}", suggestion="gemm(..., accumulate=False) first")


def _product(step: Step, atom: GmmaAtom, group: int, operands: tuple[_Operand, ...]) -> np.ndarray:
    a = _fragment(step, atom, group) if atom.a_in_registers else _values(step, operands[0], atom.dtype_a)
    return a @ _values(step, operands[-1], atom.dtype_b).swapaxes(-1, -2)


def _fragment(step: Step, atom: GmmaAtom, group: int) -> np.ndarray:
    """(CTAs, 64, 16) f32 in four registers of a warpgroup: lane l holds rows l // 4 and 8 more, columns 2 (l % 4) and 8
    more of its warp's 16 x 16. PTX ISA, wgmma register fragments."""
    start, count = step.vector_sources[0]
    warps = slice(group * GROUP_WARPS, (group + 1) * GROUP_WARPS)
    values = unpack(step.role.registers[start:start + count][:, :, warps], atom.dtype_a)  # (CTAs, 4, 32, 8)
    warp, lane, value = np.indices(values.shape[1:])
    rows = 16 * warp + lane // 4 + 8 * (value // 2 % 2)
    columns = lane % 4 * 2 + value % 2 + 8 * (value // 4)
    matrix = np.zeros((len(values), *atom.shape_mnk[::2]), np.float32)
    matrix[:, rows, columns] = values
    return matrix


def _values(step: Step, operand: _Operand, dtype: str) -> np.ndarray:
    """(CTAs, rows, k) f32, as late as it can be: of a word that a later copy is filling, what that brings."""
    words = step.batch.shared.latest(operand.words, operand.tokens)
    halves = np.where(operand.high, words >> np.uint32(16), words & np.uint32(0xFFFF)).astype("<u2")
    return decode(halves[..., None].view(np.uint8), dtype)[..., 0].astype(np.float32)
