"""Fences of a CTA: a MEMBAR waits for its turn in the memory queue, the asynchronous proxy's for the data stage."""

from __future__ import annotations

import re

import pytest
from engine_programs import Memory, Row, issue_cycles, program, run, small_gpu
from test_engine_golden import assert_agrees

from gpusim.arch import load_gpu
from gpusim.experiments.micro.fences import fence_probes
from gpusim.experiments.micro.probe import Probe, run_probe

ACCESSES = {"sts": Memory("STS32"), "wide": Memory("STS128"), "slow": Memory("STS32", ways=(16,))}
VIEW = [Row("MEMBAR.ALL.CTA", read=0, stall=6), Row("FENCE.VIEW.ASYNC.S", write=1, wait=(0,), stall=2)]
AFTER = Row("FFMA", line=99, wait=(0, 1))


def stores(name: str, count: int) -> list[Row]:
    mnemonic = "STS.128" if name == "wide" else "STS"
    return [Row(mnemonic, access=name, stall=1)] * count


def behind(body: list[Row], warps: int = 1, warp: int = 0) -> int:
    """When the instruction behind the fence issues."""
    return issue_cycles(run(program([(warps, [*body, AFTER])], ACCESSES)), warp)[-1]


def test_a_membar_alone_takes_its_latency_and_its_turn() -> None:
    gpu = small_gpu()
    latency = gpu.instruction_table.lookup("MEMBAR.ALL.CTA").latency_cycles
    fence = Row("MEMBAR.ALL.CTA", read=0, stall=6)
    start, after, *_ = issue_cycles(run(program([(1, [fence, AFTER])], ACCESSES)))
    assert after == start + latency


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_membar_waits_for_the_queue_and_not_for_the_data_stage(count: int) -> None:
    fence = [Row("MEMBAR.ALL.CTA", read=0, stall=6)]
    slow, quick = (behind([*stores(name, count), *fence]) for name in ("slow", "sts"))
    assert slow == quick


def test_the_view_of_the_asynchronous_proxy_waits_for_each_wavefront() -> None:
    one, two, four = (behind([*stores("slow", count), *VIEW]) for count in (1, 2, 4))
    assert two - one == 2 * 16  # one of them every other cycle
    assert four - two == 4 * 16


def test_the_view_waits_for_what_other_warps_have_stored() -> None:
    def fence_of_one(body: list[Row]) -> int:
        pause = [Row("IMAD", stall=15)] * 2
        tiny = program([(1, [*pause, *VIEW, AFTER]), (1, body)], ACCESSES)
        return issue_cycles(run(tiny))[-1]

    assert fence_of_one(stores("slow", 4)) - fence_of_one([Row("NOP")]) > 60


@pytest.mark.parametrize("name", ["sts", "wide", "slow"])
@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_the_reference_agrees(name: str, warps: int) -> None:
    body = [*stores(name, 3), *VIEW, Row("BAR.SYNC", wait=(1,)), *stores(name, 1), *VIEW, AFTER]
    assert_agrees(program([(warps, body)], ACCESSES))


CHIP = re.compile(r"\d (st\.shared\.v4|stmatrix\.x4), fence\.proxy\.async\.shared::cta, 1 warps")


@pytest.mark.parametrize("probe", [p for p in fence_probes() if CHIP.fullmatch(p.what)], ids=lambda probe: probe.what)
def test_stores_of_one_warp_wait_as_long_as_on_the_chip(probe: Probe) -> None:
    assert run_probe(probe, load_gpu("h200"))["within_level"]
