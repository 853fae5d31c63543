"""Models what changes: warps, pipes, queues and counters of every SM, requests on their way, recorded events.
Leaves out every rule about it (gpusim.engine.core)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusim.arch.instructions import Pipe
from gpusim.engine.result import EVENT, WARP_STATES

__all__ = ["COMPLETION", "COUNTERS", "GROUPS", "NEVER", "REQUEST_RECORD", "SmState", "Window", "new_state", "new_window"]

NEVER = np.iinfo(np.int64).max // 4
GROUPS = 64
"""Committed cp.async groups a warp may have in flight (a ring)."""
QUEUES = 2  # 0: shared-memory instructions, 1: global ones
COUNTERS = (
    "shared_requests_load", "shared_requests_store", "shared_requests_ldgsts",
    "shared_wavefronts_load", "shared_wavefronts_store", "shared_wavefronts_ldgsts",
    "shared_wavefronts_ideal_load", "shared_wavefronts_ideal_store", "shared_wavefronts_ideal_ldgsts",
    "bank_conflicts_load", "bank_conflicts_store", "bank_conflicts_ldgsts",
    "hmma_instructions", "ldsm_instructions", "ldgsts_instructions", "data_stage_cycles",
)
REQUEST_RECORD = np.dtype([
    ("time", "<i8"), ("base", "<i8"), ("sm", "<i4"), ("sequence", "<i4"), ("first", "<i4"), ("count", "<i4"),
    ("data_bytes", "<i4"), ("slot", "<i2"), ("token", "<i2"), ("is_write", "u1"), ("asynchronous", "u1"), ("op", "<i8"),
], align=True)
"""One global access of one warp on its way to L2. token: cp.async group or scoreboard barrier."""
COMPLETION = np.dtype([
    ("time", "<i8"), ("sm", "<i4"), ("data_bytes", "<i4"), ("op", "<i8"), ("issued", "<i8"), ("slot", "<i2"),
    ("token", "<i2"), ("asynchronous", "u1"),
], align=True)
"""All data of one access have arrived at the SM."""


class SmState(NamedTuple):
    """S SMs, W warp slots each (slot % 4 is the sub-partition), B = 6 scoreboard barriers, C CTA slots."""

    live: np.ndarray  # (S, W) u1
    op: np.ndarray  # (S, W) i8: next row of the image
    ready: np.ndarray  # (S, W) i8: when stall count, barriers and scoreboards allow the next instruction
    last_issue: np.ndarray  # (S, W) i8
    stall_end: np.ndarray  # (S, W) i8
    branch_end: np.ndarray  # (S, W) i8: end of a taken branch
    barrier_end: np.ndarray  # (S, W) i8: NEVER while waiting at a CTA barrier
    not_selected: np.ndarray  # (S, W) i8: cycles since the last issue in which another warp was preferred
    age: np.ndarray  # (S, W) i8: order in which warps came to the SM
    start: np.ndarray  # (S, W) i8: cycle in which the warp came
    cta_slot: np.ndarray  # (S, W) i2
    warp: np.ndarray  # (S, W) i2: number in the CTA
    warp_row: np.ndarray  # (S, W) i2: number in the role
    scoreboard: np.ndarray  # (S, W, B) i8: release time of internal results
    pending: np.ndarray  # (S, W, B) i4: answers of memory still missing
    long_board: np.ndarray  # (S, W, B) u1: 1 when the barrier belongs to global memory
    group_board: np.ndarray  # (S, W) i1: barrier that counts cp.async groups, -1
    group_missing: np.ndarray  # (S, W, GROUPS) i4
    group_time: np.ndarray  # (S, W, GROUPS) i8: when the last byte of the group was written
    group_tail: np.ndarray  # (S, W) i8: committed groups; the open one has this number
    group_done: np.ndarray  # (S, W) i8: groups complete in order
    data_free: np.ndarray  # (S, W) i8: the warp's previous shared access has left the data stage
    drain: np.ndarray  # (S, W) i8: the warp's last store has left
    next_issue: np.ndarray  # (S, 4) i8: earliest issue of the sub-partition
    last_slot: np.ndarray  # (S, 4) i4
    issue_free: np.ndarray  # (S, 4) i8
    pipe_free: np.ndarray  # (S, 4, pipes) i8
    operand_free: np.ndarray  # (S, 4) i8
    queue: np.ndarray  # (S, 4, QUEUES, depth) i8: departures, a ring
    queue_count: np.ndarray  # (S, 4, QUEUES) i8
    data_stage: np.ndarray  # (S,) i8
    tag_stage: np.ndarray  # (S,) i8
    barrier_unit: np.ndarray  # (S,) i8
    slot_cta: np.ndarray  # (S, C) i4: CTA in a slot, -1
    slot_warps: np.ndarray  # (S, C) i4: warps not yet finished
    slot_arrived: np.ndarray  # (S, C, 16) i4
    slot_end: np.ndarray  # (S, C) i8
    sequence: np.ndarray  # (S,) i4
    states: np.ndarray  # (S, N) i8
    counters: np.ndarray  # (S, len(COUNTERS)) f8
    warp_cycles: np.ndarray  # (S,) i8


class Window(NamedTuple):
    """What one group of SMs may write in one window, and its attribution per static instruction."""

    requests: np.ndarray  # (Q,) REQUEST_RECORD
    ended: np.ndarray  # (E, 3) i8: SM, CTA slot, cycle
    events: np.ndarray  # (V,) EVENT
    counts: np.ndarray  # (3,) i8: requests, ended, events used
    issued: np.ndarray  # (P,) i8
    state_cycles: np.ndarray  # (P, N) i8


def new_state(sms: int, warps: int, depth: int, cta_slots: int) -> SmState:
    """Empty SMs at cycle 0."""

    def zeros(*shape: int, dtype: type | str = np.int64, fill: int = 0) -> np.ndarray:
        return np.full((sms, *shape), fill, dtype)

    return SmState(
        live=zeros(warps, dtype="u1"), op=zeros(warps), ready=zeros(warps, fill=NEVER), last_issue=zeros(warps),
        stall_end=zeros(warps), branch_end=zeros(warps), barrier_end=zeros(warps), not_selected=zeros(warps),
        age=zeros(warps), start=zeros(warps), cta_slot=zeros(warps, dtype="i2"), warp=zeros(warps, dtype="i2"),
        warp_row=zeros(warps, dtype="i2"), scoreboard=zeros(warps, 6), pending=zeros(warps, 6, dtype="i4"),
        long_board=zeros(warps, 6, dtype="u1"), group_board=zeros(warps, dtype="i1", fill=-1),
        group_missing=zeros(warps, GROUPS, dtype="i4"), group_time=zeros(warps, GROUPS), group_tail=zeros(warps),
        group_done=zeros(warps), data_free=zeros(warps), drain=zeros(warps), next_issue=zeros(4, fill=NEVER),
        last_slot=zeros(4, dtype="i4", fill=-1), issue_free=zeros(4), pipe_free=zeros(4, len(Pipe)),
        operand_free=zeros(4), queue=zeros(4, QUEUES, depth), queue_count=zeros(4, QUEUES), data_stage=zeros(),
        tag_stage=zeros(), barrier_unit=zeros(), slot_cta=zeros(cta_slots, dtype="i4", fill=-1),
        slot_warps=zeros(cta_slots, dtype="i4"), slot_arrived=zeros(cta_slots, 16, dtype="i4"),
        slot_end=zeros(cta_slots), sequence=zeros(dtype="i4"), states=zeros(len(WARP_STATES)),
        counters=zeros(len(COUNTERS), dtype="f8"), warp_cycles=zeros(),
    )


def new_window(statics: int, requests: int, ended: int, events: int) -> Window:
    return Window(
        requests=np.zeros(requests, REQUEST_RECORD), ended=np.zeros((ended, 3), np.int64),
        events=np.zeros(events, EVENT), counts=np.zeros(3, np.int64), issued=np.zeros(statics, np.int64),
        state_cycles=np.zeros((statics, len(WARP_STATES)), np.int64),
    )
