"""Models what holds a warp back by its control fields: stall counts, scoreboard barriers, cp.async groups.
Leaves out pipes and queues (gpusim.engine.resources)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Kind
from gpusim.engine.image import BLOCKS, FENCE
from gpusim.engine.state import BOARDS, GROUPS, NEVER

__all__ = ["barrier_release", "boards_release", "close_group", "copy_arrived", "groups_release",
           "hold_board", "ready_time", "release", "retire_groups", "settle_board"]

BARRIER, DEPBAR, EXIT = int(Kind.barrier), int(Kind.depbar), int(Kind.exit)
NO_BOARD = 7
TOO_MANY_GROUPS = (f"more than {GROUPS - 2} cp.async groups of a warp are in flight, as many as can be simulated; wait "
                   "for some, or commit less often")


@njit(cache=True, nogil=True)
def release(warp, board, time, is_long):
    """An internal result or operand read releases a scoreboard barrier at ``time``."""
    if board != NO_BOARD:
        warp.scoreboard[board] = max(warp.scoreboard[board], time)
        if is_long or warp.pending[board] == 0:
            warp.long_board[board] = is_long


@njit(cache=True, nogil=True)
def hold_board(warp, board, is_long):
    """A scoreboard barrier waits for an instruction whose end is not known yet."""
    if board != NO_BOARD:
        if is_long or warp.pending[board] == 0:
            warp.long_board[board] = is_long
        warp.pending[board] += 1


@njit(cache=True, nogil=True)
def settle_board(warp, board, time):
    """What a queued instruction does to a scoreboard barrier is known now: it releases at ``time``."""
    if board != NO_BOARD:
        warp.pending[board] -= 1
        warp.scoreboard[board] = max(warp.scoreboard[board], time)


@njit(cache=True, nogil=True)
def groups_release(warp, allowed):
    """Cycle at which at most ``allowed`` committed cp.async groups are pending; NEVER while one is under way."""
    newest = warp.group_tail - 1 - allowed
    if newest < 0:
        return 0
    return warp.group_time[newest % GROUPS] if newest < warp.group_done else NEVER


@njit(cache=True, nogil=True)
def board_release(warp, board, allowed):
    """(cycle, belongs to global memory) at which a scoreboard barrier lets go."""
    if warp.pending[board] > 0:
        return NEVER, warp.long_board[board] != 0
    if warp.group_board == board:
        return max(groups_release(warp, allowed), warp.scoreboard[board]), True
    return warp.scoreboard[board], warp.long_board[board] != 0


@njit(cache=True, nogil=True, forceinline=True)
def boards_release(warp, row):
    """(long, short): cycles at which what the instruction waits for releases, by the memory it belongs to."""
    long_release, short_release = 0, 0
    if row.wait_mask == 0 and row.kind != DEPBAR:
        return long_release, short_release
    for board in range(BOARDS):
        waits_here = row.kind == DEPBAR and board == row.operand >> 16
        if row.wait_mask >> board & 1 or waits_here:
            allowed = row.operand & 0xFFFF if waits_here and not row.wait_mask >> board & 1 else 0
            time, is_long = board_release(warp, board, allowed)
            if is_long:
                long_release = max(long_release, time)
            else:
                short_release = max(short_release, time)
    return long_release, short_release


@njit(cache=True, nogil=True)
def barrier_release(warp, row):
    """Cycle at which the CTA barrier that the warp has arrived at lets ``row`` issue; beyond NEVER while it is shut."""
    return warp.barrier_end if row.flags & BLOCKS else 0


@njit(cache=True, nogil=True, forceinline=True)
def ready_time(warp, row):
    """First cycle in which the control fields let the warp issue ``row``; NEVER while memory or a barrier decides."""
    if warp.queued > 0 and (row.kind == EXIT or row.flags & FENCE):
        return NEVER
    if row.kind == BARRIER and (warp.before_fence > 0 or warp.behind > 0):
        return NEVER
    long_release, short_release = boards_release(warp, row)
    fetched = max(warp.code_end, warp.constant_end)
    released = max(max(barrier_release(warp, row), warp.membar_end), max(long_release, short_release))
    return min(NEVER, max(max(warp.stall_end, max(warp.branch_end, fetched)), released))


@njit(cache=True, nogil=True)
def retire_groups(warp):
    """Committed groups complete in order: one that is done waits for those before it."""
    while warp.group_done < warp.group_tail:
        group = warp.group_done
        if warp.group_missing[group % GROUPS] > 0:
            return
        if group > 0:
            warp.group_time[group % GROUPS] = max(warp.group_time[group % GROUPS],
                                                  warp.group_time[(group - 1) % GROUPS])
        warp.group_done = group + 1


@njit(cache=True, nogil=True)
def close_group(warp, board, time):
    """cp.async.commit_group: the open group, empty or not, joins those that barrier ``board`` counts."""
    group = warp.group_tail
    if group - warp.group_done >= GROUPS - 2:
        raise RuntimeError(TOO_MANY_GROUPS)
    warp.group_board = board
    warp.group_time[group % GROUPS] = max(warp.group_time[group % GROUPS], time)
    warp.group_tail = group + 1
    warp.group_missing[(group + 1) % GROUPS] = 0
    warp.group_time[(group + 1) % GROUPS] = 0
    retire_groups(warp)


@njit(cache=True, nogil=True)
def copy_arrived(warp, group, time):
    """One cp.async of a group has been written to shared memory at ``time``."""
    warp.group_missing[group % GROUPS] -= 1
    warp.group_time[group % GROUPS] = max(warp.group_time[group % GROUPS], time)
    retire_groups(warp)
