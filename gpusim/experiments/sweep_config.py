"""Models the configuration of a sweep: a run, a grid or a list of values for some of its keys, what is traded off.
Leaves out running it (gpusim.experiments.sweep)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from gpusim.arch.paths import list_data
from gpusim.errors import UserError, did_you_mean
from gpusim.experiments.batch import Job
from gpusim.experiments.compare import COLUMNS
from gpusim.experiments.config import is_known, suggestion_for
from gpusim.report.metrics import METRICS
from gpusim.validation import Document, read_yaml, validate_document

__all__ = ["Point", "SweepConfig", "list_sweeps", "load_sweep"]

_DIRECTORY = "configs/sweeps"


class SweepConfig(BaseModel):
    """Every combination of the grid's values, for every listed point, on top of one run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str = Field(description="Name or file of a run or a program, as for gpusim run.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Keys that differ from the run in every point.")
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default_factory=dict, description="Keys and the values each one takes; all combinations are simulated."
    )
    points: list[Annotated[dict[str, Any], Field(min_length=1)]] = Field(
        default_factory=list, description="Keys and values that go together, point by point; a grid multiplies them."
    )
    pareto: Annotated[dict[str, Literal["min", "max"]], Field(min_length=1)] = Field(
        default={"cycles": "min", "shared_bytes": "min"},
        description="Numbers that are traded against each other, and which way each is better.",
    )
    output: str = Field(default="reports/runs", description="Directory that receives the directory of this sweep.")

    @model_validator(mode="after")
    def _has_points(self) -> SweepConfig:
        if not self.grid and not self.points:
            raise ValueError("a sweep needs a 'grid' of values or a list of 'points'")
        twice = sorted({key for point in self.points for key in point} & set(self.grid))
        if twice:
            raise ValueError(f"'{twice[0]}' stands in 'grid' and in 'points'; keep one")
        return self

    @field_validator("pareto")
    @classmethod
    def _are_numbers(cls, pareto: dict[str, str]) -> dict[str, str]:
        known = {*(metric.name for metric in METRICS), *COLUMNS}
        for name in pareto:
            if name not in known:
                raise ValueError(f"no such number '{name}'; {did_you_mean(name, known)}")
        return pareto

    def combinations(self) -> list[Point]:
        """Every listed point with every combination of the grid, the last key running fastest."""
        rows = itertools.product(self.points or [{}], itertools.product(*self.grid.values()))
        return [self._point({**listed, **dict(zip(self.grid, values, strict=True))}) for listed, values in rows]

    def _point(self, values: dict[str, Any]) -> Point:
        chosen = {**self.settings, **values}
        return Point(values, Job(self.run, tuple(f"{key}={json.dumps(value)}" for key, value in chosen.items())))


@dataclass(frozen=True)
class Point:
    """One combination of values, and the job that simulates it."""

    values: dict[str, Any]
    job: Job


def list_sweeps() -> dict[str, Path]:
    """Sweeps that can be given by name."""
    return list_data(_DIRECTORY, ".yaml")


def load_sweep(name_or_path: str, settings: Iterable[str] = ()) -> tuple[str, SweepConfig]:
    """Name and configuration of a sweep, with ``--set`` settings on its own keys (``grid.num_stages=[2, 3]``).

    Raises UserError or ConfigError naming the place of every mistake.
    """
    document = _find(name_or_path).with_settings(settings)
    config = validate_document(document, SweepConfig)
    if not is_known(config.run):
        raise UserError("no such configuration or program", place=document.place(("run",)), got=f"'{config.run}'",
                        suggestion=suggestion_for(config.run))
    return Path(name_or_path).stem, config


def _find(name_or_path: str) -> Document:
    known = list_sweeps()
    if name_or_path.endswith((".yaml", ".yml")):
        return read_yaml(name_or_path)
    if name_or_path not in known:
        raise UserError("no such sweep", place="sweep", got=f"'{name_or_path}'",
                        suggestion=did_you_mean(name_or_path, known) if known else "give a YAML file")
    return read_yaml(known[name_or_path])
