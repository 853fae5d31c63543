"""Models where L2 keeps a line: the partition that owns it, its slice and set.
Leaves out physical pages: what is contiguous for a program is taken to be so for L2, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

__all__ = ["Owner", "bits", "copy_slice", "locate", "mix", "owner", "pick", "scatter"]


class Owner(NamedTuple):
    """Where a line belongs in L2."""

    partition: int
    slice: int
    set: int


@njit(cache=True, nogil=True)
def mix(line):
    """A fixed hash of a line number; neighbouring lines spread over all slices, whatever the stride."""
    x = np.uint64(line) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(x >> np.uint64(2))


@njit(cache=True, nogil=True)
def pick(h, start, count):
    """One of ``count`` things from 20 bits of a hash, without a division."""
    return ((h >> start & 0xFFFFF) * count) >> 20


@njit(cache=True, nogil=True)
def scatter(spread, h):
    """A whole number from -spread to spread, from a hash."""
    return pick(h, 0, 2 * spread + 1) - spread


@njit(cache=True, nogil=True)
def bits(mask):
    """Sectors in a mask of a line's four."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@njit(cache=True, nogil=True)
def parity(x):
    """Whether an odd number of the lowest eight bits is set."""
    x ^= x >> 4
    x ^= x >> 2
    return (x ^ x >> 1) & 1


@njit(cache=True, nogil=True)
def owner(mach, line):
    """The partition, slice and set that own a line.

    A page belongs to one partition, by the parity of its number. Its pieces (a KiB) take turns through the slices, two
    of them for each, which hold two lines in turn: a a b b a a b b. Where a round of a partition's pages begins is
    hashed, so that slices share what is contiguous evenly after a round and what is far apart as chance has it
    (slice_ids.csv: 16 pages fill all slices, 512 rows 4 KiB apart are 16 at the busiest of 47, 11 on average).
    A slice's lines of a round go to sets side by side; after each lap through the sets they begin at a hashed one.
    """
    n, page = mach.partition_slices, line >> mach.l2_page_bits
    own = page >> (mach.partitions - 1)
    round_number = own >> mach.l2_round_bits
    h = mix(round_number)
    partition = parity(page ^ h >> 50) & (mach.partitions - 1)
    page_bits, piece = mach.l2_page_bits - mach.l2_piece_bits, line >> mach.l2_piece_bits
    piece = ((own & (1 << mach.l2_round_bits) - 1) << page_bits) + (piece & (1 << page_bits) - 1)
    turn = 2 * piece + (line >> 1 & 1)
    walk, inside = turn // n, line & (1 << mach.l2_piece_bits) - 1
    k = (pick(h, 20 * partition, n) + turn - walk * (n - 1)) % n
    x = round_number * mach.l2_round_sets + (walk << mach.l2_piece_bits - 1) + (inside >> 2 << 1) + (inside & 1)
    lap = x // mach.l2_sets
    x += pick(mix(lap), 20, mach.l2_sets) - lap * mach.l2_sets
    return Owner(partition, k + partition * n, x - mach.l2_sets * (x >= mach.l2_sets))


@njit(cache=True, nogil=True)
def locate(mach, line, place):
    """Note in ``place`` all that is known of a line without looking it up."""
    place.partition, place.slice, place.set = owner(mach, line)
    place.line, place.hash, place.guess = line, mix(line), 0


@njit(cache=True, nogil=True)
def copy_slice(mach, place, partition):
    """The slice of ``partition`` where its SMs find the line: its owner, or one that keeps a copy."""
    return place.slice + (partition - place.partition) * mach.partition_slices
