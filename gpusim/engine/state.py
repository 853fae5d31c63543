"""Models what changes on an SM: one record per warp, sub-partition, CTA slot and SM, and what a window writes.
Leaves out every rule about it (gpusim.engine.scheduler, gpusim.engine.execute)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusim.arch.instructions import Pipe
from gpusim.engine.l1 import L1State
from gpusim.engine.result import EVENT, WARP_STATES

__all__ = ["BOARDS", "BULK", "COMPLETION", "COUNTERS", "CTA_SLOT", "FENCE_TOKEN", "GROUPS", "HOLDS", "MBARRIER",
           "NEVER", "PART_WARPS", "QUEUE", "QUEUE_ENTRIES", "REQUEST_RECORD", "RETURNS", "SM", "STATIC", "STOPS",
           "STORES_KEPT", "STORE_ANSWERS", "SUB_PARTITION", "TENSOR_READS", "VECTOR_PLACES", "WAITING_STORES", "WARP",
           "WARPGROUP", "WARPS_PER_WARPGROUP", "WGMMAS", "SmState", "Window", "new_state", "new_window"]

NEVER = np.iinfo(np.int64).max // 4
BOARDS = 6  # scoreboard barriers of a warp, as the SASS encoding has them
GROUPS = 64
"""Committed cp.async groups of a warp, a ring; two fewer may be in flight: a size of the model, not of the machine."""
QUEUE_ENTRIES = 32
"""Largest queue the records can hold; the depth itself is a number of the GPU."""
VECTOR_PLACES = 8
"""Cycles behind a tensor instruction at which what arithmetic costs it is told apart."""
HOLDS = 32
"""Reads of operands under way or to come in a sub-partition."""
NAMED_BARRIERS = 16
WARPS_PER_WARPGROUP = 4
WGMMAS = 256
"""wgmma that a warp may have issued and that the tensor pipe has not started."""
STORE_LINES = 64
"""Most lines in front of the port that stores take; how many is a number of the GPU."""
WAITING_STORES = 128
"""Twice the most stores to global memory that may wait for the data stage; how many is a number of the GPU."""
WAITING = 8
"""Most accesses that may wait behind the load/store unit's buffer; how many is a number of the GPU."""
ASK_PLACES = 8
"""Most accesses whose requests wait to leave; how many is a number of the GPU."""
RETURNS = 128
"""Most loads from shared memory of a sub-partition whose results are under way: more than the load/store unit can hold
and have under way, an instruction a cycle."""
STOPS = 16
"""Tensor instructions of a sub-partition that may still stop results."""
PATHS = 16
"""Most paths through the data stage."""
QUEUE = len(Pipe)
"""What a memory instruction waits for room in, a number behind those of the pipes."""
PART_WARPS = 16
"""Most warps of a sub-partition."""
SPANS = 14
"""Most states between two issues of a warp, see gpusim.engine.attribution."""
COUNTERS = (
    "shared_requests_load", "shared_requests_store", "shared_requests_ldgsts",
    "shared_wavefronts_load", "shared_wavefronts_store", "shared_wavefronts_ldgsts",
    "shared_wavefronts_ideal_load", "shared_wavefronts_ideal_store", "shared_wavefronts_ideal_ldgsts",
    "bank_conflicts_load", "bank_conflicts_store", "bank_conflicts_ldgsts",
    "hmma_instructions", "ldsm_instructions", "ldgsts_instructions", "data_stage_cycles",
    "l1_sectors", "l1_sector_hits",
    "bulk_bytes_asked", "bulk_bytes_loaded", "bulk_bytes_stored", "wgmma_pipe_cycles",
)

