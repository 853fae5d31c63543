"""Models the op table: warp instructions of one warp role in program order, with SASS control fields.
Leaves out what an instruction costs (gpusim.arch) and which addresses it touches (gpusim.program.access)."""

from __future__ import annotations

import numpy as np

__all__ = ["MAX_SOURCES", "NO_ACCESS", "NO_BARRIER", "OP", "PREDICATE_BASE", "UNIFORM_BASE", "empty_ops"]

MAX_SOURCES = 4
NO_ACCESS = -1
NO_BARRIER = 7
"""Value of ``write_barrier`` / ``read_barrier`` that means none, as in the SASS encoding."""
PREDICATE_BASE = 0xC000
UNIFORM_BASE = 0xE000
"""Register numbers: [0, 0xC000) 32-bit vector registers, from 0xC000 predicates, from 0xE000 uniform registers."""

OP = np.dtype(
    [
        ("pc", "<i4"),  # row of Program.statics: mnemonic, source line, scope
        ("stall", "u1"),  # cycles before the same warp may issue again (SASS bits 105-108)
        ("yield_", "u1"),  # 1: prefer to switch to another warp (SASS bit 109 is stored inverted)
        ("wait_mask", "u1"),  # scoreboard barriers that must be zero before issue (bits 116-121)
        ("write_barrier", "u1"),  # barrier released when the result is written, 7: none (bits 110-112)
        ("read_barrier", "u1"),  # barrier released when the operands are read, 7: none (bits 113-115)
        ("reuse", "u1"),  # bit n: source n stays in the reuse cache (bits 122-125)
        ("active", "u1"),  # 0: predicated off for the whole warp: takes an issue slot, does nothing
        ("access", "<i4"),  # row of RoleProgram.accesses, -1: none
        ("shared_offset", "<i4"),  # bytes added to the access's shared lane addresses; a multiple of 128
        ("global_offset", "<i8"),  # bytes added to the access's global lane offsets; a multiple of 128
        ("operand", "<i4"),  # by kind, see below
        ("dst_start", "<u2"),
        ("dst_count", "u1"),
        ("src_start", "<u2", (MAX_SOURCES,)),
        ("src_count", "u1", (MAX_SOURCES,)),
    ]
)
"""One warp instruction. Registers are groups (start, count); count 0 means no group.

``operand`` of DEPBAR.LE: counter in bits 16.., allowed count in bits 0-15; BAR: id in bits 0-7, threads in bits 8..
(0: all of the CTA); kind mbarrier: pack_mbarrier, with ``global_offset`` bytes of an expect_tx and ``shared_offset``
arrivals of an arrive (the lanes of the access row, where it has one); a bulk load: index of its mbarrier; kind wgmma:
bit 0 closes the group, bit 1 A comes from registers; WARPGROUP.DEPBAR: allowed groups; else an immediate."""


def empty_ops(count: int) -> np.ndarray:
    """``count`` rows with no registers, no barriers, no access, stall 1, active."""
    ops = np.zeros(count, OP)
    ops["stall"] = 1
    ops["write_barrier"] = NO_BARRIER
    ops["read_barrier"] = NO_BARRIER
    ops["active"] = 1
    ops["access"] = NO_ACCESS
    return ops
