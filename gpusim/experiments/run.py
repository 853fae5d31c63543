"""Models one run: configuration in; program, simulation and summary out; and the run directory.
Leaves out terminals (gpusim.cli)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpusim.arch import GpuSpec, load_gpu
from gpusim.engine import RecordWindow, simulate
from gpusim.engine.result import SimulationResult
from gpusim.errors import UserError
from gpusim.experiments.config import Plan, RunConfig, to_yaml
from gpusim.experiments.window import guess_start, measured_start, shows_main_loop
from gpusim.program import Program
from gpusim.report.run_directory import RunRecord, write_run_directory
from gpusim.report.summary import Summary, summarise

__all__ = ["Outcome", "Progress", "record_plan", "simulate_plan", "simulate_program", "write_run"]

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Outcome:
    """Everything one run produced. ``plan`` is what was asked for."""

    plan: Plan
    program: Program
    spec: GpuSpec
    result: SimulationResult
    summary: Summary


def record_plan(plan: Plan, spec: GpuSpec) -> Program:
    """The op table of the plan's program. Raises UserError for what the kernel or the hardware refuses."""
    config = plan.config
    parameters = {name: tuple(value) if isinstance(value, list) else value for name, value in config.parameters.items()}
    return plan.program.record(spec, plan.problem, schedule=config.schedule, registers=config.registers, **parameters)


def simulate_plan(plan: Plan, *, record: bool = True, workers: int = 1, progress: Progress | None = None) -> Outcome:
    """Record, simulate and summarise. ``record``: keep the events of the configuration's timeline window."""
    spec = load_gpu(plan.config.gpu)
    program = record_plan(plan, spec)
    result = simulate_program(plan.config, program, spec, record=record, workers=workers, progress=progress)
    summary = {**summarise(plan.name, program, result, spec), "problem": plan.problem}
    return Outcome(plan, program, spec, result, summary)


def simulate_program(
    config: RunConfig, program: Program, spec: GpuSpec, *, record: bool = True, workers: int = 1,
    progress: Progress | None = None,
) -> SimulationResult:
    """Simulate a recorded program as the configuration says; where it leaves the window open, the main loop's."""
    window = _first_window(config, program, spec) if record else None
    result = _simulate(config, program, spec, window, workers, progress)
    if window and config.timeline.start_cycle == "auto" and not shows_main_loop(program, result):
        window = _measured_window(config, program, result)
        result = _simulate(config, program, spec, window, workers, progress)
    return result


def write_run(outcome: Outcome) -> Path:
    """Write the run directory: ``<output>/<name>-<hash of the configuration>``, so equal runs share one."""
    text = to_yaml(outcome.plan.resolved())
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    directory = Path(outcome.plan.config.output) / f"{outcome.plan.name}-{digest}"
    return write_run_directory(
        directory, RunRecord(text, outcome.summary, outcome.program, outcome.result, outcome.spec)
    )


def _simulate(
    config: RunConfig, program: Program, spec: GpuSpec, window: RecordWindow | None, workers: int,
    progress: Progress | None,
) -> SimulationResult:
    return simulate(
        program, spec, fidelity=config.fidelity, l2=config.l2, launch_overhead=config.launch_overhead,
        workers=workers, policy=config.issue_policy, record=window, progress=progress, flush=config.flush,
    )


def _first_window(config: RunConfig, program: Program, spec: GpuSpec) -> RecordWindow | None:
    timeline = config.timeline
    if timeline.cycles == 0:
        return None
    if timeline.sm >= spec.sm.count:
        raise UserError("the GPU has no such SM", place="timeline.sm", got=timeline.sm,
                        suggestion=f"SMs are 0 to {spec.sm.count - 1}")
    start = timeline.start_cycle
    if start == "auto":
        start = guess_start(program, spec, launch_overhead=config.launch_overhead)
    return RecordWindow(timeline.sm, start, start + timeline.cycles)


def _measured_window(config: RunConfig, program: Program, result: SimulationResult) -> RecordWindow:
    timeline = config.timeline
    start = measured_start(program, result, sm=timeline.sm, cycles=timeline.cycles)
    return RecordWindow(timeline.sm, start, start + timeline.cycles)
