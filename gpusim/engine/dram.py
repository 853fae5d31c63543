"""Models DRAM: queues of channels, banks that open one row after another, and refresh.
Leaves out the rows that writes open, and in which order a channel serves what waits: as it comes."""

from __future__ import annotations

from numba import njit

from gpusim.engine.backlog import wait
from gpusim.engine.memory_state import MEMORY_COUNTERS
from gpusim.engine.places import mix, pick, scatter

__all__ = ["bank_of", "dram_wait", "refresh_wait", "row_wait", "write_back"]

DRAM_READ, DRAM_WRITTEN = (MEMORY_COUNTERS.index(name) for name in ("dram_bytes_read", "dram_bytes_written"))
TURN = 45
"""How many places runs of a block that follow each other stand apart in the order of channels: any odd number."""


@njit(cache=True, nogil=True)
def bank_of(mach, line):
    """(rank, group of banks, channel) of a line: its bank.

    The four runs of a KiB are on two pairs of channels. A block of lines lies in two groups that do not refresh
    together, each run in a bank of its own; the block beside it in their neighbours, the next ones of one rank, those
    before of the other (refresh_map.csv.gz).
    """
    run, block = line // mach.dram_run_lines, line // mach.dram_block_lines
    hashed, kinds = mix(block >> 1), mach.dram_ranks * mach.dram_groups >> 1
    pairs, places = mach.dram_channels >> 1, mach.dram_block_lines // (2 * mach.dram_run_lines)
    first = int(places * mach.dram_block_share_pct * 0.01)
    place = ((run >> 2 << 1 | run & 1) * TURN + (hashed >> 40)) & (places - 1)
    kind = pick(hashed, 0, kinds)
    if place < first:
        pair = place * pairs // first
    else:
        pair = (place - first) * pairs // (places - first)
        kind = (kind + mach.dram_ranks + pick(hashed, 20, kinds - 2 * mach.dram_ranks + 1)) % kinds
    rank, pair = kind % mach.dram_ranks, (pair + pick(hashed, 42, pairs)) % pairs
    return rank, kind // mach.dram_ranks * 2 + ((block ^ rank) & 1), pair << 1 | run >> 1 & 1


@njit(cache=True, nogil=True)
def refresh_wait(mach, bank, at):
    """Cycles until a bank, asked at ``at``, has done refreshing; 0 when it does not refresh.

    Groups refresh one after the other, each on all channels in a wave; ranks side by side, each a share of a group
    later than the one before.
    """
    rank, group, channel = bank
    begin = (group + rank / mach.dram_ranks) * mach.refresh_group
    begin += (channel >> 1) * mach.refresh_wave // (mach.dram_channels >> 1)
    return max(0.0, mach.refresh_cycles - (at - begin) % mach.refresh_interval)


@njit(cache=True, nogil=True)
def row_wait(mem, mach, line, bank, at):
    """Cycles until a line's row is open, asked for at ``at``, when its bank does not refresh: none while it is, else
    until the one before has been open long enough to be closed. Runs of a bank that stand within what all rows hold
    are in one row (bank_lines.csv)."""
    rank, group, channel = bank
    state = mem.banks[(rank * mach.dram_groups + group) * mach.dram_channels + channel]
    row, closed = line // (len(mem.banks) * mach.dram_row_lines), state.opened + mach.dram_row_cycles
    if state.row == row and at < closed:
        return max(0.0, state.opened - at)
    state.opened = at if state.row < 0 else max(at, closed)
    state.row = row
    return state.opened - at


@njit(cache=True, nogil=True)
def dram_wait(mem, mach, place, now, arrival, nbytes):
    """Cycles a miss adds to what a hit takes: the channel's queue, refresh, and a row of its bank."""
    mem.total[0].counters[DRAM_READ] += nbytes
    bank = bank_of(mach, place.line)
    queue = wait(mem.channel_free, bank[2], now, nbytes * mach.dram_read_cycles_per_byte)
    at = arrival + queue
    longer = scatter(mach.dram_spread, mix(place.line * mach.refresh_interval + int(at)))
    refresh = refresh_wait(mach, bank, at)
    row = row_wait(mem, mach, place.line, bank, at + refresh)
    return queue + mach.dram_latency - mach.l2_latency + longer + refresh + row


@njit(cache=True, nogil=True)
def write_back(mem, mach, line, nbytes):
    """Write what L2 gives up of a line; returns when its place can be filled: later when the channel is more than the
    latency of a read behind."""
    mem.total[0].counters[DRAM_WRITTEN] += nbytes
    channel = bank_of(mach, line)[2]
    mem.channel_free[channel] += nbytes * mach.dram_write_cycles_per_byte
    return max(0.0, mem.channel_free[channel] - mach.dram_latency)
