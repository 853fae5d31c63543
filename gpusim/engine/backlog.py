"""Models a server that handles requests one after the other: what a slice, a channel or a port has still to do.
Leaves out servers whose customers take turns (gpusim.engine.gpc)."""

from __future__ import annotations

from numba import njit

__all__ = ["wait"]


@njit(cache=True, nogil=True)
def wait(free, index, now, service):
    """Cycles from reaching a server to leaving it; ``free`` is when it has done all work that came before.

    Requests are handled one after the other in the order ``now`` in which they left their SMs, and all of a server's
    customers are about as far from it; so the backlog at ``now`` is the wait, whenever the request gets there.
    """
    free[index] = max(free[index], now) + service
    return free[index] - now
