"""Models the matrix multiply-accumulate instructions: shapes, types, fragments, SASS names, who has them.
Leaves out their cost (gpusim.arch.instructions) and warpgroup MMAs, whose operands lie in shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from gpusim.arch.atoms import fragments
from gpusim.arch.spec import GpuSpec
from gpusim.cute import Layout
from gpusim.errors import UserError, did_you_mean

__all__ = ["DTYPE_BITS", "MMA_ATOMS", "MmaAtom", "mma_atom", "mma_atoms_of"]

DTYPE_BITS = MappingProxyType({
    "f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
    "s4": 4, "u4": 4, "u1": 1,
})
"""Bits an element takes in a register; tf32 fills a whole one."""


@dataclass(frozen=True)
class MmaAtom:
    """One MMA instruction, with CuTe's name and traits.

    ``A_tv``, ``B_tv``, ``C_tv`` map (thread, value) to the column-major index in ``a_shape``, (N, K), (M, N);
    ``thr_id`` maps a thread of the atom to a lane of the warp. ``mnemonic`` is the SASS name. Architectures from
    ``min_arch`` to ``max_arch`` execute it; later ones emulate it, which is no longer this instruction.
    """

    name: str
    mnemonic: str
    shape_mnk: tuple[int, int, int]
    dtype_d: str
    dtype_a: str
    dtype_b: str
    dtype_c: str
    A_tv: Layout
    B_tv: Layout
    C_tv: Layout
    thr_id: Layout
    min_arch: int
    max_arch: int | None = None
    sparsity: int = 1  # 2: of A two of every four neighbours along k are held; metadata say which

    @property
    def dtypes(self) -> tuple[str, str, str, str]:
        """Of d, a, b, c."""
        return self.dtype_d, self.dtype_a, self.dtype_b, self.dtype_c

    @property
    def flops(self) -> int:
        """Multiplications and additions; of a sparse atom also those with the zeros that it skips."""
        m, n, k = self.shape_mnk
        return 2 * m * n * k

    @property
    def a_shape(self) -> tuple[int, int]:
        """Rows and columns of A as it is held."""
        return self.shape_mnk[0], self.shape_mnk[2] // self.sparsity

    @property
    def instructions(self) -> int:
        """SASS instructions of one MMA: Volta's runs in steps of two columns of f32, four of f16."""
        return {"f32": 4, "f16": 2}[self.dtype_d] if self.shape_mnk == (8, 8, 4) and self.dtype_a == "f16" else 1

    def runs_on(self, compute_capability: int) -> bool:
        return self.min_arch <= compute_capability <= (self.max_arch or compute_capability)


def mma_atom(name: str, spec: GpuSpec | None = None) -> MmaAtom:
    """The atom of a CuTe name. Raises UserError for an unknown name, or one the GPU ``spec`` does not execute."""
    if name not in MMA_ATOMS:
        raise UserError("no such MMA atom", got=f"'{name}'", suggestion=did_you_mean(name, MMA_ATOMS))
    atom = MMA_ATOMS[name]
    if spec is not None and not atom.runs_on(spec.compute_capability):
        raise _missing(atom, spec)
    return atom


def mma_atoms_of(spec: GpuSpec) -> tuple[MmaAtom, ...]:
    """The atoms a GPU executes."""
    return tuple(atom for atom in MMA_ATOMS.values() if atom.runs_on(spec.compute_capability))


def _missing(atom: MmaAtom, spec: GpuSpec) -> UserError:
    last = "" if atom.max_arch == atom.min_arch else f" to sm_{atom.max_arch}" if atom.max_arch else " or later"
    archs = f"sm_{atom.min_arch}{last}"
    same = [other for other in mma_atoms_of(spec) if (other.dtypes, other.sparsity) == (atom.dtypes, atom.sparsity)]
    best = max(same, key=lambda other: other.flops, default=None)
    shape = "x".join(map(str, atom.shape_mnk))
    return UserError(
        f"{atom.name}: MMA shape {shape} of {atom.dtype_a} x {atom.dtype_b} needs {archs}", place=spec.name,
        got=spec.architecture,
        suggestion=f"use {best.name}" if best else f"{spec.architecture} has no MMA of these types",
    )


_NAME = re.compile(r"SM(?P<arch>\d+)_(?P<sparse>SPARSE_)?(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_(?P<types>[A-Z0-9]+)_"
                   r"(?P<majors>[TN]{2})(_(?P<tail>\w+))?")
_TYPE = re.compile("BF16|TF32|E4M3|E5M2|[FSU][0-9]+?(?=[BTEFSU]|$)")


