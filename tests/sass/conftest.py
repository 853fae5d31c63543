"""The calibration tables that the tests of gpusim.sass read."""

from __future__ import annotations

import csv
import importlib.resources
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def hardware() -> Path:
    return Path(str(importlib.resources.files("gpusim"))) / "data/hardware/h200"


@pytest.fixture(scope="session")
def gemm_rows(hardware: Path) -> list[dict[str, str]]:
    """Rows of kernels.csv whose disassembly is there."""
    with (hardware / "kernels.csv").open() as file:
        return [row for row in csv.DictReader(file) if (hardware / f"sass/{row['kernel']}.sass.gz").exists()]
