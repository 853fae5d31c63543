"""Models summary.json: everything a script wants to know about a run, under stable names.
Leaves out per-access and per-line numbers (gpusim.report.tables) and the machine it ran on (meta.json)."""

from __future__ import annotations

from typing import Any

from gpusim.arch import GpuSpec, occupancy
from gpusim.engine.result import SimulationResult
from gpusim.program import Program, launches_of
from gpusim.report.metric import Run
from gpusim.report.metrics import run_metrics, warp_states_per_issued
from gpusim.report.provenance import provenance_of
from gpusim.report.rules import advise
from gpusim.report.tables import shared_memory_table

__all__ = ["Summary", "launch_occupancy", "limiters", "summarise"]

Summary = dict[str, Any]


def summarise(name: str, program: Program, result: SimulationResult, spec: GpuSpec) -> Summary:
    """The summary of a run: every metric by name at the top level, then nested groups.

    ``engine`` says how fast the simulation itself was: ``host_seconds`` without compilation, ``compile_seconds``,
    ``warp_instructions_per_second``.
    """
    run = Run(program, result, spec)
    return {
        "name": name,
        "program": program.name,
        "gpu": spec.name,
        "parameters": {key: _plain(value) for key, value in program.parameters.items()},
        "settings": {key: _plain(value) for key, value in result.settings.items()},
        **run_metrics(run),
        "occupancy": launch_occupancy(program, result, spec),
        "launches": _launches(program, result),
        "warp_states": warp_states_per_issued(result),
        "shared_memory": shared_memory_table(program).to_dict("records"),
        "advice": [str(advice) for advice in advise(run)],
        "engine": {
            "warp_instructions_per_second": result.warp_instructions_per_second,
            "simulated_warp_instructions": round(result.warp_instructions * result.simulated_share),
            "host_seconds": result.host_seconds,
            "compile_seconds": result.compile_seconds,
            "sms_simulated": len(result.sms_used),
            "sms": result.num_sms,
        },
        "provenance": _provenance(run),
        "notes": list(program.notes),
        "assumptions": list(result.assumptions),
    }


def launch_occupancy(program: Program, result: SimulationResult, spec: GpuSpec) -> dict[str, Any]:
    """Launch statistics and what limits CTAs per SM, with the limit each resource would set alone."""
    launch = program.launch
    found = occupancy(spec, launch.threads_per_cta, launch.registers_per_thread, launch.shared_bytes)
    return {
        "blocks_per_sm": result.blocks_per_sm,
        "limiter": found.limiter,
        **{f"block_limit_{name}": limit for name, limit in found.limits.items()},
        "threads_per_cta": launch.threads_per_cta,
        "registers_per_thread": launch.registers_per_thread,
        "shared_bytes": launch.shared_bytes,
        "grid": "x".join(map(str, launch.grid)),
        "cluster": "x".join(map(str, launch.cluster)),
        "num_ctas": program.num_ctas,
    }


def limiters(occupancy: dict[str, Any]) -> list[str]:
    """Every resource that allows no more CTAs than there are, of the summary's ``occupancy``; the limiter first."""
    stem = "block_limit_"
    limits = {key.removeprefix(stem): limit for key, limit in occupancy.items() if key.startswith(stem)}
    least = limits[occupancy["limiter"]]
    return [occupancy["limiter"], *(name for name in limits if limits[name] == least and name != occupancy["limiter"])]


def _launches(program: Program, result: SimulationResult) -> list[dict[str, Any]]:
    """The kernels of the program, one after the other, and what each of them took."""
    cycles = result.launch_cycles or (result.cycles,)
    return [{"kernel": part.name, "cycles": took, "grid": "x".join(map(str, part.launch.grid)),
             "threads_per_cta": part.launch.threads_per_cta, "registers_per_thread": part.launch.registers_per_thread,
             "shared_bytes": part.launch.shared_bytes}
            for part, took in zip(launches_of(program), cycles, strict=True)]


def _provenance(run: Run) -> dict[str, Any]:
    """Where the numbers of the GPU that the run used come from."""
    found = provenance_of(run)
    return {
        "sentence": found.sentence, "numbers": found.total, "by_source": found.by_source,
        "guessed_pct": found.guessed_pct, "guessed_issue_pct": found.guessed_issue_pct,
        "guesses": {name: source.ref for name, source in found.guesses.items()},
    }


def _plain(value: object) -> object:
    """Numbers, text and lists as they are, anything else as text."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)
