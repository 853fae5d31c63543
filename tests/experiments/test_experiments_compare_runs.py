"""Tests of two results side by side: the largest effect first, parts by their wholes, runs told apart by choices."""

from __future__ import annotations

import json

import ncu_files
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import UserError
from gpusim.experiments.comparable import effect_pct
from gpusim.experiments.compare_runs import Side, compare_sides, load_side
from gpusim.experiments.config import load_plan
from gpusim.experiments.run import simulate_plan
from gpusim.report.difference_figure import draw_differences
from gpusim.report.numbers import speed_sentence
from gpusim.report.tables import source_table

SIZES = ["M=128", "N=128", "K=128", "timeline.cycles=0"]


@pytest.fixture
def run_directory(instant_engine, tmp_path):
    """Writes what a comparison reads of the directory of a run."""

    def write(*settings: str):
        outcome = simulate_plan(load_plan("hgemm", [*SIZES, *settings]))
        place = tmp_path / "-".join(["hgemm", *settings])
        place.mkdir()
        (place / "summary.json").write_text(json.dumps(outcome.summary))
        source_table(outcome.program, outcome.result).to_csv(place / "source_lines.csv", index=False)
        return place

    return write


def test_two_runs_are_named_by_what_they_have_different(run_directory):
    none, swizzled = run_directory("swizzle=none"), run_directory()
    difference = compare_sides(load_side(str(none)), load_side(str(swizzled / "summary.json")))
    assert difference.before.name == f"{none.name} (swizzle=none)"
    assert difference.after.name == f"{swizzled.name} (swizzle=64B)"
    summaries = [json.loads((place / "summary.json").read_text()) for place in (none, swizzled)]
    ratio = summaries[0]["cycles"] / summaries[1]["cycles"]
    assert difference.verdict() == f"{difference.after.name} is {ratio:.2f}x faster than {difference.before.name}"
    assert difference.notes() == []
    conflicts = difference.table.set_index("name").loc["bank_conflicts_load"]
    assert conflicts["before"] == summaries[0]["bank_conflicts_load"] and conflicts["after"] == 0
    assert conflicts["effect_pct"] == pytest.approx(-75)  # of the wavefronts: three of four


@pytest.mark.parametrize(
    ("cycles", "sentence"),
    [
        ((100, 162), "a is 1.62x faster than b"), ((162, 100), "b is 1.62x faster than a"),
        ((100000, 100400), "a is less than 1 % faster than b"), ((7, 7), "a and b take the same number of cycles"),
    ],
)
def test_the_verdict_is_a_sentence_that_is_true(cycles, sentence):
    assert speed_sentence(list(zip("ab", cycles, strict=True))) == sentence


def test_effects_fall_from_the_top(run_directory):
    difference = compare_sides(load_side(str(run_directory("swizzle=none"))), load_side(str(run_directory())))
    for table in (difference.table, difference.lines):
        effects = table["effect_pct"].abs().tolist()
        assert effects == sorted(effects, reverse=True)
    assert (difference.table["before"] != difference.table["after"]).all()


def test_source_lines_are_joined(run_directory):
    difference = compare_sides(load_side(str(run_directory("num_stages=2"))), load_side(str(run_directory())))
    lines = difference.lines
    assert len(lines) and (lines["change"] == lines["warp_cycles_after"] - lines["warp_cycles_before"]).all()
    assert not lines.duplicated(["file", "line"]).any()


def test_other_sizes_are_noted(run_directory):
    difference = compare_sides(load_side(str(run_directory("K=256"))), load_side(str(run_directory())))
    assert difference.notes() == ["the problems differ: M=128 N=128 K=256 against M=128 N=128 K=128"]


def test_a_run_and_a_profile_share_their_numbers(run_directory, tmp_path):
    row = ncu_files.measured_row()
    (tmp_path / "mine.csv").write_text(ncu_files.raw_page(row))
    run = run_directory()
    difference = compare_sides(load_side(str(run)), load_side(str(tmp_path / "mine.csv")))
    assert difference.after.name == "mine (ncu)" and difference.lines.empty
    table = difference.table.set_index("name")
    assert table.loc["cycles", "after"] == row["cycles_elapsed"] and table.loc["num_ctas", "before"] == 1
    assert "tflops" not in table.index  # a profile does not know the problem


def test_equal_runs_differ_in_nothing(run_directory):
    side = load_side(str(run_directory()))
    difference = compare_sides(side, side)
    assert difference.table.empty and difference.before.name == side.name
    assert difference.verdict() == f"{side.name} and {side.name} take the same number of cycles"


def test_what_is_no_result_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no such run directory or profile, got '.*absent'; gpusim run leaves"):
        load_side(str(tmp_path / "absent"))
    with pytest.raises(UserError, match="the directory holds no run"):
        load_side(str(tmp_path))


STALLS = {"stall_wait": 2.0, "stall_selected": 1.0, "stall_barrier": 1.0}


def test_stalls_are_parts_of_all_warp_cycles_and_shares_are_points():
    before, after = STALLS | {"l2_hit_pct": 1.0}, STALLS | {"stall_wait": 1.0, "l2_hit_pct": 3.0}
    assert effect_pct("stall_wait", before, after) == pytest.approx(-25)
    assert effect_pct("l2_hit_pct", before, after) == pytest.approx(2)


@given(before=st.floats(0, 1e9), after=st.floats(0, 1e9))
def test_an_effect_is_antisymmetric_and_at_most_everything(before, after):
    there = effect_pct("cycles", {"cycles": before}, {"cycles": after})
    back = effect_pct("cycles", {"cycles": after}, {"cycles": before})
    assert there == pytest.approx(-back) and abs(there) <= 100 + 1e-9
    assert (there > 0) == (after > before)


def test_the_figure_has_a_bar_for_every_row():
    sides = [Side(name, STALLS | {"cycles": cycles, "stall_wait": wait})
             for name, cycles, wait in (("a", 100.0, 2.0), ("b", 80.0, 1.0))]
    table = compare_sides(*sides).table
    (axes,) = draw_differences(table, "a → b").axes
    assert [text.get_text() for text in axes.get_yticklabels()] == table["title"].tolist()[::-1]
    assert "100 → 80 cycle" in {text.get_text() for text in axes.texts}
