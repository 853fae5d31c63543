"""Blocks that multiply on the fma pipe: products stay in order, shared memory does not wait for them, loads from global
memory come at once. Beside them, 22 loops as ptxas has them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from backend_strategies import MNEMONICS, TABLE, block, op, random_blocks
from hypothesis import HealthCheck, given, settings

import gpusim as gs
from gpusim.arch import Kind
from gpusim.arch.paths import find_data
from gpusim.dsl.backend import Block
from gpusim.dsl.backend.graph import dependence_graph
from gpusim.dsl.backend.instruction import Instruction, accumulates, decode, has_tensor_work
from gpusim.dsl.backend.schedule import list_schedule
from gpusim.dsl.backend.spacing import spaced

A, B, SUMS = (0, 20, 100)


def scheduled(given_block: Block) -> list[int]:
    code = spaced(decode(given_block.ops[: given_block.rows], MNEMONICS, TABLE))
    return list_schedule(code, dependence_graph(code, given_block.keys))


def products(count: int, *, a: int = A, b: int = B) -> list[np.ndarray]:
    """Each with factors and a sum of its own."""
    return [op("IMAD", (SUMS + n, 1), (a + n, 1), (b + n, 1), (SUMS + n, 1)) for n in range(count)]


def rows_of(code: list[Instruction], kind: Kind) -> list[int]:
    return [row for row, one in enumerate(code) if one.kind == kind]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_blocks(max_rows=25))
def test_products_keep_their_order(given_block: Block) -> None:
    code = spaced(decode(given_block.ops[: given_block.rows], MNEMONICS, TABLE))
    order = scheduled(given_block)
    sums = [row for row in order if accumulates(code[row])]
    assert has_tensor_work(code) or sums == sorted(sums)


def test_a_product_waits_for_the_one_before_it() -> None:
    """The first one's factor comes late, the others' are there: nobody overtakes it."""
    rows = [op("LDS.64", (A, 2), (700, 1)), *products(8)]
    order = scheduled(block(*rows))
    assert order == list(range(9))


def test_a_fragment_load_issues_as_soon_as_its_registers_are_free() -> None:
    """Products 2 and 3 read what it overwrites, ten others follow that do not: it stands right behind the third."""
    rows = [*products(13), op("LDS.64", (A + 1, 2), (700, 1))]
    order = scheduled(block(*rows))
    assert order.index(13) == 3


def test_loads_from_global_memory_come_behind_the_first_step_with_their_arithmetic() -> None:
    """Two steps of eight products, and between them in the source four loads, whose addresses hang on each other."""
    loads = []
    for n in range(4):
        loads += [op("IMAD.WIDE", (600 + 2 * n + 2, 2), (710, 1), (711, 1), (600 + 2 * n, 2)),
                  op("LDG.E", (640 + n, 1), (600 + 2 * n + 2, 2))]
    rows = [*loads, *products(8), *products(8, a=A + 40, b=B + 40)]
    order = scheduled(block(*rows))
    assert sorted(order[:8]) == list(range(8, 16))
    assert sorted(order[8:16]) == list(range(8))


def test_no_store_passes_a_fragment_load() -> None:
    """Though they touch different stages: its address could be that of the load, which waits for a product."""
    rows = [*products(4), op("LDS.64", (A + 2, 2), (700, 1)), op("STS", (0, 0), (701, 1), (702, 1))]
    order = scheduled(block(*rows, keys=(-1, -1, -1, -1, 3, 7)))
    assert order.index(5) > order.index(4)


def test_no_fragment_load_passes_a_copy() -> None:
    rows = [op("IMAD.WIDE", (600, 2), (710, 1), (711, 1), (602, 2)),
            op("LDGSTS.E.BYPASS.LTC128B.128", (0, 0), (700, 1), (600, 2)), op("LDS.64", (A, 2), (701, 1))]
    order = scheduled(block(*rows, keys=(-1, 3, 7)))
    assert order == [0, 1, 2]


def _loops() -> list[dict[str, str]]:
    with find_data("gpusim/data/hardware/h200/simt_loops.csv").open() as table:
        return list(csv.DictReader(table))


def recorded_loop(kernel: str) -> tuple[dict[str, list[int]], int]:
    """How many FFMAs stand before each instruction in a turn of the main loop, by mnemonic; its stall counts."""
    sizes = re.fullmatch(r"simt_(\d+)x(\d+)x(\d+)_w(\d+)x(\d+)x(\d+)_s2_(\w\w)", kernel)
    assert sizes
    m, n, k, *warp = map(int, sizes.groups()[:6])
    program = gs.load_program("sgemm_pipelined").record(
        gs.load_gpu("h200"), {"M": m, "N": n, "K": 8 * k}, tile=(m, n, k), warp=tuple(warp), layouts=sizes[7])
    ops = program.classes[0].roles[0].ops
    names = [static.mnemonic for static in program.statics]
    back, _ = Counter(pc for pc in ops["pc"].tolist() if names[pc] == "BRA").most_common(1)[0]
    first, last = list(pairwise(np.flatnonzero(ops["pc"] == back)))[2]
    turn, places, seen = ops[first + 1:last + 1], {name: [] for name in ("LDG", "STS", "BAR", "LDS")}, 0
    for name in (names[pc] for pc in turn["pc"]):
        seen += name == "FFMA"
        for start in places:
            if name.startswith(start):
                places[start].append(seen)
    return places, int(turn["stall"].sum())


def test_loops_look_like_those_of_ptxas() -> None:
    """22 loops of MmaPipelined. Stores and the barrier stand 50 products away, as ptxas has fragments of one step and a
    half or of three at once (DEVIATIONS 24)."""
    off: dict[str, list[float]] = {name: [] for name in ("LDG", "STS", "BAR", "LDS", "stalls")}
    for row in _loops():
        places, stalls = recorded_loop(row["kernel"])
        for name, found in places.items():
            compiled = [int(word) for word in row[name.lower()].split()]
            assert len(found) == len(compiled)
            off[name].append(float(np.abs(np.subtract(found, compiled)).mean()))
        off["stalls"].append(100.0 * (stalls / int(row["stall_cycles"]) - 1.0))
    means = {name: float(np.mean(values)) for name, values in off.items()}
    print({name: round(mean, 1) for name, mean in means.items()}, "median LDG", np.median(off["LDG"]))
    assert np.median(off["LDG"]) == 0.0
    assert means["LDG"] < 15 and means["LDS"] < 30 and means["STS"] < 60
    assert means["stalls"] == pytest.approx(0.0, abs=3.0)
