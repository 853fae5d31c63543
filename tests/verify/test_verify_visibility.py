"""Stories of data that moves through shared memory: what each warp sees, and the hazard when it looks too early."""

from __future__ import annotations

import numpy as np
import pytest
from verify_builder import RoleBuilder, make_program, tensors

from gpusim.errors import SimulatedFailure
from gpusim.program import Program
from gpusim.verify import ExecutionResult, execute

LANE = np.arange(32)
DATA = np.arange(1000, 1256, dtype=np.uint32)  # 256 words: two warps x 32 lanes x 16 bytes
OLD = 0xFFFFFFFF


def copy_kernel(*, wait: bool = True, barrier: bool = True, neighbour: bool = True) -> Program:
    """Two warps copy 1 KiB with cp.async and store what they then see: each the other's half, or its own."""
    role = RoleBuilder(num_warps=2)
    own = np.arange(2)[:, None] * 512 + LANE * 16
    seen = own[::-1] if neighbour else own
    role.copy_async(own, own, tensor=0)
    role.commit()
    if wait:
        role.wait(0)
    if barrier:
        role.barrier()
    role.load_shared((0, 4), seen, size=16)
    role.store_global((0, 4), seen, tensor=1, size=16)
    return make_program(tensors(("A", "u32", (256,)), ("D", "u32", (256,))), role)


def run(program: Program) -> ExecutionResult:
    return execute(program, {"A": DATA})


def kinds(result: ExecutionResult) -> set[str]:
    return {hazard.kind for hazard in result.hazards}


def test_copy_wait_barrier_read_is_right() -> None:
    result = run(copy_kernel())
    np.testing.assert_array_equal(result.outputs["D"], DATA)
    assert result.hazards == []
    assert (result.written["D"] == 1).all()


def test_without_the_wait_everybody_reads_old_bytes_and_it_is_a_hazard() -> None:
    for neighbour in (False, True):
        result = run(copy_kernel(wait=False, neighbour=neighbour))
        assert (result.outputs["D"] == OLD).all()
        (hazard,) = result.hazards
        assert (hazard.kind, hazard.mnemonic, hazard.other_mnemonic) == ("raw_async", "LDS", "LDGSTS.E.BYPASS.128")
        assert hazard.copy_group == 0
        assert "still in flight" in hazard.sentence and "wait_group" in hazard.suggestion


def test_without_the_barrier_a_warp_sees_its_own_copies_only() -> None:
    own = run(copy_kernel(barrier=False, neighbour=False))
    np.testing.assert_array_equal(own.outputs["D"], DATA)
    assert own.hazards == []
    other = run(copy_kernel(barrier=False))
    assert (other.outputs["D"] == OLD).all()
    (hazard,) = other.hazards
    assert hazard.kind == "raw_async"
    assert "no barrier published" in hazard.rule and hazard.suggestion.startswith("__syncthreads")


def test_a_hazard_names_both_lines_the_cta_the_warps_and_the_bytes() -> None:
    (hazard,) = run(copy_kernel(wait=False)).hazards
    assert (hazard.place, hazard.other_place) == ("kernel.py:103", "kernel.py:100")
    assert (hazard.cta, hazard.cta_class, hazard.warp, hazard.other_warp) == (0, "interior", 0, 1)
    assert (hazard.first_byte, hazard.last_byte) == (512, 1023)
    assert hazard.sentence.startswith("kernel.py:103: raw_async: shared bytes 512..1023 are read by warp 0 while")


@pytest.mark.parametrize(("allowed", "arrived"), [(0, 3), (1, 2), (2, 1), (3, 0)])
def test_wait_group_completes_all_but_the_newest(allowed: int, arrived: int) -> None:
    """Three groups of 128 words; DEPBAR.LE n leaves the newest n in flight."""
    role, own = RoleBuilder(), LANE * 16
    for stage in range(3):
        role.copy_async(own + 512 * stage, own + 512 * stage, tensor=0)
        role.commit()
    role.wait(allowed)
    for stage in range(3):
        role.load_shared((0, 4), own + 512 * stage, size=16)
        role.store_global((0, 4), own + 512 * stage, tensor=1, size=16)
    data = np.arange(384, dtype=np.uint32)
    result = execute(make_program(tensors(("A", "u32", (384,)), ("D", "u32", (384,))), role), {"A": data})
    seen = result.outputs["D"].reshape(3, 128)
    np.testing.assert_array_equal(seen[:arrived], data.reshape(3, 128)[:arrived])
    assert (seen[arrived:] == OLD).all()
    assert [hazard.copy_group for hazard in result.hazards] == list(range(arrived, 3))


def test_empty_groups_count() -> None:
    """The forced fence at the end of a pipeline: an empty group lets wait_group 1 complete the last real one."""
    def kernel(*, forced_fence: bool) -> Program:
        role = RoleBuilder()
        role.copy_async(LANE * 16, LANE * 16, tensor=0)
        role.commit()
        if forced_fence:
            role.commit()
        role.wait(1)
        role.load_shared((0, 4), LANE * 16, size=16)
        role.store_global((0, 4), LANE * 16, tensor=1, size=16)
        return make_program(tensors(("A", "u32", (256,)), ("D", "u32", (256,))), role)

    assert kinds(run(kernel(forced_fence=True))) == set()
    assert kinds(run(kernel(forced_fence=False))) == {"raw_async"}


