"""Models the configuration of a run: which program, on which GPU, which problem, how faithfully, what to record.
Leaves out sweeps over several runs, and GPU files (gpusim.arch)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from ruamel.yaml import YAML

from gpusim.arch.paths import list_data
from gpusim.dsl import ProgramFile, load_program, program_names
from gpusim.errors import UserError, did_you_mean
from gpusim.validation import ConfigError, Document, read_yaml, validate_document

__all__ = ["Plan", "RunConfig", "TimelineWindow", "list_configs", "load_plan", "plan_of", "to_yaml"]

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
    launch_overhead: bool = Field(default=True, description="Count the cycles of launching and draining the grid.")
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
    program = load_program(_program_name(document, settings))
    return _plan(Path(name_or_path).stem, document, program, settings)


def plan_of(program: ProgramFile, settings: Iterable[str] = ()) -> Plan:
    """A program that is loaded already, with its defaults. Raises as load_plan does."""
    return _plan(program.name, Document(program.name, {"program": program.name}), program, list(settings))


def _plan(name: str, document: Document, program: ProgramFile, settings: list[str]) -> Plan:
    document = document.with_settings([_qualify(setting, program) for setting in settings])
    config = validate_document(document, RunConfig)
    unknown = [
        *_unknown_keys(document, "parameters", program.kernel.parameters, f"{program.name} has no parameter"),
        *_unknown_keys(document, "problem", program.sizes, f"{program.name} has no problem size"),
    ]
    if unknown:
        raise ConfigError(unknown)
    return Plan(name, config, program)


def to_yaml(config: BaseModel) -> str:
    """The configuration as YAML that reads back to the same configuration."""
    stream = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.dump(config.model_dump(mode="json"), stream)
    return stream.getvalue()


def _find(name_or_path: str) -> Document:
    configs, programs = list_configs(), program_names()
    if name_or_path.endswith((".yaml", ".yml")):
        return read_yaml(name_or_path)
    if name_or_path in configs:
        return read_yaml(configs[name_or_path])
    if name_or_path.endswith(".py") or name_or_path in programs:
        return Document(name_or_path, {"program": name_or_path})
    raise UserError("no such configuration or program", place="run", got=f"'{name_or_path}'",
                    suggestion=did_you_mean(name_or_path, {*configs, *programs}))


def _program_name(document: Document, settings: list[str]) -> str:
    named = document.with_settings([setting for setting in settings if setting.startswith("program=")])
    if not isinstance(named.data.get("program"), str):
        validate_document(named, RunConfig)
    return str(named.data["program"])


def _qualify(setting: str, program: ProgramFile) -> str:
    """``num_stages=2`` -> ``parameters.num_stages=2``, ``M=4096`` -> ``problem.M=4096``."""
    key = setting.partition("=")[0].strip()
    if "." in key or key in RunConfig.model_fields:
        return setting
    if key in program.kernel.parameters:
        return f"parameters.{setting}"
    if key in program.sizes:
        return f"problem.{setting}"
    known = {*RunConfig.model_fields, *program.kernel.parameters, *program.sizes}
    error = UserError(f"unknown key '{key}'", place=f"--set {setting}", suggestion=did_you_mean(key, known))
    raise ConfigError([error])


def _unknown_keys(document: Document, section: str, known: Mapping[str, object], rule: str) -> list[UserError]:
    """One error for every key of a section that the program does not have."""
    given = document.data.get(section) or {}
    return [
        UserError(f"{rule} '{key}'", place=document.place((section, key)), suggestion=did_you_mean(key, known))
        for key in given if key not in known
    ]
