"""The notes' numbers on warps, threadblocks and epilogues that the other files of this folder leave out.

Each test names the rows of the inventory (WS2, MS5, ...) whose derived or quoted numbers it holds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from cutlass_helpers import active, count, mnemonics, record

import gpusim as gs
from gpusim.dsl.pieces import KRange
from gpusim.program import Program

sys.path.insert(0, str(Path(gs.load_program("sgemm_pipelined").kernel.file).parent))
from common.simt import SimtShape

SIMT = SimtShape((128, 128, 8), (32, 64, 8))
SMALL = {"tile": (64, 64, 32), "warp": (32, 32, 32)}


def rows_of(program: Program, prefix: str, scope: str = "") -> np.ndarray:
    """Ops of a CTA's warp whose mnemonic starts so."""
    ops = program.classes[0].roles[0].ops
    names = np.array([static.mnemonic for static in program.statics])[ops["pc"]]
    scopes = np.array([static.scope for static in program.statics])[ops["pc"]]
    return ops[np.char.startswith(names, prefix) & ((scopes == scope) | (scope == ""))]


def changes(registers: np.ndarray) -> int:
    return int((np.diff(registers) != 0).sum())


# 6 and 7: threads and lanes


def products_of_a_thread(gpu: str) -> np.ndarray:
    program = gs.load_program("sgemm_pipelined").record(gs.load_gpu(gpu), {"M": 128, "N": 128, "K": 8},
                                                        schedule="source")
    return rows_of(program, "FFMA", "main_loop")[:64]


def test_a_thread_multiplies_column_by_column_up_and_down() -> None:
    """T1: 64 FFMA of an 8 x 8 x 1 product, m 0 to 7 at n = 0, 7 to 0 at n = 1."""
    products = products_of_a_thread("a100")
    a, b = (products["src_start"][:, n] for n in range(2))
    assert len(set(a)) == len(set(b)) == 8
    assert changes(b) == 7 and (a[:8] == a[8:16][::-1]).all() and changes(a) == 8 * 7
    assert (products["dst_start"] == products["src_start"][:, 2]).all() and len(set(products["dst_start"])) == 64


@pytest.mark.parametrize("gpu", ["rtx3090", "h200"])
def test_since_sm_86_a_thread_multiplies_in_blocks_of_two_by_two(gpu: str) -> None:
    """Around each block, down the first pair of columns and up the next: a factor is kept from one product to the next
    but where a block begins."""
    products = products_of_a_thread(gpu)
    a, b = ((starts := products["src_start"][:, n]) - starts.min() for n in range(2))
    places = list(zip(a, b, strict=True))
    assert places[:8] == [(0, 0), (1, 0), (1, 1), (0, 1), (2, 0), (3, 0), (3, 1), (2, 1)]
    assert places[12:20] == [(6, 0), (7, 0), (7, 1), (6, 1), (6, 2), (7, 2), (7, 3), (6, 3)]
    assert len(set(products["dst_start"])) == 64
    kept = (a[1:] == a[:-1]) | (b[1:] == b[:-1])
    assert (~kept).sum() <= 16


def test_four_products_of_bytes_go_column_by_column_without_turning() -> None:
    """T3: for n, for m, no serpentine."""
    products = rows_of(record("igemm_dp4a", (128, 128, 32)), "IDP.4A", "main_loop")[:64]
    a, b = (products["src_start"][:, n].reshape(8, 8) for n in range(2))
    assert (a == a[0]).all() and (b == b[:, :1]).all()


