"""Models a whole launch: roles of warps per CTA class, the grid, tensors and base pointers, source lines.
Leaves out how it was made (gpusim.dsl, gpusim.sass) and how long it takes (gpusim.engine)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusim.program.access import AccessTable
from gpusim.program.flags import FlagTable
from gpusim.program.mbarriers import MBarrier

__all__ = ["CtaClass", "Launch", "Program", "RoleProgram", "Static", "TensorInfo"]


@dataclass(frozen=True)
class Static:
    """One static instruction, shared by every unrolled execution of it; the row number is OP.pc."""

    mnemonic: str  # SASS spelling with modifiers: HMMA.16816.F32, LDSM.16.M88.4, IMAD.WIDE
    line: int = 0  # source line, 0: unknown
    scope: str = ""  # "prologue", "main_loop/k", ...
    file: str = ""
    constant: int = -1  # byte of the constant bank that it reads, -1: none, or not known


@dataclass(frozen=True)
class TensorInfo:
    """A tensor in global memory."""

    name: str
    dtype: str  # "f16", "f32", ...
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements
    base_address: int  # byte address in the flat device memory, 256-byte aligned
    size_bytes: int
    is_output: bool = False
    values: np.ndarray | None = None  # contents that addresses depend on (indices, sizes), known when it was recorded
    is_scratch: bool = False  # neither input nor output: partial sums, flags; zero at the start


@dataclass(frozen=True)
class RoleProgram:
    """Warps of a CTA that run the same op table."""

    name: str
    first_warp: int
    num_warps: int
    ops: np.ndarray  # OP rows in program order, ends with EXIT
    accesses: AccessTable  # its W axis is the role's warps


@dataclass(frozen=True)
class CtaClass:
    """CTAs that run the same tables: interior, edge in M, split-K slice ..."""

    name: str
    roles: tuple[RoleProgram, ...]


@dataclass(frozen=True)
class Launch:
    grid: tuple[int, int, int]
    threads_per_cta: int
    registers_per_thread: int
    shared_bytes: int  # dynamic + static, without the driver's reservation
    cluster: tuple[int, int, int] = (1, 1, 1)
    parameter_bytes: int = 0  # that the kernel reads of its parameters

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]


@dataclass(frozen=True)
class Program:
    """Everything above the engine and below the front ends agrees on this.

    ``cta_class[i]`` and ``cta_bases[i]`` belong to the i-th CTA in launch (rasterised) order; ``cta_index[i]`` is its
    blockIdx. ``cta_bases[i, t]`` is the byte address of tensor t's tile for that CTA, a multiple of 128: what is left
    of a less aligned pointer stands in the accesses' lane offsets, so such CTAs form a class of their own. Where CTAs
    work on several tiles in turn, ``tensors`` has every tensor once per tile, equal but for the bases.

    CTAs of a cluster follow each other by rank, x fastest: CTA i has the rank i % cluster_size. All of them run at the
    same time; what an op does at other CTAs is in AccessTable.cta_mask, and UCGABAR_ARV and UCGABAR_WAIT are the two
    halves of a barrier of the whole cluster.
    """

    name: str
    statics: tuple[Static, ...]
    classes: tuple[CtaClass, ...]
    launch: Launch
    cta_class: np.ndarray  # (C,) i4
    cta_bases: np.ndarray  # (C, T) i8
    cta_index: np.ndarray  # (C, 3) i4
    tensors: tuple[TensorInfo, ...]
    flops: float = 0.0  # useful floating-point operations of the whole launch
    parameters: dict[str, object] = field(default_factory=dict)  # as the user gave them, for reports
    notes: tuple[str, ...] = ()  # assumptions to be printed
    flags: FlagTable = field(default_factory=FlagTable)  # by which its CTAs wait for each other
    mbarriers: tuple[MBarrier, ...] = ()  # that every CTA has
    sequence: tuple[Program, ...] = ()  # its launches where it is several, one after the other; see join_programs

    @property
    def num_ctas(self) -> int:
        return len(self.cta_class)

    @property
    def warps_per_cta(self) -> int:
        return self.launch.threads_per_cta // 32
