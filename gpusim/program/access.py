"""Models the memory accesses of a role: lane addresses per warp, and what follows from them (wavefronts, sectors).
Leaves out time, and where a CTA's base pointers are (gpusim.program.program)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["REQUEST", "AccessTable"]

REQUEST = np.dtype([("line_offset", "<i8"), ("sector_mask", "u1")])
"""One 128-byte line touched by a warp access: byte offset of the line from the CTA base (a multiple of 128),
and which of its four 32-byte sectors are touched."""


@dataclass(frozen=True)
class AccessTable:
    """Distinct memory accesses of one role, A rows by W warps.

    An op names a row; its ``shared_offset`` / ``global_offset`` (multiples of 128 bytes) are added to the addresses,
    which changes neither banks nor sectors, so one row serves every stage and every k tile.
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

    def __len__(self) -> int:
        return len(self.operation)

    @property
    def num_warps(self) -> int:
        return int(self.lane_mask.shape[1])
