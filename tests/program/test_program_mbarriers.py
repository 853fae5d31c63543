"""An mbarrier op's operand survives packing, and what does not fit is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.program import MBarrier, MBarrierAction, pack_mbarrier, unpack_mbarrier


@given(index=st.integers(0, 255), action=st.sampled_from(list(MBarrierAction)), parity=st.integers(0, 1))
def test_packing_loses_nothing(index, action, parity):
    use = unpack_mbarrier(pack_mbarrier(index, action, parity))
    assert (use.index, use.action, use.parity) == (index, action, parity)


@pytest.mark.parametrize(("index", "parity"), [(256, 0), (-1, 0), (0, 2)])
def test_what_does_not_fit_is_refused(index, parity):
    with pytest.raises(ValueError, match="out of range"):
        pack_mbarrier(index, MBarrierAction.wait, parity)


@pytest.mark.parametrize("arrivals", [0, 1 << 20])
def test_an_mbarrier_counts_as_init_does(arrivals):
    with pytest.raises(ValueError, match="full"):
        MBarrier("full", arrivals)
