"""Models the answer to "why does nothing move": which warp waits for what, since when, at which line.
Leaves out cures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpusim.arch.instructions import Kind
from gpusim.engine.flags import FlagWait
from gpusim.engine.image import ProgramImage
from gpusim.engine.state import NEVER, SmState
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
        op = image.ops[:warp["op"]][image.ops[:warp["op"]]["kind"] == Kind.barrier][-1]
    else:
        boards = np.flatnonzero(warp["pending"] > 0).tolist()
        groups = "waits for a cp.async group that never completes"
        reason = f"waits for scoreboard barriers {boards}" if boards else groups
    return (f"  CTA {warp['cta']} warp {warp['warp']} (SM {sm}) {reason}, since cycle {warp['last_issue']}, "
            f"at {name_of(int(op['pc']))}")
