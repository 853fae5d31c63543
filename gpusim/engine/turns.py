"""Models whose turn it is: which of a sub-partition's warps issues in a cycle, by policy, CTA, yield and tensor pipe.
Leaves out what makes a warp ready (gpusim.engine.scoreboards) and the issue itself (gpusim.engine.scheduler)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.arch.instructions import Pipe
from gpusim.engine.image import YIELD
from gpusim.engine.machine import POLICIES
from gpusim.engine.state import NEVER, QUEUE

__all__ = ["candidate_time", "look_ahead", "select"]

TENSOR = int(Pipe.tensor)
GTO, LRR, OLDEST, GRR = (POLICIES.index(name) for name in ("gto", "lrr", "oldest", "grr"))


@njit(cache=True, nogil=True)
def candidate_time(part, warp):
    """First cycle in which the warp could be issued if it were alone."""
    return max(max(warp.ready, part.issue_free), part.unit_free[warp.unit])


@njit(cache=True, nogil=True)
def turn_time(part, warps, w):
    """First cycle in which a warp may take the tensor pipe from another one of its CTA: not while that one's
    instructions only stand behind an IMAD.WIDE, which reads its registers twice (tensor_pairs.csv: H3r W2 V1)."""
    last = part.last_tensor
    if warps[w].unit != TENSOR or w == last or last < 0 or warps[w].cta_slot != warps[last].cta_slot:
        return np.int64(0)
    return part.tensor_due


@njit(cache=True, nogil=True)
def yields(warp, ops):
    """Whether the last instruction of a warp lets others go first."""
    return warp.op > 0 and ops[warp.op - 1].flags & YIELD != 0


@njit(cache=True, nogil=True)
def brisk(warp, ops):
    """Whether the last instruction of a warp let it go on in the very next cycle, but for a second pass of its own."""
    return warp.op > 0 and ops[warp.op - 1].stall - ops[warp.op - 1].second_pass <= 1


@njit(cache=True, nogil=True)
def precedes_other_cta(part, warps, ops, w, best, time):
    """Whether ``w`` goes before ``best``, of another CTA: not behind a yield, else if it is of the older one.

    But where the tensor pipe gets free and the last instructions of both let them go on in the next cycle, the one that
    has just issued makes room (tensor_yields.csv).
    """
    steps_back = yields(warps[w], ops)
    if steps_back != yields(warps[best], ops):
        return not steps_back
    last = part.last_slot
    gets_free = part.issue_free == time == part.unit_free[TENSOR]
    if gets_free and (w == last or best == last) and brisk(warps[w], ops) and brisk(warps[best], ops):
        return best == last
    return warps[w].age < warps[best].age


@njit(cache=True, nogil=True)
def goes_on(part, warps, ops, other, time):
    """Whether the warp that issued last goes before ``other`` of its CTA though it has paused, because it has the
    tensor pipe (tensor_pairs.csv).

    It does when its next tensor instruction comes in time, when the pipe would be free if the load/store unit had read
    nothing beside its last one, and right behind another instruction (sequences of H5r V1 and H4r L1 V1, not of H6r,
    H3r V1 or H3r V3); and when it has something else to issue in the cycle in which the pipe gets free for the other
    one (H6r V1). Not behind a yield.
    """
    last = part.last_slot
    if last != part.last_tensor or yields(warps[last], ops):
        return False
    if warps[last].unit == TENSOR:
        return brisk(warps[last], ops) and warps[last].ready >= part.tensor_due
    return warps[other].unit == TENSOR and max(part.unit_free[TENSOR], turn_time(part, warps, other)) == time


@njit(cache=True, nogil=True)
def passed_over(mach, part, warp):
    """How many instructions the pipe that a warp wants has taken since its own last one, by a counter that ends at 31.

    HMMA of 6.5 cycles or of 4.6: it ends after as many (turn_waits.csv). Not as there: one instruction of another pipe
    that a warp issues meanwhile, such as a MOV behind its load, starts the count anew here, like eight of them; there
    its turn comes later the more it has issued (turn_starts.csv).
    """
    return min(part.taken[warp.unit] - warp.taken, mach.turns_counted)


@njit(cache=True, nogil=True)
def preferred(mach, part, warps, ops, w, best, time, contested):
    """Whether eligible warp ``w`` goes before eligible warp ``best``.

    Under ``grr`` the last one goes on while it can issue without a pause, or else comes last of its CTA. Of its other
    warps the one that most instructions have passed goes first, and the highest of equals (warp_turns.csv). CTAs have
    an order, the older one first (issue_turns.csv). Where the tensor pipe or the queue of memory instructions is
    ``contested`` that order is the first thing to decide. Of a CTA's warps that want the tensor pipe one that yields
    steps back (tensor_pairs.csv: H6r beside N1y).
    """
    last = part.last_slot
    is_last = w == last or best == last
    paused = time > part.issue_free
    if mach.policy == GRR and warps[w].cta_slot != warps[best].cta_slot:
        if contested:
            return precedes_other_cta(part, warps, ops, w, best, time)
        if paused or not is_last:
            return warps[w].age < warps[best].age
    elif mach.policy == GRR and warps[w].unit == TENSOR and warps[best].unit == TENSOR:
        steps_back = yields(warps[w], ops)
        if steps_back != yields(warps[best], ops):
            return not steps_back
    if mach.policy == GRR and paused and is_last:
        return (w == last) == goes_on(part, warps, ops, best if w == last else w, time)
    if (mach.policy == GTO or mach.policy == GRR) and is_last:
        return (w == last) != yields(warps[last], ops)
    if mach.policy == GRR:
        longer = passed_over(mach, part, warps[w]) - passed_over(mach, part, warps[best])
        return longer > 0 if longer != 0 else w > best
    if mach.policy == LRR:
        count = len(warps)
        return (w - last - 1) % count < (best - last - 1) % count
    older = warps[w].age < warps[best].age
    return older if mach.policy == GTO or mach.policy == OLDEST else not older


@njit(cache=True, nogil=True)
def choose(part, mach, warps, ops, time, eligible, contested):
    """The one of several eligible warps, a bit each, that goes first."""
    best = np.int64(-1)
    for i in range(part.live):
        w = part.slots[i]
        if eligible >> i & 1 and (best < 0 or preferred(mach, part, warps, ops, w, best, time, contested)):
            best = w
    return best


@njit(cache=True, nogil=True, forceinline=True)
def select(part, mach, warps, ops, time):
    """The warp to issue at ``time``; the other eligible ones are not selected in this cycle."""
    best, eligible, contested = np.int64(-1), 0, 0
    for i in range(part.live):  # without branches: the host cannot foresee them
        w = part.slots[i]
        warp = warps[w]
        can = (candidate_time(part, warp) <= time) & (turn_time(part, warps, w) <= time)
        warp.not_selected += can
        eligible |= can << i
        contested |= can & ((warp.unit == TENSOR) | (warp.unit == QUEUE))
        best = w if can else best
    if eligible & (eligible - 1):
        best = choose(part, mach, warps, ops, time, eligible, contested)
    if best >= 0:
        warps[best].not_selected -= 1
    return best


@njit(cache=True, nogil=True, forceinline=True)
def look_ahead(part, warps):
    """Earliest cycle in which the sub-partition can issue again."""
    earliest = NEVER
    for i in range(part.live):
        w = part.slots[i]
        earliest = min(earliest, max(candidate_time(part, warps[w]), turn_time(part, warps, w)))
    part.next_issue = earliest
