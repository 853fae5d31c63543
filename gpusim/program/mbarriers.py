"""Models mbarriers: barriers in shared memory whose phases count arrivals and the bytes of asynchronous copies.
Leaves out when a phase completes (gpusim.engine.mbarriers) and where in shared memory the eight bytes lie."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["MBarrier", "MBarrierAction", "MBarrierUse", "pack_mbarrier", "unpack_mbarrier"]

_INDEX_BITS, _ACTION_BITS = 8, 4

MBarrierAction = IntEnum("MBarrierAction", ["arrive", "expect_tx", "wait", "arrive_async"], start=0)
"""arrive: count arrivals; expect_tx: one arrival, and the phase waits for that many bytes more; wait: until the phase
with a parity has completed; arrive_async: one arrival per lane once the warp's earlier cp.async are complete."""


@dataclass(frozen=True)
class MBarrier:
    """One mbarrier of a CTA; its number is its place in Program.mbarriers."""

    name: str  # "full[0]"
    arrivals: int  # that complete a phase, as mbarrier.init counts them

    def __post_init__(self) -> None:
        if not 1 <= self.arrivals < 1 << 20:
            raise ValueError(f"an mbarrier counts from 1 to 2^20 - 1 arrivals, {self.name} has {self.arrivals}")


@dataclass(frozen=True)
class MBarrierUse:
    """What an op of kind ``mbarrier`` does. ``parity``: of the phase that a wait waits for."""

    index: int
    action: MBarrierAction
    parity: int = 0


def pack_mbarrier(index: int, action: MBarrierAction, parity: int = 0) -> int:
    """OP.operand of an op of kind ``mbarrier``. Raises ValueError for an index or parity that does not fit."""
    if not (0 <= index < 1 << _INDEX_BITS and parity in (0, 1)):
        raise ValueError(f"an mbarrier's index or parity is out of range: {index}, {parity}")
    return index | int(action) << _INDEX_BITS | parity << (_INDEX_BITS + _ACTION_BITS)


def unpack_mbarrier(operand: int) -> MBarrierUse:
    action = MBarrierAction(operand >> _INDEX_BITS & (1 << _ACTION_BITS) - 1)
    return MBarrierUse(operand & (1 << _INDEX_BITS) - 1, action, operand >> (_INDEX_BITS + _ACTION_BITS) & 1)
