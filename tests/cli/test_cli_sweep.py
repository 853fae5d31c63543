"""``gpusim sweep`` as a user sees it: a table, the front, what failed and why, and a status that says so."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpusim.cli import output

Command = Callable[..., tuple[int, str, str]]
SWEEP = """
run: hgemm
settings: {M: 64, N: 64, K: 128, tile: [64, 64, 32]}
grid: {swizzle: [none, 64B], num_stages: [1, 2]}
"""


@pytest.fixture
def sweep(gpusim: Command, instant_engine: list[dict[str, object]], tmp_path: Path) -> Command:
    """Runs a sweep of four points, of which two are refused."""
    (tmp_path / "four.yaml").write_text(SWEEP)
    return lambda *options: gpusim("sweep", str(tmp_path / "four.yaml"), "--output", str(tmp_path), *options)


def test_points_that_fail_do_not_stop_the_others_and_decide_the_status(sweep: Command):
    status, out, err = sweep()
    assert status == 1
    first, second, third = (part.splitlines() for part in out.strip().split("\n\n"))
    assert first[0] == "four: 4 points" and [line.split()[:2] for line in first[2:]] == [["none", "2"], ["64B", "2"]]
    assert second[0] == "Pareto front of cycles min, shared_bytes min" and second[2].startswith("64B")
    assert third[0] == "Not simulated" and len(third) == 4
    assert all("refused" in line and "num_stages=2 or more" in line for line in third[2:])
    last = err.splitlines()[-1]
    assert last.startswith("error: 2 of 4 points were not simulated: ") and "a multistage pipeline needs" in last


def test_json_has_points_front_and_failures(sweep: Command):
    status, out, _ = sweep("--json")
    found = json.loads(out)
    assert status == 1 and (len(found["points"]), len(found["failures"])) == (2, 2)
    assert found["pareto"] == [{key: found["points"][1][key] for key in ("swizzle", "num_stages", "cycles",
                                                                          "shared_bytes")}]
    assert found["failures"][0]["num_stages"] == 1 and found["failures"][0]["status"] == "refused"


def test_settings_reach_every_key_of_the_sweep(sweep: Command):
    status, out, _ = sweep("--set", "grid.num_stages=[2]", "--set", "pareto={tflops: max}")
    assert status == 0 and "Pareto front of tflops max" in out and "Not simulated" not in out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scheduler", "tcp://host:8786"], "error: --scheduler: only the dask backend has a scheduler; add"),
        (["--backend", "spark"], "'spark' is not one of 'local', 'dask'"),
    ],
)
def test_bad_usage_is_a_sentence_and_status_2(sweep: Command, options: list[str], sentence: str):
    status, out, err = sweep(*options)
    assert status == 2 and out == "" and sentence in err


def test_every_mistake_of_a_sweep_has_its_own_line(sweep: Command):
    status, _, err = sweep("--set", "grid.num_stages=2", "--set", "pareto={cycle: min}")
    assert status == 2 and len([line for line in err.splitlines() if line.startswith("error: ")]) == 2
    assert "grid.num_stages: Input should be a valid list" in err and "no such number 'cycle'; did you mean" in err


def test_a_terminal_sees_how_many_points_are_done_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch):
    from rich.console import Console

    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(output, "errors", lambda: screen)
    with output.progress_count("sweeping mine") as advance:
        for done in range(5):
            advance(done, 4)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "sweeping mine" in shown and "4/4" in shown and "ETA" in shown
