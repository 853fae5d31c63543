"""Models the memory accesses of a role: lane addresses per warp, and what follows from them (wavefronts, sectors).
Leaves out time, and where a CTA's base pointers are (gpusim.program.program)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusim.cute.gmma import GmmaDescriptor

__all__ = ["REQUEST", "AccessTable", "BulkBox", "MatrixOperand"]

REQUEST = np.dtype([("line_offset", "<i8"), ("sector_mask", "u1")])
"""One 128-byte line touched by a warp access: byte offset of the line from the CTA base (a multiple of 128),
and which of its four 32-byte sectors are touched."""


@dataclass(frozen=True)
class BulkBox:
    """What a warp's bulk copy moves between a tensor and shared memory; verification reads it, the engine does not."""

    row: int  # of the AccessTable
    warp: int  # of the role
    tensor: int  # row of Program.tensors
    origin: tuple[int, ...]  # coordinates of its first element; it may stick out of the tensor
    box: tuple[int, ...]  # elements, as many modes as `origin`
    shared_byte: int  # from the CTA's shared-memory base
    swizzle: str  # "128B", "64B", "32B" or "none"; of the address in shared memory


@dataclass(frozen=True)
class MatrixOperand:
    """Where a warpgroup's wgmma finds an operand in shared memory; verification reads it, the engine does not."""

    row: int  # of the AccessTable: operation "GMMA"
    warpgroup: int  # of the role
    operand: str  # "A" or "B"
    descriptor: GmmaDescriptor


@dataclass(frozen=True)
class AccessTable:
    """Distinct memory accesses of one role, A rows by W warps.

    An op names a row; its ``shared_offset`` / ``global_offset`` (multiples of 128 bytes) are added to the addresses,
    which changes neither banks nor sectors, so one row serves every stage and every k tile. Bulk copies ("TMALDG",
    "TMASTG") have no lane addresses: one elected lane starts them, ``requests`` are the lines of the box inside the
    tensor, and ``bulk`` says which box it is. The row of an mbarrier op ("MBAR") only says which lanes take part, and
    at the barriers of which CTAs they arrive.
    """

    operation: tuple[str, ...]  # (A,) named as in smem_patterns.csv: LDS32.. STS128 LDSM4 CPA16 LDG128 STG32
    tensor: np.ndarray  # (A,) i2: row of Program.tensors the global side addresses, -1: none
    bytes_per_lane: np.ndarray  # (A,) u1
    lane_mask: np.ndarray  # (A, W) u4: lanes that take part (predicated off or out of range: bit clear)
    zfill_mask: np.ndarray  # (A, W) u4: cp.async lanes that write zeros instead of reading global memory
    shared_address: np.ndarray  # (A, W, 32) i4: byte address from the CTA's shared-memory base, -1: none
    global_offset: np.ndarray  # (A, W, 32) i8: byte offset from the CTA's base pointer of `tensor`, -1: none
    wavefronts: np.ndarray  # (A, W) u2: shared-memory wavefronts, 0: no shared side
    ideal_wavefronts: np.ndarray  # (A, W) u2
    bank_conflicts: np.ndarray  # (A, W) f4: as Nsight counts them
    request_first: np.ndarray  # (A, W) i4: first row of `requests`
    request_count: np.ndarray  # (A, W) i4: lines touched in global memory
    requests: np.ndarray  # (R,) REQUEST
    label: tuple[str, ...]  # (A,) for reports: "ldmatrix sA", "cp.async gA -> sA"
    bulk_bytes: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    """(A, W) i4: bytes a bulk copy writes to or reads from shared memory, with what lies outside the tensor"""
    bulk: tuple[BulkBox, ...] = ()
    matrices: tuple[MatrixOperand, ...] = ()
    cta_mask: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.uint16))
    """(A, W) u2: CTAs of the cluster, a bit per rank, 0: only the warp's own. Of a bulk load: into whose shared memory
    it writes, at the same address, and whose mbarrier counts the bytes (multicast). Of an mbarrier op that arrives: at
    whose mbarriers, once each; 0: at the own one with every lane"""

    def __post_init__(self) -> None:
        if not self.bulk_bytes.size:
            object.__setattr__(self, "bulk_bytes", np.zeros(self.lane_mask.shape, np.int32))
        if not self.cta_mask.size:
            object.__setattr__(self, "cta_mask", np.zeros(self.lane_mask.shape, np.uint16))

    def __len__(self) -> int:
        return len(self.operation)

    @property
    def num_warps(self) -> int:
        return int(self.lane_mask.shape[1])
