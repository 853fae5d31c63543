"""The library at a terminal: what programs there are, one line each, and what can be set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]
PROGRAMS = Path(__file__).parents[2] / "programs"


def test_every_program_is_listed_with_one_line(gpusim: Command) -> None:
    status, out, _ = gpusim("run", "--list", "--json")
    about = {row["name"]: row["about"] for row in json.loads(out) if row["kind"] == "program"}
    assert status == 0
    assert set(about) == {path.stem for path in PROGRAMS.glob("*.py")} | {
        f"micro/{path.stem}" for path in (PROGRAMS / "micro").glob("*.py")}
    assert all(20 < len(text) <= 120 and text.endswith((".", "?")) for text in about.values())
    assert len(set(about.values())) == len(about)


def test_the_table_has_a_row_for_each(gpusim: Command) -> None:
    _, out, _ = gpusim("run", "--list")
    assert "program  transpose_shared" in out and "program  micro/barrier" in out


def test_config_show_says_what_a_key_means(gpusim: Command) -> None:
    status, out, _ = gpusim("config", "show", "column_read", "--set", "bits=128", "--set", "swizzle=S<3,4,5>")
    lines = out.splitlines()
    assert status == 0 and lines[0].startswith("# Column read")
    assert lines[lines.index("  bits: 128") - 1] == "  # width of a read, 32, 64 or 128"
    assert lines[lines.index("l2: cold") - 1] == "# State of the L2 when the kernel starts."


def test_config_show_as_json_has_no_comments(gpusim: Command) -> None:
    _, out, _ = gpusim("config", "show", "micro/mma_rate", "--json")
    assert json.loads(out)["parameters"]["ilp"] == 4


def test_a_misspelt_program_is_refused_with_the_likely_name(gpusim: Command) -> None:
    status, _, err = gpusim("run", "hgemm_cut")
    assert status == 2 and "hgemm_cute" in err


@pytest.mark.parametrize("command", [("check",), ("run",), ("config", "show")])
def test_a_name_that_looks_like_none_is_answered_with_the_nearest_and_not_with_all(gpusim: Command,
                                                                                   command: tuple[str, ...]) -> None:
    status, _, err = gpusim(*command, "conv")
    assert status == 2
    assert "got 'conv'; nearest: 'conv2d_fprop'; gpusim run --list names all" in err and len(err) < 140
