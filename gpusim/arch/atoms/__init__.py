"""Models MMA and copy instructions as data, under CuTe's names.
Leaves out what they cost and how tiles are made of them (gpusim.cute)."""

from gpusim.arch.atoms.copy import COPY_ATOMS, CopyAtom, copy_atom
from gpusim.arch.atoms.mma import DTYPE_BITS, MMA_ATOMS, MmaAtom, mma_atom, mma_atoms_of

__all__ = ["COPY_ATOMS", "DTYPE_BITS", "MMA_ATOMS", "CopyAtom", "MmaAtom", "copy_atom", "mma_atom", "mma_atoms_of"]
