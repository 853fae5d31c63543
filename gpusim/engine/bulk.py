"""Models the TMA unit: bulk copies line by line through the memory system, completion at an mbarrier, bulk groups.
Leaves out descriptors and their cache, and what a copy does to the data (swizzle, zero fill costs its write only)."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.data_stage import hold_data_stage
from gpusim.engine.machine import Machine
from gpusim.engine.mbarriers import settle_phase
from gpusim.engine.scoreboards import close_group, release
from gpusim.engine.state import BULK, COUNTERS, GROUPS

__all__ = ["flush_group", "land", "split_bulk", "start_load", "start_store"]

STAGE_CYCLES, ASKED, LOADED, STORED = (COUNTERS.index(name) for name in (
    "data_stage_cycles", "bulk_bytes_asked", "bulk_bytes_loaded", "bulk_bytes_stored"))


@njit(cache=True, nogil=True)
def flush_group(warp, row, time):
    """UTMACMDFLUSH: the stores so far are a group; a DEPBAR on its barrier waits until they have been read."""
    close_group(warp, row.read_barrier, time + row.latency)


@njit(cache=True, nogil=True)
def start_load(sm, warp, mach, row, access, time):
    """The unit asks for lines one after the other; returns when it asks for the first."""
    start = max(time + mach.tma_start, sm.tma_free)
    sm.tma_free = start + max(access.tag_cycles, mach.tma_box_interval)
    release(warp, row.read_barrier, time + row.latency, 0)
    sm.counters[ASKED] += access.bulk_bytes
    return start


@njit(cache=True, nogil=True)
def start_store(sm, warp, mach, row, access, time):
    """Lines are read from shared memory and leave through the SM's port; returns when the first one does."""
    start = max(time + mach.tma_start, sm.tma_free)
    passed = hold_data_stage(sm, mach, start, access.wavefronts)
    leaves = max(start, sm.write_port)
    sm.write_port = leaves + access.data_cycles
    sm.tma_free = max(start + max(access.tag_cycles, mach.tma_box_interval), max(passed, sm.write_port))
    warp.drain = max(warp.drain, sm.write_port)
    group = warp.group_tail % GROUPS
    warp.group_time[group] = max(warp.group_time[group], max(passed, sm.write_port))
    release(warp, row.read_barrier, time + row.latency, 0)
    sm.counters[STAGE_CYCLES] += access.wavefronts
    sm.counters[STORED] += access.bulk_bytes
    return leaves


@njit(cache=True, nogil=True)
def land(st, mach, ops, counts, s, done):
    """Lines of a bulk load are written beside what the data stage does, then their bytes count at the mbarrier.

    Returns when they are written, 0 when the CTA has gone, or when another one asked for them (multicast).
    """
    sm = st.sms[s]
    passed = sm.bulk_write = max(sm.bulk_write, done.time) + done.data_cycles
    sm.counters[LOADED] += done.bytes
    is_own, slot = done.cta < 0, np.int64(done.slot)
    if is_own:
        warp = st.warps[s, done.slot]
        slot = warp.cta_slot
    if (is_own and done.age != warp.age) or (not is_own and st.slots[s, slot].cta != done.cta):
        return np.int64(0)
    st.mbarriers[s, slot, done.token].bytes -= done.bytes
    settle_phase(st, mach, ops, counts, s, slot, done.token, passed + mach.tma_arrive)
    return passed if is_own else np.int64(0)


def split_bulk(requests: np.ndarray, machine: Machine) -> np.ndarray:
    """REQUEST_RECORDs with each bulk copy as several, of at most so many lines; they leave one after the other.

    A load's lines follow each other in the unit's interval, a store's share the cycles of the port.
    """
    is_bulk = requests["asynchronous"] == BULK
    if not is_bulk.any():
        return requests
    step = machine.tma_request_lines
    parts = np.where(is_bulk, np.maximum(1, -(-requests["count"] // step)), 1)
    split = np.repeat(requests, parts)
    number = np.arange(len(split)) - np.repeat(np.cumsum(parts) - parts, parts)
    bulk = split["asynchronous"] == BULK
    lines = np.maximum(split["count"], 1).astype(np.int64)
    first = number * step
    end = np.minimum(first + step, lines)
    per_line = np.where(split["is_write"] > 0, split["data_cycles"] / lines, machine.tma_line_interval)
    lead = (first * per_line).astype(np.int64)
    share = {name: split[name] * end // lines - split[name] * first // lines for name in ("bytes", "data_cycles")}
    split["last"][bulk] = (number == np.repeat(parts, parts) - 1)[bulk]
    split["count"][bulk] = np.minimum(split["count"] - first, step)[bulk]
    for name, change in (("time", lead), ("first", first), ("lead", lead)):
        split[name][bulk] += change[bulk].astype(split[name].dtype)
    for name, part in share.items():
        split[name][bulk] = part[bulk]
    return split
