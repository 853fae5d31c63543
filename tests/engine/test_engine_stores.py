"""Stores that come faster than the port or L2 takes them, and whose registers wait for the LSU: laws, and H200 rows."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import pandas as pd
import pytest
from engine_programs import Memory, Row, issue_cycles, loop, program, rows, run, small_gpu

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.engine.crossbar import fence_writes, write_line
from gpusim.engine.gpc import cpcs_of, gpcs_of
from gpusim.engine.machine import machine_of, machine_record
from gpusim.engine.memory_state import new_memory
from gpusim.engine.places import locate, owner
from gpusim.engine.slices import write_wait
from gpusim.program import Launch

GPU = small_gpu(1)

MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/store_queue.csv")).query(
    "beside == 'nothing' and row_bytes == 16 and writers == 4").set_index("sms")
APART = 4
PIECES = {f"d{i}": Memory("STG32", lines=8, first_line=8 * i) for i in range(APART)}
"""Eight rows of 16 bytes: half a sector of eight lines; every fourth store of a warp writes the same ones again."""
STORES = 256


def pieces(stores: int, stall: int = 1) -> list[Row]:
    return loop([Row("STG", access=name, stall=stall) for name in PIECES], stores // APART)


def writers(stores: int, ctas: int = 1) -> object:
    """CTAs of four warps, each with so many stores of eight pieces."""
    return program([(4, pieces(stores, stall=12))], PIECES, ctas=ctas, cta_bytes=4096)


def test_the_port_of_one_sm_takes_two_cycles_for_a_piece_of_a_sector() -> None:
    """store_queue.csv: between the 32nd and the 128th store of each warp."""
    cycles = issue_cycles(run(writers(STORES), small_gpu(1)), 0)
    measured = MEASURED.loc[1]
    assert cycles[128] - cycles[32] == pytest.approx(measured["after_128"] - measured["after_32"], rel=0.05)


def test_stores_issue_without_a_wait_until_buffer_and_queues_are_full() -> None:
    """access_reads.csv, 32 lines each: twelve by each of four warps, some of sixteen, then as the port takes them."""
    scattered = program([(4, [Row("STG", access="d", stall=4)] * 24)], {"d": Memory("STG32", lines=32)})
    cycles = np.array(issue_cycles(run(scattered, small_gpu(1)), 0))
    assert 12 <= int(np.argmax(np.diff(cycles) > 30)) <= 16


def test_a_chip_full_of_stores_waits_for_l2() -> None:
    """store_queue.csv, 132 SMs: half as slow again as one, from the 40th store on."""
    cycles = issue_cycles(run(writers(136, ctas=132), load_gpu("h200")), 0)
    measured = MEASURED.loc[132]
    assert cycles[128] - cycles[40] == pytest.approx(measured["after_128"] - measured["after_40"], rel=0.25)
    alone = MEASURED.loc[1]
    assert cycles[128] - cycles[40] > 1.3 * (alone["after_128"] - alone["after_40"])


def test_at_most_so_many_stores_are_on_their_way() -> None:
    """Then they go as fast as L2 takes them."""
    in_flight, stores = 600, 400
    gpu = small_gpu(1, f"noc.stores_in_flight={in_flight}", "l2.write_request_cycles=400")
    turns = 8 * (1 + gpu.noc.unfilled_line_cycles)
    cycles = np.array(issue_cycles(run(program(pieces(stores), PIECES), gpu), 0))
    behind = 4 * 400 / 4  # four of its eight lines are in the same slice, which every fourth store writes to
    waited = np.diff(cycles[in_flight // turns + 40 :])
    assert waited.mean() == pytest.approx(behind, rel=0.05)


def test_windows_do_not_change_when_stores_leave() -> None:
    """Slices are slow enough that the limit of unconfirmed stores is what the warps wait for."""
    mixed = rows("STG access=d0 stall=3\nLDG access=a write=0 stall=2\nSTG access=w stall=2\nNOP wait=0") * 20
    accesses = {**PIECES, "a": Memory("LDG32", lines=4), "w": Memory("STG128", lines=4)}
    tiny = program([(6, mixed)], accesses, ctas=4, cta_bytes=8192)
    gpu, free = (small_gpu(2, f"noc.stores_in_flight={turns}", "l2.write_request_cycles=60") for turns in (600, 1024))
    whole, *others = (run(tiny, gpu, window_cycles=window) for window in (gpu.l2.lookahead_cycles, 1, 7, 120))
    assert not np.array_equal(whole.state_cycles, run(tiny, free).state_cycles)
    for other in others:
        assert other.cycles == whole.cycles
        np.testing.assert_array_equal(other.state_cycles, whole.state_cycles)


UNDER_WAY = [("LDS", Memory("LDS32", (32,)), 20), ("STS", Memory("STS32", (32,)), 20),
             ("STS", Memory("STS64", (16,)), 16), ("STS", Memory("STS128", (8,)), 8)]


@pytest.mark.parametrize(("name", "memory", "taken"), UNDER_WAY)
def test_a_queue_holds_instructions_and_the_load_store_unit_what_they_store(
    name: str, memory: Memory, taken: int
) -> None:
    """lsu.csv: ten wait for the unit, whatever they hold; access_reads.csv: what it takes of one warp's, with the one
    that takes its path and three that wait for it; stores until 4 KiB are under way."""
    cycles = np.array(issue_cycles(run(program([Row(name, access="s", stall=8)] * 60, {"s": memory}), GPU), 0))
    free = int(np.argmax(np.diff(cycles) > 16)) + 1
    passed = 8 * free // 64
    assert free - passed == pytest.approx(GPU.mio.queue_depth + taken, abs=1)


BESIDE = pd.read_csv(find_data("gpusim/data/hardware/h200/stores_beside.csv"))
KINDS = {10: ("STG128", 4), 11: ("STG32", 8), 12: ("STG32", 1), 13: ("STG64", 2)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_takes_a_cycle_of_the_data_stage_for_each_line(kind: int) -> None:
    """stores_beside.csv: what stores of four warps take from eight warps that load without end, at 2, 4 and 8 ways."""
    operation, lines = KINDS[kind]
    alone = BESIDE[BESIDE.copiers == 0].set_index(["loaders", "ways"]).cycles_per_load
    together = BESIDE[(BESIDE.kind == kind) & (BESIDE.batch == 4) & (BESIDE.loaders == 8) & (BESIDE.copiers == 4)]
    unhindered = alone.loc[list(zip(together.loaders, together.ways, strict=True))].to_numpy()
    taken = together.cycles_per_copy * (1 - unhindered / together.cycles_per_load)
    assert taken.mean() == pytest.approx(lines, rel=0.1)
    body = [Row("STG", access="d")]
    result = run(program(body, {"d": Memory(operation, lines=lines)}), small_gpu(1))
    assert result.sm_counters["data_stage_cycles"][0] == lines


def loaded(
    stores: int, loads: int, operation: str = "STG32", lines: int = 32, ways: int = 8, shift: int = 0, between: str = ""
) -> list[int]:
    """When each of ``loads`` warps has what it loads, behind so many ``stores`` of another warp."""
    behind = [Row("STG", access="d", stall=2)] * stores + [Row("NOP", stall=1)]
    load = [*[Row("NOP", stall=15)] * 10, *rows(between), Row("LDS", access="s", write=0, stall=2),
            Row("NOP", wait=(0,))]
    memory = {"d": Memory(operation, lines=lines), "s": Memory("LDS32", (ways,), shift_bytes=shift)}
    result = run(program([(1, behind + rows(between)), *[(1, load)] * loads], memory), GPU)
    return [issue_cycles(result, warp)[-1] for warp in range(1, 1 + loads)]


def test_loads_pass_stores_on_the_path_that_these_leave_free() -> None:
    """store_loads.csv: behind stores that wait for the port two loads follow each other, and none waits for these."""
    (first, second), (alone, beside) = loaded(12, 2), loaded(0, 2)
    assert first == alone
    assert second - first == 8 * GPU.shared.latency_cycles_per_wavefront
    assert beside - alone < 3


def test_the_port_reads_lines_beside_loads_of_the_upper_half() -> None:
    """store_halves.csv: the part of the data array from 128 KiB on, with what the driver keeps, stands still
    meanwhile."""
    boundary = GPU.l1.stores_from_bytes - GPU.sm.shared_reserved_bytes_per_cta
    (below,), (above,) = (loaded(12, 1, "STG128", 4, 16, shift) for shift in (boundary - 4096, boundary))
    assert above - below == ceil(3 * 4 * GPU.l1.line_read_cycles), "three stores' lines, 16 cycles apart, in 32 + 22"
    assert loaded(0, 1, ways=16, shift=boundary) == loaded(0, 1, ways=16)


def test_a_port_that_reads_without_a_pause_lets_loads_of_the_upper_half_begin_when_it_has_done() -> None:
    boundary = GPU.l1.stores_from_bytes - GPU.sm.shared_reserved_bytes_per_cta
    busy = small_gpu(1, f"l1.line_read_cycles={GPU.l1.line_bytes / GPU.noc.sm_write_bytes_per_cycle}")
    memory = {"d": Memory("STG128", lines=4), "s": Memory("LDS32", (16,), shift_bytes=boundary)}
    body = [*[Row("STG", access="d", stall=15)] * 12, Row("LDS", access="s", write=0, stall=2), Row("NOP", wait=(0,))]
    stores, port = len(body) - 2, 4 * GPU.l1.line_bytes // GPU.noc.sm_write_bytes_per_cycle
    assert stores * port < issue_cycles(run(program(body, memory), busy))[-1] < (stores + 6) * port


def test_the_second_cta_stands_behind_the_first() -> None:
    """cta_halves.csv: with 113 KiB a CTA what it loads from 20 KiB on is in the upper half, from 2 KiB on it is not."""
    body = [*[Row("STG", access="d", stall=15)] * 12, Row("LDS", access="s", write=0, stall=2), Row("NOP", wait=(0,))]

    def last(shared_kib: int, place_kib: int) -> int:
        memory = {"d": Memory("STG128", lines=4), "s": Memory("LDS32", (16,), shift_bytes=place_kib << 10)}
        pair = replace(program([(1, body)], memory, ctas=2), launch=Launch((2, 1, 1), 32, 32, shared_kib << 10))
        return issue_cycles(run(pair, GPU), 0, 1)[-1]

    assert last(113, 20) > last(80, 20)
    assert last(113, 2) == last(80, 2)


BARRIER = "BAR.SYNC stall=2"


def test_a_barrier_lets_loads_pass_only_a_few_waiting_stores() -> None:
    """global_meet.csv: without a barrier loads pass all that wait, with one only those that have left the buffer."""
    few, many = GPU.mio.waiting_stores, 16
    assert loaded(many, 1) == loaded(few, 1)
    port = 32 * (1 + GPU.noc.unfilled_line_cycles)
    assert (many - few - 1) * port < loaded(many, 1, between=BARRIER)[0] < (many - few + 1) * port
    assert loaded(few, 1, between=BARRIER)[0] < 4 * port


CROSSED = pd.read_csv(find_data("gpusim/data/hardware/h200/access_reads.csv")).query(
    "kind == 0 and loads == 0 and accesses == 1 and pitch == bytes").groupby(["bytes", "warps"])["overwritten"]


@pytest.mark.parametrize("width", [4, 8, 16])
def test_what_is_stored_crosses_a_register_a_cycle(width: int) -> None:
    """access_reads.csv: of two sub-partitions a cycle apart, of four as late as all their registers together."""
    def read(warps: int) -> list[int]:
        body = [Row("STS", access="s", read=0, stall=2), Row("NOP", wait=(0,))]
        result = run(program([(warps, body)], {"s": Memory(f"STS{8 * width}")}), GPU)
        return sorted(issue_cycles(result, warp)[-1] for warp in range(warps))

    last = CROSSED.max()
    (alone,) = read(1)
    assert read(2) == [alone, alone + 1]
    assert read(4)[-1] - alone == last[width, 4] - last[width, 1]


def test_slices_take_a_sector_a_cycle_of_theirs_and_as_long_again_for_what_fills_none() -> None:
    """stores.csv, 132 SMs: 2,580 to 2,660 bytes a cycle of whole lines; a request takes 1.5 cycles of a slice, and a
    line half of whose only sector is written as long as two sectors."""
    gpu = load_gpu("h200")
    per_sector = gpu.l2.sector_bytes * gpu.l2.slices / gpu.l2.write_bytes_per_cycle
    mach = machine_record(machine_of(gpu))
    for turns, cycles in ((1.0, gpu.l2.write_request_cycles), (2.0, 2 * per_sector), (4.0, 4 * per_sector)):
        memory = new_memory(machine_of(gpu), np.zeros(gpu.sm.count, np.int64), [])
        assert write_wait(memory, mach[0], 0, 0.0, turns) == pytest.approx(cycles)


def test_a_line_that_takes_a_dirty_ones_place_waits_when_dram_is_behind() -> None:
    """memory.csv dram_write: 264 CTAs write 8 GB at 8.13 bytes a cycle each, less than L2 takes."""
    def last_written(rate: float) -> float:
        gpu = small_gpu(1, "l2.slices=2", "l2.partitions=1", "dram.channels=2", f"dram.write_bytes_per_cycle={rate}",
                        "noc.cpc_write_bytes_per_cycle=1024", "l2.write_request_cycles=1")
        machine = machine_of(gpu)
        memory, mach = new_memory(machine, np.zeros(1, np.int64), []), machine_record(machine)[0]
        place, times = memory.places[0, 0], [0.0]
        for line in range(4 * gpu.l2.capacity_bytes // gpu.l2.line_bytes):
            locate(mach, line, place)
            times.append(write_line(memory, mach, memory.ports[0], place, 15, 4.0, 0.0))
        return max(times)

    evicted = 3 * small_gpu(1).l2.capacity_bytes
    assert last_written(64) == pytest.approx(evicted / 64, rel=0.1)
    assert last_written(1 << 20) < last_written(64) / 2


FENCE_DELAYS = pd.read_csv(find_data("gpusim/data/hardware/h200/fence_delay.csv")).query(
    "bytes_per_lane == 4 and lanes in (0, 8)")


@pytest.mark.parametrize("row", [row for _, row in FENCE_DELAYS.iterrows()],
                         ids=lambda r: f"{r.lanes:.0f} lanes, {r.delay_cycles:.0f} cycles later")
@pytest.mark.parametrize("far", [False, True])
def test_a_fence_of_the_gpu_learns_of_the_writes_before_it_first(far: bool, row: pd.Series) -> None:
    """As long as on the chip, however long ago they were; the next fence has none before it."""
    machine = machine_of(load_gpu("h200"))
    record, memory = machine_record(machine)[0], new_memory(machine, np.zeros(machine.num_sms, np.int64))
    port, place = memory.ports[0], memory.places[0, 0]
    if row.lanes:
        line = next(line for line in range(64) if owner(record, line).partition == (port["partition"] + far) % 2)
        locate(record, line, place)
        write_line(memory, record, port, place, 1, 1.0, 1000.0)
    asked, measured = 1000 + row.delay_cycles, row.far_cycles if far else row.near_cycles
    assert fence_writes(record, port, asked) - asked == pytest.approx(measured, rel=0.04)
    assert fence_writes(record, port, asked) - asked == machine.l2_latency


PORTS = pd.read_csv(find_data("gpusim/data/hardware/h200/store_ports.csv")).query("sectors == 4 and few == 0")


def sectors_per_cycle(sms: np.ndarray, near: bool | None) -> float:
    """Of SMs that each write a line every four cycles, to any page, or to their side of L2 or the other one."""
    gpu, lines = load_gpu("h200"), 1024
    memory = new_memory(machine_of(gpu), gpcs_of(gpu), [], gpu.noc.cpcs_per_gpc)
    mach = machine_record(machine_of(gpu))[0]
    place, last, rng = memory.places[0, 0], np.zeros(gpu.sm.count), np.random.default_rng(7)
    pages = rng.permutation(1 << 14)
    sides = np.array([owner(mach, int(page) << 5).partition for page in pages])
    of_side = pages[sides == 0], pages[sides == 1]
    for i in range(lines):
        for sm in sms:
            side = int(memory.ports[sm]["partition"])
            chosen = pages if near is None else of_side[side if near else 1 - side]
            locate(mach, (int(chosen[(61 * sm + i // 32) % len(chosen)]) << 5) + i % 32, place)
            last[sm] = max(last[sm], write_line(memory, mach, memory.ports[sm], place, 15, 4.0, 4.0 * i))
    return float((4 * lines / (last[sms] - gpu.l2.hit_latency_cycles)).sum())


@pytest.mark.parametrize(("sms_are", "pages", "near"), [
    ("one", 0, None), ("cpc of four", 0, None), ("cpc of six", 0, None), ("cpc of six", 2, False),
    ("gpc of 16", 0, None), ("side A", 0, None), ("side A", 1, True), ("side A", 2, False),
])
def test_what_sms_write_together_goes_by_their_cpc_and_side(sms_are: str, pages: int, near: bool | None) -> None:
    """store_ports.csv: 5.07 sectors a cycle by the six SMs of a CPC, 40 by those of one side of L2, wherever to."""
    gpu = load_gpu("h200")
    gpc = gpcs_of(gpu)
    number, cpc = np.bincount(gpc).tolist().index(16), cpcs_of(gpc, gpu.noc.cpcs_per_gpc)
    sizes = np.bincount(cpc[gpc == number])
    chosen = {"one": np.arange(len(gpc)) == 0, "gpc of 16": gpc == number, "side A": gpc % gpu.l2.partitions == 0,
              "cpc of four": (gpc == number) & (cpc == sizes.argmin()),
              "cpc of six": (gpc == number) & (cpc == sizes.argmax())}[sms_are]
    measured = PORTS.query("sms_are == @sms_are and pages == @pages").sectors_per_cycle.iloc[0]
    assert sectors_per_cycle(np.flatnonzero(chosen), near) == pytest.approx(measured, rel=0.08)