def _names() -> Iterator[str]:
    """CuTe's names: the table of what exists. Sources: PTX ISA, mma.sync; CUTLASS include/cute/arch/mma_sm*.hpp.

    CuTe has no sparse atoms of SM80: these are cutlass/arch/mma_sparse_sm80.h, named like CuTe's SM120_SPARSE_."""
    for types, majors in product(("F16F16F16F16", "F32F16F16F32"), ("TN", "NT", "NN", "TT")):
        yield f"SM70_8x8x4_{types}_{majors}"
    yield from ("SM75_16x8x8_F32F16F16F32_TN", "SM75_8x8x16_S32S8S8S32_TN")
    for types, shape in product(("F16F16F16F16", "F32F16F16F32", "F32BF16BF16F32"), ("16x8x8", "16x8x16")):
        yield f"SM80_{shape}_{types}_TN"
    yield from ("SM80_16x8x4_F32TF32TF32F32_TN", "SM80_16x8x8_F32TF32TF32F32_TN", "SM80_8x8x4_F64F64F64F64_TN")
    for shape, a, b, tail in product(("8x8x16", "16x8x16", "16x8x32"), ("S8", "U8"), ("S8", "U8"), ("", "_SATURATE")):
        yield f"SM80_{shape}_S32{a}{b}S32_TN{tail}"
    for shape, a, b, tail in product(("8x8x32", "16x8x32", "16x8x64"), ("S4", "U4"), ("S4", "U4"), ("", "_SATURATE")):
        yield f"SM80_{shape}_S32{a}{b}S32_TN{tail}"
    for shape, tail in product(("8x8x128", "16x8x128", "16x8x256"), ("XORPOPC", "ANDPOPC")):
        yield f"SM80_{shape}_S32U1U1S32_TN_{tail}"
    for accumulator, a, b in product(("F32", "F16"), ("E4M3", "E5M2"), ("E4M3", "E5M2")):
        yield f"SM89_16x8x32_{accumulator}{a}{b}{accumulator}_TN"
    for types in ("F16F16F16F16", "F32F16F16F32", "F32BF16BF16F32"):
        yield f"SM80_SPARSE_16x8x32_{types}_TN"
    for shape in ("16x8x4", "16x8x8", "16x8x16"):
        yield f"SM90_{shape}_F64F64F64F64_TN"


def _from_name(name: str) -> MmaAtom:
    match = _NAME.fullmatch(name)
    assert match is not None, name
    m, n, k = (int(match[key]) for key in "mnk")
    d, a, b, c = (word.lower() for word in _TYPE.findall(match["types"]))
    tail, arch = match["tail"] or "", int(match["arch"])
    pack, sparsity = max(32 // DTYPE_BITS[a], 1), 2 if match["sparse"] else 1
    if arch == 70:
        layouts = (fragments.volta_operand_tv("K" if match["majors"][0] == "T" else "MN"),
                   fragments.volta_operand_tv("K" if match["majors"][1] == "N" else "MN"),
                   fragments.volta_accumulator_tv(DTYPE_BITS[d]), fragments.QUAD_PAIR)
    else:
        layouts = (fragments.operand_tv(m, k // sparsity, pack), fragments.operand_tv(n, k, pack),
                   fragments.accumulator_tv(m, n), fragments.WARP)
    mnemonic = _mnemonic((m, n, k), (d, a, b, c), tail)
    return MmaAtom(name, mnemonic.replace(".", ".SP.", 1) if match["sparse"] else mnemonic, (m, n, k), d, a, b, c,
                   *layouts, _first_arch(arch, (m, n, k), a, tail), _last_arch(arch, a, tail), sparsity)


def _mnemonic(shape: tuple[int, int, int], dtypes: tuple[str, str, str, str], tail: str) -> str:
    """SASS name, as cuobjdump of CUDA 13.0 prints it."""
    d, a, b, _ = (dtype.upper() for dtype in dtypes)
    compact = "".join(map(str, shape))
    if a == "F64":
        return "DMMA." + "x".join(map(str, shape))
    if a in ("E4M3", "E5M2"):
        return f"QMMA.{compact}.{d}.{a}.{b}"
    if a == "U1":
        return f"BMMA.{compact}.{tail[:3]}.POPC"
    if d == "S32":
        return f"IMMA.{compact}.{a}.{b}" + (".SAT" if tail else "")
    if compact == "884":
        return f"HMMA.884.{d}.{d}"
    return f"HMMA.{compact}.{d}" + (f".{a}" if a in ("BF16", "TF32") else "")


def _first_arch(arch: int, shape: tuple[int, int, int], dtype_a: str, tail: str) -> int:
    """The first architecture with the shape: CuTe's SM80 names include what Turing has. PTX ISA, mma.sync."""
    turing = {(16, 8, 8): ("f16",), (8, 8, 16): ("s8", "u8"), (8, 8, 32): ("s4", "u4"), (8, 8, 128): ("u1",)}
    return 75 if arch == 80 and dtype_a in turing.get(shape, ()) and tail != "ANDPOPC" else arch


def _last_arch(arch: int, dtype_a: str, tail: str) -> int | None:
    """The last architecture that executes the shape itself; found by compiling every shape for sm_75 to sm_90a."""
    if arch == 70:
        return 75
    return 89 if dtype_a in ("s4", "u4", "e4m3", "e5m2") or tail == "XORPOPC" else None


def _scalar(name: str, mnemonic: str, k: int, dtypes: tuple[str, str, str, str], min_arch: int) -> MmaAtom:
    operand, one = Layout((1, k), (0, 1)), Layout((1, 1), (0, 0))
    return MmaAtom(name, mnemonic, (1, 1, k), *dtypes, operand, operand, one, Layout(1, 0), min_arch)


def _scalars() -> Iterator[MmaAtom]:
    """One thread, one element of D: CuTe's UniversalFMA, and the dot product of four bytes."""
    for dtype, mnemonic in (("f64", "DFMA"), ("f32", "FFMA"), ("f16", "HFMA2")):
        yield _scalar(f"UniversalFMA_{dtype.upper() * 4}", mnemonic, 1, (dtype, dtype, dtype, dtype), 70)
    yield _scalar("SM61_DP4A", "IDP.4A.S8.S8", 4, ("s32", "s8", "s8", "s32"), 61)


MMA_ATOMS: Mapping[str, MmaAtom] = MappingProxyType(
    {atom.name: atom for atom in (*map(_from_name, _names()), *_scalars())})
"""Every atom by its CuTe name."""
