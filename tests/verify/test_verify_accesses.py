"""What single memory instructions do to data: widths, lane masks, zero fill, ldmatrix, and the refusals of hardware."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verify_builder import RoleBuilder, make_program, tensors

from gpusim.errors import SimulatedFailure, UserError
from gpusim.verify import execute

LANE = np.arange(32)


def words(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 1 << 32, count, dtype=np.uint32)


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("through", ["shared", "registers"])
def test_every_width_carries_its_bytes(size: int, through: str) -> None:
    role, registers = RoleBuilder(), (0, max(1, size // 4))
    role.load_global(registers, LANE * size, tensor=0, size=size)
    if through == "shared":
        role.store_shared(registers, LANE[::-1] * size, size=size)
        role.load_shared(registers, LANE[::-1] * size, size=size)
    role.store_global(registers, LANE * size, tensor=1, size=size)
    data = np.random.default_rng(1).integers(0, 256, 32 * size)
    result = execute(make_program(tensors(("A", "u8", (32 * size,)), ("D", "u8", (32 * size,))), role), {"A": data})
    np.testing.assert_array_equal(result.outputs["D"], data)
    assert (result.written["D"] == 1).all() and result.hazards == []


@given(permutation=st.permutations(range(32)), mask=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_masked_stores_write_their_lanes_only(permutation: list[int], mask: int) -> None:
    role = RoleBuilder()
    role.load_global((0, 1), LANE * 4, tensor=0)
    role.store_global((0, 1), np.array(permutation) * 4, tensor=1, mask=mask)
    data = words(32)
    result = execute(make_program(tensors(("A", "u32", (32,)), ("D", "u32", (32,))), role), {"A": data})
    expected = np.zeros(32, np.uint32)
    for lane in range(32):
        if mask >> lane & 1:
            expected[permutation[lane]] = data[lane]
    np.testing.assert_array_equal(result.outputs["D"], expected)
    assert result.written["D"].sum() == mask.bit_count()


def test_masked_loads_keep_the_register_of_the_other_lanes() -> None:
    role = RoleBuilder()
    role.load_global((0, 1), LANE * 4, tensor=0)
    role.load_global((0, 1), LANE * 4 + 128, tensor=0, mask=0x0000FFFF)
    role.store_global((0, 1), LANE * 4, tensor=1)
    data = words(64)
    result = execute(make_program(tensors(("A", "u32", (64,)), ("D", "u32", (32,))), role), {"A": data})
    np.testing.assert_array_equal(result.outputs["D"], np.where(LANE < 16, data[32:], data[:32]))


def test_an_instruction_predicated_off_does_nothing() -> None:
    role = RoleBuilder()
    role.load_global((0, 1), LANE * 4, tensor=0)
    row = role.access("STG32", 4, glob=LANE * 4, tensor=1)
    role.op("STG.E", None, (0, 1), access=row, active=0)
    result = execute(make_program(tensors(("A", "u32", (32,)), ("D", "u32", (32,))), role), {"A": words(32)})
    assert not result.written["D"].any() and not result.outputs["D"].any()


@pytest.mark.parametrize("size", [4, 8, 16])
def test_zero_filled_lanes_write_zeros_and_read_no_global_memory(size: int) -> None:
    role, zfill = RoleBuilder(), 0xFFFF0000
    outside = np.where(LANE < 16, LANE * size, 1 << 20)
    role.copy_async(LANE * size, outside, tensor=0, size=size, zfill=zfill)
    role.commit()
    role.wait()
    role.load_shared((0, size // 4), LANE * size, size=size)
    role.store_global((0, size // 4), LANE * size, tensor=1, size=size)
    data = words(8 * size)
    program = make_program(tensors(("A", "u32", (8 * size,)), ("D", "u32", (8 * size,))), role)
    expected = np.where(np.arange(8 * size) < 4 * size, data, 0)
    np.testing.assert_array_equal(execute(program, {"A": data}).outputs["D"], expected)


def test_stages_are_offsets_of_one_access() -> None:
    role = RoleBuilder()
    copy = role.access("CPA16", 16, shared=LANE * 16, glob=LANE * 16, tensor=0)
    load = role.access("LDS128", 16, shared=LANE * 16)
    store = role.access("STG128", 16, glob=LANE * 16, tensor=1)
    for stage in range(3):
        role.op("LDGSTS.E.BYPASS.128", access=copy, shared_offset=512 * stage, global_offset=512 * stage)
    role.commit()
    role.wait()
    for stage in range(3):
        role.op("LDS.128", (0, 4), access=load, shared_offset=512 * stage)
        role.op("STG.E.128", None, (0, 4), access=store, global_offset=512 * (2 - stage))
    data = words(384)
    result = execute(make_program(tensors(("A", "u32", (384,)), ("D", "u32", (384,))), role), {"A": data})
    np.testing.assert_array_equal(result.outputs["D"], data.reshape(3, 128)[::-1].ravel())


def ldmatrix_by_ptx(rows: np.ndarray, count: int, *, trans: bool) -> np.ndarray:
    """PTX ISA, ldmatrix: ``rows`` (8 x count, 8) 16-bit; (count, 32) registers, lane by lane."""
    registers = np.zeros((count, 32), np.uint32)
    for matrix in range(count):
        for lane in range(32):
            for half in range(2):
                row, column = lane // 4, 2 * (lane % 4) + half
                if trans:
                    row, column = column, row
                registers[matrix, lane] |= np.uint32(int(rows[8 * matrix + row, column]) << 16 * half)
    return registers


@given(count=st.sampled_from([1, 2, 4]), trans=st.booleans(), order=st.permutations(range(32)), pitch=st.sampled_from(
    [16, 32, 80]))
@settings(max_examples=30, deadline=None)
def test_ldmatrix_gives_each_lane_what_ptx_says(count: int, trans: bool, order: list[int], pitch: int) -> None:
    role, used = RoleBuilder(), np.less(LANE, 8 * count)
    rows = np.array(order) * pitch
    role.copy_async(LANE * pitch, LANE * 16, tensor=0)
    role.commit()
    role.wait()
    access = role.access(f"LDSM{'T' if trans else ''}{count}", 16, shared=np.where(used, rows, -1),
                         mask=(1 << 8 * count) - 1)
    role.op(f"LDSM.16.M{'T' if trans else ''}88.{count}", (0, count), access=access)
    for register in range(count):
        role.store_global((register, 1), LANE * 4 + 128 * register, tensor=1)
    data = words(128)
    result = execute(make_program(tensors(("A", "u32", (128,)), ("D", "u32", (count, 32))), role), {"A": data})
    expected = ldmatrix_by_ptx(data.view(np.uint16).reshape(32, 8)[order], count, trans=trans)
    np.testing.assert_array_equal(result.outputs["D"], expected)


@pytest.mark.parametrize("trans", [False, True])
def test_stmatrix_is_the_inverse_of_ldmatrix(trans: bool) -> None:
    role, modifier = RoleBuilder(), "MT88" if trans else "M88"
    for register in range(4):
        role.load_global((register, 1), LANE * 4 + 128 * register, tensor=0)
    store = role.access("STSM4", 16, shared=LANE * 16)
    role.op(f"STSM.16.{modifier}.4", None, (0, 4), access=store)
    load = role.access("LDSM4", 16, shared=LANE * 16)
    role.op(f"LDSM.16.{modifier}.4", (4, 4), access=load)
    for register in range(4):
        role.store_global((4 + register, 1), LANE * 4 + 128 * register, tensor=1)
    data = words(128)
    result = execute(make_program(tensors(("A", "u32", (128,)), ("D", "u32", (128,))), role), {"A": data})
    np.testing.assert_array_equal(result.outputs["D"], data)


def test_ctas_work_on_their_own_tiles_and_share_no_memory() -> None:
    role = RoleBuilder()
    role.copy_async(LANE * 16, LANE * 16, tensor=0)
    role.commit()
    role.wait()
    role.load_shared((0, 4), LANE * 16, size=16)
    role.store_global((0, 4), LANE * 16, tensor=1, size=16)
    offsets = np.stack([np.arange(4) * 512, np.array([2, 0, 3, 1]) * 512], axis=1)
    infos = tensors(("A", "u32", (512,)), ("D", "u32", (512,)))
    program, data = make_program(infos, role, cta_offsets=offsets), words(512)
    result = execute(program, {"A": data})
    np.testing.assert_array_equal(result.outputs["D"].reshape(4, 128)[[2, 0, 3, 1]], data.reshape(4, 128))
    part = execute(program, {"A": data}, ctas=[3])
    assert part.written["D"].reshape(4, 128).sum(1).tolist() == [0, 128, 0, 0]


def test_the_number_of_ctas_run_together_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    role = RoleBuilder()
    role.copy_async(LANE * 16, LANE * 16, tensor=0)
    role.load_shared((0, 4), LANE * 16, size=16)
    role.store_global((0, 4), LANE * 16, tensor=1, size=16)
    infos, offsets = tensors(("A", "u32", (640,)), ("D", "u32", (640,))), np.arange(5)[:, None] * [512, 512]
    program, data = make_program(infos, role, cta_offsets=offsets), words(640)
    together = execute(program, {"A": data})
    monkeypatch.setattr("gpusim.verify.executor._BATCH_BYTES", 1)
    apart = execute(program, {"A": data})
    np.testing.assert_array_equal(together.outputs["D"], apart.outputs["D"])
    assert together.hazards == apart.hazards and len(apart.hazards) == 1


def test_elements_written_twice_are_counted() -> None:
    role = RoleBuilder()
    role.load_global((0, 1), LANE * 4, tensor=0)
    role.store_global((0, 1), LANE // 2 * 4, tensor=1)
    result = execute(make_program(tensors(("A", "u32", (32,)), ("D", "f16", (64,))), role), {"A": words(32)})
    assert result.written["D"].tolist() == [2] * 32 + [0] * 32


def refused(role: RoleBuilder, *, shared_bytes: int = 4096, inputs: bool = True) -> str:
    infos = tensors(("A", "u32", (32,)), ("D", "u32", (32,)))
    with pytest.raises((UserError, SimulatedFailure)) as error:
        execute(make_program(infos, role, shared_bytes=shared_bytes), {"A": words(32)} if inputs else {})
    return str(error.value)


def test_refusals_say_place_rule_and_value() -> None:
    role = RoleBuilder()
    role.load_global((0, 1), LANE * 4 + 4, tensor=0)
    assert refused(role) == ("kernel.py:100: a global access must stay inside its tensor, got bytes 4..131 of 'A' "
                             "(128 bytes); predicate the access off there")
    role = RoleBuilder()
    role.load_global((0, 1), LANE * 2, tensor=0)
    assert "a 4-byte global access must be 4-byte aligned, got byte 2 of 'A'" in refused(role)
    role = RoleBuilder()
    role.copy_async(LANE * 16 + 4096, LANE // 16 * 16, tensor=0)
    assert "must stay inside the CTA's shared memory, got byte 4604 of 4096" in refused(role)
    assert "every input tensor needs data, got none for 'A'" in refused(RoleBuilder(), inputs=False)


def test_results_without_a_model_may_exist_but_not_be_data() -> None:
    def kernel(mnemonic: str, *, used: bool) -> RoleBuilder:
        role = RoleBuilder()
        role.op(mnemonic, (0, 1), (5, 1))
        if used:
            role.store_global((0, 1), LANE * 4, tensor=1)
        return role

    infos = tensors(("D", "u32", (32,)))
    for mnemonic in ("IMAD.WIDE", "FROBNICATE.F32"):
        execute(make_program(infos, kernel(mnemonic, used=False)), {})
        message = refused(kernel(mnemonic, used=True))
        assert message.startswith(f"kernel.py:100: {mnemonic} has no functional model (or an immediate operand)")
        assert "got R0 read by STG.E at kernel.py:101" in message


def test_unmodelled_side_effects_and_unwritten_registers_are_refused() -> None:
    role = RoleBuilder()
    role.op("UTMALDG.2D")
    assert refused(role).startswith("kernel.py:100: UTMALDG.2D has no functional model")
    role = RoleBuilder()
    role.store_global((7, 1), LANE * 4, tensor=1)
    assert "a register must be written before it is used as data, got R7 read by STG.E" in refused(role)


def test_inputs_are_checked_by_name_and_shape() -> None:
    program = make_program(tensors(("A", "u32", (32,))), RoleBuilder())
    with pytest.raises(UserError, match=r"an input must be a tensor of the program, got 'a'; did you mean 'A'\?|known"):
        execute(program, {"a": words(32)})
    with pytest.raises(UserError, match=r"A: an input must have its tensor's shape, got \(31,\); make it \(32,\)"):
        execute(program, {"A": words(31)})
