"""Tests of the commands about layouts and variants: tables on stdout, pictures in files, verdicts as last lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

SMALL = ["--set", "M=64", "--set", "N=64", "--set", "K=128", "--set", "tile=[64,64,32]", "--set", "timeline.cycles=0"]
Command = Callable[..., tuple[int, str, str]]


def test_layout_prints_a_table_and_draws(gpusim: Command, tmp_path: Path):
    pictures = {name: tmp_path / "new" / f"layout.{name}" for name in ("svg", "png")}
    status, out, err = gpusim("layout", "(8,64):(64,1)", "--swizzle", "128B", "--svg", str(pictures["svg"]),
                              "--png", str(pictures["png"]))
    assert status == 0 and "S<3,3,3> o 0 o (8, 64):(64, 1)" in out and err.count("wrote ") == 2
    assert out.splitlines()[4].startswith("1 |  72  73  74")
    assert pictures["png"].read_bytes().startswith(b"\x89PNG") and b"<svg" in pictures["svg"].read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["SM80_16x8x16_F32F16F16F32_TN"], ["SM75_U16x8_LDSM_T"], ["((4,8),2):((16,1),8)", "--tv", "(8,8)"],
        ["(8,64):(64,1)", "--access", "LDSM4"], ["(8,64):(64,1)", "--color", "offset"],
    ],
)
def test_everything_that_is_printed_can_be_drawn(gpusim: Command, tmp_path: Path, arguments: list[str]):
    status, out, _ = gpusim("layout", *arguments, "--svg", str(tmp_path / "one.svg"))
    assert status == 0 and len(out.splitlines()) > 5 and (tmp_path / "one.svg").stat().st_size > 10_000
    assert json.loads(gpusim("layout", *arguments, "--json")[1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["layout", "SM80_16x8x8"], "error: neither a layout nor an atom, got 'SM80_16x8x8'; there is SM80_16x8x8_F"),
        (["layout", "(8,8):(8"], "expected an integer or a nested tuple of integers"),
        (["layout", "8:1", "--element", "f17"], "error: --element: no such element type, got 'f17'; did you mean"),
        (["banks", "hgemm", *SMALL, "--detail", "sC"], "no shared-memory access has this label, got 'sC'"),
        (["suggest", "hgemm", *SMALL, "--parameter", "tile"], "no parameter of this name chooses a swizzle"),
        (["banks", "hgemm", "--op", "LDS32"], "a program has accesses of its own: leave out --op"),
        (["banks", "--detail", "sA"], "--set and --detail need a program"),
        (["sweep"], "name a sweep, or use --list"),
        (["sweep", "absent.yaml"], "error: absent.yaml: the file cannot be read"),
    ],
)
def test_bad_usage_is_a_sentence_and_status_2(gpusim: Command, arguments: list[str], sentence: str):
    status, out, err = gpusim(*arguments)
    assert status == 2 and out == ""
    assert sentence in err and "Traceback" not in err


def test_banks_of_a_program_has_a_row_per_source_access(gpusim: Command):
    status, out, _ = gpusim("banks", "hgemm", *SMALL, "--set", "swizzle=none", "--json")
    rows = {row["label"]: row for row in json.loads(out)}
    assert status == 0 and set(rows) == {"cp.async A -> sA", "cp.async B -> sB", "ldmatrix sA", "ldmatrix sB"}
    assert (rows["ldmatrix sA"]["worst_ways"], rows["ldmatrix sA"]["warps"]) == (4, 4)
    printed = gpusim("banks", "hgemm", *SMALL, "--set", "swizzle=none")[1]
    assert "Worst Warp" in printed and "swizzle=none" in printed.splitlines()[0]


def test_banks_detail_shows_who_collides_where(gpusim: Command):
    status, out, _ = gpusim("banks", "hgemm", *SMALL, "--set", "swizzle=none", "--detail", "ldmatrix sA")
    assert status == 0 and "0 | 2 | 4 | 6" in out and "16 wavefronts, 4 at best" in out


def test_suggest_ends_with_the_cycles_saved(gpusim: Command, instant_engine: list[dict[str, object]]):
    status, out, _ = gpusim("suggest", "hgemm", *SMALL, "--set", "swizzle=none", "--top", "3")
    last = out.strip().splitlines()[-1]
    assert status == 0 and last.startswith("swizzle=64B saves ") and "cycles against swizzle=none" in last
    for words in ("-> 64B", "present", "needs a swizzle with base >= 4", "rank 3 (1 without swizzle)",
                  "free of bank conflicts", "the closed formula gives S<2,4,3>"):
        assert words in out, words


def test_suggest_json_has_the_proof(gpusim: Command):
    status, out, _ = gpusim("suggest", "hgemm", *SMALL, "--no-simulate", "--json")
    found = json.loads(out)
    assert status == 0 and found["already_best"] and found["conflict_free"] and found["saved_cycles"] is None
    assert found["searches"][0]["best"] == found["after"]["values"]["swizzle"] == "64B"
    assert {row["bank_conflicts"] for row in found["accesses"]} == {0}


def test_compare_shows_refused_variants_and_draws(gpusim: Command, instant_engine: list[dict[str, object]],
                                                  tmp_path: Path):
    arguments = ["compare", "hgemm", *SMALL, "--over", "swizzle=none,64B,S<1,3,3>", "--set", f"output={tmp_path}"]
    status, out, err = gpusim(*arguments)
    assert status == 0 and out.strip().splitlines()[-1].endswith("x faster than swizzle=none")
    (refused,) = [line for line in out.splitlines() if line.startswith("S<1,3,3>")]
    assert "needs a swizzle with base >= 4" in refused
    assert f"wrote {tmp_path}/compare-hgemm-swizzle.svg" in err and (tmp_path / "compare-hgemm-swizzle.png").exists()
    rows = json.loads(gpusim(*arguments, "--json")[1])["variants"]
    assert [row["cycles"] is None for row in rows] == [False, False, True]


def test_sweep_resumes(gpusim: Command, instant_engine: list[dict[str, object]], tmp_path: Path):
    (tmp_path / "two.yaml").write_text(
        "run: hgemm\nsettings: {M: 64, N: 64, K: 128, tile: [64, 64, 32]}\ngrid: {num_stages: [2, 3]}\n")
    arguments = ["sweep", str(tmp_path / "two.yaml"), "--output", str(tmp_path)]
    status, out, err = gpusim(*arguments)
    assert status == 0 and "two: 2 points" in out and "0 points reused" in err
    again = json.loads(gpusim(*arguments, "--resume", "--json")[1])
    assert again["reused"] == 2 and len(again["points"]) == 2 and len(instant_engine) == 2
    assert (Path(again["directory"]) / "results.csv").exists()


def test_sweeps_with_a_name_are_listed(gpusim: Command):
    assert {"hgemm_tiles", "hgemm_swizzle_stages"} <= {row["name"] for row in json.loads(gpusim(
        "sweep", "--list", "--json")[1])}
