"""Stores to global memory and loads from shared memory that want the same two paths: store_loads.csv, compiled and
replayed, warp by warp, and the rules read from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from engine_programs import Memory, Row, program, run, small_gpu

from gpusim.arch import load_gpu
from gpusim.engine import RecordWindow, simulate
from gpusim.experiments.micro.behind import HARDWARE, STORE_ROWS
from gpusim.experiments.micro.compiled import replay
from gpusim.experiments.micro.probe import issue_cycles
from gpusim.sass import SassLaunch

GPU = load_gpu("h200")
TABLE = pd.read_csv(HARDWARE / "h200/store_loads.csv", dtype={"storing": str})
LOWER, UPPER = 0, 160
ONE, ALL = "2", "f"
MARKS, WARPS = 4, range(4)


def data_there(bytes_: int, stores: int, storing: str, row: int, half: int, pause: int) -> tuple[list[int], list[int]]:
    """(Ours, the chip's): when each warp's ldmatrix has its data, from the first warp's clock behind its stores on."""
    launch = {"stores": stores, "bytes": bytes_, "row_bytes": row, "from_kib": half, "pause": pause, "storing": storing}
    _, kernel, parameters = STORE_ROWS.start(launch, int(storing, 16))
    sass = SassLaunch((1, 1, 1), (128, 1, 1), parameters, STORE_ROWS.shared_bytes, 128)
    result = simulate(replay(GPU, kernel=kernel, launch=sass), GPU, l2="warm", launch_overhead=False,
                      record=RecordWindow(0, 0, 1 << 40))
    read = np.array([issue_cycles(result, kernel.clock_pcs, warp)[-MARKS:] for warp in WARPS])
    chip = TABLE.query(" and ".join(f"{name} == {value!r}" for name, value in launch.items())).sort_values("warp")
    assert len(chip) == len(WARPS)
    return (read[:, 3] - read[:, 1].min()).tolist(), (chip.done.astype(int) - chip.issued.min()).tolist()


@pytest.mark.parametrize("pause", [4, 8, 12])
@pytest.mark.parametrize(("bytes_", "row"), [(4, 16), (4, 32), (4, 128), (8, 32), (8, 128), (16, 32), (16, 128)])
def test_loads_behind_one_store_have_their_data_as_measured(bytes_: int, row: int, pause: int) -> None:
    """It takes one path a while after a load would, and two cycles of it for each line; loads have the other. Of warps
    that store nothing: what the other one waits for its registers stands in the table's clocks as well."""
    ours, chip = data_there(bytes_, 1, ONE, row, LOWER, pause)
    others = [warp for warp in WARPS if int(ONE, 16) >> warp & 1 == 0]
    np.testing.assert_allclose(np.array(ours)[others], np.array(chip)[others], atol=3)


@pytest.mark.parametrize("pause", [4, 8, 12])
@pytest.mark.parametrize(("stores", "row"), [(1, 16), (1, 32), (1, 128), (2, 16), (2, 32), (2, 128)])
def test_loads_of_the_upper_half_stand_still_while_the_port_reads_lines(stores: int, row: int, pause: int) -> None:
    """All of a store's lines at once, five cycles behind the last one: up to 28 cycles more than in the lower half."""
    ours, chip = data_there(4, stores, ONE, row, UPPER, pause)
    np.testing.assert_allclose(ours, chip, atol=4)


@pytest.mark.parametrize("pause", [0, 4])
def test_loads_and_stores_that_both_wait_take_turns(pause: int) -> None:
    """Two stores of eight lines by each of four warps: the last of four loads has its data 32 cycles behind the
    first one. If loads went first it would be 24."""
    ours, chip = data_there(4, 2, ALL, 16, LOWER, pause)
    assert chip[-1] - chip[0] == 32
    np.testing.assert_allclose(ours, chip, atol=6)


@pytest.mark.parametrize("bytes_", [4, 8, 16])
def test_a_load_behind_a_store_of_its_warp_waits_for_what_all_warps_store(bytes_: int) -> None:
    """Registers of four sub-partitions cross one path by turns: the first load begins four cycles later for each."""
    ours, chip = data_there(bytes_, 1, ALL, 128, LOWER, 0)
    assert ours[0] == pytest.approx(chip[0], abs=4)


def test_a_store_comes_to_the_data_stage_later_for_each_four_lines() -> None:
    """Nothing else asks: its last line has passed, and EXIT goes on, so many cycles later."""
    def ends(lines: int) -> int:
        body = [Row("STG", access="d", stall=2)]
        return run(program([(1, body)], {"d": Memory("STG32", lines=lines)}), small_gpu(1)).cta_end[0]

    unfilled = 1 + GPU.noc.unfilled_line_cycles
    path = GPU.shared.latency_cycles_per_wavefront
    assert ends(32) - ends(16) == 16 // GPU.mio.store_lines_per_cycle + 16 * (path + unfilled)
    assert ends(17) - ends(16) == 1 + path + unfilled
    assert ends(18) - ends(17) == path + unfilled
