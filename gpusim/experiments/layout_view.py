"""Models what is shown of a layout or an atom: a text table, a picture, and its numbers.
Leaves out terminals and files (gpusim.cli), and an access to a layout (gpusim.experiments.layout_access)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.arch.atoms import COPY_ATOMS, DTYPE_BITS, MMA_ATOMS, CopyAtom, MmaAtom
from gpusim.cute import ComposedLayout, Layout, composition, cosize, size, smem_layout, smem_swizzle, upcast
from gpusim.cute.drawing import draw_copy, draw_layout, draw_mma, draw_tv, layout_table, tv_table
from gpusim.cute.drawing.grid import offset_grid, owner_grid
from gpusim.cute.int_tuple import is_int
from gpusim.cute.parse import parse_int_tuple
from gpusim.errors import UserError, did_you_mean

__all__ = ["View", "element_bits", "parse_layout", "view_atom", "view_layout", "view_tv"]

_MATRIX_ROW_BITS = 128
_NAMES_SHOWN = 4


@dataclass(frozen=True)
class View:
    """``draw`` makes the figure when it is wanted: that imports matplotlib."""

    title: str
    text: str
    data: dict[str, Any]
    draw: Callable[[], Any]


def element_bits(name: str) -> int:
    """Bits of an element type. Raises UserError for an unknown one."""
    if name not in DTYPE_BITS:
        raise UserError("no such element type", place="--element", got=f"'{name}'",
                        suggestion=did_you_mean(name, DTYPE_BITS))
    return DTYPE_BITS[name]


def parse_layout(text: str, swizzle: str, bits: int) -> Any:
    """The layout, in elements, of a printed form; ``swizzle`` acts on byte offsets, or pads rows of a plain tile.

    Raises UserError for text that is no layout, and for a swizzle that the layout cannot take.
    """
    layout = ComposedLayout.parse(text) if " o " in text else Layout.parse(text)
    if smem_swizzle(swizzle, 64).text == "none":
        return layout
    if isinstance(layout, ComposedLayout):
        raise UserError("a layout has one swizzle", place="--swizzle", got=f"{swizzle} on {layout}")
    contiguous = _contiguous_mode(layout)
    if contiguous is not None:
        return smem_layout(layout.shape, bits, swizzle, contiguous=contiguous)
    spec = smem_swizzle(swizzle)
    if spec.pad_bytes:
        raise UserError("only a compact tile of two modes can be padded", place="--swizzle", got=str(layout),
                        suggestion="write the pitch into the stride")
    return ComposedLayout(spec.in_elements(bits), 0, layout)


def view_layout(layout: Any, bits: int, *, swizzle: str = "none", by_bank: bool = True) -> View:
    """The offset of every coordinate; the picture coloured by bank, or by offset modulo 8."""
    data = {"layout": str(layout), "size": size(layout), "cosize": cosize(layout),
            "offsets": offset_grid(layout).tolist()}
    note = ""
    if swizzle not in ("none", "cutlass"):
        note = f"\n{swizzle}: {smem_swizzle(swizzle).describe(bits)}"
    return View(str(layout), layout_table(layout) + note, data, lambda: draw_layout(layout, bits if by_bank else None))


def view_tv(text: str, shape_text: str) -> View:
    """A thread-value layout on a tile of a shape such as ``(16,8)``."""
    layout, shape = Layout.parse(text), parse_int_tuple(shape_text, shape_text)
    if is_int(layout.shape) or len(layout.shape) != 2:
        raise UserError("a thread-value layout has two modes, threads and values", got=str(layout))
    return View(f"{layout} on {shape}", tv_table(layout, shape), _owned(layout, shape), lambda: draw_tv(layout, shape))


def view_atom(name: str, bits: int) -> View:
    """Who holds which element of an MMA's operands, or of what a copy moves (``bits`` wide elements).

    Raises UserError for an unknown name, naming the nearest; for elements that the copy tears apart.
    """
    if name in MMA_ATOMS:
        return _view_mma(MMA_ATOMS[name])
    if name in COPY_ATOMS:
        return _view_copy(COPY_ATOMS[name], bits)
    raise UserError("neither a layout nor an atom", got=f"'{name}'", suggestion=_nearest(name))


def _nearest(name: str) -> str:
    """The atoms whose names go on as ``name`` does, a few of them; or the one that is most alike."""
    known = (*MMA_ATOMS, *COPY_ATOMS)
    longer = [atom for atom in known if name and name.lower() in atom.lower()]
    if longer:
        return f"there is {', '.join(longer[:_NAMES_SHOWN])}" + (" ..." if len(longer) > _NAMES_SHOWN else "")
    suggestion = did_you_mean(name, known)
    return suggestion if suggestion.startswith("did") else "a layout is written SHAPE:STRIDE, such as (8,64):(64,1)"


def _contiguous_mode(layout: Layout) -> int | None:
    """Of a compact tile of two plain modes, the one whose elements are neighbours."""
    shape, stride = layout.shape, layout.stride
    if is_int(shape) or len(shape) != 2 or not all(map(is_int, shape)):
        return None
    return {(shape[1], 1): 1, (1, shape[0]): 0}.get(tuple(stride))


def _view_mma(atom: MmaAtom) -> View:
    m, n, k = atom.shape_mnk
    operands = {"A": (atom.A_tv, atom.a_shape), "B": (atom.B_tv, (n, k)), "C": (atom.C_tv, (m, n))}
    title = f"{atom.name}: {atom.mnemonic}, {m}x{n}x{k}, {atom.dtype_a} x {atom.dtype_b} -> {atom.dtype_d}"
    text = "\n\n".join(f"{name} {tv_table(tv, shape)}" for name, (tv, shape) in operands.items())
    data: dict[str, Any] = {"atom": atom.name, "mnemonic": atom.mnemonic, "shape_mnk": [m, n, k]}
    data |= {name: _owned(tv, shape) for name, (tv, shape) in operands.items()}
    return View(title, f"{title}\n\n{text}", data,
                lambda: draw_mma(atom.A_tv, atom.B_tv, atom.C_tv, atom.shape_mnk, title))


def _view_copy(atom: CopyAtom, bits: int) -> View:
    """Rows of 16 bytes downwards, as ldmatrix sees its matrices."""
    columns = min(_MATRIX_ROW_BITS, atom.src_tv.size() // size(atom.src_tv[0])) // bits
    if not columns:
        raise UserError("an element is wider than the copy", place=atom.name, got=f"{bits} bits")
    sides = {name: upcast(tv, bits) for name, tv in (("source", atom.src_tv), ("destination", atom.dst_tv))}
    rows = max(cosize(tv) for tv in sides.values()) // columns
    by_row = Layout((columns, rows), (rows, 1))
    tiles = {name: composition(by_row, tv) for name, tv in sides.items()}
    title = f"{atom.name}: {atom.mnemonic or 'LDS, STS, LDG, STG'}, {bits}-bit elements"
    text = "\n\n".join(f"{name} {tv_table(tv, (rows, columns))}" for name, tv in tiles.items())
    data: dict[str, Any] = {"atom": atom.name, "mnemonic": atom.mnemonic}
    data |= {name: _owned(tv, (rows, columns)) for name, tv in tiles.items()}
    return View(title, f"{title}\n\n{text}", data,
                lambda: draw_copy(tiles["source"], tiles["destination"], (rows, columns), title))


def _owned(tv: Layout, shape: Any) -> dict[str, Any]:
    return {"layout": str(tv), "shape": shape, "thread_value": owner_grid(tv, shape).tolist()}
