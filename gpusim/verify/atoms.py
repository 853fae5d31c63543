"""Models the step from an MMA's mnemonic to its fragment tables, through gpusim.arch's atoms.
Leaves out atoms that one warp cannot execute alone (wgmma)."""

from __future__ import annotations

from functools import cache

import numpy as np

from gpusim.arch.atoms import MMA_ATOMS, MmaAtom
from gpusim.cute import Layout, complement
from gpusim.errors import UserError, did_you_mean
from gpusim.verify.fragments import LANES, Fragments, make_fragments

__all__ = ["fragments_for", "fragments_of"]


@cache
def fragments_for(mnemonic: str, place: str) -> Fragments:
    """Fragment tables of an MMA mnemonic such as HMMA.16816.F32.BF16.

    Raises UserError when no atom has it, or when atoms of different layouts do (Volta's, which differ in the majors).
    """
    atoms = [atom for atom in MMA_ATOMS.values() if atom.mnemonic == mnemonic]
    if not atoms:
        raise UserError("an MMA must be one of gpusim.arch's atoms", place=place, got=mnemonic,
                        suggestion=did_you_mean(mnemonic, {atom.mnemonic for atom in MMA_ATOMS.values()}))
    if len({(atom.A_tv, atom.B_tv, atom.C_tv) for atom in atoms}) > 1:
        raise UserError("an MMA's mnemonic must say which fragment layout it takes", place=place,
                        got=f"{mnemonic}, which is any of {', '.join(atom.name for atom in atoms)}",
                        suggestion="use fragments of sm_75 or later")
    return fragments_of(atoms[0])


def fragments_of(atom: MmaAtom) -> Fragments:
    """Fragment tables of one atom; atoms of fewer than 32 threads run side by side in a warp."""
    return make_fragments(atom.shape_mnk, (atom.dtype_a, atom.dtype_b, atom.dtype_c),
                          (atom.A_tv, atom.B_tv, atom.C_tv), _lanes(atom.thr_id), atom.a_shape[1])


def _lanes(thr_id: Layout) -> np.ndarray:
    """(G, T): lane of thread t of the g-th copy of the atom."""
    threads = np.array([thr_id(t) for t in range(thr_id.size())])
    rest = complement(thr_id, LANES)
    groups = np.array([rest(g) for g in range(LANES // len(threads))])
    return groups[:, None] + threads
