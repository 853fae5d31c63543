"""Models `gpusim validate --micro`: every probe simulated, errors by row and by mechanism.
Leaves out the probes' tables (their own modules) and terminals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from gpusim.arch import load_gpu
from gpusim.errors import UserError
from gpusim.experiments.micro.access_reads import access_read_probes
from gpusim.experiments.micro.arrivals import arrival_probes
from gpusim.experiments.micro.behind import behind_probes
from gpusim.experiments.micro.by_line import by_line_probes
from gpusim.experiments.micro.copies import copy_probes
from gpusim.experiments.micro.copy_places import copy_place_probes
from gpusim.experiments.micro.crossings import crossing_probes
from gpusim.experiments.micro.fences import fence_probes
from gpusim.experiments.micro.halves import half_probes
from gpusim.experiments.micro.instructions import instruction_probes
from gpusim.experiments.micro.memory import memory_probes
from gpusim.experiments.micro.merges import merge_probes
from gpusim.experiments.micro.pipes import pipe_probes
from gpusim.experiments.micro.probe import Probe, run_probe
from gpusim.experiments.micro.published import published_probes
from gpusim.experiments.micro.published_tables import published_tables
from gpusim.experiments.micro.recorded import recorded_probes
from gpusim.experiments.micro.replays import blind_probes, mark_probes, replay_probes
from gpusim.experiments.micro.shared import shared_probes
from gpusim.experiments.micro.slots import slot_probes
from gpusim.experiments.micro.tiles import tile_probes
from gpusim.experiments.micro.traffic import traffic_probes
from gpusim.experiments.micro.turns import turn_probes
from gpusim.experiments.micro.under_way import under_way_probes
from gpusim.experiments.micro.warpgroup import warpgroup_probes
from gpusim.experiments.micro.writes import write_probes

__all__ = ["MicroResult", "all_probes", "chosen_probes", "validate_micro"]


@dataclass(frozen=True)
class MicroResult:
    """``rows``: one object per probe. ``mechanisms``: one per mechanism. ``summary``: over all of them."""

    rows: list[dict[str, Any]]
    mechanisms: list[dict[str, Any]]
    summary: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"summary": self.summary, "mechanisms": self.mechanisms, "rows": self.rows}


def all_probes() -> list[Probe]:
    """Every measured or published number there is a probe for."""
    compiled = [*pipe_probes(), *shared_probes(), *copy_probes(), *slot_probes(), *crossing_probes(), *write_probes()]
    compiled += [*memory_probes(), *warpgroup_probes(), *instruction_probes(), *half_probes(), *tile_probes(),
                 *traffic_probes(), *under_way_probes(), *by_line_probes(), *arrival_probes(), *behind_probes(),
                 *access_read_probes(), *copy_place_probes(), *fence_probes(), *merge_probes(), *turn_probes(),
                 *replay_probes(), *blind_probes(), *mark_probes()]
    return [*compiled, *recorded_probes(), *published_probes(), *published_tables()]


def chosen_probes(pattern: str | None) -> list[Probe]:
    """The probes whose "mechanism: what" a regular expression fits, upper or lower case; all of them without one.

    Raises UserError for a pattern that is none, or fits nothing.
    """
    try:
        fits = re.compile(pattern or "", re.IGNORECASE).search
    except re.error as error:
        raise UserError("--only needs a regular expression", got=pattern, suggestion=str(error)) from error
    probes = [probe for probe in all_probes() if fits(f"{probe.mechanism}: {probe.what}")]
    if not probes:
        raise UserError("no microbenchmark fits --only", got=pattern,
                        suggestion="the first two columns of gpusim validate --micro hold what it is compared with")
    return probes


def validate_micro(
    gpu: str = "h200", jobs: int = 1, progress: Callable[[float], None] | None = None,
    probes: Sequence[Probe] | None = None,
) -> MicroResult:
    """Simulate the probes (all of them unless given), those of no other GPU on ``gpu``.

    Raises UserError for an unknown GPU. Probes without a program keep the reason and are counted.
    """
    load_gpu(gpu)
    chosen = all_probes() if probes is None else list(probes)
    tasks = (delayed(_run)(index, probe, probe.gpu or gpu) for index, probe in enumerate(chosen))
    rows: list[dict[str, Any]] = [{} for _ in chosen]
    for done, (index, row) in enumerate(Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks), start=1):
        rows[index] = row
        if progress:
            progress(done / len(chosen))
    return MicroResult(rows, mechanism_table(rows), _totals(rows))


def _run(index: int, probe: Probe, gpu: str) -> tuple[int, dict[str, Any]]:
    return index, run_probe(probe, load_gpu(gpu))


def mechanism_table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean absolute error, bias and worst row of each mechanism, in the order of first appearance."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["mechanism"], row["gpu"]), []).append(row)
    return [{"mechanism": mechanism, "gpu": gpu, **_totals(group)} for (mechanism, gpu), group in groups.items()]


def _totals(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    built = [row for row in rows if row["error_pct"] is not None]
    total: dict[str, Any] = {"rows": len(rows), "built": len(built)}
    if not built:
        return total | {"within_level": 0, "mean_pct": None, "bias_pct": None, "worst_pct": None, "worst": ""}
    errors = pd.Series([row["error_pct"] for row in built])
    worst = int(errors.abs().argmax())
    return total | {
        "within_level": sum(bool(row["within_level"]) for row in built), "mean_pct": float(errors.abs().mean()),
        "bias_pct": float(errors.mean()), "worst_pct": float(errors[worst]), "worst": built[worst]["what"],
    }