@pytest.mark.parametrize(("warp", "lanes", "thread_tile", "places"), [
    ((32, 64, 8), (4, 8), (8, 8), {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1), 4: (0, 2), 15: (1, 7), 16: (2, 0)}),
    ((64, 32, 8), (8, 4), (8, 8), {8: (2, 0)}),
    ((16, 32, 8), (4, 8), (4, 4), {1: (0, 1), 8: (1, 0), 31: (3, 7)}),
])
def test_lanes_lie_in_an_interleaved_grid(warp: tuple, lanes: tuple, thread_tile: tuple, places: dict) -> None:
    """WS2: 8 rows of lanes where a warp is taller than wide; by two where both sides of a thread's tile exceed 4."""
    shape = SimtShape((2 * warp[0], 2 * warp[1], 8), warp)
    assert (shape.lanes, shape.thread_tile) == (lanes, thread_tile)
    row, column = shape.lane_places()
    assert {lane: (int(row[lane]), int(column[lane])) for lane in places} == places


def test_a_thread_owns_four_blocks_of_four_by_four() -> None:
    """WS3: a warp tile of 32 x 64 is 2 x 2 blocks per thread, 16 rows and 32 columns apart."""
    program = record("sgemm_pipelined", (128, 128, 8))
    accesses = program.classes[0].roles[0].accesses
    for operand, apart in (("A", 16), ("B", 32)):
        row = accesses.label.index(f"LDS128 s{operand}")
        first, second = accesses.shared_address[row, 0], accesses.shared_address[row + 1, 0]
        assert set((second - first).tolist()) == {4 * apart}
    assert SIMT.thread_places(0)[[0, 1, 16]].tolist() == [0, 4, 8]


@pytest.mark.parametrize(("padding", "layouts"), [(-1, "nt"), (-1, "tn"), (0, "tn")])
def test_fragments_of_a_simt_warp_are_free_of_conflicts_with_and_without_padding(padding: int, layouts: str) -> None:
    """WS4: one way for leading dimensions of 128 and 132; a k step of a warp needs 128 and 256 bytes."""
    accesses = record("sgemm_pipelined", (128, 128, 16), padding=padding, layouts=layouts).classes[0].roles[0].accesses
    for operand, needed in (("A", 32), ("B", 64)):
        rows = [row for row, label in enumerate(accesses.label) if label == f"LDS128 s{operand}"]
        assert (accesses.wavefronts[rows] == accesses.ideal_wavefronts[rows]).all()
        first = accesses.shared_address[rows[:2], 0].reshape(-1).astype(int)
        words = {int(address) + 4 * n for address in first for n in range(4)}
        assert len(words) == needed


@pytest.mark.parametrize(("padding", "ways"), [(-1, 1), (4, 1), (0, 8)])
def test_transposed_stores_need_their_padding(padding: int, ways: int) -> None:
    """TB4, TB5: K-major f32 by 8: 4 elements; a row of 128 has eight lanes in a bank."""
    program = record("sgemm_pipelined", (128, 128, 16), layouts="tn", padding=padding)
    accesses = program.classes[0].roles[0].accesses
    rows = [row for row, label in enumerate(accesses.label) if label in ("STS32 sA", "STS32 sB")]
    assert rows and (accesses.wavefronts[rows] == ways).all()
    assert program.launch.shared_bytes == 2 * 2 * 8 * (128 + (4 if padding else 0)) * 4  # TB8: 16896 with padding


@pytest.mark.parametrize(("input_type", "elements"), [("f64", 2), ("f32", 4)])
def test_paddings_by_type(input_type: str, elements: int) -> None:
    """TB4: threads / crosswise / (bits / 32)."""
    parameters = {"tile": (64, 64, 8), "warp": (32, 32, 8), "input_type": input_type}
    program = record("sgemm_pipelined", (64, 64, 16), layouts="tn", **parameters)
    width = 8 if input_type == "f64" else 4
    assert program.launch.shared_bytes == 2 * 2 * 8 * (64 + elements) * width


# 8: warps on tensor cores


@pytest.mark.parametrize(("gpu", "name", "instruction", "switches"), [
    ("h200", "gemm_multistage", (16, 8, 16), (3, 28)), ("t4", "gemm_pipelined", (16, 8, 8), (24, 7))])
