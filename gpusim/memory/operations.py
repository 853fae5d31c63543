"""Models which lanes of a shared-memory instruction travel together: bytes per lane, phases, which loads may merge.
Leaves out what a phase costs (gpusim.memory.shared) and asynchronous copies (gpusim.memory.async_copy)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from gpusim.errors import UserError, did_you_mean

__all__ = ["ASYNC_OPERATIONS", "SHARED_OPERATIONS", "SharedOperation", "bad_address", "check_addresses", "phases",
           "shared_operation"]

LANES = 32
ROW_BYTES = 128
"""One wavefront moves at most one 4-byte word in each of 32 banks."""
MATRIX_ROWS = 8
MATRIX_ROW_BYTES = 16

ASYNC_OPERATIONS = ("CPA4", "CPA8", "CPA16CA", "CPA16")
"""cp.async by bytes per lane; of 16 bytes CPA16 is .cg, which bypasses L1, CPA16CA is .ca."""
SHARED_OPERATIONS = (
    *(f"{verb}{bits}" for verb in ("LDS", "STS") for bits in (8, 16, 32, 64, 128)),
    *(f"{verb}{count}" for verb in ("LDSM", "LDSMT", "STSM", "STSMT") for count in (1, 2, 4)),
)


@dataclass(frozen=True)
class SharedOperation:
    """The shape of one shared-memory instruction."""

    name: str
    bytes_per_lane: int
    num_phases: int
    lanes_per_phase: int
    merges: bool  # neighbouring phases may become one (wide loads only)

    @property
    def address_lanes(self) -> int:
        """Bit mask of the lanes whose addresses count."""
        return (1 << self.num_phases * self.lanes_per_phase) - 1


@cache
def shared_operation(name: str) -> SharedOperation:
    """The instruction called ``name`` (as in smem_patterns.csv).

    Accesses of up to 4 bytes per lane form one phase of 32 lanes, of 8 bytes two of 16, of 16 bytes four of 8.
    ldmatrix and stmatrix have one phase per 8x8 matrix, transposed or not: its 8 row addresses of 16 bytes.

    Raises:
        UserError: no such operation.
    """
    if name not in SHARED_OPERATIONS:
        known = did_you_mean(name, SHARED_OPERATIONS)
        raise UserError("unknown shared-memory operation", got=f"'{name}'", suggestion=known)
    verb, number = re.fullmatch(r"([A-Z]+)(\d+)", name).groups()  # type: ignore[union-attr]
    if "SM" in verb:
        return SharedOperation(name, MATRIX_ROW_BYTES, int(number), MATRIX_ROWS, merges=False)
    width = int(number) // 8
    num_phases = max(1, width * LANES // ROW_BYTES)
    return SharedOperation(name, width, num_phases, LANES // num_phases, merges=verb == "LDS" and num_phases > 1)


def phases(operation: str) -> tuple[tuple[int, ...], ...]:
    """Lanes of each phase of ``operation``, before any merging."""
    shape = shared_operation(operation)
    width = shape.lanes_per_phase
    return tuple(tuple(range(i * width, (i + 1) * width)) for i in range(shape.num_phases))


def bad_address(addresses: np.ndarray, active: np.ndarray, bytes_per_lane: int) -> tuple[int, int, str] | None:
    """The first of N accesses on which hardware traps, as (access, lane, broken rule); None if all are fine.

    Args:
        addresses: (N, 32) byte addresses.
        active: (N, 32) bool, lanes whose addresses count.
        bytes_per_lane: a power of two; addresses must be multiples of it, and not negative.
    """
    alignment = f"a {bytes_per_lane}-byte access needs an address that is a multiple of {bytes_per_lane}"
    for bad, rule in ((addresses < 0, "an address must not be negative"), (addresses % bytes_per_lane != 0, alignment)):
        rows, lanes = np.nonzero(bad & active)
        if len(rows):
            return int(rows[0]), int(lanes[0]), rule
    return None


def check_addresses(addresses: np.ndarray, active: np.ndarray, bytes_per_lane: int, side: str = "") -> None:
    """UserError for what `bad_address` finds; ``side`` tells which of two addresses a lane has is meant."""
    found = bad_address(addresses, active, bytes_per_lane)
    if found is not None:
        row, lane, rule = found
        place = f"access {row}, lane {lane}" + (f", {side}" if side else "")
        raise UserError(rule, place=place, got=int(addresses[row, lane]))
