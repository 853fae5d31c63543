"""Models the copy instructions: who reads and writes which bit, SASS names, memory operations, who has them.
Leaves out their cost (gpusim.memory, gpusim.engine) and tensor-map copies, whose shape lies in a descriptor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from gpusim.arch.atoms.fragments import WARP
from gpusim.arch.spec import GpuSpec
from gpusim.cute import Layout
from gpusim.errors import UserError, did_you_mean

__all__ = ["COPY_ATOMS", "CopyAtom", "copy_atom"]

_THREAD = Layout(1, 0)
_UNIVERSAL = {
    ("shared", "register"): ("LDS", "LDS"),
    ("register", "shared"): ("STS", "STS"),
    ("global", "register"): ("LDG.E", "LDG"),
    ("register", "global"): ("STG.E", "STG"),
}


@dataclass(frozen=True)
class CopyAtom:
    """One copy instruction, with CuTe's name and traits.

    ``src_tv`` and ``dst_tv`` map (thread, bit) of source and destination to a bit of the copied tile; ``ref_tv`` is
    the one whose threads own registers. ``operation`` names the access as the access table does: LDSM4, CPA16, LDS128,
    STG32. UniversalCopy atoms get mnemonic, operation and spaces from ``bind``.
    """

    name: str
    mnemonic: str
    operation: str
    source: str  # "global", "shared", "register"; "": any
    target: str
    src_tv: Layout
    dst_tv: Layout
    thr_id: Layout
    min_arch: int

    @property
    def ref_tv(self) -> Layout:
        return self.src_tv if self.source == "register" else self.dst_tv

    @property
    def bits_per_thread(self) -> int:
        """Bits a thread's registers hold, or that it moves past them."""
        return self.ref_tv[1].size()

    def bind(self, source: str, target: str) -> CopyAtom:
        """The atom between two memory spaces. Raises UserError where no such instruction exists."""
        if self.source:
            if (self.source, self.target) == (source, target):
                return self
            raise UserError(f"{self.name} copies {self.source} to {self.target} memory", got=f"{source} to {target}")
        if (source, target) not in _UNIVERSAL:
            raise UserError(f"{self.name} needs registers on one side", got=f"{source} to {target}",
                            suggestion="copy through registers, or use SM80_CP_ASYNC_CACHEGLOBAL_16B")
        mnemonic, operation = _UNIVERSAL[source, target]
        bits = self.bits_per_thread
        return replace(self, mnemonic=mnemonic + _width(bits), operation=f"{operation}{bits}", source=source,
                       target=target)


def copy_atom(name: str, spec: GpuSpec | None = None) -> CopyAtom:
    """The atom of a CuTe name. Raises UserError for an unknown name, or one the GPU ``spec`` does not execute."""
    if name not in COPY_ATOMS:
        raise UserError("no such copy atom", got=f"'{name}'", suggestion=did_you_mean(name, COPY_ATOMS))
    atom = COPY_ATOMS[name]
    if spec is not None and spec.compute_capability < atom.min_arch:
        raise UserError(f"{name} needs sm_{atom.min_arch} or later", place=spec.name, got=spec.architecture,
                        suggestion="use a UniversalCopy")
    return atom


def _width(bits: int) -> str:
    return {8: ".U8", 16: ".U16", 32: ""}.get(bits, f".{bits}")


def _universal() -> Iterator[CopyAtom]:
    for bits in (8, 16, 32, 64, 128):
        line = Layout((1, bits), (0, 1))
        yield CopyAtom(f"UniversalCopy_{bits}b", "", "", "", "", line, line, _THREAD, 70)


def _cp_async() -> Iterator[CopyAtom]:
    """cp.async: .ca allocates in L1 and takes 4, 8 or 16 bytes, .cg (BYPASS) takes 16. PTX ISA, cp.async."""
    names = {4: "CPA4", 8: "CPA8", 16: "CPA16CA"}
    always = [("ALWAYS", size, "LDGSTS.E" + _width(8 * size), name) for size, name in names.items()]
    for cache, size, mnemonic, operation in (*always, ("GLOBAL", 16, "LDGSTS.E.BYPASS.LTC128B.128", "CPA16")):
        line = Layout((1, 8 * size), (0, 1))
        for zfill, suffix in (("", ""), ("_ZFILL", ".ZFILL")):
            yield CopyAtom(f"SM80_CP_ASYNC_CACHE{cache}{zfill}_{size}B", mnemonic + suffix, operation, "global",
                           "shared", line, line, _THREAD, 80)


def _matrix_copies() -> Iterator[CopyAtom]:
    """ldmatrix and stmatrix of 1, 2 or 4 matrices of 8 rows of 128 bits. PTX ISA, ldmatrix, stmatrix."""
    for count in (1, 2, 4):
        for transposed in (False, True):
            rows, registers = _matrix_rows(count), _matrix_registers(count, transposed)
            kind = f"U16x{2 * count}_{{}}_T" if transposed else f"U32x{count}_{{}}_N"
            sass = f"{{}}.16.{'MT88' if transposed else 'M88'}" + (f".{count}" if count > 1 else "")
            operation = f"{{}}{'T' if transposed else ''}{count}"
            yield CopyAtom(f"SM75_{kind.format('LDSM')}", sass.format("LDSM"), operation.format("LDSM"), "shared",
                           "register", rows, registers, WARP, 75)
            yield CopyAtom(f"SM90_{kind.format('STSM')}", sass.format("STSM"), operation.format("STSM"), "register",
                           "shared", registers, rows, WARP, 90)


def _matrix_rows(count: int) -> Layout:
    """Threads 0 to 8 count - 1 name a row of 128 bits each; the others repeat their addresses."""
    threads = 8 * count
    return Layout((32, 128), (128, 1)) if threads == 32 else Layout(((threads, 32 // threads), 128), ((128, 0), 1))


def _matrix_registers(count: int, transposed: bool) -> Layout:
    """Thread t holds 32 bits of row t / 4 of every matrix; transposed, 16 bits each of two rows of column t / 4."""
    threads = ((4, 8), (256, 16)) if transposed else (32, 32)
    values = [(16, 1), (2, 128)] if transposed else [(32, 1)]
    modes = [*values, (count, 1024)] if count > 1 else values
    shape, stride = (tuple(parts) if len(modes) > 1 else parts[0] for parts in zip(*modes, strict=True))
    return Layout((threads[0], shape), (threads[1], stride))


COPY_ATOMS: Mapping[str, CopyAtom] = MappingProxyType(
    {atom.name: atom for atom in (*_universal(), *_cp_async(), *_matrix_copies())})
"""Every atom by its CuTe name, with the width of template arguments spelt out."""
