"""Models which warp may see which 4-byte word of shared memory: copies in flight, unpublished writes, reads.
Leaves out the data (gpusim.verify.shared); one tracker serves all CTAs of a class, because they run the same tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.verify.hazards import HazardLog

__all__ = ["Arrival", "Copy", "SharedTracker", "Touch"]

NOBODY = -1
MAX_WARPS, GROUP_WARPS = 32, 4


@dataclass(frozen=True)
class Touch:
    """The words that one warp instruction touches in all warps of a role."""

    pc: int
    words: np.ndarray  # (n,) 4-byte words of shared memory
    warps: np.ndarray  # (n,) warp of the CTA that touches each


@dataclass(frozen=True)
class Copy:
    """An asynchronous copy on its way to shared memory."""

    touch: Touch
    token: int


@dataclass(frozen=True)
class Arrival:
    """State of some warps when they arrived at a barrier."""

    written: np.ndarray  # words that were pending
    read: np.ndarray  # words that were read since the last barrier
    warp_mask: np.uint32
    multiplied: np.ndarray  # words that wgmmas of these warpgroups have read
    group_mask: np.uint8


class SharedTracker:
    """Barrier intervals at word granularity.

    A word is in one of three states: published (everybody sees the same), pending (written in this interval by
    ``pending_warp``, who alone sees the new value), in flight (a cp.async of ``flight_warp`` was issued; nobody
    sees the new value until that warp has waited, which makes the word pending). A barrier publishes what is
    pending. ``readers`` are the warps (bit mask) that have read the word since the last barrier, ``group_readers`` the
    warpgroups whose wgmmas have: those are done for all four warps at once.
    """

    def __init__(self, num_words: int, log: HazardLog, *, cta_class: str, cta: int) -> None:
        self.log, self.cta_class, self.cta = log, cta_class, cta
        self.pending_warp = np.full(num_words, NOBODY, np.int16)
        self.writer_pc = np.full(num_words, -1, np.int32)
        self.written_async = np.zeros(num_words, bool)
        self.flight_warp = np.full(num_words, NOBODY, np.int16)
        self.flight_pc = np.full(num_words, -1, np.int32)
        self.flight_token = np.full(num_words, -1, np.int32)
        self.copy_group = np.full(num_words, -1, np.int32)
        self.readers = np.zeros(num_words, np.uint32)
        self.reader_pc = np.full(num_words, -1, np.int32)
        self.initialised = np.zeros(num_words, bool)
        self.group_readers = np.zeros(num_words, np.uint8)
        self.held = np.zeros(num_words, np.uint16)  # asynchronous operations that read the word
        self.holder = np.full(num_words, NOBODY, np.int16)
        self.holder_pc = np.full(num_words, -1, np.int32)
        self.unfenced_warp = np.full(num_words, NOBODY, np.int16)  # stored by it, no fence.proxy.async yet
        self._tokens = 0

    def read(self, touch: Touch, *, used: bool) -> np.ndarray:
        """Note a read and its hazards; mask (n,) of the words whose pending value the reader sees.

        ``used`` is False when no instruction uses the value: such a read can race with nothing.
        """
        pending = self.pending_warp[touch.words]
        own = pending == touch.warps
        if used:
            self._check_read(touch, pending, own)
            np.bitwise_or.at(self.readers, touch.words, _bits(touch.warps))
            self.reader_pc[touch.words] = touch.pc
        return own

    def read_by_proxy(self, touch: Touch) -> np.ndarray:
        """Note a read of TMA or wgmma, and its hazards; mask (n,) of the words whose pending value it sees."""
        pending = self.pending_warp[touch.words]
        own = pending == touch.warps
        self._check_read(touch, pending, own)
        unfenced = self.unfenced_warp[touch.words]
        self._report("proxy", touch, unfenced >= 0, unfenced, self.writer_pc)
        return own

    def hold(self, touch: Touch, own: np.ndarray) -> None:
        """From now on an asynchronous operation reads these words, until ``let_go``."""
        self.held[touch.words] += 1
        self.holder[touch.words], self.holder_pc[touch.words] = touch.warps, touch.pc

    def let_go(self, touch: Touch, *, by_group: bool) -> None:
        """Its warps have waited for the operation: it has read the words, as if they had just now. ``by_group``: its
        four warps read together."""
        self.held[touch.words] -= 1
        if by_group:
            self.group_readers[touch.words] |= _group_bits(touch.warps)
        else:
            np.bitwise_or.at(self.readers, touch.words, _bits(touch.warps))
        self.reader_pc[touch.words] = touch.pc

    def fence(self, warps: np.ndarray) -> None:
        """fence.proxy.async of ``warps``: TMA and wgmma may see what they stored."""
        members = np.zeros(MAX_WARPS + 1, bool)
        members[warps] = True
        self.unfenced_warp[members[self.unfenced_warp]] = NOBODY

    def write(self, touch: Touch) -> None:
        """Note a synchronous store: its own warp sees it at once, the others after a barrier."""
        self._check_write(touch)
        self._make_pending(touch, asynchronous=False)
        self.unfenced_warp[touch.words] = touch.warps
        self._check_same_instruction(touch, self.pending_warp)

    def issue_copy(self, touch: Touch, group: int) -> Copy:
        """Note a cp.async of copy group ``group``: in flight from here on."""
        self._check_write(touch)
        self._tokens += 1
        self.flight_warp[touch.words] = touch.warps
        self.flight_pc[touch.words] = touch.pc
        self.flight_token[touch.words] = self._tokens
        self.copy_group[touch.words] = group
        self.initialised[touch.words] = True
        self._check_same_instruction(touch, self.flight_warp)
        return Copy(touch, self._tokens)

    def complete_copy(self, copy: Copy) -> np.ndarray:
        """Its warps have waited for the copy: its words (returned) become pending."""
        landed = (self.flight_token[copy.touch.words] == copy.token) & (
            self.flight_warp[copy.touch.words] == copy.touch.warps)
        touch = Touch(copy.touch.pc, copy.touch.words[landed], copy.touch.warps[landed])
        self.flight_warp[touch.words] = NOBODY
        self._make_pending(touch, asynchronous=True)
        return touch.words

    def publish_copy(self, copy: Copy) -> np.ndarray:
        """A copy that an mbarrier counts has been waited for: its words (returned) are the same for everybody."""
        words = self.complete_copy(copy)
        self.pending_warp[words] = NOBODY
        return words

    def arrive(self, warps: np.ndarray) -> Arrival:
        """What ``warps`` have done so far, which a barrier they now arrive at will order."""
        members = np.zeros(MAX_WARPS + 1, bool)  # the last entry answers for NOBODY
        members[warps] = True
        mask = np.bitwise_or.reduce(_bits(warps))
        groups = np.bitwise_or.reduce(_group_bits(warps))
        return Arrival(np.flatnonzero(members[self.pending_warp]), np.flatnonzero(self.readers & mask), mask,
                       np.flatnonzero(self.group_readers & groups), groups)

    def release(self, arrivals: Sequence[Arrival]) -> np.ndarray:
        """The barrier opens: what was pending at the arrivals (words returned) is published, those reads are over."""
        for arrival in arrivals:
            self.pending_warp[arrival.written] = NOBODY
            self.readers[arrival.read] &= ~arrival.warp_mask
            self.group_readers[arrival.multiplied] &= ~arrival.group_mask
        return np.concatenate([arrival.written for arrival in arrivals])

    def _make_pending(self, touch: Touch, *, asynchronous: bool) -> None:
        self.pending_warp[touch.words] = touch.warps
        self.writer_pc[touch.words] = touch.pc
        self.written_async[touch.words] = asynchronous
        self.initialised[touch.words] = True

    def _check_read(self, touch: Touch, pending: np.ndarray, own: np.ndarray) -> None:
        flight = self.flight_warp[touch.words]
        self._report("raw_async", touch, flight >= 0, flight, self.flight_pc)
        foreign = (pending >= 0) & ~own
        if foreign.any():
            asynchronous = self.written_async[touch.words]
            self._report("raw_async_unpublished", touch, foreign & asynchronous, pending, self.writer_pc)
            self._report("raw", touch, foreign & ~asynchronous, pending, self.writer_pc)
        blank = ~self.initialised[touch.words]
        self._report("uninitialised", touch, blank, np.full(len(blank), NOBODY), None)

    def _check_write(self, touch: Touch) -> None:
        others = self.readers[touch.words] & ~_bits(touch.warps)
        self._report("war", touch, others != 0, _lowest_bit(others), self.reader_pc)
        groups = self.group_readers[touch.words] & ~_group_bits(touch.warps)
        self._report("war", touch, groups != 0, GROUP_WARPS * _lowest_bit(groups.astype(np.uint32)), self.reader_pc)
        held = np.where(self.held[touch.words] > 0, self.holder[touch.words], NOBODY)
        self._report("war_async", touch, held >= 0, held, self.holder_pc)
        pending, flight = self.pending_warp[touch.words], self.flight_warp[touch.words]
        self._report("waw", touch, (pending >= 0) & (pending != touch.warps), pending, self.writer_pc)
        self._report("waw", touch, flight >= 0, flight, self.flight_pc)

    def _check_same_instruction(self, touch: Touch, owner: np.ndarray) -> None:
        last = owner[touch.words]
        self._report("waw", touch, last != touch.warps, last, self.writer_pc if owner is self.pending_warp
                     else self.flight_pc)

    def _report(self, rule: str, touch: Touch, broken: np.ndarray, other_warps: np.ndarray,
                other_pcs: np.ndarray | None) -> None:
        """One log entry per other instruction involved, placed at the first warp and its range of bytes."""
        if not broken.any():
            return
        words, warps, others = touch.words[broken], touch.warps[broken], other_warps[broken]
        pcs = other_pcs[words] if other_pcs is not None else np.full(len(words), -1)
        for pc in np.unique(pcs):
            chosen = pcs == pc
            warp = int(warps[chosen].min())
            mine = chosen & (warps == warp)
            copied = rule.startswith("raw_async")
            self.log.add(rule, touch.pc, int(pc), cta_class=self.cta_class, cta=self.cta, warp=warp,
                         other_warp=int(others[mine][0]), first_byte=int(words[mine].min()) * 4,
                         last_byte=int(words[mine].max()) * 4 + 3,
                         copy_group=int(self.copy_group[words[mine][0]]) if copied else -1)


def _bits(warps: np.ndarray) -> np.ndarray:
    return np.uint32(1) << warps.astype(np.uint32)


def _group_bits(warps: np.ndarray) -> np.ndarray:
    return np.uint8(1) << (warps // GROUP_WARPS).astype(np.uint8)


def _lowest_bit(masks: np.ndarray) -> np.ndarray:
    """Number of the lowest set bit, -1 where none is set."""
    lowest = (masks & (~masks + np.uint32(1))).astype(np.float64)
    return np.where(masks != 0, np.frexp(lowest)[1] - 1, NOBODY)
