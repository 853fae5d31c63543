"""Banks of the register file: FFMAs of 38 sequences that an H200 was asked for (register_banks.csv, reuse_cache.csv),
without yields, and other arithmetic (bank_kinds.csv); the law behind them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet
from engine_programs import Row, loop, program, run, small_gpu

from gpusim.arch.paths import find_data
from gpusim.engine.register_banks import bank_reads
from gpusim.program import empty_ops

COUNT, TURNS = 120, 4
SUMS = 8
PLAIN, NAMED = (40, 60), (48, 68)
"""First register of either factor: of those that take turns, and of those with a number."""
LOOP = 22.9
"""Cycles of a turn beside its FFMAs: 143 less 120."""
FREE = {1: 143.09, 8: 268.01, 16: 537.65}
"""Cycles of a turn of 120 FFMAs that wait for no register (e0.o.e-a o0.o.e-a), by warps on the SM."""


@dataclass(frozen=True)
class Ffma:
    """Registers of both factors and the sum; ``keeps``: slots that are flagged ``.reuse``."""

    a: int
    b: int
    total: int
    keeps: str

    @property
    def reuse(self) -> int:
        return sum(1 << slot for slot, name in enumerate("ab") if name in self.keeps)

    @property
    def row(self) -> Row:
        return Row("FFMA", stall=1, reads=(self.a, self.b, self.total), reuse=self.reuse)


def _by_bank(unit: Sequence[str]) -> list[Ffma]:
    """Sequences of register_banks.csv: banks of factors and sum, and what the next one reads again."""
    kept = dict(zip("ab", PLAIN, strict=True)) if len(unit) == 1 else {}
    kept = {name: register for name, register in kept.items() if name in unit[0].partition("-")[2]}
    made = []
    for place in range(COUNT):
        banks, _, keeps = unit[place % len(unit)].partition("-")
        first = dict(zip("ab", PLAIN, strict=True))
        a, b = (kept.get(name, first[name] + 2 * (place % 4)) & ~1 | (bank == "o")
                for name, bank in zip("ab", banks, strict=False))
        made.append(Ffma(a, b, SUMS + 2 * (place % 8) + (banks[2] == "o"), keeps))
        kept = {name: register for name, register in (("a", a), ("b", b)) if name in keeps}
    return made


def _by_name(unit: Sequence[str]) -> list[Ffma]:
    """Those of reuse_cache.csv: ``e0`` is always the same register, ``e`` the next one of the bank in turn."""
    made = []
    for place in range(COUNT):
        names, _, keeps = unit[place % len(unit)].partition("-")
        a, b, total = names.split(".")
        factors = [(NAMED[slot] + 2 * int(name[1]) if name[1:] else PLAIN[slot] + 2 * (place % 4)) + (name[0] == "o")
                   for slot, name in enumerate((a, b))]
        made.append(Ffma(*factors, SUMS + 2 * (place % 8) + (total == "o"), keeps))
    return made


def _sequences() -> Iterator[ParameterSet]:
    for table, made_from in (("register_banks", _by_bank), ("reuse_cache", _by_name)):
        with find_data(f"gpusim/data/hardware/h200/{table}.csv").open() as rows:
            for row in csv.DictReader(rows):
                if row["yields"] == "0":
                    measured = {warps: float(row[f"cycles_{warps}_warp{'s' * (warps > 1)}"]) for warps in FREE}
                    yield pytest.param(made_from(row["unit"].split()), measured, id=row["unit"])


@pytest.mark.parametrize(("sequence", "measured"), list(_sequences()))
def test_ffmas_wait_for_registers_as_on_silicon(sequence: list[Ffma], measured: dict[int, float]) -> None:
    """Cycles that an FFMA of every warp takes more than one, one, two and four warps to a sub-partition."""
    for warps, cycles in measured.items():
        each = max(1, warps // 4)
        turn = [ffma.row for ffma in sequence]
        once, often = (run(program([(warps, loop(turn, times))]), small_gpu(), record=None).cta_end[0]
                       for times in (1, 1 + TURNS))
        simulated = float(often - once) / (TURNS * COUNT * each) - 1.0
        lost = (cycles - FREE[warps]) / (COUNT * each)
        print(f"{warps} warps: lost {lost:.3f} cycles per FFMA, simulated {simulated:.3f}")
        assert simulated == pytest.approx(lost, abs=0.03)


NOT_BANKED = "three registers of one bank take a cycle longer: DEVIATIONS 2b"


def _kinds() -> Iterator[ParameterSet]:
    with find_data("gpusim/data/hardware/h200/bank_kinds.csv").open() as rows:
        for row in csv.DictReader(rows):
            late = row["banks"] == "eee" and row["instruction"] != "FFMA"
            marks = [pytest.mark.xfail(strict=True, reason=NOT_BANKED)] if late else []
            yield pytest.param(row["instruction"], row["banks"], float(row["cycles_1_warp"]), marks=marks,
                               id=f"{row['instruction']} {row['banks']}")


@pytest.mark.parametrize(("instruction", "banks", "cycles"), list(_kinds()))
def test_arithmetic_waits_for_registers_as_on_silicon(instruction: str, banks: str, cycles: float) -> None:
    """Cycles of one of 120, of one warp; the loop around them takes what it does with FFMAs."""
    first = (*PLAIN, 80)
    turn = [Row(instruction, stall=1, reads=tuple(first[slot] + 2 * (place % 4) + (bank == "o")
                                                  for slot, bank in enumerate(banks))) for place in range(COUNT)]
    once, often = (run(program([(1, loop(turn, times))]), small_gpu(), record=None).cta_end[0]
                   for times in (1, 1 + TURNS))
    simulated = float(often - once) / (TURNS * COUNT)
    print(f"{instruction} {banks}: measured {(cycles - LOOP) / COUNT:.3f}, simulated {simulated:.3f} cycles")
    assert simulated == pytest.approx((cycles - LOOP) / COUNT, abs=0.03)


def test_a_yield_empties_the_reuse_cache() -> None:
    ops = empty_ops(3)
    ops["src_start"][:, :3], ops["src_count"][:, :3] = (4, 6, 9), 1
    ops["reuse"] = 0b011
    everything = np.ones(3, bool)
    assert bank_reads(ops, everything).tolist() == [[2, 1], [0, 1], [0, 1]]
    ops["yield_"][1] = 1
    assert bank_reads(ops, everything).tolist() == [[2, 1], [0, 1], [2, 1]]


def test_only_what_is_banked_and_active_counts() -> None:
    ops = empty_ops(3)
    ops["src_start"][:, :3], ops["src_count"][:, :3] = (4, 6, 8), 1
    ops["active"][1] = 0
    assert bank_reads(ops, np.array([True, True, False])).tolist() == [[3, 0], [0, 0], [0, 0]]
