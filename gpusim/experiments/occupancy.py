"""Models the occupancy of many launches at once: a table of launches in, the driver's answers out.
Leaves out the rules (gpusim.arch.occupancy) and where the table is printed (gpusim.cli)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from gpusim.arch import GpuSpec, load_gpu, occupancy
from gpusim.errors import UserError
from gpusim.experiments.csv_files import read_csv

__all__ = ["COLUMNS", "occupancy_csv"]

COLUMNS = ("registers_per_thread", "threads_per_block", "dynamic_smem_bytes")


def occupancy_csv(path: str | Path, gpu: str | GpuSpec) -> pd.DataFrame:
    """``COLUMNS`` of a CSV file plus ``blocks_per_sm`` (-1: refused) and ``limiter``; other columns are ignored.

    Raises UserError for a file that cannot be read, a missing column, and a cell that is no whole number.
    """
    spec = load_gpu(gpu) if isinstance(gpu, str) else gpu
    table = _read_columns(Path(path))
    answers = [occupancy(spec, threads, registers, smem) for registers, threads, smem in table.itertuples(index=False)]
    return table.assign(blocks_per_sm=[answer.blocks_per_sm for answer in answers],
                        limiter=[answer.limiter for answer in answers])


def _read_columns(path: Path) -> pd.DataFrame:
    table = read_csv(path, comment="#")
    for column in COLUMNS:
        if column not in table.columns:
            raise UserError(f"column '{column}' is missing", place=path.name,
                            suggestion=f"the file has: {', '.join(map(str, table.columns))}")
    return table[list(COLUMNS)].apply(lambda column: _whole_numbers(column, path))


def _whole_numbers(column: pd.Series, path: Path) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    bad = numbers.isna() | (numbers % 1 != 0)
    if bad.any():
        row = int(bad.to_numpy().argmax())
        raise UserError(f"{column.name} should be a whole number", place=f"{path.name}: row {row + 1}",
                        got=f"'{column.iloc[row]}'")
    return numbers.astype(int)
