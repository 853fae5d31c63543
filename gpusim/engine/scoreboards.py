"""Models what holds a warp back by its control fields: stall counts, scoreboard barriers, cp.async groups.
Leaves out pipes and queues (gpusim.engine.resources)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Kind
from gpusim.engine.state import GROUPS, NEVER

__all__ = ["boards_release", "close_group", "copy_arrived", "groups_release", "ready_time", "retire_groups"]

DEPBAR = int(Kind.depbar)


@njit(cache=True, nogil=True)
def groups_release(st, s, w, allowed):
    """Cycle at which at most ``allowed`` committed cp.async groups are pending; NEVER while one is under way."""
    newest = st.group_tail[s, w] - 1 - allowed
    if newest < 0:
        return 0
    return st.group_time[s, w, newest % GROUPS] if newest < st.group_done[s, w] else NEVER


@njit(cache=True, nogil=True)
def boards_release(st, s, w, row):
    """(long, short): cycles at which the barriers of the instruction's wait mask release, by their owner's memory."""
    long_release, short_release = 0, 0
    for board in range(6):
        if not row.wait_mask >> board & 1:
            continue
        if st.pending[s, w, board] > 0:
            return NEVER, short_release
        if st.group_board[s, w] == board:
            long_release = max(long_release, groups_release(st, s, w, 0))
        elif st.long_board[s, w, board]:
            long_release = max(long_release, st.scoreboard[s, w, board])
        else:
            short_release = max(short_release, st.scoreboard[s, w, board])
    if row.kind == DEPBAR:
        board = row.operand >> 16
        if st.group_board[s, w] == board:
            long_release = max(long_release, groups_release(st, s, w, row.operand & 0xFFFF))
        elif st.pending[s, w, board] > 0:
            return NEVER, short_release
        else:
            short_release = max(short_release, st.scoreboard[s, w, board])
    return long_release, short_release


@njit(cache=True, nogil=True)
def ready_time(st, s, w, row):
    """First cycle in which the control fields let the warp issue ``row``; NEVER while memory or a barrier decides."""
    if st.barrier_end[s, w] >= NEVER:
        return NEVER
    long_release, short_release = boards_release(st, s, w, row)
    release = max(long_release, short_release)
    return max(max(st.stall_end[s, w], st.branch_end[s, w]), max(st.barrier_end[s, w], release))


@njit(cache=True, nogil=True)
def retire_groups(st, s, w):
    """Committed groups complete in order: one that is done waits for those before it."""
    while st.group_done[s, w] < st.group_tail[s, w]:
        group = st.group_done[s, w]
        if st.group_missing[s, w, group % GROUPS] > 0:
            return
        if group > 0:
            before = st.group_time[s, w, (group - 1) % GROUPS]
            st.group_time[s, w, group % GROUPS] = max(st.group_time[s, w, group % GROUPS], before)
        st.group_done[s, w] = group + 1


@njit(cache=True, nogil=True)
def close_group(st, s, w, board, time):
    """cp.async.commit_group: the open group, empty or not, joins those that barrier ``board`` counts."""
    group = st.group_tail[s, w]
    if group - st.group_done[s, w] >= GROUPS - 1:
        raise RuntimeError("more cp.async groups in flight in one warp than the simulator tracks")
    st.group_board[s, w] = board
    st.group_time[s, w, group % GROUPS] = max(st.group_time[s, w, group % GROUPS], time)
    st.group_tail[s, w] = group + 1
    st.group_missing[s, w, (group + 1) % GROUPS] = 0
    st.group_time[s, w, (group + 1) % GROUPS] = 0
    retire_groups(st, s, w)


@njit(cache=True, nogil=True)
def copy_arrived(st, s, w, group, time):
    """One cp.async of a group has been written to shared memory at ``time``."""
    st.group_missing[s, w, group % GROUPS] -= 1
    st.group_time[s, w, group % GROUPS] = max(st.group_time[s, w, group % GROUPS], time)
    retire_groups(st, s, w)
