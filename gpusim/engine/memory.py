"""Models what the memory system does with the requests of a window: loads, stores, flags, bulk copies, multicasts.
Leaves out L1 (gpusim.engine.l1) and atomics' arithmetic."""

from __future__ import annotations

import numpy as np
from numba import njit

from gpusim.engine.crossbar import (
    ask_port,
    ask_slice,
    expect_line,
    fence_writes,
    foresee_line,
    pass_port,
    read_line,
    read_owner,
    way_to,
    write_line,
)
from gpusim.engine.flags import SWAP, note_write, word_line, word_value, writes_flag
from gpusim.engine.places import bits, copy_slice, locate
from gpusim.engine.slices import touch
from gpusim.engine.state import BULK, FENCE_TOKEN
from gpusim.engine.stores import confirm
from gpusim.engine.views import borrow

__all__ = ["serve", "warm_lines"]

LINE_BITS = 7
SPARE_LAPS = 3
"""No set gets more than so many lines fewer than others of what is contiguous and fills L2 once."""


@njit(cache=True, nogil=True)
def serve_flag(mem, mach, flags, request, place):
    """A poll or a write of a flag: (when the answer is in the SM, what the warp's flag becomes, -1 for a write)."""
    op, port = flags.ops[request.flag], mem.ports[request.sm]
    mask, now = np.int64(1), float(request.time)
    locate(mach, word_line(flags, request.cta, op) >> LINE_BITS, place)
    if writes_flag(op.action):
        note_write(flags, request.cta, op, write_line(mem, mach, port, place, mask, 1.0, now))
        return now, -1
    there, back = read_owner(mem, mach, port, request.sm, place, mask, now)
    if word_value(flags, flags.words[request.cta, op.slot], there) != op.value:
        return back, request.flag + 1
    if op.action == SWAP:
        note_write(flags, request.cta, op, there)
    return back, 0


@njit(cache=True, nogil=True)
def turns_per_sector(lines, request):
    """Turns of the SM's port that each sector of a write took: more than one where sectors are not filled."""
    sectors = 0
    for j in range(request.count):
        if j >= 63 or request.skip >> j & 1 == 0:
            sectors += bits(np.int64(lines[request.first + j].sector_mask))
    return request.data_cycles / max(1, sectors)


@njit(cache=True, nogil=True)
def serve_lines(mem, mach, lines, request, places):
    """Read or write the lines of a request; returns when the last one is in the SM, or in L2."""
    foresee(mem, mach, request, places)
    port, last = mem.ports[request.sm], float(request.time)
    per_sector = turns_per_sector(lines, request) if request.is_write else 0.0
    for j in range(request.count):
        if j < 63 and request.skip >> j & 1:
            continue
        mask, time = np.int64(lines[request.first + j].sector_mask), float(request.time + j * mach.tag_interval)
        if request.is_write:
            last = max(last, write_line(mem, mach, port, places[j], mask, bits(mask) * per_sector, time))
        else:
            last = max(last, read_line(mem, mach, port, request.sm, places[j], mask, request.fill, time))
    return last


@njit(cache=True, nogil=True)
def answer(row, mach, request, last, flag):
    """What the SM that asked gets, and when."""
    row["time"] = max(int(np.ceil(last)), request.time + mach.lookahead)
    row["sm"], row["slot"], row["token"] = request.sm, request.slot, request.token
    row["asynchronous"], row["op"], row["issued"] = request.asynchronous, request.op, request.time
    row["age"], row["flag"] = request.age, flag
    row["data_cycles"], row["early"], row["l1"] = request.data_cycles, request.early, request.l1
    row["bytes"], row["lead"], row["last"] = request.bytes, request.lead, request.last
    row["cta"], row["reads"] = -1, request.reads


