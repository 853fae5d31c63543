"""What Hopper's verbs record: phases and their parity, arrivals and bytes, groups of wgmma; and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.program import MBarrierAction, Program, RoleProgram, unpack_mbarrier

H200 = gs.load_gpu("h200")
A = gs.tensor("A", gs.f16, (128, 512))
D = gs.tensor("D", gs.f16, (128, 64))


def record(body: Callable, spec: object = H200, a: object = A) -> Program:
    @gs.kernel
    def kernel(ctx, A, D):  # type: ignore[no-untyped-def]
        body(ctx, A, D)

    return kernel.record(spec, a, D)  # type: ignore[arg-type]


def uses(program: Program, role: RoleProgram, name: str) -> list:
    return [unpack_mbarrier(int(op["operand"])) for op in role.ops
            if program.statics[op["pc"]].mnemonic.startswith(name)]


def pipeline_program(stages: int, tiles: int) -> Program:
    return gs.load_program("hgemm_warp_specialized").record(
        H200, {"M": 64, "N": 64, "K": 64 * tiles}, tile=(64, 64, 64), num_stages=stages)


@settings(deadline=None, max_examples=12)
@given(stages=st.integers(2, 5), tiles=st.integers(1, 9))
def test_a_phase_is_waited_for_by_the_parity_of_its_round(stages: int, tiles: int) -> None:
    """Round r of a stage is its full barrier's phase r; the producer's first round waits for a phase before all."""
    program = pipeline_program(stages, tiles)
    producer, _, consumer = program.classes[0].roles
    waits = uses(program, consumer, "SYNCS.PHASECHK")
    assert [(use.index, use.parity) for use in waits] == [(k % stages, k // stages % 2) for k in range(tiles)]
    acquired = uses(program, producer, "SYNCS.PHASECHK")
    wanted = [(stages + k % stages, 1 - k // stages % 2) for k in range(tiles + stages)]  # the tail included
    assert [(use.index, use.parity) for use in acquired] == wanted
    assert all(use.action == MBarrierAction.wait for use in (*waits, *acquired))
    released = uses(program, consumer, "SYNCS.ARRIVE")
    assert [use.index for use in released] == [stages + k % stages for k in range(tiles)]


def test_barriers_count_one_producer_lane_and_every_consumer_thread() -> None:
    program = pipeline_program(3, 4)
    assert [(b.name, b.arrivals) for b in program.mbarriers] == [
        *((f"ab.full[{n}]", 1) for n in range(3)), *((f"ab.empty[{n}]", 128) for n in range(3))]
    producer = program.classes[0].roles[0]
    expecting = [op for op in producer.ops if program.statics[op["pc"]].mnemonic == "SYNCS.ARRIVE.TRANS64"]
    assert {int(op["global_offset"]) for op in expecting} == {2 * 64 * 64 * 2}
    assert {int(op["shared_offset"]) for op in expecting} == {1}


@settings(deadline=None, max_examples=12)
@given(depth=st.integers(1, 3), groups=st.integers(2, 3), rounds=st.integers(1, 4))
def test_turns_go_round(depth: int, groups: int, rounds: int) -> None:
    """Who has done a thing lets the next group do it; round r waits for phase r, group 0 for the one before."""
    def body(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
        ctx.launch((1, 1), warps=groups)
        sequence = ctx.ordered_sequence("order", depth=depth, groups=groups, warps=1)
        for number in range(groups):
            with ctx.role(f"group {number}", warps=1):
                for _ in range(rounds * depth):
                    with sequence.group(number).turn():
                        pass

    program = record(body)
    assert {barrier.arrivals for barrier in program.mbarriers} == {32}
    for number, role in enumerate(program.classes[0].roles):
        found = [(use.action.name, use.index, use.parity) for use in uses(program, role, "SYNCS")]
        assert found == [step for turn in range(rounds) for thing in range(depth) for step in (
            ("wait", thing * groups + number, (turn + (number == 0)) % 2),
            ("arrive", thing * groups + (number + 1) % groups, 0))]


def test_only_the_last_wgmma_of_a_group_closes_it() -> None:
    program = pipeline_program(2, 3)
    consumer = program.classes[0].roles[-1]
    closes = [int(op["operand"]) for op in consumer.ops if program.statics[op["pc"]].mnemonic.startswith("HGMMA")]
    assert closes == [0, 0, 0, 1] * 3


@pytest.mark.parametrize("name", ["hgemm_warp_specialized", "gemm_sm90"])
def test_control_fields_cover_every_register_hazard(name: str) -> None:
    program = gs.load_program(name).record(H200, {"M": 128, "N": 128, "K": 512})
    names = [static.mnemonic for static in program.statics]
    for role in program.classes[0].roles:
        assert check_hazards(role.ops, names, H200.instruction_table) == []


def test_accumulators_are_handed_over_by_the_wait() -> None:
    """What packs them stands behind WARPGROUP.DEPBAR 0, whatever the scheduler would like."""
    program = pipeline_program(2, 2)
    names = [program.statics[op["pc"]].mnemonic for op in program.classes[0].roles[-1].ops]
    last_wait = max(i for i, name in enumerate(names) if name.startswith("WARPGROUP.DEPBAR"))
    assert min(i for i, name in enumerate(names) if name.startswith("F2FP")) > last_wait


def begin(ctx) -> tuple:  # type: ignore[no-untyped-def]
    mma = gs.tiled_mma(gs.mma.SM90_64x64x16_F32F16F16F32_SS, tile=(128, 64), warps=(8, 1))
    m, n = ctx.launch((1, 1), warps=9)
    return mma, m, n


def two_consumers_of_one_group(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    gs.tiled_mma(gs.mma.SM90_64x64x16_F32F16F16F32_SS, tile=(64, 64), warps=(8, 1))


def narrow_instruction(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    gs.tiled_mma(gs.mma.SM90_64x32x16_F32F16F16F32_SS, tile=(64, 64), warps=(4, 1))


def commit_of_nothing(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.warpgroup_arrive()
    ctx.warpgroup_commit()


def load_without_barrier(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    _, m, _ = begin(ctx)
    gA = ctx.bulk_tile(A, (128, 64), (m, None))
    ctx.copy(gs.copy.SM90_TMA_LOAD, gA[..., 0], ctx.smem_operand("sA", gs.f16, (128, 64, 1))[..., 0])


def other_tile(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    _, m, _ = begin(ctx)
    gA = ctx.bulk_tile(A, (128, 64), (m, None))
    ctx.copy(gs.copy.SM90_TMA_LOAD, gA[..., 0], ctx.smem_operand("sA", gs.f16, (64, 64, 1))[..., 0], barrier=0)


def other_major(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    _, m, _ = begin(ctx)
    gA = ctx.bulk_tile(A, (128, 64), (m, None))
    sA = ctx.smem_operand("sA", gs.f16, (128, 64, 1), major="MN")
    ctx.copy(gs.copy.SM90_TMA_LOAD, gA[..., 0], sA[..., 0], barrier=0)


def no_such_tile(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    _, m, _ = begin(ctx)
    ctx.bulk_tile(A, (128, 64), (m, None))[..., 8]


def no_such_stage(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.smem_operand("sA", gs.f16, (128, 64, 2))[..., 2]


def narrow_blocks(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.smem_operand("sA", gs.f16, (128, 32, 2), swizzle="128B")


def unknown_transport(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.pipeline("ab", num_stages=2, via="tna", tx_bytes=16)


def no_bytes(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.pipeline("ab", num_stages=2)


def producer_releases(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.pipeline("ab", num_stages=2, tx_bytes=16).producer().acquire_and_advance().release()


def barrier_zero(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.named_barrier(0, warps=4)


def turns_of_one(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.ordered_sequence("order", depth=2, groups=1, warps=4)


def no_such_group(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.ordered_sequence("order", depth=2, groups=2, warps=4).group(2)


def odd_registers(ctx, A, D) -> None:  # type: ignore[no-untyped-def]
    begin(ctx)
    ctx.set_max_registers(100)


@pytest.mark.parametrize(("body", "sentence"), [
    (two_consumers_of_one_group, "every warpgroup multiplies 64 rows of the tile or a multiple, got 64 rows for 2"),
    (narrow_instruction, "one wgmma covers the tile along n"),
    (commit_of_nothing, "closed right behind its last wgmma"),
    (load_without_barrier, "a TMA load names the barrier that counts its bytes"),
    (other_tile, r"a bulk copy moves equal tiles, got \(128, 64\) of f16 and \(64, 64\) of f16"),
    (other_major, "TMA keeps neighbours neighbours"),
    (no_such_tile, "no such tile of A, got 8; 0 to 7"),
    (no_such_stage, "sA has the stages 0 to 1, got 2"),
    (narrow_blocks, "whole blocks of 64 elements"),
    (unknown_transport, "by TMA or by cp.async, got via='tna'"),
    (no_bytes, "counts the bytes of a stage, got 2 stages of 0 bytes"),
    (producer_releases, r"a producer commits its stages; commit\(\)"),
    (barrier_zero, "named barriers 1 to 15, got 0"),
    (turns_of_one, "two groups of warps or more take turns in a thing or more, got 1 groups of 4 warps, 2 things"),
    (no_such_group, "order has the groups 0 to 1, got 2"),
    (odd_registers, "24 to 256 registers, a multiple of 8, got 100"),
])
def test_what_hopper_refuses_is_refused_in_a_sentence(body: Callable, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(body)


def test_rows_that_tma_cannot_address_are_refused() -> None:
    with pytest.raises(gs.UserError, match="rows start at multiples of 16 bytes"):
        record(no_such_tile, a=gs.tensor("A", gs.f16, (128, 500)))


def test_nothing_of_it_runs_elsewhere() -> None:
    for body in (commit_of_nothing, narrow_blocks, odd_registers, producer_releases):
        with pytest.raises(gs.UserError, match=r"needs sm_90a, got sm_89"):
            record(body, gs.load_gpu("rtx4090"))
