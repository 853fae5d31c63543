"""Tests of one run beside the user's own profile: errors by their wholes, and notes where the launches differ."""

from __future__ import annotations

import ncu_files
import pytest

from gpusim.errors import UserError
from gpusim.experiments.validate_ncu import validate_profile

SIZES = ["M=128", "N=128", "K=128"]


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.csv"
    path.write_text(ncu_files.raw_page(ncu_files.measured_row()))
    return path


def test_every_common_number_has_its_signed_error(instant_engine, profile):
    result = validate_profile(profile, "hgemm", [*SIZES, "swizzle=none"])
    rows = {row["name"]: row for row in result.rows}
    measured = ncu_files.measured_row()
    cycles = rows["cycles"]
    assert (cycles["measured"], cycles["ncu"]) == (measured["cycles_elapsed"], "sm__cycles_elapsed.max")
    assert cycles["error_pct"] == pytest.approx(100 * (cycles["simulated"] / cycles["measured"] - 1))
    assert result.cycles_error_pct == cycles["error_pct"]
    stalls = sum(value for name, value in measured.items() if name.startswith("stall_"))
    wait = rows["stall_wait"]
    assert wait["error_pct"] == pytest.approx(100 * (wait["simulated"] - wait["measured"]) / stalls)
    conflicts = rows["bank_conflicts_load"]
    assert conflicts["error_pct"] == pytest.approx(
        100 * (conflicts["simulated"] - conflicts["measured"]) / measured["smem_wavefronts_load"])
    assert rows["stall_gmma"]["error_pct"] == 0


def test_another_launch_is_said_to_be_one(instant_engine, profile):
    result = validate_profile(profile, "hgemm", [*SIZES, "registers=128"])
    assert any(
        note.startswith("Grid Size differs: 256 measured, 1 simulated") for note in result.notes)
    assert any(note.startswith("Registers Per Thread differs: 254 measured, 128 simulated") for note in result.notes)
    assert "the L2 was cold in the simulation" in result.notes[-1]


def test_a_clock_that_was_held_is_told(instant_engine):
    """The profiler holds the GPU at its base clock: cycles can be compared, microseconds cannot."""
    result = validate_profile(ncu_files.REAL["raw"], "hgemm", ["M=1024", "N=1024", "K=128"])
    assert result.notes[0].startswith("the SM ran at 1,366 MHz, 1,000 MHz were simulated: compare cycles, not time")
    assert len(result.notes) == 2


def test_the_same_launch_needs_no_such_note(instant_engine, profile):
    result = validate_profile(profile, "hgemm", ["M=2048", "N=2048", "K=2048", "swizzle=none", "registers=254"])
    assert len(result.notes) == 1


def test_metrics_without_a_counterpart_are_counted(instant_engine, profile):
    result = validate_profile(profile, "hgemm", SIZES)
    assert result.unmatched == ["sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active"]
    assert result.to_json()["kernel"] == ncu_files.KERNEL


def test_mistakes_are_found_before_anything_is_simulated(instant_engine, profile):
    with pytest.raises(UserError, match="no launch has that name"):
        validate_profile(profile, "hgemm", SIZES, kernel="cutlass")
    with pytest.raises(UserError, match="unknown key 'swizle'"):
        validate_profile(profile, "hgemm", ["swizle=none"])
    assert instant_engine == []
