"""Stores that come faster than the port or L2 takes them, and whose registers wait for the LSU: laws, and H200 rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_programs import Memory, Row, issue_cycles, loop, program, rows, run, small_gpu

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data

MEASURED = pd.read_csv(find_data("gpusim/data/hardware/h200/store_queue.csv")).query(
    "beside == 'nothing' and row_bytes == 16 and writers == 4").set_index("sms")
PIECES = {"d": Memory("STG32", lines=8)}
"""Eight rows of 16 bytes: half a sector of eight lines."""
STORES = 256


def writers(stores: int, ctas: int = 1) -> object:
    """CTAs of four warps, each with so many stores of eight pieces."""
    return program([(4, loop([Row("STG", access="d", stall=12)], stores))], PIECES, ctas=ctas, cta_bytes=4096)


def test_the_port_of_one_sm_takes_two_cycles_for_a_piece_of_a_sector() -> None:
    """store_queue.csv: between the 32nd and the 128th store of each warp."""
    cycles = issue_cycles(run(writers(STORES), small_gpu(1)), 0)
    measured = MEASURED.loc[1]
    assert cycles[128] - cycles[32] == pytest.approx(measured["after_128"] - measured["after_32"], rel=0.05)


def test_stores_issue_without_a_wait_until_buffer_and_queues_are_full() -> None:
    """store_queue.csv: the first fourteen of each warp, in all 58, and then one by one as the port takes them."""
    cycles = np.array(issue_cycles(run(writers(STORES), small_gpu(1)), 0))
    free = int(np.argmax(np.diff(cycles) > 30))
    assert 12 <= free <= 17


def test_a_chip_full_of_stores_waits_for_l2() -> None:
    """store_queue.csv, 132 SMs: half as slow again as one, from the 40th store on."""
    cycles = issue_cycles(run(writers(130, ctas=132), load_gpu("h200")), 0)
    measured = MEASURED.loc[132]
    assert cycles[128] - cycles[40] == pytest.approx(measured["after_128"] - measured["after_40"], rel=0.25)
    alone = MEASURED.loc[1]
    assert cycles[128] - cycles[40] > 1.3 * (alone["after_128"] - alone["after_40"])


def test_at_most_so_many_stores_are_on_their_way() -> None:
    """Then they go as fast as L2 takes them."""
    in_flight, stores = 600, 400
    gpu = small_gpu(1, f"noc.stores_in_flight={in_flight}", "l2.write_request_cycles=400")
    turns = 8 * gpu.noc.unfilled_sector_cycles
    cycles = np.array(issue_cycles(run(program(loop([Row("STG", access="d")], stores), PIECES), gpu), 0))
    behind = 400  # its lines are the same as those of the store before, in a slice each
    waited = np.diff(cycles[in_flight // turns + 40 :])
    assert waited.mean() == pytest.approx(behind, rel=0.05)


def test_windows_do_not_change_when_stores_leave() -> None:
    """Slices are slow enough that the limit of unconfirmed stores is what the warps wait for."""
    mixed = rows("STG access=d stall=3\nLDG access=a write=0 stall=2\nSTG access=w stall=2\nNOP wait=0") * 20
    accesses = {**PIECES, "a": Memory("LDG32", lines=4), "w": Memory("STG128", lines=4)}
    tiny = program([(6, mixed)], accesses, ctas=4, cta_bytes=8192)
    gpu, free = (small_gpu(2, f"noc.stores_in_flight={turns}", "l2.write_request_cycles=60") for turns in (600, 1024))
    whole, *others = (run(tiny, gpu, window_cycles=window) for window in (gpu.l2.lookahead_cycles, 1, 7, 120))
    assert not np.array_equal(whole.state_cycles, run(tiny, free).state_cycles)
    for other in others:
        assert other.cycles == whole.cycles
        np.testing.assert_array_equal(other.state_cycles, whole.state_cycles)


@pytest.mark.parametrize(("name", "registers", "memory"), [
    ("LDS", 1, Memory("LDS32", (32,))), ("STS", 2, Memory("STS32", (32,))), ("STS", 5, Memory("STS128", (8,)))])
def test_a_queue_holds_instructions_and_the_load_store_unit_registers(
    name: str, registers: int, memory: Memory
) -> None:
    """lsu.csv: ten wait for the unit, whatever they hold; behind them is room for sixteen registers."""
    gpu = small_gpu(1)
    cycles = np.array(issue_cycles(run(program(loop([Row(name, access="s")], 60), {"s": memory}), gpu), 0))
    free = int(np.argmax(np.diff(cycles) > 16)) + 1
    mio = gpu.mio
    beyond = gpu.mio.loads_per_warp if name == "LDS" else 1
    assert free == pytest.approx(mio.queue_depth + mio.buffer_registers // registers + beyond, abs=2)