@njit(cache=True, nogil=True)
def multicast(mem, mach, lines, request, places, peers, done, count):
    """A bulk load for several CTAs of a cluster, ``peers[rank]``: (SM, CTA slot). Its lines are read once, for the SM
    that asks (never together with what others ask for), and pass the ports of all SMs. Appends their answers to
    ``done``; returns how many there are then."""
    first, size = count, len(peers)
    for rank in range(size):
        if request.ranks >> rank & 1:
            answer(done[count], mach, request, float(request.time), -1)
            if request.cta % size != rank:
                done[count]["sm"], done[count]["slot"] = peers[rank, 0], peers[rank, 1]
                done[count]["cta"] = request.cta - request.cta % size + rank
            count += 1
    for j in range(request.count):
        mask, time = np.int64(lines[request.first + j].sector_mask), float(request.time + j * mach.tag_interval)
        port, place = mem.ports[request.sm], places[j]
        way = way_to(mach, port, request.sm, place)
        asked = ask_port(mem, mach, port, time)
        there = way + ask_slice(mem, mach, port, place, way + asked, mask, request.fill, time)
        for i in range(first, count):
            last = there + pass_port(mem, mach, mem.ports[done[i]["sm"]], mask, time)
            done[i]["time"] = max(done[i]["time"], int(np.ceil(last)))
    return count


@njit(cache=True, nogil=True)
def expect(mem, mach, lines, request, places):
    """Find the places of a request's lines. What is known of them stands all over the host's memory, which begins to
    load it."""
    port = mem.ports[request.sm]
    if request.count > len(places):
        raise RuntimeError("more lines in one request than the simulator tracks")
    for j in range(request.count):
        line = (request.base + lines[request.first + j].line_offset) >> LINE_BITS
        expect_line(mem, mach, port, line, places[j])


@njit(cache=True, nogil=True)
def foresee(mem, mach, request, places):
    """The same once more when the request's turn has come, for what stands where the first look says."""
    port = mem.ports[request.sm]
    for j in range(request.count):
        foresee_line(mem, mach, port, places[j])


@njit(cache=True, nogil=True)
def serve(memory, machine, requests, order, lines, flag_state, clusters, stores, done):
    """Serve the requests of a window in the order of ``order``; fills ``done``, returns how many rows.

    lines: REQUEST rows, what (first, count) of a record names; clusters: (K, ranks, 2), see gpusim.engine.clusters;
    stores: (S,) STORE_ANSWERS.
    """
    count, mach, mem, flags = 0, borrow(machine)[0], borrow(memory), borrow(flag_state)
    if len(order):
        expect(mem, mach, lines, requests[order[0]], mem.places[0])
    for i in range(len(order)):
        if i + 1 < len(order):
            expect(mem, mach, lines, requests[order[i + 1]], mem.places[(i + 1) & 1])
        request, places, flag = requests[order[i]], mem.places[i & 1], -1
        if request.asynchronous == BULK and request.ranks:
            peers = clusters[request.cta // clusters.shape[1]]
            count = multicast(mem, mach, lines, request, places, peers, done, count)
            continue
        if request.token == FENCE_TOKEN:
            last = fence_writes(mach, mem.ports[request.sm], request.time)
        elif request.flag >= 0:
            last, flag = serve_flag(mem, mach, flags, request, places[0])
        else:
            last = serve_lines(mem, mach, lines, request, places)
        if request.is_write:
            if request.asynchronous != BULK:
                confirm(stores[request.sm], mach, request, last)
        else:
            answer(done[count], mach, request, last, flag)
            count += 1
    return count


@njit(cache=True, nogil=True)
def warm_lines(mem, machine, first_line, count):
    """Put lines into the slices that own them and into their copies, as after a run that read them; of more than L2
    holds, which fills all slices and sets about evenly, only what would be left."""
    mach, place = machine[0], mem.places[0, 0]
    most = mach.slices * mach.l2_sets * (mach.l2_ways + SPARE_LAPS)
    for line in range(first_line + max(0, count - most), first_line + count):
        locate(mach, line, place)
        for partition in range(mach.partitions):
            touch(mem, mach, place, copy_slice(mach, place, partition)).valid = 15
