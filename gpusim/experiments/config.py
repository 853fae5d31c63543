"""Models the configuration of a run: which program, on which GPU, which problem, how faithfully, what to record.
Leaves out sweeps over several runs, and GPU files (gpusim.arch)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from ruamel.yaml import YAML

from gpusim.arch.paths import list_data
from gpusim.dsl import ProgramFile, load_program, program_names
from gpusim.errors import UserError, did_you_mean
from gpusim.experiments.config_mistakes import LISTING, known_program, mistakes_of, qualified
from gpusim.validation import ConfigError, Document, read_yaml, validate_document

__all__ = [
    "Plan", "RunConfig", "TimelineWindow", "is_known", "list_configs", "load_plan", "plan_of", "suggestion_for",
    "to_yaml",
]

_DIRECTORY = "configs/runs"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TimelineWindow(_Section):
    """Which cycles of which SM are recorded event by event."""

    sm: Annotated[int, Field(ge=0)] = Field(default=0, description="SM whose warps and units are recorded.")
    start_cycle: Annotated[int, Field(ge=0)] | Literal["auto"] = Field(
        default="auto", description="First recorded cycle; auto: a window in the middle of the first CTA's main loop."
    )
    cycles: Annotated[int, Field(ge=0)] = Field(default=3000, description="Length of the window; 0 records nothing.")


class RunConfig(_Section):
    """One simulation. Every key can be given on the command line as ``--set key=value``."""

    program: str = Field(description="Name of a file in programs/, or path of a Python file with a kernel.")
    gpu: str = Field(default="h200", description="Name of a file in configs/gpus/, or path of a YAML file.")
    problem: dict[str, int] = Field(default_factory=dict, description="Sizes of the problem, such as M, N, K.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="Keyword parameters of the kernel.")
    schedule: Literal["source", "list"] = Field(default="list", description="Order: as written, or as ptxas would.")
    registers: Annotated[int, Field(ge=16, le=255)] | None = Field(
        default=None, description="Registers per thread; default: the estimate from live ranges."
    )
    fidelity: Literal["full", "sampled"] = Field(default="full", description="Every SM, or a few, extrapolated.")
    l2: Literal["cold", "warm"] = Field(default="cold", description="State of the L2 when the kernel starts.")
    flush: bool = Field(default=False, description="Empty the L2 before every launch of a program, as profilers do.")
    launch_overhead: bool = Field(
        default=True, description="Count the cycles of launching and draining the grid, and waits of SMs for their "
                                  "first code and constants."
    )
    issue_policy: Literal["gto", "lrr", "oldest", "youngest", "grr"] | None = Field(
        default=None, description="Which ready warp issues; default: what the GPU's file says."
    )
    timeline: TimelineWindow = Field(default=TimelineWindow(), description="What is recorded for the timeline.")
    output: str = Field(default="reports/runs", description="Directory that receives the directory of this run.")


class Plan:
    """A checked configuration together with the program it names. ``name`` is the stem of the configuration."""

    def __init__(self, name: str, config: RunConfig, program: ProgramFile) -> None:
        self.name, self.config, self.program = name, config, program

    @property
    def problem(self) -> dict[str, int]:
        return {**self.program.sizes, **self.config.problem}

    @property
    def parameters(self) -> dict[str, Any]:
        return {**self.program.kernel.parameters, **self.config.parameters}

    def resolved(self) -> RunConfig:
        """The configuration with every default filled in."""
        return self.config.model_copy(update={"problem": self.problem, "parameters": self.parameters})


def list_configs() -> dict[str, Path]:
    """Run configurations that can be given by name."""
    return list_data(_DIRECTORY, ".yaml")


def load_plan(name_or_path: str, settings: Iterable[str] = ()) -> Plan:
    """A configuration (name or YAML path) or a program with its defaults (name or Python path), with settings applied.

    A setting whose key is a kernel parameter or a problem size may leave out ``parameters.`` / ``problem.``.
    Raises UserError or ConfigError naming the place of every mistake.
    """
    document = _find(name_or_path)
    settings = list(settings)
    return _plan(Path(name_or_path).stem, document, _program(document, settings), settings)


def plan_of(program: ProgramFile, settings: Iterable[str] = ()) -> Plan:
    """A program that is loaded already, with its defaults. Raises as load_plan does."""
    return _plan(program.name, _of_program(program.name), program, list(settings))


def _plan(name: str, document: Document, program: ProgramFile, settings: list[str]) -> Plan:
    mistakes: list[UserError] = []
    config = None
    for setting in settings:
        with _collected(mistakes):
            document = _with_setting(document, setting, program)
    with _collected(mistakes):
        config = validate_document(document, RunConfig)
    mistakes += mistakes_of(document, program)
    if mistakes or config is None:
        raise ConfigError(mistakes)
    return Plan(name, config, program)


def _with_setting(document: Document, setting: str, program: ProgramFile) -> Document:
    """The document after a setting; mistakes in it are reported with what was typed."""
    full = qualified(setting, program, RunConfig.model_fields)
    changed = document.with_settings([full])
    key = tuple(full.partition("=")[0].strip().split("."))
    return replace(changed, places={**changed.places, key: f"--set {setting}"})


@contextmanager
def _collected(mistakes: list[UserError]) -> Iterator[None]:
    """Keeps the mistakes that the block finds, so that what follows can look for more."""
    try:
        yield
    except UserError as error:
        mistakes += error.errors if isinstance(error, ConfigError) else [error]


def to_yaml(config: BaseModel) -> str:
    """The configuration as YAML that reads back to the same configuration."""
    stream = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.dump(config.model_dump(mode="json"), stream)
    return stream.getvalue()


def is_known(name_or_path: str) -> bool:
    """Whether a run or a program has this name; paths are found out when they are read."""
    return name_or_path.endswith((".yaml", ".yml", ".py")) or name_or_path in {*list_configs(), *program_names()}


def suggestion_for(name: str) -> str:
    """What is near a name that is_known does not know."""
    return did_you_mean(name, {*list_configs(), *program_names()}, listed_by=LISTING)


def _find(name_or_path: str) -> Document:
    if not is_known(name_or_path):
        raise UserError("no such configuration or program", place="CONFIG|PROGRAM", got=f"'{name_or_path}'",
                        suggestion=suggestion_for(name_or_path))
    if name_or_path.endswith((".yaml", ".yml")):
        return read_yaml(name_or_path)
    configs = list_configs()
    return read_yaml(configs[name_or_path]) if name_or_path in configs else _of_program(name_or_path)


def _of_program(name_or_path: str) -> Document:
    """What a configuration of nothing but a program would be."""
    return Document(name_or_path, {"program": name_or_path})


def _program(document: Document, settings: list[str]) -> ProgramFile:
    """The program that a document names. Where it cannot be loaded, the document's other mistakes are told too."""
    own = [setting for setting in settings if setting.partition("=")[0].partition(".")[0] in RunConfig.model_fields]
    document = document.with_settings(own)
    name, mistakes = document.data.get("program"), list[UserError]()
    if isinstance(name, str):
        with _collected(mistakes):
            return load_program(known_program(document, name))
    with _collected(mistakes):
        validate_document(document, RunConfig)
    raise ConfigError(mistakes)
