"""Models places that are taken and come free: in order, as rings of the times at which each does, or in any order.
Leaves out what the places are for."""

from __future__ import annotations

from numba import njit

__all__ = ["keep_any", "keep_places", "places_free", "places_free_of_any"]


@njit(cache=True, nogil=True, forceinline=True)
def places_free(ring, head, size, wanted):
    """When so many of a ring's ``size`` places are free, ``head`` the one that is next: a time, 0 when none is
    wanted."""
    if wanted == 0:
        return 0
    last = head + wanted - 1
    return ring[last if last < size else last - size]


@njit(cache=True, nogil=True, forceinline=True)
def keep_places(ring, head, size, wanted, until):
    """Take so many of them until then; returns the new head."""
    for _ in range(wanted):
        ring[head] = until
        head = head + 1 if head + 1 < size else 0
    return head


@njit(cache=True, nogil=True, forceinline=True)
def places_free_of_any(times, wanted):
    """When so many places are free, whichever: ``times`` are in order, 0 when none is wanted."""
    return times[wanted - 1] if wanted else 0


@njit(cache=True, nogil=True)
def keep_any(times, size, wanted, until):
    """Take the first so many of ``size`` places to be free until then."""
    for i in range(size - wanted):
        times[i] = times[i + wanted]
    for last in range(size - wanted, size):
        i = last
        while i > 0 and times[i - 1] > until:
            times[i] = times[i - 1]
            i -= 1
        times[i] = until