def test_copies_after_the_last_commit_belong_to_no_group() -> None:
    role = RoleBuilder()
    role.commit()
    role.copy_async(LANE * 16, LANE * 16, tensor=0)
    role.wait(0)
    role.load_shared((0, 4), LANE * 16, size=16)
    role.store_global((0, 4), LANE * 16, tensor=1, size=16)
    assert kinds(run(make_program(tensors(("A", "u32", (256,)), ("D", "u32", (256,))), role))) == {"raw_async"}


def test_a_wait_on_another_scoreboard_completes_no_copy() -> None:
    role = RoleBuilder()
    role.copy_async(LANE * 16, LANE * 16, tensor=0)
    role.commit()
    role.wait(3 << 16)
    role.load_shared((0, 4), LANE * 16, size=16)
    role.store_global((0, 4), LANE * 16, tensor=1, size=16)
    assert kinds(run(make_program(tensors(("A", "u32", (256,)), ("D", "u32", (256,))), role))) == {"raw_async"}


def ring_kernel(*, barrier_before_overwrite: bool) -> Program:
    """Both warps read warp 1's half, then warp 0's next copy lands there: a stage overwritten too early, or not."""
    role, half = RoleBuilder(num_warps=2), LANE * 16
    first, second = np.stack([half, half + 512]), np.stack([half + 512, half])
    for words, offset in ((first, 0), (second, 1024)):
        role.copy_async(words, words + offset, tensor=0)
        role.commit()
        role.wait(0)
        role.barrier()
        role.load_shared((0, 4), second, size=16)
        role.store_global((0, 4), second + offset, tensor=1, size=16)
        if barrier_before_overwrite:
            role.barrier()
    return make_program(tensors(("A", "u32", (512,)), ("D", "u32", (512,))), role)


def test_overwriting_a_stage_that_others_still_read_is_war() -> None:
    data = np.arange(512, dtype=np.uint32)
    assert kinds(execute(ring_kernel(barrier_before_overwrite=True), {"A": data})) == set()
    role, half = RoleBuilder(num_warps=2), np.stack([LANE * 16, LANE * 16 + 512])
    role.copy_async(half, half, tensor=0)
    role.commit()
    role.wait(0)
    role.barrier()
    read = role.load_shared((0, 4), half[::-1], size=16)
    overwrite = role.copy_async(half, half + 1024, tensor=0)
    role.store_global((0, 4), half, tensor=1, size=16)
    result = execute(make_program(tensors(("A", "u32", (512,)), ("D", "u32", (512,))), role), {"A": data})
    (hazard,) = result.hazards
    assert hazard.kind == "war"
    assert (hazard.place, hazard.other_place) == (f"kernel.py:{overwrite}", f"kernel.py:{read}")
    assert "one more stage" in hazard.suggestion


def test_overwriting_what_only_the_same_warp_read_is_fine() -> None:
    assert kinds(execute(ring_kernel(barrier_before_overwrite=False), {"A": np.arange(512, dtype=np.uint32)})) == set()


def test_two_warps_storing_to_the_same_bytes_is_waw() -> None:
    role = RoleBuilder(num_warps=2)
    role.load_global((0, 1), LANE * 4, tensor=0)
    role.store_shared((0, 1), LANE * 4)
    (hazard,) = run(make_program(tensors(("A", "u32", (256,))), role)).hazards
    assert (hazard.kind, hazard.warp, hazard.other_warp) == ("waw", 0, 1)


def test_storing_over_a_copy_in_flight_is_waw_even_by_the_same_warp() -> None:
    role = RoleBuilder()
    role.load_global((0, 1), LANE * 4, tensor=0)
    role.copy_async(LANE * 16, LANE * 16, tensor=0)
    role.store_shared((0, 1), LANE * 4)
    assert kinds(run(make_program(tensors(("A", "u32", (256,))), role))) == {"waw"}


def test_stores_are_seen_by_their_warp_at_once_and_by_others_after_a_barrier() -> None:
    def kernel(*, barrier: bool) -> Program:
        role = RoleBuilder(num_warps=2)
        own = np.arange(2)[:, None] * 128 + LANE * 4
        role.load_global((0, 1), own, tensor=0)
        role.store_shared((0, 1), own)
        role.load_shared((1, 1), own)
        role.store_global((1, 1), own, tensor=1)
        if barrier:
            role.barrier()
        role.load_shared((2, 1), own[::-1])
        role.store_global((2, 1), own[::-1] + 256, tensor=1)
        return make_program(tensors(("A", "u32", (256,)), ("D", "u32", (128,))), role)

    late, early = run(kernel(barrier=True)), run(kernel(barrier=False))
    np.testing.assert_array_equal(late.outputs["D"], np.tile(DATA[:64], 2))
    np.testing.assert_array_equal(early.outputs["D"][:64], DATA[:64])
    assert (early.outputs["D"][64:] == OLD).all()
    assert (kinds(late), kinds(early)) == (set(), {"raw"})


