"""How fast the engine is: warp instructions a second on this host, for a kernel that keeps every SM computing."""

from __future__ import annotations

import pytest
from engine_programs import Memory, Program, loop, program, rows
from pytest_benchmark.fixture import BenchmarkFixture

from gpusim.arch import load_gpu
from gpusim.engine import SimulationResult, simulate

BODY = rows("""
    LDSM access=a write=0 stall=2
    LDSM access=a write=1 stall=2
    IADD3 stall=2
    HMMA.16816.F32 wait=0 stall=2
    HMMA.16816.F32 stall=2
    LOP3 stall=2
    HMMA.16816.F32 wait=1 stall=2
    HMMA.16816.F32 stall=2
    IMAD stall=2
    BRA stall=5
""")
WARPS, TIMES = 8, 40


def busy_chip(ctas: int) -> Program:
    """Tensor pipes at work, fed from shared memory; nothing comes from outside the SMs."""
    return program([(WARPS, loop(BODY, TIMES))], {"a": Memory("LDSM4")}, ctas=ctas)


@pytest.mark.benchmark(group="engine")
def test_warp_instructions_per_second(benchmark: BenchmarkFixture) -> None:
    gpu = load_gpu("h200")
    tiny = busy_chip(2 * gpu.sm.count)
    results: list[SimulationResult] = []
    benchmark.pedantic(lambda: results.append(simulate(tiny, gpu, l2="warm")), rounds=3, warmup_rounds=1)
    best = max(result.warp_instructions_per_second for result in results)
    benchmark.extra_info["warp_instructions"] = results[0].warp_instructions
    benchmark.extra_info["warp_instructions_per_second"] = round(best)
    assert results[0].warp_instructions == 2 * gpu.sm.count * WARPS * (len(BODY) * TIMES + 1)
    assert (results[0].cta_start >= 0).all()
    assert set(results[0].cta_sm.tolist()) == set(range(gpu.sm.count))