WARP = np.dtype([
    ("live", "<i8"),
    ("op", "<i8"),  # next row of the image
    ("ready", "<i8"),  # when stall count, barriers and scoreboards allow it
    ("unit", "<i8"),  # whose room it needs then: a pipe or QUEUE
    ("last_issue", "<i8"),
    ("taken", "<i8"),  # what the unit had taken when the warp came to ask for it
    ("stall_end", "<i8"),
    ("branch_end", "<i8"),  # end of a taken branch
    ("code_end", "<i8"),  # when its next instruction has been fetched
    ("constant_end", "<i8"),  # when its first constants have been
    ("barrier_end", "<i8"),  # NEVER + barrier while waiting at a CTA barrier
    ("not_selected", "<i8"),  # cycles since the last issue in which another warp was preferred
    ("dispatch", "<i8"),  # cycles since the last issue in which the dispatcher was held
    ("age", "<i8"),  # order in which warps came to the SM
    ("start", "<i8"),
    ("data_free", "<i8"),  # the previous shared access has left the data stage
    ("stored", "<i8"),  # its last store to global memory, the SM's first one is 1
    ("drain", "<i8"),  # the last store has passed the port
    ("sent", "<i8"),  # the LSU has taken its last memory instruction
    ("queued", "<i8"),  # memory instructions that the LSU has not taken yet
    ("before_fence", "<i8"),  # of these, in front of its last BAR
    ("fenced", "<i8"), ("behind", "<i8"),  # barrier of that BAR; 1 + the one whose fence it stays behind, 0: none
    ("membar_end", "<i8"),  # end of a MEMBAR or a wait for wgmma, NEVER or more while it is not known
    ("fence_state", "<i8"),  # which of the two, as a warp state
    ("flag", "<i8"),  # 1 + FLAG_OP that the CTA's last poll found missing, 0: it was there
    ("polls", "<i8"),  # 1: this warp polls for its CTA
    ("cta", "<i8"),  # launch-order number
    ("cta_slot", "<i8"),
    ("warp", "<i8"),  # number in the CTA
    ("warp_row", "<i8"),  # number in the role
    ("group_tail", "<i8"),  # committed groups; the open one has this number
    ("group_done", "<i8"),  # groups complete in order
    ("group_board", "<i8"),  # barrier that counts cp.async groups, -1
    ("scoreboard", "<i8", (BOARDS,)),  # release time of internal results
    ("pending", "<i8", (BOARDS,)),  # answers of memory still missing
    ("long_board", "<i8", (BOARDS,)),  # 1 when the barrier belongs to global memory
    ("group_missing", "<i4", (GROUPS,)),
    ("group_time", "<i8", (GROUPS,)),  # when the last byte of the group was written
    ("group_arrives", "<i2", (GROUPS,)),  # 1 + mbarrier that hears of it, 0: none
    ("async_arrivals", "<i8"),  # how many of them are due
    ("wgmma_issued", "<i8"), ("wgmma_groups", "<i8"), ("wgmma_fences", "<i8"),  # instructions, groups closed, fences
    ("cluster_arrivals", "<i8"), ("cluster_waits", "<i8"),  # at the cluster's barrier
    ("poll_start", "<i8"), ("slept", "<i8"),  # first look of a lane that waits alone, -1: none; how long it slept since
], align=True)
SUB_PARTITION = np.dtype([
    ("next_issue", "<i8"),
    ("live", "<i8"),  # warps that are here, their slots in the order in which they came
    ("slots", "<i8", (PART_WARPS,)),
    ("last_slot", "<i8"), ("last_tensor", "<i8"),  # who issued last, and who did to the tensor pipe
    ("issue_free", "<i8"),
    ("taken", "<i8", (len(Pipe) + 1,)),  # instructions that each pipe and the queue have taken
    ("operand_free", "<i8"),
    ("crossing", "<i8"),  # when what it stores has crossed the path that all share
    ("even_free", "<i8"), ("odd_free", "<i8"),  # banks of the register file, for FFMAs
    ("hold_first", "<i8"), ("hold_last", "<i8"),  # reads of operands that hold the dispatcher, a ring
    ("hold_start", "<i8", (HOLDS,)), ("hold_end", "<i8", (HOLDS,)),
    ("unit_free", "<i8", (len(Pipe) + 1,)),  # when each pipe and the queue have room; NEVER while the queue is full
    ("tensor_start", "<i8"), ("tensor_interval", "<i8"), ("tensor_end", "<i8"),  # of the last tensor instruction
    ("tensor_due", "<i8"),  # that end for a warp's turn: but for what the LSU and the XU read beside it
    ("tensor_reads", "<i8"), ("tensor_owed", "<f8"),  # row of TENSOR_READS; part of a cycle that it lasts longer
    ("tensor_turn", "<i8"), ("fetched", "<i8"),  # another warp's came before; its A operand had to be read
    ("triple_start", "<i8"), ("vector_start", "<i8"),  # of the last instruction that reads three registers, or fewer
    ("stops", "<i8"),  # tensor instructions so far, and from when to when the last ones let no result in, a ring
    ("stop_start", "<i8", (STOPS,)), ("stop_end", "<i8", (STOPS,)),
    ("returns", "<i8"), ("return_first", "<i8"),  # loads whose results are under way, when the first register is there;
    # of each its next one, how many it waits for, how far apart, whose it is
    ("return_time", "<i8", (RETURNS,)), ("return_left", "<i8", (RETURNS,)),
    ("return_interval", "<i8", (RETURNS,)), ("return_slot", "<i8", (RETURNS,)), ("return_age", "<i8", (RETURNS,)),
    ("return_board", "<i8", (RETURNS,)),
    ("queue_first", "<i8"), ("queue_last", "<i8"),  # a ring
    ("queue_free", "<i8", (QUEUE_ENTRIES,)),  # when the place of an instruction that has left is free
    ("queue_time", "<i8", (QUEUE_ENTRIES,)), ("queue_op", "<i8", (QUEUE_ENTRIES,)),
    ("queue_places", "<i8", (QUEUE_ENTRIES,)), ("queue_kept", "<i8", (QUEUE_ENTRIES,)),
    ("queue_slot", "<i8", (QUEUE_ENTRIES,)),
    ("queue_work", "<i8", (QUEUE_ENTRIES,)), ("queue_token", "<i8", (QUEUE_ENTRIES,)),
    ("queue_held", "<i8", (QUEUE_ENTRIES,)),  # 1 + barrier whose fence has to pass before, 0: none
], align=True)
CTA_SLOT = np.dtype([
    ("cta", "<i8"), ("warps", "<i8"), ("end", "<i8"), ("flag", "<i8"), ("arrived", "<i8", (NAMED_BARRIERS,)),
    ("needed", "<i8", (NAMED_BARRIERS,)),  # warps, 0: all that are there
    ("unfenced", "<i8", (NAMED_BARRIERS,)),  # that have arrived, with instructions in front of BAR still queued
    ("to_fence", "<i8", (NAMED_BARRIERS,)),  # 1: has opened, and its fence has not passed
    ("rank", "<i8"),  # in the cluster
    ("at_cluster_barrier", "<i8"),  # warps that stand at the cluster's barrier before the others have come
    ("cluster_arrivals", "<i8"), ("cluster_opened", "<i8"),  # of the CTA at that barrier; how often it has opened
], align=True)
MBARRIER = np.dtype([
    ("phase", "<i8"),  # phases completed
    ("pending", "<i8"), ("bytes", "<i8"),  # arrivals and bytes that the phase still waits for
    ("time", "<i8"), ("completed", "<i8"),  # the last of them so far; when the phase before completed
], align=True)
WARPGROUP = np.dtype([
    ("issued", "<i8"), ("started", "<i8"),  # instructions: by all warps, by the tensor pipe
    ("fenced", "<i8"), ("fences", "<i8"),  # warps at the next fence; fences that all have passed
    ("arrived", "<i8", (WGMMAS,)),  # warps that have issued an instruction, a ring
    ("row", "<i8", (WGMMAS,)), ("ready", "<i8", (WGMMAS,)),  # of the program's image; when it could start
    ("groups", "<i8"), ("group_end", "<i8", (GROUPS,)),  # groups closed by all warps, and when they are complete
    ("end", "<i8"),  # when results of all that started are there
], align=True)
SM = np.dtype([
    ("data_stage", "<i8"),  # wavefronts, one per cycle, fill it until then
    ("paths", "<i8", (PATHS,)), ("planned_paths", "<i8", (PATHS,)),  # through it: when each is free
    ("path_stores", "<i8", (PATHS,)),  # 1: what took it last was a store to global memory
    ("stores_come", "<i8"), ("stores_gone", "<i8"),  # stores to global memory that have come to it, and have a path;
    ("store_ready", "<i8", (WAITING_STORES,)), ("store_cycles", "<i8", (WAITING_STORES,)),  # of each, a ring: when it
    ("store_before", "<i8", (WAITING_STORES,)), ("store_ends", "<i8", (WAITING_STORES,)),  # could begin, how long it
    ("store_leaves", "<i8", (WAITING_STORES,)), ("store_reads", "<f8", (WAITING_STORES,)),  # takes, its warp's last
    # one, when it has passed, when the port takes it and for how long that reads
    ("stores_turn", "<i8"),  # 1: the last access to take a path was none of them
    ("addresses", "<i8"),  # when the addresses of all accesses so far have been worked off
    ("next_accept", "<i8"), ("next_part", "<i8"), ("next_turn", "<i8"),  # when the LSU takes the next one, and whose
    ("last_part", "<i8"),  # whose turn it was
    ("tma_free", "<i8"), ("bulk_write", "<i8"),  # when the TMA unit can ask, and its data be written
    ("wgmma_event", "<i8"),  # when the tensor pipe can start the next wgmma, NEVER: none waits
    ("wgmma_queued", "<i8"),  # those that first warps have issued and that the tensor pipe has not started
    ("return_event", "<i8"),  # when it is known how the next load from shared memory ends, NEVER: none is under way
    ("return_free", "<i8"), ("return_part", "<i8"),  # when the next register can come; whose came last
    ("tag_stage", "<i8"), ("write_port", "<i8"),
    ("under_way", "<i8"),  # requests of loads and copies that L2 has not answered
    ("asked", "<i8"),  # when the requests of all accesses so far have left,
    ("ask_head", "<i8"), ("asks", "<i8", (ASK_PLACES,)),  # and when places behind the tag stage come free, a ring
    ("copy_writes", "<i8"),  # when data of copies that bypass L1 have been written
    ("turns", "<i8"), ("answered", "<i8"),  # of the port that stores have taken; stores that L2 has, see STORE_ANSWERS
    ("barrier_unit", "<i8"), ("sequence", "<i8"), ("warp_cycles", "<i8"),
    ("address_path", "<i8"), ("data_path", "<i8"), ("data_begun", "<i8"), ("front", "<i8"), ("constant_path", "<i8"),
    ("buffer", "<i8", (QUEUE_ENTRIES,)),  # when its places come free, in order
    ("kept", "<i8", (QUEUE_ENTRIES,)),  # the same of registers that stores store
    ("lines_head", "<i8"), ("lines", "<i8", (STORE_LINES,)),  # the same of the queue in front of the write port,
    ("line_numbers", "<i8", (STORE_LINES,)),  # and what stood in it last: lines of stores,
    ("line_sectors", "<i8", (STORE_LINES,)), ("line_words", "<i8", (STORE_LINES,)),  # and what of them is written
    ("stores_head", "<i8"), ("stores", "<i8", (2 * QUEUE_ENTRIES,)),  # of stores that wait for the data stage
    ("stores_begun", "<i8"), ("stores_passed", "<i8"),  # when the last one took a path, and when all will have passed
    ("reads_done", "<i8"), ("lines_read", "<f8"),  # stores whose lines the port has read in the data array, until when
    ("waiting", "<i8", (WAITING,)),  # when places come free where those wait that have left the buffer
    ("tag_left", "<i8"),  # when the last instruction left the queue for the tag stage,
    ("tag_before", "<i8"), ("tag_begun", "<i8"),  # the first lines of the one before and of it passed the stage,
    ("tag_passed", "<i8"),  # and when all of the last one's had, as the queue for it and barriers learn of it
    ("drained", "<i8"),  # when all accesses so far have left the data stage and the queue for the tag stage
    ("tag_head", "<i8"), ("tags", "<i8", (QUEUE_ENTRIES,)),  # the same of the queue for the tag stage
    ("record_start", "<i8"), ("record_end", "<i8"),  # cycles whose events are kept; empty unless the user asked
    ("states", "<i8", (len(WARP_STATES),)), ("counters", "<f8", (len(COUNTERS),)),
    ("begun", "<i8"),  # when the first CTA came, NEVER: none yet, -1: it does not matter
    ("spans", "<i8"), ("span_state", "<i8", (SPANS,)), ("span_end", "<i8", (SPANS,)),  # states since an issue
], align=True)
STATIC = np.dtype([("issued", "<i8"), ("cycles", "<i8", (len(WARP_STATES),))], align=True)
"""Attribution of one static instruction."""
REQUEST_RECORD = np.dtype([
    ("time", "<i8"), ("base", "<i8"), ("op", "<i8"), ("age", "<i8"), ("sm", "<i4"), ("sequence", "<i4"),
    ("first", "<i4"), ("count", "<i4"), ("data_cycles", "<i4"), ("slot", "<i2"), ("token", "<i2"), ("is_write", "<i4"),
    ("asynchronous", "<i4"), ("fill", "<i8"), ("early", "<i4"),
    ("cta", "<i4"), ("flag", "<i4"), ("l1", "<i4"), ("skip", "<i8"), ("bytes", "<i4"), ("lead", "<i4"), ("last", "<i4"),
    ("ranks", "<i4"), ("reads", "<i4"),
], align=True)
"""One global access of one warp on its way to L2. token: cp.async group or scoreboard barrier; age: which warp asked,
for a slot may have another one when the answer comes; fill: sectors that a miss brings along; early: of data_cycles,
those over when the last data come; flag: row of FLAG_OP or -1; l1: its number in the SM's L1, 0 if that keeps nothing
of it; skip: lines that need not be asked for, a bit each; reads: requests that keep others from leaving until the
answer comes; asynchronous: 1 cp.async, BULK: (part of) a bulk copy, with its bytes, how long after the issue it leaves,
whether it is the last part, and the mbarrier as token; ranks: CTAs of the cluster that its data go to, a bit each, 0:
the one that asked. More than BULK: a message to other SMs (gpusim.engine.messages). A request with the token FENCE asks
when the SM's writes have been performed."""
BULK = 2
FENCE_TOKEN = 64  # no scoreboard barrier, no group
COMPLETION = np.dtype([
    ("time", "<i8"), ("op", "<i8"), ("issued", "<i8"), ("age", "<i8"), ("sm", "<i4"), ("data_cycles", "<i4"),
    ("slot", "<i2"), ("token", "<i2"), ("asynchronous", "<i4"), ("flag", "<i4"), ("l1", "<i4"), ("bytes", "<i4"),
    ("lead", "<i4"), ("last", "<i4"), ("cta", "<i4"), ("early", "<i4"), ("reads", "<i4"),
], align=True)
"""All data of one access have arrived at the SM. flag: of a poll, what WARP.flag becomes; -1: no poll. cta: whom data
or a message of another SM is for, and slot is its CTA slot; -1: the warp in ``slot`` asked."""


