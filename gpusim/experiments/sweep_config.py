"""Models the configuration of a sweep: a run, and lists of values for some of its keys.
Leaves out running it (gpusim.experiments.sweep)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from gpusim.arch.paths import list_data
from gpusim.errors import UserError, did_you_mean
from gpusim.experiments.batch import Job
from gpusim.validation import Document, read_yaml, validate_document

__all__ = ["Point", "SweepConfig", "list_sweeps", "load_sweep"]

_DIRECTORY = "configs/sweeps"


class SweepConfig(BaseModel):
    """Every combination of the grid's values, on top of one run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str = Field(description="Name or file of a run or a program, as for gpusim run.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Keys that differ from the run in every point.")
    grid: Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)] = Field(
        description="Keys and the values each one takes; all combinations are simulated."
    )
    output: str = Field(default="reports/runs", description="Directory that receives the directory of this sweep.")

    def points(self) -> list[Point]:
        """Every combination, the last key running fastest."""
        combinations = itertools.product(*self.grid.values())
        return [Point(dict(zip(self.grid, values, strict=True)), self._job(values)) for values in combinations]

    def _job(self, values: Iterable[Any]) -> Job:
        chosen = {**self.settings, **dict(zip(self.grid, values, strict=True))}
        return Job(self.run, tuple(f"{key}={json.dumps(value)}" for key, value in chosen.items()))


@dataclass(frozen=True)
class Point:
    """One combination of the grid, and the job that simulates it."""

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
    return Path(name_or_path).stem, validate_document(document, SweepConfig)


def _find(name_or_path: str) -> Document:
    known = list_sweeps()
    if name_or_path.endswith((".yaml", ".yml")):
        return read_yaml(name_or_path)
    if name_or_path not in known:
        raise UserError("no such sweep", place="sweep", got=f"'{name_or_path}'",
                        suggestion=did_you_mean(name_or_path, known) if known else "give a YAML file")
    return read_yaml(known[name_or_path])
