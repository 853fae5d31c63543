"""Models the directory a run leaves behind: resolved configuration, summary, tables, trace, figures, one HTML file.
Leaves out what was simulated; a directory appears whole or not at all."""

from __future__ import annotations

import json
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from gpusim.arch import GpuSpec
from gpusim.engine.result import SimulationResult
from gpusim.errors import UserError
from gpusim.program import Program
from gpusim.report.html import Page, render_report
from gpusim.report.metric import Run
from gpusim.report.perfetto import write_trace
from gpusim.report.pictures import pictures
from gpusim.report.style import save_figure
from gpusim.report.summary import Summary
from gpusim.report.tables import all_tables

__all__ = ["RunRecord", "whole_directory", "write_run_directory"]

_MARK = "meta.json"
_LIBRARIES = ("gpusim", "numpy", "numba", "simpy", "pandas", "matplotlib")


@dataclass(frozen=True)
class RunRecord:
    """What is to be written about one run. ``config_text`` is YAML that repeats it; ``seed`` of its random inputs."""

    config_text: str
    summary: Summary
    program: Program
    result: SimulationResult
    spec: GpuSpec
    seed: int = 0


def write_run_directory(directory: Path, record: RunRecord) -> Path:
    """Write everything under ``directory``, which replaces an older run of that name.

    Raises UserError when ``directory`` exists and is not the directory of a run.
    """
    tables = all_tables(record.program, record.result)
    with whole_directory(directory) as place:
        (place / "config.resolved.yaml").write_text(record.config_text, encoding="utf-8")
        _write_json(place / "summary.json", record.summary)
        for name, table in tables.items():
            table.to_csv(place / f"{name}.csv", index=False)
            table.to_parquet(place / f"{name}.parquet", index=False)
        metadata = {"name": record.summary["name"], "gpu": record.spec.name, "clock_mhz": record.result.clock_mhz}
        write_trace(place / "trace.json.gz", record.program, record.result, metadata)
        run = Run(record.program, record.result, record.spec)
        page = Page(run, record.summary, tables, dict(_figures(place, record)), record.config_text)
        (place / "report.html").write_text(render_report(page), encoding="utf-8")
        _write_json(place / _MARK, _meta(record))
    return directory


@contextmanager
def whole_directory(directory: Path) -> Iterator[Path]:
    """A temporary directory beside ``directory`` that takes its place when the block ends well."""
    if directory.exists() and not (directory / _MARK).exists():
        raise UserError("the output directory exists and holds something else than a run", place="output",
                        got=f"'{directory}'", suggestion="choose another with --output")
    directory.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        yield place
        place.chmod(0o755)
        old = place.with_name(place.name + ".old")
        if directory.exists():
            directory.replace(old)
        place.replace(directory)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _figures(place: Path, record: RunRecord) -> Iterator[tuple[str, str]]:
    """Every figure as files, and its SVG text by name."""
    for name, drawn in pictures(Run(record.program, record.result, record.spec), record.summary["name"]):
        svg, _ = save_figure(drawn, place / name)
        text = svg.read_text(encoding="utf-8")
        yield name, text[text.index("<svg") :]


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, default=_as_json) + "\n", encoding="utf-8")


def _as_json(value: object) -> object:
    """NumPy scalars as Python numbers."""
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(f"cannot write {type(value).__name__} as JSON")
    return item()


def _meta(record: RunRecord) -> dict[str, Any]:
    return {
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in _LIBRARIES},
        "machine": platform.machine(),
        "seed": record.seed,
        "finished": pd.Timestamp.now(tz="UTC").isoformat(timespec="seconds"),
        **record.summary["engine"],
    }


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