def test_reading_what_nobody_wrote_is_a_hazard_unless_the_value_is_never_used() -> None:
    def kernel(*, used: bool) -> Program:
        role = RoleBuilder()
        role.load_shared((0, 1), LANE * 4)
        if used:
            role.store_global((0, 1), LANE * 4, tensor=0)
        return make_program(tensors(("D", "u32", (32,))), role)

    assert kinds(execute(kernel(used=True), {})) == {"uninitialised"}
    assert kinds(execute(kernel(used=False), {})) == set()


def test_hazards_are_counted_once_per_pair_of_lines() -> None:
    role = RoleBuilder()
    role.copy_async(LANE * 16, LANE * 16, tensor=0)
    role.load_shared((0, 4), LANE * 16, size=16)
    role.store_global((0, 4), LANE * 16, tensor=1, size=16)
    role.rows += [{**row, "pc": pc} for _ in range(2) for pc, row in enumerate(role.rows) if pc > 0]  # unrolled
    program = make_program(tensors(("A", "u32", (256,)), ("D", "u32", (256,))), role)
    (hazard,) = run(program).hazards
    assert hazard.count == 3


def producer_consumer(*, consumer_syncs: bool) -> Program:
    producer = RoleBuilder(num_warps=1, name="producer")
    producer.copy_async(LANE * 16, LANE * 16, tensor=0)
    producer.commit()
    producer.wait(0)
    producer.barrier(1)
    consumer = RoleBuilder(num_warps=1, first_warp=1, name="consumer")
    if consumer_syncs:
        consumer.barrier(1)
    consumer.load_shared((0, 4), LANE * 16, size=16)
    consumer.store_global((0, 4), LANE * 16, tensor=1, size=16)
    return make_program(tensors(("A", "u32", (128,)), ("D", "u32", (128,))), producer, consumer)


def test_roles_meet_at_a_barrier() -> None:
    result = execute(producer_consumer(consumer_syncs=True), {"A": DATA[:128]})
    np.testing.assert_array_equal(result.outputs["D"], DATA[:128])
    assert result.hazards == []


def test_a_barrier_that_cannot_complete_is_a_deadlock_with_warps_barrier_and_line() -> None:
    with pytest.raises(SimulatedFailure, match=(
            r"deadlock in CTA 0 \(interior\): warps 0\.\.0 \(role 'producer'\) wait at barrier 1 "
            r"\(BAR\.SYNC\.DEFER_BLOCKING\) at kernel\.py:103, where 32 of 64 threads arrived; "
            r"warps 1\.\.1 \(role 'consumer'\) have exited")):
        execute(producer_consumer(consumer_syncs=False), {"A": DATA[:128]})


def test_arrive_publishes_what_was_written_before_it_and_nothing_later() -> None:
    producer = RoleBuilder(name="producer")
    producer.load_global((0, 1), LANE * 4, tensor=0)
    producer.store_shared((0, 1), LANE * 4)
    producer.op("BAR.ARV", operand=64 << 8 | 2)
    producer.store_shared((0, 1), LANE * 4 + 128)
    consumer = RoleBuilder(first_warp=1, name="consumer")
    consumer.barrier(2, threads=64)
    consumer.load_shared((0, 1), LANE * 4)
    consumer.store_global((0, 1), LANE * 4, tensor=1)
    late = consumer.load_shared((0, 1), LANE * 4 + 128)
    consumer.store_global((0, 1), LANE * 4 + 128, tensor=1)
    result = execute(make_program(tensors(("A", "u32", (32,)), ("D", "u32", (64,))), producer, consumer),
                     {"A": DATA[:32]})
    np.testing.assert_array_equal(result.outputs["D"][:32], DATA[:32])
    assert [(hazard.kind, hazard.place) for hazard in result.hazards] == [("raw", f"kernel.py:{late}")]


@pytest.mark.parametrize(("mask", "found"), [(0xFFFFFFFF, set()), (0x7FFFFFFF, {"uninitialised"})])
def test_a_load_of_all_lanes_ends_what_an_earlier_one_brought(mask: int, found: set[str]) -> None:
    """Nobody uses the first load's words, whatever they are, unless a lane keeps its own: as the last fragments of a
    tile, whose registers the next tile's first fragments take."""
    role = RoleBuilder(num_warps=1)
    role.load_shared((0, 1), 512 + LANE * 4)
    role.load_global((8, 1), LANE * 4, tensor=0)
    role.store_shared((8, 1), LANE * 4)
    role.load_shared((0, 1), LANE * 4, mask=mask)
    role.store_global((0, 1), LANE * 4, tensor=1)
    assert kinds(run(make_program(tensors(("A", "u32", (256,)), ("D", "u32", (256,))), role))) == found
