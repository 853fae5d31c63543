"""Models single memory instructions whose addresses a program gives lane by lane, as microbenchmarks ask for them.
Leaves out tiles: what a kernel copies is partitioned (gpusim.dsl.partitions)."""

from __future__ import annotations

import numpy as np

import gpusim as gs

__all__ = ["global_words", "instruction_width", "shared_words"]

ALL_LANES = 0xFFFF_FFFF


def instruction_width(mnemonic: str) -> tuple[int, str]:
    """Registers of a lane that an access moves, and its operation as the access table names it.

    Of LDS, STS, LDG.E and STG.E they are words (none named: one), of LDSM.16.M88 and STSM.16.M88 matrices.
    """
    base, *modifiers = mnemonic.split(".")
    is_matrix = base in ("LDSM", "STSM")
    counts = {"2": 2, "4": 4} if is_matrix else {"64": 2, "128": 4}
    width = next((counts[modifier] for modifier in modifiers if modifier in counts), 1)
    return width, f"{base}{width if is_matrix else 32 * width}"


def shared_words(mnemonic: str, addresses: np.ndarray) -> gs.Access:
    """``addresses`` (W, 32): byte of the CTA's shared memory where the data of each warp's lanes begin; of a matrix
    instruction, rows of 16 bytes by the first 8, 16 or 32 lanes."""
    width, operation = instruction_width(mnemonic)
    is_matrix = operation[2:4] == "SM"
    lanes = ALL_LANES >> (32 - 8 * width) if is_matrix else ALL_LANES
    warps = len(addresses)
    return gs.Access(operation, mnemonic, 16 if is_matrix else 4 * width, addresses.astype(np.int32), None, -1,
                     np.full(warps, lanes, np.uint32), np.zeros(warps, np.uint32))


def global_words(mnemonic: str, offsets: np.ndarray, *, tensor: int = 0, lanes: int = ALL_LANES) -> gs.Access:
    """``offsets`` (W, 32): bytes from where the CTA's part of the tensor begins."""
    width, operation = instruction_width(mnemonic)
    warps = len(offsets)
    return gs.Access(operation, mnemonic, 4 * width, None, offsets, tensor, np.full(warps, lanes, np.uint32),
                     np.zeros(warps, np.uint32))
