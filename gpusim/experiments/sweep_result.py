"""Models what a sweep found: a row per point, the trade-off among them, why some have no numbers; and its files.
Leaves out how the points were simulated (gpusim.experiments.sweep)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from gpusim.experiments.batch import JobResult, Status
from gpusim.experiments.compare import COLUMNS, headline
from gpusim.experiments.pareto import pareto_front
from gpusim.experiments.sweep_config import Point
from gpusim.files import replacing
from gpusim.report.summary import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PointResult", "SweepResult"]


@dataclass(frozen=True)
class PointResult:
    """One point: its values, and its summary or why there is none. ``reused``: not simulated again."""

    values: Mapping[str, Any]
    summary: Summary | None
    status: Status = "done"
    failure: str = ""
    reused: bool = False

    @classmethod
    def of(cls, point: Point, result: JobResult, *, reused: bool = False) -> PointResult:
        return cls(point.values, result.summary, result.status, result.failure, reused)


@dataclass(frozen=True)
class SweepResult:
    """Points in the order of the sweep. ``better``: the numbers traded against each other, ``min`` or ``max`` each."""

    name: str
    directory: Path
    points: tuple[PointResult, ...]
    better: Mapping[str, str]

    @property
    def keys(self) -> list[str]:
        """What varies, in the order of the sweep."""
        return list(dict.fromkeys(key for point in self.points for key in point.values))

    @property
    def simulated(self) -> list[PointResult]:
        return [point for point in self.points if point.summary is not None]

    @property
    def reused(self) -> int:
        return sum(point.reused for point in self.points)

    def headlines(self) -> pd.DataFrame:
        """One row per simulated point with the columns of ``gpusim compare``."""
        return self._frame(self.simulated, [headline(point.summary or {}) for point in self.simulated], COLUMNS)

    def table(self) -> pd.DataFrame:
        """One row per point with every number of its summary; ``status`` and ``failure`` where there is none."""
        rows = self._rows()
        return rows.assign(**rows.drop(columns=self.keys).infer_objects())

    def failures(self) -> pd.DataFrame:
        """One row per point without numbers: its values, ``status``, and the reason."""
        failed = [point for point in self.points if point.summary is None]
        rows = [{"status": point.status, "reason": point.failure} for point in failed]
        return self._frame(failed, rows, ("status", "reason"))

    def pareto(self) -> pd.DataFrame:
        """The points that no other point of the same problem beats in everything that is traded off, best first."""
        first, way = next(iter(self.better.items()))
        table = self._rows()
        front = table.loc[pareto_front(table, self.better, self._problems()), [*self.keys, *self.better]]
        numbers = front[list(self.better)].infer_objects()
        return front.assign(**numbers).sort_values(first, ascending=way == "min", kind="stable")

    def figures(self) -> dict[str, Figure]:
        """``points``: the first traded number of each; ``pareto``: it against the second, where there are two."""
        from gpusim.report.sweep_figures import draw_pareto, draw_points

        table = self.table()
        if table[list(self.better)].notna().all(axis=1).sum() < 2:
            return {}
        drawn = {"points": draw_points(table, self.keys, *next(iter(self.better.items())), title=self.name)}
        if len(self.better) > 1:
            problems = self._problems()
            front = pareto_front(table, self.better, problems)
            drawn["pareto"] = draw_pareto(table, front, self.keys, self.better, problem=problems, title=self.name)
        return drawn

    def write(self) -> None:
        """``results`` and ``pareto`` as CSV and Parquet, figures as SVG and PNG; every file appears whole."""
        if not self.points:
            return
        for name, table in (("results", self.table()), ("pareto", self.pareto())):
            plain = table.assign(**{key: table[key].map(_text) for key in self.keys})
            with replacing(self.directory / f"{name}.csv") as place:
                plain.to_csv(place, index=False)
            with replacing(self.directory / f"{name}.parquet") as place:
                plain.to_parquet(place, index=False)
        self._write_figures()

    def _write_figures(self) -> None:
        from gpusim.report.style import save_figure

        for name, drawn in self.figures().items():
            save_figure(drawn, self.directory / name)

    def _problems(self) -> pd.Series:
        """``M=512 N=512 K=512`` of every point: only points of one problem compete."""
        sizes = [(point.summary or {}).get("problem", {}) for point in self.points]
        return pd.Series([" ".join(f"{key}={value}" for key, value in size.items()) for size in sizes])

    def _rows(self) -> pd.DataFrame:
        traded = dict.fromkeys(self.better)
        rows = [traded | _numbers(point.summary) | {"status": point.status, "failure": point.failure}
                for point in self.points]
        return self._frame(self.points, rows)

    def _frame(
        self, points: Sequence[PointResult], rows: Iterable[Mapping[str, Any]], columns: Iterable[str] = ()
    ) -> pd.DataFrame:
        keyed = [{key: _cell(point.values.get(key)) for key in self.keys} for point in points]
        merged = [{**key, **row} for key, row in zip(keyed, rows, strict=True)]
        return pd.DataFrame(merged, columns=None if merged else [*self.keys, *columns], dtype=object)


def _numbers(summary: Summary | None) -> dict[str, Any]:
    """The headline, then every other number and word of a summary, those of its groups as ``group.name``."""
    if summary is None:
        return dict.fromkeys(COLUMNS)
    return headline(summary) | {key: value for key, value in _flat(summary, "") if _is_scalar(value)}


def _flat(group: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, Any]]:
    for key, value in group.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _is_scalar(value: object) -> bool:
    return isinstance(value, bool | int | float | str)


def _cell(value: Any) -> Any:
    """A value of the sweep as a table can hold it."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def _text(value: Any) -> Any:
    return value if value is None else str(value)
