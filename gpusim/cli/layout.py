"""Models ``gpusim layout``: a layout, a thread-value layout or an atom as a table and a picture, and an access to it.
Leaves out the algebra (gpusim.cute) and what is shown (gpusim.experiments.layout_view)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gpusim.cli.options import Json
from gpusim.cli.output import console, errors, print_json

if TYPE_CHECKING:
    from gpusim.experiments.layout_view import View

__all__ = ["layout"]


def layout(
    text: Annotated[
        str, typer.Argument(metavar="LAYOUT|ATOM", help="Such as '(8,64):(64,1)', or an MMA or copy atom by name.")
    ],
    swizzle: Annotated[
        str, typer.Option(help="none, 32B, 64B, 128B, S<b,m,s> on byte offsets, pad:16B, cutlass.")
    ] = "none",
    element: Annotated[str, typer.Option(help="Element type: f16, f32, s8 ...")] = "f16",
    tv: Annotated[
        str | None, typer.Option("--tv", metavar="SHAPE", help="LAYOUT maps (thread, value) to a tile of this shape.")
    ] = None,
    access: Annotated[
        str | None, typer.Option(metavar="OP", help="Heat map of an access to the tile: LDSM4, LDS32, STS128 ...")
    ] = None,
    lanes: Annotated[
        str, typer.Option(help="Lane to coordinate of the tile, as a layout; default: down the rows.")
    ] = "",
    color: Annotated[Literal["bank", "offset"], typer.Option(help="What colours the cells of a picture.")] = "bank",
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw into an SVG file.")] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="FILE", help="Draw into a PNG file.")] = None,
    json: Json = False,
) -> None:
    """Print and draw a layout.

    A table of offsets, who holds what for thread-value layouts and atoms, or the banks that an access wants.
    """
    view = _view(text, swizzle, element, tv, access, lanes, color)
    for path in (svg, png):
        if path:
            _draw(view, path)
    if json:
        return print_json(view.data)
    console().print(view.text, markup=False, no_wrap=True, crop=False, overflow="ignore")


def _view(text: str, swizzle: str, element: str, tv: str | None, access: str | None, lanes: str, color: str) -> View:
    from gpusim.experiments.layout_view import element_bits, parse_layout, view_atom, view_layout, view_tv

    bits = element_bits(element)
    if ":" not in text:
        return view_atom(text, bits)
    if tv is not None:
        return view_tv(text, tv)
    parsed = parse_layout(text, swizzle, bits)
    if access is not None:
        from gpusim.experiments.layout_access import view_access

        return view_access(parsed, bits, access, lanes)
    return view_layout(parsed, bits, swizzle=swizzle, by_bank=color == "bank")


def _draw(view: View, path: Path) -> None:
    from gpusim.cute.drawing import save

    path.parent.mkdir(parents=True, exist_ok=True)
    save(view.draw(), path)
    errors().print(f"wrote {path}", markup=False)