def test_a_warp_multiplies_up_and_down(gpu: str, name: str, instruction: tuple, switches: tuple[int, int]) -> None:
    """WT10: operands of a 4 x 8 product change 3 and 28 times row by row (sm_80 on), 24 and 7 column by column."""
    program = gs.load_program(name).record(gs.load_gpu(gpu), {"M": 128, "N": 128, "K": 32}, schedule="source",
                                           tile=(128, 128, 32), warp=(64, 64, 32), instruction=instruction)
    products = rows_of(program, "HMMA", "main_loop")[:32]
    assert (changes(products["src_start"][:, 0]), changes(products["src_start"][:, 1])) == switches


@pytest.mark.parametrize(("parameters", "per_step"), [
    ({"tile": (128, 256, 32), "instruction": (16, 8, 8), "layouts": "nt"}, (2, 2)),
    ({"tile": (128, 128, 32), "instruction": (16, 8, 16), "layouts": "nt"}, (4, 4)),
])
def test_loads_of_a_k_step(parameters: dict, per_step: tuple[int, int]) -> None:
    """WT5, section 28: 64 x 64 warps load 2 x4 of each operand for k of 8, 4 for k of 16."""
    program = record("gemm_pipelined", (128, 256, 64), **parameters)
    labels = program.classes[0].roles[0].accesses.label
    loads = rows_of(program, "LDSM", "main_loop")
    k_steps = parameters["tile"][2] // parameters["instruction"][2] * 2
    for operand, expected in zip("AB", per_step, strict=True):
        assert sum(labels[row].endswith(f"s{operand}") for row in loads["access"]) == k_steps * expected


# 9 to 11: threadblocks and main loops


@pytest.mark.parametrize(("name", "parameters", "threads", "shared"), [
    ("sgemm_pipelined", {"layouts": "tn"}, 256, 16896),
    ("gemm_pipelined", {"tile": (128, 256, 32), "instruction": (16, 8, 8), "layouts": "nt"}, 256, 49152),
    ("gemm_multistage", {"tile": (64, 64, 64), "warp": (32, 32, 32)}, 256, 49152),
])
def test_launches_of_the_notes(name: str, parameters: dict, threads: int, shared: int) -> None:
    """TB3, TB8, DV1, DV2, K4, SK1: warps and shared memory of the default configurations, eight warps of sliced-K."""
    launch = record(name, (128, 256, 64), **parameters).launch
    assert (launch.threads_per_cta, launch.shared_bytes) == (threads, shared)


def test_the_epilogue_of_a_turing_tile_fits_into_its_stages() -> None:
    """K3: 16 rows of 264 floats, 16896 bytes, the last row's padding unused."""
    program = record("gemm_pipelined", (128, 256, 32), tile=(128, 256, 32), instruction=(16, 8, 8), layouts="nt")
    accesses = program.classes[0].roles[0].accesses
    rows = [row for row, label in enumerate(accesses.label) if label.startswith("STS") and label.endswith("sD")]
    assert (accesses.shared_address[rows] + accesses.bytes_per_lane[rows][:, None, None]).max() == 16 * 264 * 4 - 8 * 4


@pytest.mark.parametrize("tiles", [1, 2, 5])
@pytest.mark.parametrize(("name", "parameters", "k", "steps", "loads"), [
    ("gemm_pipelined", SMALL, 32, 2, 4), ("sgemm_pipelined", {}, 8, 8, 4),
    ("gemm_pipelined", {"tile": (64, 64, 64), "warp": (32, 32, 64)}, 64, 4, 4)])
