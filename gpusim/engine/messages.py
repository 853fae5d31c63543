"""Models what an SM sends to other SMs of a cluster: a message leaves in one window and arrives in a later one.
Leaves out what it does there and who gets it (gpusim.engine.clusters); data of a multicast come with answers of memory.

Messages share the window's list of requests, and their deliveries that of the memory's answers.
"""

from __future__ import annotations

from numba import njit

from gpusim.engine.state import BULK

__all__ = ["CTA_ARRIVES", "REMOTE_ARRIVE", "post_message"]

REMOTE_ARRIVE, CTA_ARRIVES = BULK + 1, BULK + 2
"""Values of REQUEST_RECORD.asynchronous: an arrival at mbarriers of other CTAs; a CTA has arrived at the barrier of its
cluster (and, as an answer: that barrier opens)."""


@njit(cache=True, nogil=True)
def post_message(win, sm, s, kind, time, cta, token, ranks):
    """Send a message of CTA ``cta`` that takes effect at ``time``; ``ranks``: a bit for each CTA that gets it."""
    request = win.requests[win.counts[0]]
    request.time, request.sm, request.sequence, request.asynchronous = time, s, sm.sequence, kind
    request.cta, request.token, request.ranks, request.is_write = cta, token, ranks, 0
    sm.sequence += 1
    win.counts[0] += 1
