"""Models the namespaces ``gs.mma`` and ``gs.copy``: atoms as attributes, by their CuTe names.
Leaves out the atoms themselves (gpusim.arch.atoms)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from gpusim.arch.atoms import COPY_ATOMS, MMA_ATOMS, copy_atom, mma_atom
from gpusim.arch.atoms.warpgroup import BULK_ATOMS, GMMA_ATOMS

__all__ = ["copy", "mma"]

Atom = TypeVar("Atom")


class Namespace(Generic[Atom]):
    """Attribute access to a registry; a misspelt name raises its UserError with a suggestion."""

    def __init__(self, find: Callable[[str], Atom], names: Iterable[str]) -> None:
        self._find, self._names = find, tuple(names)

    def __getattr__(self, name: str) -> Atom:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._find(name)

    def __dir__(self) -> list[str]:
        return sorted(self._names)


def find_mma(name: str) -> Any:
    """Of a warp or of a warpgroup."""
    return GMMA_ATOMS[name] if name in GMMA_ATOMS else mma_atom(name)


def find_copy(name: str) -> Any:
    return BULK_ATOMS[name] if name in BULK_ATOMS else copy_atom(name)


mma: Namespace[Any] = Namespace(find_mma, [*MMA_ATOMS, *GMMA_ATOMS])
copy: Namespace[Any] = Namespace(find_copy, [*COPY_ATOMS, *BULK_ATOMS])
"""MmaAtom or GmmaAtom, CopyAtom or BulkAtom."""
