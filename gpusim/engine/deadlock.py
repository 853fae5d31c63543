"""Models the answer to "why does nothing move": which warp waits for what, since when, at which line.
Leaves out cures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpusim.arch.instructions import Kind
from gpusim.engine.flags import FlagWait
from gpusim.engine.image import ProgramImage
from gpusim.engine.result import WARP_STATES
from gpusim.engine.state import NEVER, WARPS_PER_WARPGROUP, SmState
from gpusim.errors import SimulatedFailure

__all__ = ["describe_deadlock"]

SHOWN = 8


def describe_deadlock(
    state: SmState, image: ProgramImage, name_of: Callable[[int], str],
    polling: tuple[np.ndarray, Sequence[FlagWait]] | None = None,
) -> SimulatedFailure:
    """A failure that lists the first warps that wait; ``name_of`` turns a static instruction into text. ``polling``:
    which warps (SMs, slots) poll flags that nobody will write, and what for; only they are listed then."""
    stuck = np.argwhere(polling[0] if polling else state.warps["live"] > 0)
    waits = polling[1] if polling else [None] * len(stuck)
    lines = [_describe_warp(state, image, int(sm), int(w), name_of, wait)
             for (sm, w), wait in zip(stuck[:SHOWN], waits, strict=False)]
    more = f"\n  and {len(stuck) - SHOWN} more warps" if len(stuck) > SHOWN else ""
    cycle = int(state.warps["last_issue"][state.warps["live"] > 0].max()) + 1
    what = "no CTA can ever go on" if polling else "no warp can ever issue again"
    return SimulatedFailure(f"deadlock at cycle {cycle}: {what}\n" + "\n".join(lines) + more)


def _describe_warp(
    state: SmState, image: ProgramImage, sm: int, w: int, name_of: Callable[[int], str], wait: FlagWait | None
) -> str:
    warp = state.warps[sm, w]
    op = image.ops[warp["op"]]
    if wait is not None:
        reason = (f"waits for word {wait.word} of {image.flag_name} to be {wait.awaited}, where it is {wait.value} and "
                  f"nobody will write it")
    elif warp["barrier_end"] >= NEVER:
        barrier, slot = int(warp["barrier_end"]) - NEVER, state.slots[sm, warp["cta_slot"]]
        reason = f"waits at barrier {barrier}, where {slot['arrived'][barrier]} of {slot['warps']} warps have arrived"
        op = _last(image, warp, Kind.barrier)
    elif warp["scoreboard"].max() > NEVER:
        reason, op = _mbarrier(state, image, sm, warp), _last(image, warp, Kind.mbarrier)
    elif warp["membar_end"] == NEVER and warp["fence_state"] == WARP_STATES.index("barrier"):
        slot = state.slots[sm, warp["cta_slot"]]
        missing = int(slot["warps"] - slot["at_cluster_barrier"]) if slot["at_cluster_barrier"] else 0
        where = f"{missing} warps of this CTA are" if missing else "another CTA is"
        reason, op = f"waits at the barrier of its cluster, where {where} missing", _last(
            image, warp, Kind.cluster_barrier)
    elif warp["membar_end"] == NEVER and warp["fence_state"] == WARP_STATES.index("gmma"):
        come = state.warpgroups[sm, warp["cta_slot"], warp["warp"] // WARPS_PER_WARPGROUP]["fenced"]
        reason = f"waits at the fence of its warpgroup, where {come} of {WARPS_PER_WARPGROUP} warps have come"
        op = _last(image, warp, Kind.wgmma_control)
    elif warp["membar_end"] > NEVER:
        reason = (f"waits for wgmma group {warp['membar_end'] - NEVER - 1} of its warpgroup, which not all of its four "
                  f"warps have closed")
        op = _last(image, warp, Kind.wgmma_control)
    else:
        boards = np.flatnonzero(warp["pending"] > 0).tolist()
        groups = "waits for a cp.async group that never completes"
        reason = f"waits for scoreboard barriers {boards}" if boards else groups
    return (f"  CTA {warp['cta']} warp {warp['warp']} (SM {sm}) {reason}, since cycle {warp['last_issue']}, "
            f"at {name_of(int(op['pc']))}")


def _last(image: ProgramImage, warp: np.void, kind: Kind) -> np.void:
    """The last op of a kind that the warp has issued."""
    issued = image.ops[: warp["op"]]
    last: np.void = issued[issued["kind"] == kind][-1]
    return last


def _mbarrier(state: SmState, image: ProgramImage, sm: int, warp: np.void) -> str:
    """What the phase that a warp waits for lacks."""
    index, parity = divmod(int(warp["scoreboard"].max()) - NEVER - 1, 2)
    barrier = state.mbarriers[sm, warp["cta_slot"], index]
    lacks = [f"{barrier['pending']} of {image.mbarrier_arrivals[index]} arrivals"] * bool(barrier["pending"])
    lacks += [f"{barrier['bytes']} bytes"] * bool(barrier["bytes"])
    return (f"waits for phase {barrier['phase']} (parity {parity}) of mbarrier {index} "
            f"({image.mbarrier_names[index]}), which lacks {' and '.join(lacks)}")
