"""Sampled launches: waves that are left out are put back, and whoever reads the result is told."""

from __future__ import annotations

import numpy as np
import pytest
from engine_programs import program, run, small_gpu
from engine_strategies import ACCESSES
from test_engine_laws import COPIES

from gpusim.engine import simulate
from gpusim.engine.sampling import sampled_ctas
from gpusim.errors import UserError
from gpusim.program import Program

SLOTS = 8  # of four SMs with two CTAs each


def alike(ctas: int) -> Program:
    return program([(4, COPIES * 6)], ACCESSES, ctas=ctas, shared_bytes=100_000)


@pytest.mark.parametrize("ctas", [8 * SLOTS, 8 * SLOTS + 3])
def test_whole_waves_take_as_long_as_the_second(ctas: int) -> None:
    full, sampled = (run(alike(ctas), small_gpu(4), fidelity=fidelity, record=None) for fidelity in ("full", "sampled"))
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.1)
    np.testing.assert_array_equal(sampled.issued, full.issued)
    assert sampled.counters["shared_wavefronts_load"] == full.counters["shared_wavefronts_load"]
    assert sampled.sm_active_cycles.mean() == pytest.approx(full.sm_active_cycles.mean(), rel=0.15)  # three in the tail
    assert (sampled.cta_start < 0).sum() == 6 * SLOTS and (full.cta_start >= 0).all()


def test_what_was_left_out_is_said() -> None:
    sampled = run(alike(8 * SLOTS), small_gpu(4), fidelity="sampled", record=None)
    assert sampled.simulated_share == pytest.approx(2 / 8)
    (sentence,) = sampled.assumptions
    assert sentence.startswith("16 of 64 CTAs simulated; 6 waves of ")


def test_a_short_launch_is_simulated_in_full() -> None:
    tiny = alike(2 * SLOTS + 5)
    assert len(sampled_ctas(tiny, SLOTS)) == tiny.num_ctas
    full, sampled = (run(tiny, small_gpu(4), fidelity=fidelity, record=None) for fidelity in ("full", "sampled"))
    assert (sampled.cycles, sampled.assumptions, sampled.simulated_share) == (full.cycles, (), 1.0)


def test_another_fidelity_is_refused() -> None:
    with pytest.raises(UserError, match="fidelity must be 'full' or 'sampled', got 'sample'; did you mean 'sampled'"):
        simulate(alike(1), small_gpu(1), fidelity="sample")
