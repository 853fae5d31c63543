"""Reports of warp-specialised kernels: bulk copies have stages, wgmma reads them, units are busy as the shapes say."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.arch import load_gpu
from gpusim.arch.paths import find_data
from gpusim.dsl.registry import load_program
from gpusim.engine import RecordWindow, simulate
from gpusim.report.memory_chart import memory_chart, traffic
from gpusim.report.metric import Run
from gpusim.report.roofline import roofline
from gpusim.report.rules import advise
from gpusim.report.stages import stage_use
from gpusim.report.summary import launch_occupancy, limiters
from gpusim.report.tables import global_memory_table
from gpusim.report.timeline import events_of, timeline
from gpusim.report.units import compute_units, memory_units
from gpusim.report.utilisation import utilisation

GPU = load_gpu("h200")
K_TILES, STAGES, STAGE_BYTES = 8, 6, 2 * 128 * 64 * 2


@pytest.fixture(scope="module")
def run() -> Run:
    sizes = {"M": 128, "N": 128, "K": 64 * K_TILES}
    program = load_program(find_data("programs/gemm_sm90.py")).record(GPU, sizes)
    return Run(program, simulate(program, GPU, record=RecordWindow(0, 0, 1 << 40)), GPU)


def test_every_bulk_load_is_one_copy_of_the_stage_its_mbarrier_names(run: Run) -> None:
    copies = timeline(run.program, run.result, GPU).copies
    assert [copy.group for copy in copies] == list(range(K_TILES))
    assert [copy.stage for copy in copies] == [i % STAGES for i in range(K_TILES)]
    assert len(events_of(run.result, "copy")) == 2 * K_TILES
    assert run.result.counters["bulk_bytes_loaded"] == K_TILES * STAGE_BYTES


def test_a_stage_fills_then_wgmma_reads_it(run: Run) -> None:
    use = stage_use(run.program, run.result, 0)
    assert use is not None and use.num_stages == STAGES
    for stage in range(STAGES):
        states = [span for span in use.spans if span.stage == stage]
        filled = min(span.end for span in states if span.state == "filling")
        read = [span for span in states if span.state == "being read"]
        assert read and min(span.start for span in read) >= filled


def test_the_tensor_pipe_is_busy_for_the_columns_of_each_instruction(run: Run) -> None:
    tensor = next(unit for unit in compute_units(run) if unit.name == "tensor")
    cycles = K_TILES * 4 * 2 * 128 // 2  # k steps, m tiles of 64 rows, columns by two
    assert tensor.busy_pct == pytest.approx(100 * cycles / run.result.cycles / GPU.sm.count)
    assert all(0 <= unit.busy_pct <= 100 for unit in memory_units(run))


def test_the_peak_is_that_of_the_shape() -> None:
    assert GPU.pipe_cycles("HGMMA.64x128x16.F32") == 64 and GPU.pipe_cycles("HGMMA.64x256x16.F32") == 128
    assert GPU.pipe_cycles("HMMA.16816.F32") == 6


def test_operands_and_bulk_copies_have_strips_of_their_own(run: Run) -> None:
    strips = utilisation(run.program, run.result, GPU)
    assert strips is not None
    busy = {strip.name: strip.busy_pct @ np.diff(strips.edges) / 100 for strip in strips.strips}
    stored = run.result.counters["bulk_bytes_stored"] / 64  # rows of 64 bytes, some read after the last issue
    assert busy["operands"] == pytest.approx(K_TILES * 8 * 48, rel=0.01)
    assert busy["copies"] == pytest.approx(stored, rel=0.1)  # loads are written beside what the stage does


def test_the_timeline_shows_what_tma_and_wgmma_take_of_shared_memory(run: Run) -> None:
    data = timeline(run.program, run.result, GPU)
    names = np.array([static.mnemonic.split(".")[0] for static in run.program.statics])[data.shared["pc"]]
    cycles = {name: int((data.shared["end"] - data.shared["start"])[names == name].sum()) for name in np.unique(names)}
    assert cycles["HGMMA"] == K_TILES * 8 * 48
    assert cycles.keys() == {"HGMMA", "STSM", "SYNCS", "UTMASTG"}


def test_tables_and_chart_know_what_tma_moves(run: Run) -> None:
    table = global_memory_table(run.program).set_index("label")
    loaded = table.loc[[name for name in table.index if name.startswith("tma.load")], "bytes_used"].sum()
    assert loaded == K_TILES * STAGE_BYTES and (table["bytes_used_pct"] == 100).all()
    flows = {flow.kind: flow.bytes_used for flow in traffic(run)}
    assert flows["TMA load"] == K_TILES * STAGE_BYTES and flows["TMA store"] == 128 * 128 * 2
    written = next(arrow for arrow in memory_chart(run).arrows if arrow.above.endswith("write"))
    assert written.above == "32.8 KB write" and written.below == "1.02 K sectors"


def test_every_resource_that_limits_is_named(run: Run) -> None:
    found = launch_occupancy(run.program, run.result, GPU)
    assert limiters(found) == ["registers", "shared_mem"] and found["block_limit_registers"] == 1
    assert any("The limit of 1 CTA per SM comes from the registers of its threads and from its shared memory."
               in item.sentence for item in advise(run))


def test_peaks_are_those_of_wgmma(run: Run) -> None:
    drawn = roofline(run)
    assert drawn is not None and [ceiling.title for ceiling in drawn.ceilings] == ["wgmma peak"]
