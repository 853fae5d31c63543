"""Models the crossbar between SMs and L2 slices: ways and ports of SMs, reads of a line that SMs of a GPC share.
Leaves out who is next at a GPC's ports (gpusim.engine.gpc), and what slices and channels do (gpusim.engine.slices)."""

from __future__ import annotations

from numba import njit

from gpusim.engine.backlog import wait
from gpusim.engine.gpc import MOST_CPCS, turn_wait
from gpusim.engine.memory_state import COALESCER_ENTRIES, MEMORY_COUNTERS
from gpusim.engine.places import bits, copy_slice, locate, mix, scatter
from gpusim.engine.slices import fabric_way, find, read_home, read_near, touch, write_copies, write_wait
from gpusim.engine.views import prefetch

__all__ = ["ask_port", "ask_slice", "expect_line", "fence_writes", "foresee_line", "pass_port", "read_line",
           "read_owner", "way_to", "write_line"]

WRITE, TO_SMS, COALESCED = (MEMORY_COUNTERS.index(name) for name in (
    "l2_sectors_write", "sectors_to_sms", "coalesced_sectors"))


@njit(cache=True, nogil=True)
def way_length(mach, sm, place):
    """Cycles of the round trip that depend on where SM and slice are on the chip: spread evenly, fixed per pair."""
    slice_number = place.slice - place.partition * mach.partition_slices
    return scatter(mach.l2_latency_spread, mix(slice_number + 131 * (sm >> 1)))


@njit(cache=True, nogil=True)
def way_to(mach, port, sm, place):
    """Cycles from an SM to the slice of a line, and back again."""
    return (mach.l2_latency + port.length + way_length(mach, sm, place) - mach.slice_latency) / 2


@njit(cache=True, nogil=True)
def expect_line(mem, mach, port, line, place):
    """A line will be asked for: note its place; the host begins to load what it looks up first."""
    locate(mach, line, place)
    k = copy_slice(mach, place, port.partition)
    prefetch(mem.shared, (port.gpc, place.hash & (COALESCER_ENTRIES - 1)))
    prefetch(mem.tags, (k, place.set, 0))
    prefetch(mem.tags, (k, place.set, mach.l2_ways - 1))


@njit(cache=True, nogil=True)
def foresee_line(mem, mach, port, place):
    """A line is about to be asked for, its tags are there: the host begins to load the rest of what L2 knows of it."""
    k = copy_slice(mach, place, port.partition)
    place.guess = max(0, find(mem, mach, place, k))
    prefetch(mem.ways, (k, place.set, place.guess))


@njit(cache=True, nogil=True)
def ask_port(mem, mach, port, now):
    """Cycles until a request that leaves its SM at ``now`` has left its GPC."""
    return turn_wait(mem.gpc_requests, port.gpc, port.cpc, now, mach.gpc_request_cycles)


@njit(cache=True, nogil=True)
def ask_slice(mem, mach, port, place, way, mask, fill, now):
    """One line's sectors for the SMs of one GPC, to the slice and back; returns when they have left the GPC's port.

    The port receives while the slice sends: the longer one of the two backlogs is the wait.
    """
    arrival = now + way + mach.slice_latency
    received = turn_wait(mem.gpc_data, port.gpc, port.cpc, now, bits(mask) * 32 / mach.gpc_read_bytes_per_cycle)
    return max(arrival + received, read_near(mem, mach, port.partition, place, mask, fill, now, arrival))


