"""Models the bytes of shared memory of a batch of CTAs as each warp sees them: published, pending, in flight.
Leaves out banks and time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusim.verify.tracker import Arrival, Copy, SharedTracker, Touch

__all__ = ["UNINITIALISED", "SharedMemory"]

UNINITIALISED = 0xFFFFFFFF
"""Word that fresh shared memory and registers hold: NaN in every float format, so that using it shows in the answer."""


class SharedMemory:
    """Three layers of (CTAs, words) uint32; the tracker says which layer an access sees."""

    def __init__(self, num_ctas: int, num_bytes: int, tracker: SharedTracker) -> None:
        num_words = (num_bytes + 3) // 4
        self.num_bytes, self.tracker = num_bytes, tracker
        self.published = np.full((num_ctas, num_words), UNINITIALISED, np.uint32)
        self.pending = self.published.copy()
        self.flight = self.published.copy()

    def read(self, touch: Touch, *, used: bool) -> np.ndarray:
        """Words (CTAs, n) as their warps see them: own stores and awaited copies, else what a barrier published."""
        own = self.tracker.read(touch, used=used)
        values = self.published[:, touch.words]
        if own.any():
            values[:, own] = self.pending[:, touch.words[own]]
        return values

    def write(self, touch: Touch, values: np.ndarray) -> None:
        """Store words ``values`` (CTAs, n)."""
        self.tracker.write(touch)
        self.pending[:, touch.words] = values

    def write_bytes(self, touch: Touch, addresses: np.ndarray, values: np.ndarray) -> None:
        """Store bytes ``values`` (CTAs, n) at byte ``addresses`` (n,), which lie in ``touch.words``."""
        fresh = touch.words[self.tracker.pending_warp[touch.words] < 0]
        self.pending[:, fresh] = self.published[:, fresh]
        self.tracker.write(touch)
        self.pending.view(np.uint8)[:, addresses] = values

    def issue_copy(self, touch: Touch, values: np.ndarray, group: int) -> Copy:
        """Start copying words ``values`` (CTAs, n); they were read from global memory at issue."""
        copy = self.tracker.issue_copy(touch, group)
        self.flight[:, touch.words] = values
        return copy

    def complete_copy(self, copy: Copy) -> None:
        words = self.tracker.complete_copy(copy)
        self.pending[:, words] = self.flight[:, words]

    def publish_copy(self, copy: Copy) -> None:
        """Somebody has waited for the mbarrier that counts a copy: all see what it brought."""
        words = self.tracker.publish_copy(copy)
        self.published[:, words] = self.pending[:, words] = self.flight[:, words]

    def hold(self, touch: Touch, own: np.ndarray) -> np.ndarray:
        """Words (CTAs, n) that an asynchronous operation reads from now on; ``own``: where it sees pending values."""
        self.tracker.hold(touch, own)
        values = self.published[:, touch.words]
        values[:, own] = self.pending[:, touch.words[own]]
        return values

    def latest(self, words: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Words as an asynchronous read finds them that is as late as can be; ``tokens``: of copies that were on their
        way when it began, which it does not see."""
        present = self.tracker.flight_token[words]
        overtaken = (self.tracker.flight_warp[words] >= 0) & (present != tokens)
        values = self.published[:, words]
        values[:, overtaken] = self.flight[:, words[overtaken]]
        return values

    def release(self, arrivals: Sequence[Arrival]) -> None:
        """A barrier opens: publish what its participants had written when they arrived."""
        words = self.tracker.release(arrivals)
        self.published[:, words] = self.pending[:, words]