def test_counts_of_two_stages(name: str, parameters: dict, k: int, steps: int, loads: int, tiles: int) -> None:
    """MP1: for T tiles T + 1 rounds of loads (the last one off) and stores, T + 1 barriers, 1 + T W rounds of LDS."""
    program = record(name, (128, 128, k * tiles), **parameters)
    issued, performed = len(rows_of(program, "LDG.")), len(active(program, "LDG."))
    assert issued * tiles == performed * (tiles + 1)
    stored = [row for row in rows_of(program, "STS")["access"].tolist()
              if program.classes[0].roles[0].accesses.label[row][-2:] in ("sA", "sB")]
    assert len(stored) % (tiles + 1) == 0 and stored
    assert count(program, "BAR.SYNC", "prologue") + count(program, "BAR.SYNC", "main_loop") == tiles + 1
    rounds = len(rows_of(program, "LDSM" if name == "gemm_pipelined" else "LDS.128", "prologue")) + len(
        rows_of(program, "LDSM" if name == "gemm_pipelined" else "LDS.128", "main_loop"))
    assert rounds == (1 + tiles * steps) * loads


def test_two_stages_change_places() -> None:
    """MP3: the prologue stores to stage 0, iteration 0 to stage 1, iteration 1 to stage 0; reads follow one behind."""
    program = record("gemm_pipelined", (64, 64, 32 * 4), **SMALL)
    accesses, side_by_side = program.classes[0].roles[0].accesses, 128  # bytes: two rows of a stage fold into a line
    found = {}
    for mnemonic in ("STS", "LDSM"):
        rows = [row for row in rows_of(program, mnemonic) if accesses.label[row["access"]].endswith("sA")]
        places = [int(accesses.shared_address[row["access"], 0].min() + row["shared_offset"]) for row in rows]
        found[mnemonic] = [place // side_by_side % 2 for place in places]
    assert found["STS"][::2] == [0, 1, 0, 1, 0]
    assert found["LDSM"][::2] == [0, 0, 1, 1, 0, 0, 1, 1, 0]


@pytest.mark.parametrize("stages", [3, 5])
def test_an_iteration_writes_the_stage_that_the_one_before_read(stages: int) -> None:
    """MS5: iteration i fills stage (i + S - 1) % S."""
    program = record("gemm_multistage", (64, 64, 32 * 8), num_stages=stages, **SMALL)
    role = program.classes[0].roles[0]
    copies = [row for row in rows_of(program, "LDGSTS") if role.accesses.label[row["access"]].startswith("cp.async A")]
    crosswise_stage = 64 * 2  # of 64 bytes two rows fold into a line of 128; stages lie side by side
    places = [int(role.accesses.shared_address[row["access"], 0].min() + row["shared_offset"]) for row in copies]
    first = places[::2]
    order = [(place - first[0]) // (first[1] - first[0]) for place in first]
    assert first[1] - first[0] == crosswise_stage
    assert order == [tile % stages for tile in range(stages - 1 + 8)]


@pytest.mark.parametrize(("tile", "warp", "threads", "copies"), [
    ((128, 128, 32), (64, 64, 32), 128, (4, 4)), ((128, 128, 32), (32, 64, 32), 256, (2, 2)),
    ((256, 128, 32), (64, 64, 32), 256, (4, 2)), ((128, 128, 64), (32, 64, 64), 256, (4, 4)),
])
def test_copies_of_a_thread_and_tile(tile: tuple, warp: tuple, threads: int, copies: tuple[int, int]) -> None:
    """MS8: 16 bytes each."""
    program = record("gemm_multistage", (*tile[:2], 8 * tile[2]), tile=tile, warp=warp)
    assert program.launch.threads_per_cta == threads
    labels = program.classes[0].roles[0].accesses.label
    found = [labels[row].split()[1] for row in rows_of(program, "LDGSTS", "main_loop")["access"].tolist()]
    assert (found.count("A"), found.count("B")) == (8 * copies[0], 8 * copies[1])


def test_the_tail_of_a_short_problem_still_commits() -> None:
    """MS9: one tile of k in four stages: three commits before the loop, one in it, one behind; 4 copies are on."""
    program = record("gemm_multistage", (64, 64, 32), num_stages=4, **SMALL)
    assert [count(program, "LDGDEPBAR", scope) for scope in ("prologue", "main_loop", "epilogue")] == [3, 1, 1]
    first = rows_of(program, "LDGSTS")
    lanes = program.classes[0].roles[0].accesses
    inside = [(lanes.lane_mask[row["access"]] & ~lanes.zfill_mask[row["access"]]).any() and row["active"]
              for row in first]
    assert sum(map(bool, inside)) == 4


# 13 to 17: rasters, ranges of k, predicates


@pytest.mark.parametrize(("log", "order"), [
    (0, [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]), (1, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]),
    (2, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]), (3, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)])])
