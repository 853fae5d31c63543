"""Models nothing itself: the one table from mnemonic to the function that executes it.
Leaves out instructions without a functional model: they are refused unless only their unused result is unknown."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gpusim.errors import UserError
from gpusim.verify.families import (
    arithmetic,
    bulk,
    conversions,
    global_access,
    matrix,
    mbarrier,
    mma,
    moves,
    shared_access,
    sync,
    warpgroup,
)
from gpusim.verify.step import Step

__all__ = ["HANDLERS", "handler_for"]

Handler = Callable[[Step], None]

_NOTHING = ("BRA", "BRX", "JMP", "BSSY", "BSYNC", "BREAK", "CALL", "RET", "NOP", "YIELD", "WARPSYNC", "NANOSLEEP",
            "MEMBAR", "ERRBAR", "CCTL", "DEPBAR", "STL", "USETMAXREG", "UTMACCTL", "PREEXIT",
            "ACQBULK")
"""Of these, STL is safe because LDL forgets: a spilled value that comes back as data is refused."""

_ADDRESS = ("IMAD", "IADD3", "IADD", "VIADD", "VIMNMX", "IMNMX", "IABS", "LEA", "LOP3", "PLOP3", "SHF", "SHL", "SHR",
            "SEL", "ISETP", "FSETP", "P2R", "R2P", "R2UR", "S2R", "S2UR", "LDC", "POPC", "FLO", "BREV", "VOTE",
            "UIADD3", "UIMAD", "ULEA", "ULOP3", "UPLOP3", "USHF", "USEL", "UPRMT", "UISETP", "UMOV", "ULDC", "UP2UR",
            "ELECT", "VOTEU", "BMOV", "BMSK", "SGXT", "LEPC", "LDL")

HANDLERS: dict[str, Handler] = {
    "LDGSTS": global_access.copy_async, "LDG": global_access.load_global, "STG": global_access.store_global,
    "LDS": shared_access.load_shared, "STS": shared_access.store_shared,
    "LDSM": matrix.load_matrix, "STSM": matrix.store_matrix,
    "HMMA": mma.mma, "IMMA": mma.mma, "DMMA": mma.mma, "BMMA": mma.mma, "QMMA": mma.mma,
    **dict.fromkeys(arithmetic.FORMULAS, arithmetic.elementwise),
    "IDP": arithmetic.dot_product, "MUFU": arithmetic.multi_function, "FMNMX": arithmetic.maximum,
    "HMNMX2": arithmetic.maximum,
    **dict.fromkeys(("F2F", "I2F", "I2FP", "F2I"), conversions.convert), "F2FP": conversions.pack_pair,
    "F2IP": conversions.pack_bytes, "I2IP": conversions.pack_bytes, "HADD2.F32": conversions.widen_half,
    "MOV": moves.move, "IMAD.MOV": moves.move, "CS2R": moves.move, "SHFL": moves.shuffle,
    "PRMT": moves.permute,
    "RED.E.ADD.F32": global_access.add_global,
    **dict.fromkeys(("LDG.E.STRONG", "ATOMG.E.CAS"), moves.forget), "STG.E.STRONG": moves.nothing,
    "RED.E.ADD.S32": moves.nothing,  # flags: gpusim.verify.order
    "BAR.RED": sync.sync, "BAR.SYNC": sync.sync, "BAR.ARV": sync.arrive, "EXIT": sync.exit_warp,
    **dict.fromkeys(_NOTHING, moves.nothing), **dict.fromkeys(_ADDRESS, moves.forget),
    "IMAD": arithmetic.integer_multiply_add, "IMAD.U32": conversions.shift_by_product, "LOP3": conversions.mask_bits,
    "SYNCS": mbarrier.synchronise, "ARRIVES": mbarrier.synchronise, "FENCE.VIEW.ASYNC": sync.fence_proxy,
    "UTMALDG": bulk.copy_in, "UTMASTG": bulk.copy_out, "UTMACMDFLUSH": bulk.commit_stores,
    "WARPGROUP.ARRIVE": warpgroup.fence, "HGMMA": warpgroup.multiply, "WARPGROUP.DEPBAR": warpgroup.wait_for_groups,
    "UCGABAR_ARV": sync.arrive_at_cluster, "UCGABAR_WAIT": sync.wait_for_cluster,
    "LDGDEPBAR": sync.commit_group, "DEPBAR.LE": sync.wait_group,
}
"""Longest prefix of dot-separated parts wins: IMAD.MOV.U32 moves; IMAD.WIDE is IMAD, whose handler knows it as address
arithmetic."""


@cache
def handler_for(mnemonic: str) -> Handler:
    """The handler of a mnemonic; for an unknown one, a function that refuses side effects and forgets the result."""
    parts = mnemonic.split(".")
    for length in range(len(parts), 0, -1):
        handler = HANDLERS.get(".".join(parts[:length]))
        if handler is not None:
            return handler
    return _unknown


def _unknown(step: Step) -> None:
    if step.op.access >= 0 or not step.writes_vector:
        raise UserError(f"{step.mnemonic} has no functional model", place=step.place,
                        suggestion="add a handler in gpusim.verify.families")
    step.forget_result()
