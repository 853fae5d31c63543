"""Models nothing: the arrays of L2, DRAM channels and crossbar that requests are served from, and how they start.
Leaves out what happens in them (gpusim.engine.slices, crossbar, memory)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpusim.engine.gpc import MOST_CPCS, PORT_QUEUE, cpcs_of
from gpusim.engine.machine import Machine

__all__ = ["COALESCER_ENTRIES", "EMPTY", "MEMORY_COUNTERS", "MOST_LINES", "NEAR", "MemoryState", "new_memory",
           "settle"]

MEMORY_COUNTERS = ("l2_sectors_read", "l2_sectors_write", "l2_sector_hits_read", "l2_sectors_fabric",
                   "dram_bytes_read", "dram_bytes_written", "sectors_to_sms", "coalesced_sectors")
EMPTY = -1
NEAR = 1 << 60
"""A line that SMs of the partition use counts as used later than any that only other partitions do."""
COALESCER_ENTRIES = 4096
"""A direct-mapped table per GPC; two lines in one entry lose a chance to share, not correctness."""

MOST_LINES = 64
"""Of one request: 32 lanes of 16 bytes that start anywhere."""

PLACE = np.dtype([("line", "<i8"), ("hash", "<i8"), ("partition", "<i8"), ("slice", "<i8"), ("set", "<i8"),
                  ("guess", "<i8")], align=True)
"""Where a line belongs in L2, see ``gpusim.engine.places.locate``; guess: the way that holds it, if it still does."""
WAY = np.dtype([("ready", "<f8"), ("used", "<i8"), ("valid", "<i4"), ("dirty", "<i4")], align=True)
"""State of a line of L2: when its last fill arrives, order of last use, sectors present and written."""
SHARED_READ = np.dtype([("line", "<i8"), ("time", "<f8"), ("sectors", "<i8"), ("sms", "<i8")], align=True)
"""A line that SMs of the GPC have asked for: which sectors, when the answer is back at the coalescer, how many SMs."""
BANK = np.dtype([("row", "<i8"), ("opened", "<f8")], align=True)
"""A bank of DRAM: its open row, and since when."""
PORT = np.dtype([
    ("read_free", "<f8"), ("confirmed", "<f8"), ("unfenced", "<f8"), ("length", "<f8"), ("gpc", "<i8"), ("cpc", "<i8"),
    ("partition", "<i8"),
], align=True)
"""An SM's door to the crossbar. confirmed: its own partition knows that its last write is in L2; unfenced: cycles that
a fence takes until it learns there that all writes since the last one are, 0 when there are none; length: cycles its
round trips take more."""
TOTAL = np.dtype([("clock", "<i8"), ("last_write", "<f8"), ("counters", "<f8", (len(MEMORY_COUNTERS),))], align=True)


class MemoryState(NamedTuple):
    """Partitions keep copies of what their SMs read; K slices, X sets, Y ways, D channels, B banks, G GPCs,
    S SMs."""

    tags: np.ndarray  # (K, X, Y) i8: line numbers, apart from the rest because they are searched
    ways: np.ndarray  # (K, X, Y) WAY
    slice_free: np.ndarray  # (K,) f8: data of reads
    write_free: np.ndarray  # (K,) f8: data of writes
    lookup_free: np.ndarray  # (K,) f8: reads looked up
    channel_free: np.ndarray  # (D,) f8
    banks: np.ndarray  # (B,) BANK
    ports: np.ndarray  # (S,) PORT
    gpc_requests: np.ndarray  # (G,) PORT_QUEUE: reads that the SMs of a GPC ask for
    gpc_data: np.ndarray  # (G,) PORT_QUEUE: what they receive together
    cpc_writes: np.ndarray  # (G * MOST_CPCS,) f8: what the SMs of a CPC write
    shared: np.ndarray  # (G, COALESCER_ENTRIES) SHARED_READ
    places: np.ndarray  # (2, MOST_LINES) PLACE: of the lines of the request that is served and the next one, in turn
    total: np.ndarray  # (1,) TOTAL


def new_memory(
    mach: Machine, gpc: np.ndarray, gpc_latency: Sequence[int] = (), cpcs_per_gpc: int = 1
) -> MemoryState:
    """A cold L2 and idle queues. gpc[s]: group of SM s; gpc_latency[g]: what its round trips take more, default 0."""
    gpcs = int(gpc.max()) + 1
    memory = MemoryState(
        tags=np.full((mach.slices, mach.l2_sets, mach.l2_ways), EMPTY, np.int64),
        ways=np.zeros((mach.slices, mach.l2_sets, mach.l2_ways), WAY),
        slice_free=np.zeros(mach.slices), write_free=np.zeros(mach.slices), lookup_free=np.zeros(mach.slices),
        channel_free=np.zeros(mach.dram_channels),
        banks=np.zeros(mach.dram_channels * mach.dram_ranks * mach.dram_groups, BANK),
        ports=np.zeros(mach.num_sms, PORT),
        gpc_requests=np.zeros(gpcs, PORT_QUEUE), gpc_data=np.zeros(gpcs, PORT_QUEUE),
        cpc_writes=np.zeros(gpcs * MOST_CPCS),
        shared=np.zeros((gpcs, COALESCER_ENTRIES), SHARED_READ), places=np.zeros((2, MOST_LINES), PLACE),
        total=np.zeros(1, TOTAL))
    memory.shared["line"], memory.banks["row"] = EMPTY, EMPTY
    memory.ports["cpc"] = cpcs_of(gpc, cpcs_per_gpc)
    memory.ports["gpc"], memory.ports["partition"] = gpc, gpc % mach.partitions
    memory.ports["length"] = np.append(gpc_latency, np.zeros(gpcs))[gpc]
    return memory


def settle(memory: MemoryState, *, flush: bool) -> None:
    """Start time and counters anew with the lines that are there, or with none (``flush``)."""
    memory.ways["ready"] = 0.0
    for name in ("read_free", "confirmed", "unfenced"):
        memory.ports[name] = 0.0
    for queue in (memory.slice_free, memory.write_free, memory.lookup_free, memory.channel_free, memory.cpc_writes):
        queue[:] = 0.0
    for port in (memory.gpc_requests, memory.gpc_data):
        port["work"] = port["since"] = 0.0
    memory.shared["line"], memory.banks["row"] = EMPTY, EMPTY
    memory.total["last_write"], memory.total["counters"] = 0.0, 0.0
    if flush:
        memory.tags[:] = EMPTY
        memory.ways[:] = 0


