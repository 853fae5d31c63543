"""A ring of TMA, wgmma and TMA stores: right when every step is there, and wrong, with a hazard that says so, when one
is left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.cute.gmma import GMMA_SPANS
from gpusim.errors import SimulatedFailure
from gpusim.verify import ExecutionResult, execute

STAGES, M, N, K = 2, 64, 64, 64


@gs.kernel
def ring(ctx, A, B, D, *, leave_out="", tx_bytes=0):  # type: ignore[no-untyped-def]
    mma = gs.tiled_mma(gs.mma.SM90_64x64x16_F32F16F16F32_SS, tile=(M, N), warps=(4, 1))
    m, n = ctx.launch((-(-A.shape[0] // M), -(-B.shape[0] // N)), warps=5)
    gA, gB = ctx.bulk_tile(A, (M, K), (m, None)), ctx.bulk_tile(B, (N, K), (n, None))
    gD = ctx.bulk_tile(D, (M, N), (m, n))
    sA = ctx.smem_operand("sA", gs.f16, (M, K, STAGES))
    sB = ctx.smem_operand("sB", gs.f16, (N, K, STAGES))
    sD = ctx.smem_operand("sD", gs.f16, (M, 16, 2), swizzle="32B")
    ab = ctx.pipeline("ab", num_stages=STAGES, tx_bytes=tx_bytes or sA.stage_bytes + sB.stage_bytes)
    with ctx.role("producer", warps=1):
        ctx.init_barriers()
        ctx.sync_threads()
        for k in ctx.range(gA.count):
            empty = ab.producer().acquire_and_advance()
            ctx.copy(gs.copy.SM90_TMA_LOAD, gA[..., k], sA[..., empty.index], barrier=empty.barrier)
            ctx.copy(gs.copy.SM90_TMA_LOAD, gB[..., k], sB[..., empty.index], barrier=empty.barrier)
    with ctx.role("consumer", warps=4):
        accumulators, consumer = ctx.accumulators(mma), ab.consumer()
        ctx.sync_threads()
        for k in ctx.range(gA.count):
            stage = k % STAGES
            if leave_out != "wait":
                full = consumer.wait_and_advance()
            if leave_out != "fence of registers":
                ctx.warpgroup_arrive()
            ctx.gemm(mma, accumulators, sA[..., stage], sB[..., stage], accumulate=k > 0)
            ctx.warpgroup_commit()
            if leave_out == "wait":
                ctx.warpgroup_wait(0)
                continue
            if leave_out == "wait for wgmma":
                full.release()
            if leave_out != "wait for accumulators" or k < gA.count - 1:
                ctx.warpgroup_wait(0)
            if leave_out != "wait for wgmma":
                full.release()
        for part in range(N // 16):
            packed = ctx.pack(accumulators, 0, 16 * part, 16)
            ctx.store_matrix(mma, packed, sD[..., part % 2])
            if leave_out != "fence":
                ctx.fence_async()
            ctx.named_barrier(1, warps=4)
            ctx.copy(gs.copy.SM90_TMA_STORE, sD[..., part % 2], gD.part((M, 16), 0, part))
            ctx.bulk_commit()
            if leave_out != "wait for store":
                ctx.bulk_wait(1)
            ctx.named_barrier(1, warps=4)
        ctx.bulk_wait(0)


def run(sizes: tuple[int, int, int] = (64, 64, 320), **parameters: object) -> tuple[ExecutionResult, np.ndarray]:
    m, n, k = sizes
    tensors = [gs.tensor(name, gs.f16, shape) for name, shape in (("A", (m, k)), ("B", (n, k)), ("D", (m, n)))]
    program = ring.record(gs.load_gpu("h200"), *tensors, **parameters)
    generator = np.random.default_rng(7)
    a, b = (generator.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (n, k)))
    return execute(program, {"A": a, "B": b}), (a.astype("f4") @ b.astype("f4").T).astype("f2")


@pytest.mark.parametrize("sizes", [(64, 64, 64), (64, 64, 640), (128, 192, 320), (72, 104, 200)])
def test_the_whole_ring_multiplies(sizes: tuple[int, int, int]) -> None:
    result, expected = run(sizes)
    assert result.hazards == []
    np.testing.assert_array_equal(result.outputs["D"], expected)
    assert (result.written["D"] == 1).all()


@pytest.mark.parametrize(("leave_out", "kind", "says"), [
    ("wait", "uninitialised", "before anything wrote them"),  # the consumer is the first to run
    ("wait for wgmma", "war_async", "while a wgmma or bulk store"),
    ("wait for accumulators", "group", "belong to a wgmma"),
])
def test_a_missing_step_gives_a_wrong_product_and_a_hazard(leave_out: str, kind: str, says: str) -> None:
    k = K * STAGES if leave_out == "wait" else 5 * K  # who never waits cannot release either
    result, expected = run((64, 64, k), leave_out=leave_out)
    assert not np.array_equal(result.outputs["D"], expected)
    assert kind in {hazard.kind for hazard in result.hazards}
    assert any(says in hazard.sentence for hazard in result.hazards)


@pytest.mark.parametrize(("leave_out", "kind"), [
    ("fence", "proxy"), ("wait for store", "war_async"), ("fence of registers", "wgmma_fence")])
def test_a_missing_step_that_silicon_may_forgive_is_a_hazard(leave_out: str, kind: str) -> None:
    result, _ = run(leave_out=leave_out)
    assert {hazard.kind for hazard in result.hazards} == {kind}


@gs.kernel
def from_registers(ctx, A, B, D, *, leave_out=""):  # type: ignore[no-untyped-def]
    """One warpgroup keeps A in registers, two stages in turn; D is never stored."""
    mma = gs.tiled_mma(gs.mma.SM90_64x64x16_F32F16F16F32_RS, tile=(M, N), warps=(4, 1))
    m, n = ctx.launch((1, 1), warps=4)
    gA, gB = ctx.bulk_tile(A, (M, K), (m, None)), ctx.bulk_tile(B, (N, K), (n, None))
    sA, sB = (ctx.smem_operand(name, gs.f16, (64, K, STAGES)) for name in ("sA", "sB"))
    ab = ctx.pipeline("ab", num_stages=STAGES, tx_bytes=sA.stage_bytes + sB.stage_bytes)
    accumulators, fragment = ctx.accumulators(mma), ctx.operand_fragment(mma, K)
    ctx.init_barriers()
    ctx.sync_threads()
    for k in range(STAGES):
        empty = ab.producer().acquire_and_advance()
        ctx.copy(gs.copy.SM90_TMA_LOAD, gA[..., k], sA[..., empty.index], barrier=empty.barrier)
        ctx.copy(gs.copy.SM90_TMA_LOAD, gB[..., k], sB[..., empty.index], barrier=empty.barrier)
    for k in range(STAGES):
        full = ab.consumer().wait_and_advance()
        if leave_out != "load":
            ctx.load_operand(fragment, sA[..., k])
        if leave_out != "fence" or k == 0:
            ctx.warpgroup_arrive()
        ctx.gemm(mma, accumulators, fragment, sB[..., k], accumulate=k > 0)
        ctx.warpgroup_commit()
        if leave_out != "wait":
            ctx.warpgroup_wait(0)
        full.release()
    ctx.warpgroup_wait(0)


def with_a_in_registers(leave_out: str) -> ExecutionResult:
    shapes = {"A": (M, 2 * K), "B": (N, 2 * K), "D": (M, N)}
    program = from_registers.record(gs.load_gpu("h200"), *(gs.tensor(name, gs.f16, shape)
                                                           for name, shape in shapes.items()), leave_out=leave_out)
    return execute(program, {name: np.ones(shape, np.float16) for name, shape in shapes.items()})


@pytest.mark.parametrize(("leave_out", "kind"), [("", ""), ("wait", "group"), ("fence", "wgmma_fence")])
def test_registers_of_a_belong_to_wgmma_until_it_is_waited_for(leave_out: str, kind: str) -> None:
    kinds = {hazard.kind for hazard in with_a_in_registers(leave_out).hazards}
    assert kind in kinds if kind else not kinds


def test_a_that_was_never_loaded_is_refused() -> None:
    with pytest.raises(gs.UserError, match="A must be in registers before a wgmma reads it"):
        with_a_in_registers("load")


@gs.kernel
def round_trip(ctx, A, D, *, tile=(64, 64), swizzle="128B", major="K"):  # type: ignore[no-untyped-def]
    """One warp brings tiles by TMA and sends them on."""
    m, _ = ctx.launch((-(-A.shape[0] // tile[0]), 1), warps=1)
    gA, gD = ctx.bulk_tile(A, tile, (m, None)), ctx.bulk_tile(D, tile, (m, None))
    sA = ctx.smem_operand("sA", gs.f16, (*tile, 2), swizzle=swizzle, major=major)
    ring = ctx.pipeline("ring", num_stages=2, tx_bytes=sA.stage_bytes, consumer_warps=1)
    ctx.init_barriers()
    ctx.sync_threads()
    producer, consumer = ring.producer(), ring.consumer()
    for column in ctx.range(gA.count):
        empty = producer.acquire_and_advance()
        ctx.copy(gs.copy.SM90_TMA_LOAD, gA[..., column], sA[..., empty.index], barrier=empty.barrier)
        full = consumer.wait_and_advance()
        ctx.copy(gs.copy.SM90_TMA_STORE, sA[..., full.index], gD[..., column])
        ctx.bulk_commit()
        ctx.bulk_wait(0)
        full.release()


@settings(deadline=None, max_examples=40)
@given(swizzle=st.sampled_from(["128B", "64B", "32B", "none"]), major=st.sampled_from(["K", "MN"]),
       rows=st.integers(1, 5), blocks=st.integers(1, 3), sizes=st.tuples(st.integers(1, 150), st.integers(1, 150)))
def test_what_tma_brings_it_takes_back(swizzle: str, major: str, rows: int, blocks: int,
                                       sizes: tuple[int, int]) -> None:
    """Any tile, swizzle and major, tensors that end anywhere: every element arrives, nothing else is written."""
    along = GMMA_SPANS[swizzle] // 2 * blocks
    tile = (64 * rows, along) if major == "K" else (-(-along // 64) * 64, 8 * rows)
    assume(2 * 2 * tile[0] * tile[1] <= gs.load_gpu("h200").sm.shared_bytes_per_cta_max)  # two stages of it
    mode = int(major == "K")
    strides = [1, 1]
    strides[1 - mode] = -(-sizes[mode] // 8) * 8
    tensors = [gs.tensor(name, gs.f16, sizes, strides=tuple(strides)) for name in "AD"]
    program = round_trip.record(gs.load_gpu("h200"), *tensors, tile=tile, swizzle=swizzle, major=major)
    a = np.random.default_rng(rows).standard_normal(sizes).astype(np.float16)
    result = execute(program, {"A": a})
    np.testing.assert_array_equal(result.outputs["D"], a)
    assert (result.written["D"] == 1).all()
    assert result.hazards == []


def test_bytes_that_never_come_are_a_deadlock_with_names() -> None:
    with pytest.raises(SimulatedFailure, match=r"role 'consumer'\) wait for mbarrier ab\.full\[0\].*and 16 bytes"):
        run(tx_bytes=16384 + 16)
