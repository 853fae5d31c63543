"""Models the ports between a GPC and the crossbar, whose work the CPCs of the GPC take turns at.
Leaves out which requests are sent at all, and what slices do with them (gpusim.engine.crossbar, slices)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from gpusim.arch import GpuSpec

__all__ = ["MOST_CPCS", "PORT_QUEUE", "SMS_PER_TPC", "cpcs_of", "gpcs_of", "places_in_gpcs", "turn_wait"]

MOST_CPCS = 4
PORT_QUEUE = np.dtype([("work", "<f8", (MOST_CPCS,)), ("since", "<f8")], align=True)
"""A port of a GPC: cycles of work that each CPC has in front of it, at the cycle ``since``."""
SMS_PER_TPC = 2


def gpcs_of(spec: GpuSpec) -> np.ndarray:
    """GPC of every SM; SMs are numbered in the order in which CTAs fill them."""
    gpcs, sms = np.array(spec.noc.gpc_runs).T
    return np.repeat(gpcs, sms)


def places_in_gpcs(gpc: Sequence[int] | np.ndarray) -> np.ndarray:
    """How many SMs of its GPC come before each SM."""
    gpcs = np.asarray(gpc)
    return np.array([(gpcs[:sm] == number).sum() for sm, number in enumerate(gpcs)], np.int64)


def cpcs_of(gpc: Sequence[int] | np.ndarray, cpcs_per_gpc: int) -> np.ndarray:
    """CPC of every SM within its GPC: TPCs, pairs of SMs of a GPC in order, go to its CPCs one after the other.

    Found in cpc.csv (H200): of a GPC's eight TPCs the third and the sixth share a CPC, the others are in threes.
    """
    return places_in_gpcs(gpc) // SMS_PER_TPC % cpcs_per_gpc


@njit(cache=True, nogil=True)
def turn_wait(queues, gpc, cpc, now, service):
    """Cycles until a port of a GPC has done ``service`` cycles of work that come from one of its CPCs at ``now``.

    CPCs with work take turns, so one that has little of it does not wait for all that others have: a CPC of four SMs
    gets as much as one of six (cpc.csv: its SMs 1.41 times as much each when all 132 read at once).
    """
    queue = queues[gpc]
    left = now - queue.since
    while left > 0:  # what has been done since: an equal part for each CPC that has work
        busy, least = 0, np.inf
        for k in range(MOST_CPCS):
            if queue.work[k] > 0:
                busy, least = busy + 1, min(least, queue.work[k])
        if not busy:
            break
        done = min(least, left / busy)
        for k in range(MOST_CPCS):
            queue.work[k] = max(0.0, queue.work[k] - done)
        left -= done * busy
    queue.since = max(queue.since, now)
    queue.work[cpc] += service
    ahead = 0.0
    for k in range(MOST_CPCS):
        ahead += min(queue.work[k], queue.work[cpc])
    return queue.since - now + ahead
