"""Occupancy equals the driver's answer on every measured launch, and obeys the laws that any such answer obeys."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.arch import check_launch, load_gpu, occupancy
from gpusim.arch.occupancy import LIMITERS
from gpusim.arch.paths import find_data
from gpusim.errors import UserError
from gpusim.experiments.occupancy import occupancy_csv

HARDWARE = find_data("gpusim/data/hardware/h200")
H200 = load_gpu("h200")


def test_the_driver_agrees_on_every_row():
    measured = pd.read_csv(HARDWARE / "occupancy.csv")
    table = occupancy_csv(HARDWARE / "occupancy.csv", "h200")
    assert list(table.columns) == [
        "registers_per_thread",
        "threads_per_block",
        "dynamic_smem_bytes",
        "blocks_per_sm",
        "limiter",
    ]
    assert len(table) == 400
    assert (table.blocks_per_sm == measured.blocks_per_sm).all()
    assert set(table.limiter) <= set(LIMITERS)


def test_the_profiler_agrees_on_every_kernel():
    kernels = pd.read_csv(HARDWARE / "kernels.csv")
    for row in kernels.itertuples():
        answer = occupancy(H200, row.threads, row.registers, int(row.smem_bytes))
        assert answer.blocks_per_sm == row.blocks_per_sm, row.kernel


launches = st.tuples(st.integers(1, 1024), st.integers(1, 255), st.integers(0, 232448))


@given(launches)
def test_what_is_resident_fits_and_one_more_does_not(launch):
    threads, registers, shared = launch
    answer, sm = occupancy(H200, *launch), H200.sm
    warps, per_warp = -(-threads // 32), -(-registers * 32 // 256) * 256
    slots = sm.registers // 4 // per_warp * 4  # each quarter of the register file holds whole warps
    taken = -(-(shared + 1024) // 128) * 128

    def fits(blocks):
        return blocks * warps <= slots and blocks * warps <= 64 and blocks <= 32 and blocks * taken <= sm.shared_bytes

    if answer.blocks_per_sm < 0:
        assert not fits(1)
    else:
        assert fits(answer.blocks_per_sm) and not fits(answer.blocks_per_sm + 1)
        assert answer.limits[answer.limiter] == min(answer.limits.values()) == answer.blocks_per_sm
        assert answer.theoretical_pct == pytest.approx(100 * answer.blocks_per_sm * warps / 64)


@given(launches, st.integers(0, 2), st.integers(1, 64))
def test_asking_for_more_never_fits_more(launch, which, more):
    bigger = list(launch)
    bigger[which] += more
    assert occupancy(H200, *bigger).blocks_per_sm <= occupancy(H200, *launch).blocks_per_sm


@pytest.mark.parametrize(
    ("launch", "limiter", "sentence"),
    [
        ((1025, 32, 0), "warps", "h200: a CTA has at most 1024 threads, got 1025; use fewer warps per CTA"),
        ((128, 256, 0), "registers", "h200: a thread has at most 255 registers, got 256; use a smaller tile per warp"),
        (
            (128, 32, 232449),
            "shared_mem",
            "h200: a CTA has at most 232448 bytes of shared memory, got 232449; use fewer",
        ),
        ((512, 255, 0), "registers", "one CTA does not fit into the 65536 registers of an SM, got 512 threads of 255"),
    ],
)
def test_what_the_driver_refuses_is_minus_one_with_a_reason(launch, limiter, sentence):
    answer = occupancy(H200, *launch)
    assert (answer.blocks_per_sm, answer.limiter, answer.warps_per_sm) == (-1, limiter, 0)
    with pytest.raises(UserError) as caught:
        check_launch(H200, *launch)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("launch", [(0, 32, 0), (128, 0, 0), (128, 32, -1)])
def test_no_kernel_is_like_that(launch):
    with pytest.raises(UserError, match=r"occupancy: .* should be at least"):
        occupancy(H200, *launch)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("registers_per_thread,threads_per_block\n32,128\n", "launches.csv: column 'dynamic_smem_bytes' is missing"),
        (
            "registers_per_thread,threads_per_block,dynamic_smem_bytes\n32,128,0\n32,many,0\n",
            "launches.csv: row 2: threads_per_block should be a whole number, got 'many'",
        ),
        ("", "the file cannot be read as CSV"),
    ],
)
def test_a_wrong_table_is_named_with_its_column(tmp_path, text, sentence):
    path = tmp_path / "launches.csv"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        occupancy_csv(path, "h200")
    assert sentence in str(caught.value)
