"""Compares loops of tensor instructions, ldmatrix and copies by four warps with an H100's (mix_ends.csv): a
copy behind four accesses of its warp keeps all others waiting, so that warps out of step do not fill the data stage."""

from __future__ import annotations

import pandas as pd
import pytest

from gpusim.arch.loader import load_gpu
from gpusim.arch.paths import find_data
from gpusim.experiments.micro.probe import Probe, run_probe
from gpusim.experiments.micro.shared import shared_probes

MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/mix_ends.csv")).query("late == 0")
TOLERANCE = 0.12
"""Beyond the fastest and the slowest launch, which have states of their own."""


def mixes() -> list[Probe]:
    return [probe for probe in shared_probes() if "48 turns" in probe.mechanism]


def launches(what: str) -> pd.Series:
    numbers = dict(part.split("=") for part in what.replace(",", "").split())
    rows = MEASURED
    for name, number in numbers.items():
        rows = rows[rows[name] == int(number)]
    return rows.turn


FOUR_WARPS = [pytest.param(probe, id=probe.what) for probe in mixes()
              if "ldgsts=0" not in probe.what and "warps=4" in probe.what]


@pytest.mark.parametrize("mix", FOUR_WARPS)
def test_turns_of_four_warps_that_load_and_copy_take_as_long_as_on_silicon(mix: Probe) -> None:
    simulated, measured = run_probe(mix, load_gpu("h200"))["simulated"], launches(mix.what)
    print(mix.what, measured.tolist(), simulated)
    assert (1 - TOLERANCE) * measured.min() <= simulated <= (1 + TOLERANCE) * measured.max()
