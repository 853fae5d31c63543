"""Models places that are taken and come free in order, as rings of the times at which each does.
Leaves out what the places are for."""

from __future__ import annotations

from numba import njit

__all__ = ["keep_places", "places_free"]


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
