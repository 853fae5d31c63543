"""Tests of gpusim compare with two results and of gpusim validate --ncu: tables, figures, sentences, exit status."""

from __future__ import annotations

import json
from pathlib import Path

import ncu_files
import pytest

SMALL = ["--set", "M=128", "--set", "N=128", "--set", "K=128", "--set", "timeline.cycles=0"]


@pytest.fixture
def profile(tmp_path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text(ncu_files.raw_page(ncu_files.measured_row(), ("init(int)", ncu_files.KERNEL)))
    return path


@pytest.fixture
def runs(gpusim, instant_engine, tmp_path) -> list[str]:
    """Directories of two runs, as gpusim run leaves them."""
    found = []
    for swizzle in ("none", "64B"):
        arguments = [*SMALL, "--set", f"swizzle={swizzle}", "--output", str(tmp_path / "runs"), "--json"]
        status, out, err = gpusim("run", "hgemm", *arguments)
        assert status == 0, err
        found.append(json.loads(out)["run_directory"])
    return found


def test_two_run_directories_differ_most_in_conflicts(gpusim, runs, tmp_path):
    status, out, err = gpusim("compare", *runs, "--top", "3", "--figure", str(tmp_path / "difference"))
    assert status == 0 and (tmp_path / "difference.svg").exists() and "difference.png" in err
    title, _, first = out.splitlines()[:3]
    assert "(swizzle=none) → " in title and "the 3 largest of" in title
    assert first.startswith("Shared Load")
    assert out.splitlines()[-1].endswith("(swizzle=none)") and "x faster than" in out.splitlines()[-1]
    status, out, _ = gpusim("compare", *runs, "--json")
    found = json.loads(out)
    assert {row["name"] for row in found["differences"]} >= {"cycles", "bank_conflicts_load"} and found["lines"]


def test_a_run_and_a_profile(gpusim, runs, profile):
    status, out, _ = gpusim("compare", runs[0], str(profile), "--kernel", "gemm")
    assert status == 0 and "mine (ncu)" in out and "Elapsed Cycles" in out
    status, _, err = gpusim("compare", runs[0], str(profile))
    assert status == 2 and "the profile has several launches; choose one by ID or name with --kernel" in err


@pytest.mark.parametrize("arguments", [["hgemm"], ["a", "b", "c"], ["a", "b", "--over", "swizzle=none,64B"]])
def test_a_comparison_is_of_two_results_or_over_keys(gpusim, arguments):
    status, _, err = gpusim("compare", *arguments)
    assert status == 2 and ("a comparison needs --over, or two results" in err or "--over varies one" in err)


def test_a_profile_is_joined_with_a_simulated_run(gpusim, instant_engine, profile):
    arguments = ["validate", "hgemm", "--ncu", str(profile), "--kernel", "1", *SMALL]
    status, out, _ = gpusim(*arguments)
    assert status == 0 and "sm__cycles_elapsed.max" in out and "note: Grid Size differs" in out
    assert "numbers in common; 1 metrics of the profile have no counterpart" in out
    status, out, _ = gpusim(*arguments, "--json", "-")
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    assert rows["cycles"]["measured"] == ncu_files.measured_row()["cycles_elapsed"]
    status, _, err = gpusim(*arguments, "--gate", "5")
    assert status == 1 and "the mean absolute error of cycles is" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--ncu", "p.csv"], "--ncu needs the run to simulate; for example: gpusim validate hgemm"),
        (["hgemm", "--ncu", "absent.csv"], "absent.csv: the profile cannot be read"),
        (["rows.csv", "--set", "M=4"], "validate: --set and --kernel belong to --ncu"),
    ],
)
def test_validate_says_what_ncu_needs(gpusim, arguments, sentence):
    status, _, err = gpusim("validate", *arguments)
    assert status == 2 and sentence in err
