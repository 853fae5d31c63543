"""Models where configurations and programs live: the checkout, or the data of an installed wheel.
Leaves out what is in them."""

from __future__ import annotations

from pathlib import Path

from gpusim.errors import UserError

__all__ = ["data_roots", "find_data", "list_data"]

_PACKAGE = Path(__file__).resolve().parent.parent


def data_roots() -> tuple[Path, Path]:
    """The checkout (parent of the package) first, then the data directory of a wheel."""
    return _PACKAGE.parent, _PACKAGE / "_data"


def find_data(relative: str) -> Path:
    """The file or directory ``relative`` (``"configs/gpus/h200.yaml"``). Raises UserError when there is none."""
    for root in data_roots():
        if (root / relative).exists():
            return root / relative
    raise UserError("no such file in this installation", place=relative,
                    suggestion=f"looked in {' and '.join(map(str, data_roots()))}")


def list_data(directory: str, suffix: str) -> dict[str, Path]:
    """Files of ``directory`` ending in ``suffix`` by stem; the checkout wins over the wheel."""
    found: dict[str, Path] = {}
    for root in data_roots():
        for path in sorted((root / directory).glob(f"*{suffix}")):
            found.setdefault(path.stem, path)
    return found
