"""Models the MMA of a warpgroup (wgmma) and the bulk tensor copies (TMA): shapes, types, SASS names, who has them.
Leaves out their cost, and operands in shared memory, which descriptors name (gpusim.cute.gmma)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from gpusim.arch.spec import GpuSpec
from gpusim.cute import Layout
from gpusim.errors import UserError

__all__ = ["BULK_ATOMS", "GMMA_ATOMS", "WARPS_PER_GROUP", "BulkAtom", "GmmaAtom", "gmma_of", "require_hopper"]

WARPS_PER_GROUP, ROWS = 4, 64
HOPPER = 90
WIDEST = 256


@dataclass(frozen=True)
class GmmaAtom:
    """wgmma.mma_async under CuTe's name: SS has both operands in shared memory, RS has A in registers. ``C_tv`` maps
    (thread of the warpgroup, value) to the column-major index in (64, n), as CuTe's CLayout_64xN."""

    name: str
    mnemonic: str
    shape_mnk: tuple[int, int, int]
    dtype_d: str
    dtype_a: str
    dtype_b: str
    C_tv: Layout
    a_in_registers: bool = False

    @property
    def dtype_c(self) -> str:
        return self.dtype_d

    @property
    def registers(self) -> int:
        """32-bit registers of the accumulators in a thread."""
        return self.shape_mnk[1] // 2 if self.dtype_d == "f32" else self.shape_mnk[1] // 4


@dataclass(frozen=True)
class BulkAtom:
    """A bulk tensor copy: one lane starts it, a descriptor in memory tells its shape."""

    name: str
    mnemonic: str
    operation: str  # of the access table
    source: str
    target: str


def _gmma_atoms() -> Iterator[GmmaAtom]:
    """Every width of PTX ISA, wgmma.mma_async, for 16-bit operands; CUTLASS include/cute/arch/mma_sm90_gmma.hpp."""
    for (d, a), n in product((("f32", "f16"), ("f16", "f16"), ("f32", "bf16")), range(8, WIDEST + 1, 8)):
        accumulators = Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))
        mnemonic = f"HGMMA.{ROWS}x{n}x16.{d.upper()}" + (".BF16" if a == "bf16" else "")
        types = (d + a + a + d).upper()
        for ending, in_registers in (("SS", False), ("RS", True)):
            yield GmmaAtom(f"SM90_{ROWS}x{n}x16_{types}_{ending}", mnemonic, (ROWS, n, 16), d, a, a, accumulators,
                           in_registers)


GMMA_ATOMS: Mapping[str, GmmaAtom] = MappingProxyType({atom.name: atom for atom in _gmma_atoms()})
BULK_ATOMS: Mapping[str, BulkAtom] = MappingProxyType({atom.name: atom for atom in (
    BulkAtom("SM90_TMA_LOAD", "UTMALDG.2D", "TMALDG", "global", "shared"),
    BulkAtom("SM90_TMA_LOAD_MULTICAST", "UTMALDG.2D.MULTICAST", "TMALDG", "global", "shared"),
    BulkAtom("SM90_TMA_STORE", "UTMASTG.2D", "TMASTG", "shared", "global"))})

_BY_MNEMONIC = {(atom.mnemonic, atom.a_in_registers): atom for atom in GMMA_ATOMS.values()}


def gmma_of(mnemonic: str, *, a_in_registers: bool = False) -> GmmaAtom | None:
    """The atom of a SASS mnemonic, which does not say where A is; None: no wgmma that is known."""
    return _BY_MNEMONIC.get((mnemonic, a_in_registers))


def require_hopper(what: str, spec: GpuSpec) -> None:
    """Raise UserError where a GPU has no wgmma, TMA or transaction barriers: they are sm_90a's alone."""
    if spec.compute_capability != HOPPER:
        raise UserError(f"{what} needs sm_90a", place=spec.name, got=spec.architecture,
                        suggestion="gpu=h200, or a program with cp.async and mma.sync such as hgemm_multistage")
