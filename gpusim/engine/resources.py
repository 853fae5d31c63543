"""Models what instructions share: pipes, the operand path and queues of a sub-partition, the SM's data and tag stage.
Leaves out which warp gets them (gpusim.engine.scheduler)."""

from __future__ import annotations

from numba import njit

from gpusim.arch.instructions import Pipe
from gpusim.engine.image import ACTIVE
from gpusim.engine.state import HOLDS, NEVER

__all__ = [
    "dispatch_time",
    "free_time",
    "hold_data_stage",
    "occupy_tags",
    "operands_read",
    "pass_data_stage",
    "pass_tag_stage",
    "path_room",
    "read_operands",
    "take_pipe",
    "uses_tensor",
    "write_copy",
]

LSU, NO_PIPE, UNIFORM, TENSOR = int(Pipe.lsu), int(Pipe.none), int(Pipe.uniform), int(Pipe.tensor)
ALU, FMA, XU = int(Pipe.alu), int(Pipe.fma), int(Pipe.xu)


@njit(cache=True, nogil=True)
def free_time(part, mach, row):
    """First cycle in which the pipe or the queue that ``row`` needs has room; NEVER while the queue is full."""
    if row.queue >= 0:
        entries = part.queue_last - part.queue_first
        if entries >= mach.mio_queue_depth:
            return NEVER
        was_full = entries + part.queue_left >= mach.mio_queue_depth
        return part.queue_open if was_full else 0
    if row.flags & ACTIVE and row.pipe != NO_PIPE and row.pipe != LSU:
        return part.pipe_free[row.pipe]
    return 0


@njit(cache=True, nogil=True)
def uses_tensor(part, time):
    """Whether the sub-partition's tensor pipe is busy."""
    return part.tensor_end > time


@njit(cache=True, nogil=True)
def hold_tensor(part, mach, registers):
    """A tensor instruction beside which others' registers are read keeps its pipe that much longer."""
    part.tensor_end += registers * mach.tensor_read_beside
    part.pipe_free[TENSOR] = max(part.pipe_free[TENSOR], part.tensor_end)


@njit(cache=True, nogil=True, forceinline=True)
def take_pipe(part, mach, row, time):
    """Keep the pipe for the instruction's interval; tensor instructions and IMAD.WIDE keep each other waiting, and the
    XU reads its register as the load/store unit does."""
    part.pipe_free[row.pipe] = time + row.interval
    if row.pipe == TENSOR:
        part.tensor_start, part.tensor_interval, part.fetched = time, row.interval, row.fetch
        part.tensor_end = time + row.interval
    elif row.triple:
        part.triple_start = time
    elif row.pipe == ALU or row.pipe == FMA:
        part.vector_start = time
    elif row.pipe == XU and uses_tensor(part, time):
        hold_tensor(part, mach, 1)
    if row.wide:
        part.pipe_free[TENSOR] = max(part.pipe_free[TENSOR], time + mach.tensor_after_wide)


@njit(cache=True, nogil=True)
def read_operands(part, mach, row, time):
    """The LSU reads the registers of an instruction that it takes at ``time``; returns when it begins to.

    It has a path of its own per sub-partition, at half the rate of a register bank, and keeps the dispatcher from
    reading for a cycle per register only. Beside tensor instructions it reads one register in each of their intervals,
    which get longer by it, and begins when the tensor instruction has read its own.
    """
    start, free = time, time + row.path_cycles
    if uses_tensor(part, time):
        interval = part.tensor_interval + mach.tensor_read_beside
        start = max(time, part.tensor_start + mach.triple_after_tensor)
        start += max(0, (row.registers - 1) * interval - row.lead_cycles)
        free = max(free, time + row.registers * interval)
        hold_tensor(part, mach, row.registers)
    part.operand_free = free
    if part.hold_last - part.hold_first >= HOLDS:
        part.hold_first += 1
    part.hold_start[part.hold_last % HOLDS] = start + mach.read_release_base
    part.hold_end[part.hold_last % HOLDS] = start + mach.read_release_base + row.hold_cycles
    part.hold_last += 1
    return start


@njit(cache=True, nogil=True)
def occupy_tags(sm, mach, until):
    """The instruction keeps its entry of the queue for the tag stage until its last line has passed."""
    sm.tags[sm.tag_head] = until
    sm.tag_head = sm.tag_head + 1 if sm.tag_head + 1 < mach.tag_entries else 0


