"""Models nothing: views of arrays that compiled code can pass around without counting references.
Leaves out ownership: whoever calls the compiled function keeps the arrays alive."""

from __future__ import annotations

from numba import njit
from numba.core import cgutils
from numba.extending import intrinsic

from gpusim.engine.l1 import L1State
from gpusim.engine.state import SmState, Window

__all__ = ["borrow", "borrow_state", "borrow_window"]


@intrinsic
def borrow(typing_context, array):
    """The same memory without an owner. Handing on a counted array costs atomic adds, half of a simulation's time."""

    def generate(context, builder, signature, arguments):
        owned = context.make_array(signature.args[0])(context, builder, arguments[0])
        view = context.make_array(signature.return_type)(context, builder)
        for field in ("nitems", "itemsize", "data", "shape", "strides"):
            setattr(view, field, getattr(owned, field))
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), generate


@njit(cache=True, nogil=True)
def borrow_l1(l1):
    return L1State(borrow(l1.lines), borrow(l1.tags), borrow(l1.ways), borrow(l1.answered), borrow(l1.waiters),
                   borrow(l1.caches))


@njit(cache=True, nogil=True)
def borrow_state(st):
    return SmState(borrow(st.warps), borrow(st.parts), borrow(st.slots), borrow(st.sms), borrow_l1(st.l1),
                   borrow(st.mbarriers), borrow(st.warpgroups), borrow(st.stores))


@njit(cache=True, nogil=True)
def borrow_window(win):
    return Window(borrow(win.requests), borrow(win.ended), borrow(win.events), borrow(win.counts), borrow(win.statics),
                  borrow(win.arrivals))
