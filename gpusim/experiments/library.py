"""Models the use from Python: ``gs.simulate(kernel, gpu="h200", M=4096)`` and what can be asked of its result.
Leaves out the command line; both simulate by way of gpusim.experiments.run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpusim.arch import load_gpu
from gpusim.dsl import ProgramFile
from gpusim.dsl.kernel import Kernel
from gpusim.dsl.tensors import GmemTensor
from gpusim.errors import UserError
from gpusim.experiments.config import Plan, RunConfig, load_plan, plan_of
from gpusim.experiments.library_result import Result
from gpusim.experiments.run import Progress, simulate_plan, simulate_program
from gpusim.program import Program
from gpusim.report.summary import summarise
from gpusim.validation import ConfigError, Document, validate_document

__all__ = ["Result", "simulate"]

_FUNCTIONS = ("problem", "flops", "reference")


def simulate(
    program: str | Path | ProgramFile | Kernel | Program, gpu: str | Path | None = None, *,
    tensors: Mapping[str, GmemTensor] | Sequence[GmemTensor] | None = None, flops: float = 0.0, workers: int = 1,
    progress: Progress | None = None, **settings: Any,
) -> Result:
    """Simulate a kernel and keep everything that was found out.

    ``program``: the name or path of a configuration or a program; a loaded program; a kernel, whose module has
    problem(), flops() and reference(), or which is given ``tensors`` (in order or by name) and its useful ``flops``; or
    a recorded Program. ``gpu``: a name or a YAML file, h200 where neither it nor a configuration says. ``settings``:
    keys of a run (``l2="warm"``, ``timeline={"cycles": 0}``), problem sizes (``M=4096``) and kernel parameters
    (``swizzle="none"``). ``progress`` takes the share done, 0 to 1.

    Raises UserError for what the kernel, the GPU or the configuration refuses, SimulatedFailure for a deadlock.
    """
    if gpu is not None and not isinstance(gpu, str | Path):
        raise UserError("a GPU is a name or a YAML file", place="gpu", got=f"a {type(gpu).__name__}",
                        suggestion='"h200", or the path of a file with "base: h200" and what differs')
    if gpu is not None:
        settings = {"gpu": str(gpu), **settings}
    if isinstance(program, Program):
        return _simulate_recorded(program, settings, workers, progress)
    if isinstance(program, Kernel) and tensors is not None:
        return _simulate_kernel(program, tensors, flops, settings, workers, progress)
    if tensors is not None or flops:
        raise UserError("tensors and flops belong to a kernel; programs bring theirs", place="simulate")
    with _places_without_option():
        plan = _plan(program, [f"{key}={json.dumps(value, default=str)}" for key, value in settings.items()])
    outcome = simulate_plan(plan, workers=workers, progress=progress)
    return Result(plan.name, outcome.program, outcome.spec, outcome.result, outcome.summary, plan)


@contextmanager
def _places_without_option() -> Iterator[None]:
    """Mistakes in settings are placed at ``M=big``, as they were given here, instead of at ``--set M=big``."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError([
            UserError(one.rule, place=one.place.removeprefix("--set "), got=one.got, suggestion=one.suggestion)
            for one in error.errors]) from None


def _plan(program: str | Path | ProgramFile | Kernel, settings: list[str]) -> Plan:
    if isinstance(program, Kernel):
        return plan_of(_file_of(program), settings)
    return plan_of(program, settings) if isinstance(program, ProgramFile) else load_plan(str(program), settings)


def _file_of(kernel: Kernel) -> ProgramFile:
    """The program that the module of a kernel is. Raises UserError where it lacks a function."""
    module = kernel.function.__globals__
    for name in _FUNCTIONS:
        if not callable(module.get(name)):
            raise UserError(f"the module of kernel {kernel.name} has no function {name}()", place="simulate",
                            suggestion="give it tensors=, or write problem(), flops() and reference() beside it")
    problem, flops, reference = (module[name] for name in _FUNCTIONS)
    summary = (module.get("__doc__") or "").strip().split("\n")[0]
    sizes = dict(module.get("SIZES", {}))
    return ProgramFile(kernel.name, summary, kernel, problem, flops, reference, sizes, module.get("followed_by"))


def _simulate_kernel(
    kernel: Kernel, tensors: Mapping[str, GmemTensor] | Sequence[GmemTensor], flops: float, settings: dict[str, Any],
    workers: int, progress: Progress | None,
) -> Result:
    """Record a kernel on tensors, then simulate it."""
    config = _config(kernel.name, {key: value for key, value in settings.items() if key not in kernel.parameters})
    ordered = [tensors[name] for name in kernel.tensor_names] if isinstance(tensors, Mapping) else list(tensors)
    parameters = {key: value for key, value in settings.items() if key in kernel.parameters}
    spec = load_gpu(config.gpu)
    program = kernel.record(spec, *ordered, flops=flops, schedule=config.schedule, registers=config.registers,
                            **parameters)
    return _finish(config, program, workers, progress)


def _simulate_recorded(
    program: Program, settings: dict[str, Any], workers: int, progress: Progress | None
) -> Result:
    for key in ("schedule", "registers", "problem", "parameters"):
        if key in settings:
            raise UserError(f"a recorded program has its {key} already", place="simulate", got=f"{key}={settings[key]}")
    return _finish(_config(program.name, settings), program, workers, progress)


def _config(name: str, settings: dict[str, Any]) -> RunConfig:
    return validate_document(Document("simulate", {"program": name, **settings}), RunConfig)


def _finish(config: RunConfig, program: Program, workers: int, progress: Progress | None) -> Result:
    spec = load_gpu(config.gpu)
    result = simulate_program(config, program, spec, workers=workers, progress=progress)
    return Result(program.name, program, spec, result, summarise(program.name, program, result, spec))