@njit(cache=True, nogil=True)
def fetch_line(mem, mach, port, sm, place, mask, fill, now):
    """One line's sectors for one SM; returns when they are at its port.

    Out through the GPC's port; to the coalescer in front of the slice, which makes one read for up to
    ``sms_per_request`` SMs of the GPC that ask for the same sectors while its answer is due (it remembers the last
    request of a line); to the slice and back; through the GPC's other port, once for all of them.
    """
    back = way_to(mach, port, sm, place)
    way = ask_port(mem, mach, port, now) + back
    shared = mem.shared[port.gpc, place.hash & (COALESCER_ENTRIES - 1)]
    due = shared.line == place.line and shared.sectors == mask and shared.time > now + way
    if due and shared.sms < mach.sms_per_request:
        mem.total[0].counters[COALESCED] += bits(mask)
        shared.sms += 1
    else:
        shared.time = ask_slice(mem, mach, port, place, way, mask, fill, now)
        shared.line, shared.sectors, shared.sms = place.line, mask, 1
    return max(shared.time, now + way) + back


@njit(cache=True, nogil=True)
def pass_port(mem, mach, port, mask, now):
    """Cycles that a line's sectors, asked for at ``now``, take at an SM's port."""
    mem.total[0].counters[TO_SMS] += bits(mask)
    port.read_free = max(port.read_free, now) + bits(mask) * 32 / mach.sm_read_bytes_per_cycle
    return port.read_free - now


@njit(cache=True, nogil=True)
def read_line(mem, mach, port, sm, place, mask, fill, now):
    """One line's sectors for one SM; returns when they are in the SM."""
    there = fetch_line(mem, mach, port, sm, place, mask, fill, now)
    return there + pass_port(mem, mach, port, mask, now)


@njit(cache=True, nogil=True)
def leave_cpc(mem, mach, port, sectors, now):
    """Cycles until sectors that an SM writes have left its CPC, whose SMs share a port (store_ports.csv)."""
    return wait(mem.cpc_writes, port.gpc * MOST_CPCS + port.cpc, now, sectors * mach.cpc_write_cycles_per_sector)


@njit(cache=True, nogil=True)
def write_line(mem, mach, port, place, mask, turns, now):
    """Write sectors, which took so many ``turns`` of the SM's port, through to the owning slice; returns when that has
    them. On the way they take turns of a slice of the SM's partition, also those that another one owns.

    The CPC's port and that slice work off what came before at the same time, so the longer backlog is the wait.
    """
    total, sectors = mem.total[0], bits(mask)
    arrival, back = now + mach.l2_latency / 2, 0.0
    total.counters[WRITE] += sectors
    backlog = max(leave_cpc(mem, mach, port, sectors, now),
                  write_wait(mem, mach, copy_slice(mach, place, port.partition), now, turns))
    if port.partition != place.partition:
        total.counters[WRITE] += sectors
        back = mach.fabric_latency / 2
        arrival += back
    way = touch(mem, mach, place, place.slice)
    way.valid |= mask
    way.dirty |= mask
    write_copies(mem, mach, port.partition, place, mask)
    performed = max(way.ready, arrival + backlog)
    total.last_write, port.confirmed = max(total.last_write, performed), max(port.confirmed, performed + back)
    port.unfenced = max(port.unfenced, mach.l2_latency / 2 + 2 * back)
    return performed


@njit(cache=True, nogil=True)
def fence_writes(mach, port, now):
    """Cycle in which a fence of the GPU's scope that leaves the SM at ``now`` is over: a round trip to L2, which begins
    where and when all that the SM has written since the last one is confirmed (fence_delay.csv: 266 cycles without
    writes, 406 behind writes of near lines and 561 of far ones, however long ago)."""
    begin = float(now)
    if port.unfenced > 0:
        begin, port.unfenced = max(now + port.unfenced, port.confirmed), 0.0
    return begin + mach.l2_latency


@njit(cache=True, nogil=True)
def read_owner(mem, mach, port, sm, place, mask, now):
    """Read sectors at the slice that owns the line, past all copies: (when it has them, when they are in the SM)."""
    length = mach.l2_latency + port.length + way_length(mach, sm, place)
    length += fabric_way(mach, place) if place.partition != port.partition else 0
    there = read_home(mem, mach, place, mask, 0, now, now + length / 2, True)
    mem.total[0].counters[TO_SMS] += bits(mask)
    return there, there + length / 2