STORES_KEPT = 1024
STORE_ANSWERS = np.dtype([
    ("count", "<i8"), ("turns", "<i8"),  # stores that L2 has answered, and the turns of the SM's port that they took
    ("left", "<i8", (STORES_KEPT,)), ("turn", "<i8", (STORES_KEPT,)), ("time", "<f8", (STORES_KEPT,)),  # rings
], align=True)
"""What an SM hears of its stores: when each left, turns up to and including it, when the SM knows that L2 has it. The
memory writes it between windows; SMs read what is older than the longest window."""


TENSOR_READS = np.dtype([
    ("fetch", "<i8"), ("triple_after", "<i8"), ("vector_after", "<i8"), ("after_triple", "<i8"), ("registers", "<i8"),
    ("turn_cost", "<f8"), ("register_cost", "<f8"), ("first_read", "<i8"), ("stop_after", "<i8"), ("stop", "<i8"),
], align=True)
"""What reads of registers beside a kind of tensor instructions cost, as gpusim.arch.instructions.TensorReads has it."""


class SmState(NamedTuple):
    """S SMs, W warp slots each (slot % 4 is the sub-partition), C CTA slots, M mbarriers and G warpgroups of a CTA, F
    pieces of code."""

    warps: np.ndarray  # (S, W) WARP
    parts: np.ndarray  # (S, 4) SUB_PARTITION
    slots: np.ndarray  # (S, C) CTA_SLOT
    sms: np.ndarray  # (S,) SM
    l1: L1State
    mbarriers: np.ndarray  # (S, C, M) MBARRIER
    warpgroups: np.ndarray  # (S, C, G) WARPGROUP
    stores: np.ndarray  # (S,) STORE_ANSWERS
    code: np.ndarray  # (S, F + 1) i8: when each of F pieces of code is in the SM, NEVER: not asked for
    constants: np.ndarray  # (S, K) i8: the same for lines of constants, see gpusim.engine.fetch


