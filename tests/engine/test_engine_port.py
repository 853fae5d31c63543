"""Compares what reads wait for behind stores with an H200: at their SM's port (loads_behind_writes.csv, compiled code
replayed), and in L2 for lines of which there are copies (written_copies.csv)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from engine_replays import replayed_clocks

from gpusim.arch.loader import load_gpu
from gpusim.arch.paths import find_data
from gpusim.engine.machine import machine_of, machine_record
from gpusim.engine.memory import warm_lines
from gpusim.engine.memory_state import new_memory
from gpusim.engine.places import locate
from gpusim.engine.slices import read_near, write_copies
from gpusim.experiments.micro.compiled import CompiledKernel
from gpusim.sass.launch import Scalar, TensorPointer

BEHIND = pd.read_csv(find_data("gpusim/data/hardware/h200/loads_behind_writes.csv")).query("pause == 0")
LAUNCH = ["bytes", "load_bytes", "copy", "others"]
ROUNDS, WORDS, FEW_CYCLES, SHARE = 8, 1 << 21, 26, 1 / 8

COPIES = pd.read_csv(find_data("gpusim/data/hardware/h200/written_copies.csv")).query("mode < 3")
MACHINE = machine_of(load_gpu("h200"))
RECORD, LINE = machine_record(MACHINE), 1 << 24
READER, ALL_SECTORS = 0, 15


@cache
def load_cycles(stores: int, store_bytes: int, load_bytes: int, copy: int, others: int) -> int:
    """From the clock in front of the load to the one behind it, the least of the last four rounds."""
    kind = 2 if copy else int(load_bytes == 16)
    kernel = CompiledKernel("loads_behind_writes", f"roundsILi{stores}ELi{store_bytes}ELi{kind}E")
    tensors = TensorPointer("to", "u32", (WORDS,), True), TensorPointer("from", "u32", (WORDS,))
    out = TensorPointer("out", "u32", (2 * ROUNDS,), True)
    clocks = replayed_clocks(kernel, 1 + others, *tensors, out, Scalar(0), Scalar(0))[0].reshape(ROUNDS, -1)
    return int((clocks[:, -1] - clocks[:, -2])[ROUNDS // 2:].min())


@pytest.mark.parametrize("launch", [tuple(row) for row in BEHIND[LAUNCH].drop_duplicates().to_numpy().tolist()])
def test_reads_leave_the_sm_behind_all_stores(launch: tuple[int, int, int, int]) -> None:
    """How much later than without stores they are there: a cycle for each sector in front of them at the port."""
    rows = BEHIND[(BEHIND[LAUNCH] == list(launch)).all(axis=1)].set_index("stores").load_cycles
    for stores, cycles in rows.items():
        measured = cycles - rows[0]
        simulated = load_cycles(int(stores), *launch) - load_cycles(0, *launch)
        assert abs(simulated - measured) <= max(FEW_CYCLES, SHARE * measured), (stores, simulated, measured)


@pytest.mark.parametrize("written_by", ["nobody", "same", "other"])
@pytest.mark.parametrize("owned", ["near", "far"])
def test_a_write_from_the_other_side_of_l2_makes_a_copy_stale(owned: str, written_by: str) -> None:
    """Twice read after the write, whichever sectors it was of: only the first time, and only of a line that the
    reader's side does not own, the data come over the fabric."""
    memory = new_memory(MACHINE, np.zeros(MACHINE.num_sms, np.int64), [])
    place, line = memory.places[0, 0], LINE
    while locate(RECORD[0], line, place) or (place["partition"] == READER) != (owned == "near"):
        line += 1
    warm_lines(memory, RECORD, line, 1)
    locate(RECORD[0], line, place)
    if written_by != "nobody":
        write_copies(memory, RECORD[0], READER if written_by == "same" else 1 - READER, place, 4)
    first, second = (read_near(memory, RECORD[0], READER, place, 1, ALL_SECTORS, now, now) - now for now in (1e4, 2e4))
    rows = COPIES.query("mode == 0" if written_by == "nobody" else "mode > 0 and writer_side == @written_by")
    measured = (rows[f"{owned}_second"] - rows[f"{owned}_third"]).median()
    assert first - second == pytest.approx(measured, abs=9)
