"""Models the answer to "why does nothing move": which warp waits for what, since when, at which line.
Leaves out cures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.engine.image import ProgramImage
from gpusim.engine.state import NEVER, SmState
from gpusim.errors import SimulatedFailure

__all__ = ["describe_deadlock"]

SHOWN = 8


def describe_deadlock(
    state: SmState, image: ProgramImage, cycle: float, name_of: Callable[[int], str]
) -> SimulatedFailure:
    """A failure that lists the first warps that wait; ``name_of`` turns a static instruction into text."""
    stuck = np.argwhere(state.live > 0)
    lines = [_describe_warp(state, image, int(sm), int(w), name_of) for sm, w in stuck[:SHOWN]]
    more = f"\n  and {len(stuck) - SHOWN} more warps" if len(stuck) > SHOWN else ""
    return SimulatedFailure(f"deadlock at cycle {int(cycle)}: no warp can ever issue again\n" + "\n".join(lines) + more)


def _describe_warp(
    state: SmState, image: ProgramImage, sm: int, w: int, name_of: Callable[[int], str]
) -> str:
    op = image.ops[state.op[sm, w]]
    cta = int(state.slot_cta[sm, state.cta_slot[sm, w]])
    if state.barrier_end[sm, w] >= NEVER:
        barrier = int(state.barrier_end[sm, w]) - NEVER
        arrived = int(state.slot_arrived[sm, state.cta_slot[sm, w], barrier])
        alive = int(state.slot_warps[sm, state.cta_slot[sm, w]])
        reason = f"waits at barrier {barrier}, where {arrived} of {alive} warps have arrived"
        op = image.ops[state.op[sm, w] - 1]
    else:
        boards = [board for board in range(6) if state.pending[sm, w, board] > 0]
        reason = f"waits for scoreboard barriers {boards}" if boards else "waits for a cp.async group that never completes"
    since = int(state.last_issue[sm, w])
    return f"  CTA {cta} warp {int(state.warp[sm, w])} (SM {sm}) {reason}, since cycle {since}, at {name_of(int(op['pc']))}"
