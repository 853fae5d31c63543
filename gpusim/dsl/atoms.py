"""Models the namespaces ``gs.mma`` and ``gs.copy``: atoms as attributes, by their CuTe names.
Leaves out the atoms themselves (gpusim.arch.atoms)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from gpusim.arch.atoms import COPY_ATOMS, MMA_ATOMS, CopyAtom, MmaAtom, copy_atom, mma_atom

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


mma: Namespace[MmaAtom] = Namespace(mma_atom, MMA_ATOMS)
copy: Namespace[CopyAtom] = Namespace(copy_atom, COPY_ATOMS)