@njit(cache=True, nogil=True)
def wide_start(part, mach, time):
    """IMAD.WIDE reads registers twice, which a tensor instruction in the middle of its own reads does not allow."""
    begun = part.tensor_start
    if time <= begun + mach.tensor_last_read:
        return max(time, begun + mach.wide_between_tensor)
    return max(time, begun + mach.wide_after_tensor)


@njit(cache=True, nogil=True, forceinline=True)
def dispatch_time(part, mach, row, time):
    """When an instruction that is issued at ``time`` can read its registers; the LSU reads those of its own later, and
    costs tensor instructions what ``hold_tensor`` says."""
    if row.queue >= 0 or row.pipe == NO_PIPE or row.pipe == UNIFORM or row.pipe == LSU or not row.flags & ACTIVE:
        return time
    if row.wide:
        time = wide_start(part, mach, time)
    elif row.triple:
        time = max(time, part.tensor_start + mach.triple_after_tensor + part.fetched)
    elif row.vector:
        time = max(time, part.tensor_start + mach.vector_after_tensor)
    elif row.pipe == TENSOR:
        return max(time, max(part.triple_start + mach.tensor_after_triple, part.vector_start + 1) + row.fetch)
    while part.hold_first < part.hold_last and part.hold_end[part.hold_first % HOLDS] <= time:
        part.hold_first += 1
    i = part.hold_first
    while i < part.hold_last and part.hold_start[i % HOLDS] <= time:
        time = max(time, part.hold_end[i % HOLDS])
        i += 1
    return time


@njit(cache=True, nogil=True)
def operands_read(mach, start, row):
    """Cycle at which the load/store unit has read all registers of an instruction whose operands start at ``start``."""
    return start + mach.read_release_base + row.operand_cycles


@njit(cache=True, nogil=True)
def path_room(sm, mach):
    """First cycle in which one of the paths through the data stage is free."""
    room = sm.paths[0]
    for i in range(1, mach.data_paths):
        room = min(room, sm.paths[i])
    return room


@njit(cache=True, nogil=True)
def show_wavefronts(sm, arrival, waves):
    """Give wavefronts a place among the events of the data stage, one per cycle."""
    sm.data_stage = max(sm.data_stage, arrival) + waves


@njit(cache=True, nogil=True)
def pass_data_stage(sm, mach, arrival, waves, earliest):
    """Take a path through the SM's 128-byte data stage from ``earliest`` on, not before ``arrival``: that of all free
    ones which has been so for the shortest time, else the first to get free. Returns when the path is free again.

    A path moves a wavefront every other cycle, so the stage moves one per cycle only while two accesses are under way;
    those of one warp follow each other (data_paths.csv).
    """
    show_wavefronts(sm, arrival, waves)
    best, begin = 0, max(arrival, earliest)
    for i in range(1, mach.data_paths):
        free, other = sm.paths[i], sm.paths[best]
        if (free <= begin < other) or (free <= begin and free > other) or other > free > begin:
            best = i
    sm.paths[best] = max(begin, sm.paths[best]) + mach.wavefront_interval * waves
    return sm.paths[best]


@njit(cache=True, nogil=True)
def hold_data_stage(sm, mach, arrival, waves):
    """Wavefronts at full rate, of units that do not go through the load/store unit: the paths move that many less.
    Returns when the last one has passed."""
    show_wavefronts(sm, arrival, waves)
    passed = max(arrival, path_room(sm, mach)) + waves
    for i in range(mach.data_paths):
        sm.paths[i] = max(sm.paths[i], arrival) + waves * mach.wavefront_interval // mach.data_paths
    return passed


@njit(cache=True, nogil=True)
def pass_tag_stage(sm, arrival, cycles):
    """Take the L1 tag stage; returns when the first line passes."""
    start = max(sm.tag_stage, arrival)
    sm.tag_stage = start + cycles
    return start


@njit(cache=True, nogil=True)
def write_copy(sm, looked_up, cycles):
    """Take what writes the data of copies that bypass L1; the tag stage does not run ahead of it."""
    sm.copy_writes = max(sm.copy_writes, looked_up) + cycles
    sm.tag_stage = max(sm.tag_stage, sm.copy_writes)