def test_identity_swizzles_start_tiles_in_the_order_of_the_notes(log: int, order: list) -> None:
    """TS1 on 4 x 4 tiles."""
    program = record("gemm_multistage", (256, 256, 32), raster_log=log, **SMALL)
    place = program.cta_bases[:5, 2] - program.tensors[2].base_address
    assert [(int(p) // (64 * 256 * 2), int(p) % (256 * 2) // (64 * 2)) for p in place] == order


@pytest.mark.parametrize(("begin", "end", "ranges"), [
    (0, 100, [(0, 4), (4, 36), (36, 68), (68, 100)]), (0, 128, [(0, 32), (32, 64), (64, 96), (96, 128)]),
    (64, 100, [(64, 68), (68, 100)])])
def test_the_residue_of_k_comes_first(begin: int, end: int, ranges: list) -> None:
    """TP2, also of a slice."""
    k = KRange(begin, end, 32)
    assert [(k.start(n), k.start(n) + k.valid(n)) for n in range(k.tiles)] == ranges


@pytest.mark.parametrize(("alignment", "operation"), [(2, "CPA4"), (4, "CPA8"), (8, "CPA16")])
def test_predicates_of_a_thread(alignment: int, operation: str) -> None:
    """TP3, TP4: halves aligned to two take four copies of 4 bytes, each with a predicate, 16 to a word."""
    program = record("gemm_multistage", (128, 128, 256), alignment=alignment)
    accesses = program.classes[0].roles[0].accesses
    assert {name for name in accesses.operation if name.startswith("CPA")} == {operation}
    masks = mnemonics(program, "main_loop").count("SEL")  # each word is cleared behind the last tile
    assert masks == 8 * 2 * -(-4 * 8 // alignment // 16)


# 20 and 21: epilogues


@pytest.mark.parametrize(("name", "parameters", "steps", "stores", "loads"), [
    ("sgemm_pipelined", {}, 8, 8, 8),
    ("gemm_multistage", {}, 8, 8, 4), ("gemm_multistage", SMALL, 4, 4, 2),
])
def test_steps_of_the_epilogues(name: str, parameters: dict, steps: int, stores: int, loads: int) -> None:
    """E4, E7, E14, E17: steps of a warp tile, stores to shared memory and loads from it in a step; two barriers."""
    program = record(name, (128, 128, 64), **parameters)
    assert count(program, "STS", "epilogue") == steps * stores
    assert len([row for row in rows_of(program, "LDS", "epilogue") if row["access"] >= 0]) == steps * loads
    barriers = count(program, "BAR.SYNC", "epilogue") - (name == "gemm_multistage")
    assert barriers == 2 * steps


def test_a_step_takes_half_of_a_row_of_atoms() -> None:
    """E8: step 0 the upper pairs of the eight atoms of a row, 0, 2, 4, ... as ours are numbered, step 1 the lower."""
    program = record("gemm_multistage", (128, 128, 32), schedule="source")
    cleared = np.sort(rows_of(program, "CS2R", "prologue")["dst_start"][-64:])
    stores = rows_of(program, "STS.64", "epilogue")
    data = stores["src_start"][:, 1].reshape(8, 8)
    pairs = np.searchsorted(cleared, data)
    assert pairs[0].tolist() == list(range(0, 16, 2)) and pairs[1].tolist() == list(range(1, 17, 2))
