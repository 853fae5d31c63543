"""Tests of comparisons: every combination once, the verdict names the ends, refused variants keep their reason."""

from __future__ import annotations

import pytest

from gpusim.errors import SimulatedFailure, UserError
from gpusim.experiments.compare import compare, parse_over

SMALL = ["M=128", "N=128", "K=128", "timeline.cycles=0"]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("swizzle=none,64B", ("swizzle", ["none", "64B"])),
        ("tile=[128,128,32],[64,64,32]", ("tile", ["[128,128,32]", "[64,64,32]"])),
        ("swizzle=S<2,4,3>, none", ("swizzle", ["S<2,4,3>", "none"])),
    ],
)
def test_commas_inside_brackets_separate_nothing(text: str, parsed: tuple[str, list[str]]):
    assert parse_over(text) == parsed


@pytest.mark.parametrize("text", ["swizzle", "=none", "swizzle=", "swizzle=none,,64B"])
def test_a_malformed_axis_is_one_sentence(text: str):
    with pytest.raises(UserError, match="--over: a comparison is KEY=VALUE,VALUE"):
        parse_over(text)


def test_a_swizzle_without_conflicts_is_faster(instant_engine):
    comparison = compare("hgemm", ["swizzle=none,64B"], SMALL)
    table = comparison.table().set_index("swizzle")
    assert table.loc["none", "bank_conflicts"] > table.loc["64B", "bank_conflicts"] == 0
    ratio = table.loc["none", "cycles"] / table.loc["64B", "cycles"]
    assert comparison.verdict() == f"swizzle=64B is {ratio:.2f}x faster than swizzle=none"


def test_a_key_given_twice_has_all_its_values(instant_engine):
    comparison = compare("hgemm", ["swizzle=none,64B", "swizzle=S<1,4,4>"], SMALL)
    assert [variant.label for variant in comparison.variants] == ["swizzle=none", "swizzle=64B", "swizzle=S<1,4,4>"]
    assert "not_simulated" not in comparison.table()


def test_a_figure_has_a_place_of_its_own(instant_engine):
    stem = compare("hgemm", ["problem.K=64,128"], [*SMALL, "output=elsewhere"]).figure_stem
    assert str(stem) == "elsewhere/compare-hgemm-problem_K" and not stem.suffix


def test_axes_combine(instant_engine):
    comparison = compare("hgemm", ["swizzle=none,64B", "num_stages=2,3"], SMALL)
    labels = [variant.label for variant in comparison.variants]
    assert labels == [f"swizzle={s} num_stages={n}" for s in ("none", "64B") for n in (2, 3)]
    assert comparison.table()["shared_bytes"].tolist() == [32768, 49152] * 2


def test_a_refused_variant_keeps_its_reason_and_the_others_run(instant_engine):
    comparison = compare("hgemm", ["num_stages=1,3"], SMALL)
    refused, ran = comparison.variants
    assert "stages" in refused.failure and ran.summary is not None
    table = comparison.table()
    assert "needs one stage to fill" in table["not_simulated"][0] and table["not_simulated"][1] is None
    assert table["cycles"].tolist() == [None, ran.cycles] and comparison.verdict() == ""


def test_when_nothing_runs_the_comparison_fails(instant_engine):
    with pytest.raises(SimulatedFailure, match="num_stages=1"):
        compare("hgemm", ["num_stages=1"], SMALL)


def test_unknown_keys_are_refused_before_anything_runs(instant_engine):
    with pytest.raises(UserError, match=r"unknown key 'swizle'; did you mean 'swizzle'\?"):
        compare("hgemm", ["swizle=none,64B"], SMALL)
    assert instant_engine == []
