"""Tests of ``gpusim run --what-if`` with the real engine: what is printed, written and simulated is the same."""

from __future__ import annotations

import json
from pathlib import Path

SMALL = ["--set", "M=64", "--set", "N=64", "--set", "K=128", "--set", "tile=[64,64,32]", "--set", "swizzle=none"]


def test_what_if_simulates_the_proposals_and_reports_their_worth(gpusim, tmp_path: Path):
    status, out, _ = gpusim("run", "hgemm", *SMALL, "--what-if", "--json", "--output", str(tmp_path))
    assert status == 0
    summary = json.loads(out)
    trials = {trial["change"]: trial for trial in summary["what_if"]}
    swizzled = trials["swizzle=64B instead of none"]
    assert swizzled["cycles"] < swizzled["cycles_before"] == summary["cycles"]
    assert trials["no bank conflicts at all"]["cycles"] < summary["cycles"]
    assert any(line.startswith("OPT Simulated speedup: ") and "swizzle=64B" in line for line in summary["advice"])
    page = (Path(summary["run_directory"]) / "report.html").read_text()
    assert "swizzle=64B instead of none" in page and f"+{swizzled['speedup_pct']:.1f} %" in page
    _, alone, _ = gpusim("run", "hgemm", *SMALL, "--set", "swizzle=64B", "--json", "--output", str(tmp_path))
    assert json.loads(alone)["cycles"] == swizzled["cycles"]


def test_terminal_and_report_say_the_same(gpusim, instant_engine, tmp_path: Path):
    status, out, _ = gpusim("run", "hgemm", *SMALL, "--output", str(tmp_path))
    (directory,) = tmp_path.iterdir()
    summary = json.loads((directory / "summary.json").read_text())
    assert status == 0
    for sentence in summary["advice"]:
        assert sentence in out
    assert f"{summary['sm_throughput_pct']:.1f} %" in out and summary["sm_throughput_unit"] in out
    assert summary["provenance"]["sentence"] in out
    assert summary["provenance"]["sentence"] in (directory / "report.html").read_text()