class Window(NamedTuple):
    """What one group of SMs may write in one window, and its attribution per static instruction."""

    requests: np.ndarray  # (Q,) REQUEST_RECORD
    ended: np.ndarray  # (E, 3) i8: SM, CTA slot, cycle
    events: np.ndarray  # (V,) EVENT
    counts: np.ndarray  # (3,) i8: requests, ended, events used
    statics: np.ndarray  # (P,) STATIC
    arrivals: np.ndarray  # (M,) i8, only read: arrivals that complete a phase of each mbarrier
    reads: np.ndarray  # (R,) TENSOR_READS, only read: of each kind of tensor instructions
    vector_costs: np.ndarray  # (R, 2, 8) f8, only read: by what arithmetic writes and cycles behind such an instruction


def new_state(
    sms: int, warps: int, cta_slots: int, l1: L1State, pieces: int, constants: np.ndarray, mbarriers: int = 0,
    warpgroups: int = 0,
) -> SmState:
    """Empty SMs at cycle 0 that have all code. constants: (S, K) i8, what they have of those."""
    state = SmState(np.zeros((sms, warps), WARP), np.zeros((sms, 4), SUB_PARTITION),
                    np.zeros((sms, cta_slots), CTA_SLOT), np.zeros(sms, SM), l1,
                    np.zeros((sms, cta_slots, mbarriers), MBARRIER), np.zeros((sms, cta_slots, warpgroups), WARPGROUP),
                    np.zeros(sms, STORE_ANSWERS), np.zeros((sms, pieces + 1), np.int64),
                    constants)
    state.warps["ready"] = NEVER
    state.parts["next_issue"] = NEVER
    for last in ("tensor_start", "tensor_end", "triple_start", "vector_start"):
        state.parts[last] = -NEVER
    state.parts["last_slot"] = state.parts["last_tensor"] = -1
    state.slots["cta"] = -1
    for event in ("next_accept", "next_turn", "wgmma_event", "return_event"):
        state.sms[event] = NEVER
    state.sms["begun"] = state.sms["line_numbers"] = -1
    state.sms["last_part"] = state.parts.shape[1] - 1  # so that the first one comes first
    return state


def new_window(statics: int, requests: int, ended: int, events: int, arrivals: np.ndarray, reads: np.ndarray,
               vector_costs: np.ndarray) -> Window:
    return Window(
        requests=np.zeros(requests, REQUEST_RECORD), ended=np.zeros((ended, 3), np.int64),
        events=np.zeros(events, EVENT), counts=np.zeros(3, np.int64), statics=np.zeros(statics, STATIC),
        arrivals=arrivals, reads=reads, vector_costs=vector_costs,
    )
