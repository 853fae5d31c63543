"""Kernels that nvcc made for two architectures (data/small_kernels.cu): addresses against the source, lane by lane."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from gpusim.errors import UserError
from gpusim.program import Program
from gpusim.sass import SassLaunch, Scalar, TensorPointer, load_sass

ARCHITECTURES = ("sm80", "sm90")
DATA = Path(__file__).parent / "data"


def load(architecture: str, function: str, launch: SassLaunch) -> Program:
    return load_sass(DATA / f"small_kernels_{architecture}.sass.gz", function=function, launch=launch)


def touched(program: Program, operation: str, cta: int) -> list[list[int]]:
    """Elements (4 bytes) of the tensor that each executed ``operation`` of a CTA touches, by thread."""
    found: dict[int, list[list[int]]] = {}
    for role in program.classes[program.cta_class[cta]].roles:
        table = role.accesses
        rows = [op for op in role.ops if op["access"] >= 0 and table.operation[op["access"]] == operation]
        for number, op in enumerate(rows):
            tensor = table.tensor[op["access"]]
            start = program.cta_bases[cta, tensor] + op["global_offset"] - program.tensors[tensor].base_address
            lanes = table.global_offset[op["access"]]
            found.setdefault(number, []).append([int(start + x) // 4 for x in lanes[lanes >= 0]])
    return [list(chain.from_iterable(parts)) for _, parts in sorted(found.items())]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_runtime_division_gives_exact_addresses(architecture: str) -> None:
    w, h, pitch = 48, 32, 64
    params = (TensorPointer("a", "f32", (h, pitch), True), TensorPointer("b", "f32", (w, h)), Scalar(w), Scalar(h),
              Scalar(pitch))
    program = load(architecture, "transpose_by_division", SassLaunch((12, 1, 1), (128, 1, 1), params, 0, 32))
    for cta in range(12):
        y, x = np.divmod(np.arange(128 * cta, 128 * cta + 128), w)
        assert touched(program, "STG32", cta) == [(y * pitch + x).tolist()]
        assert touched(program, "LDG32", cta) == [(x * h + y).tolist()]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_copies_with_zero_fill_know_their_lanes(architecture: str) -> None:
    n = 6
    params = (TensorPointer("a", "f32", (256, n), True), TensorPointer("b", "f32", (356, 4)), Scalar(n))
    program = load(architecture, "copy_with_zero_fill", SassLaunch((1, 1, 1), (64, 4, 1), params, 8192, 32))
    assert touched(program, "STG32", 0) == [[row * n + k for row in range(256)] for k in range(n)]
    for role in program.classes[0].roles:
        copies = [a for a in role.ops["access"][role.ops["access"] >= 0] if role.accesses.operation[a] == "CPA16"]
        rows = 32 * role.first_warp + np.arange(32 * role.num_warps)
        for k, access in enumerate(copies):
            filled = (role.accesses.zfill_mask[access][:, None] >> np.arange(32, dtype=np.uint32) & 1).reshape(-1)
            assert np.array_equal(filled == 1, rows + 7 * k >= 5 * n)


def test_parameters_are_pointers_and_numbers() -> None:
    params = (TensorPointer("a", "f32", (3, 96), True), TensorPointer("b", "f32", (5, 128)), Scalar(5), Scalar(7, 8))
    assert SassLaunch((3, 1, 1), (128, 1, 1), params, 512, 32).parameter_bytes == 8 + 8 + 4 + 8
    program = load("sm90", "producer_consumer", SassLaunch((3, 1, 1), (128, 1, 1), params[:3], 512, 32))
    assert program.launch.parameter_bytes == 20


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_specialised_warps_are_roles(architecture: str) -> None:
    params = (TensorPointer("a", "f32", (3, 96), True), TensorPointer("b", "f32", (5, 128)), Scalar(5))
    program = load(architecture, "producer_consumer", SassLaunch((3, 1, 1), (128, 1, 1), params, 512, 32))
    producer, consumer = program.classes[0].roles
    assert (producer.num_warps, consumer.num_warps) == (1, 3)
    barriers = [[int(op["operand"]) for op in role.ops if "BAR" in program.statics[op["pc"]].mnemonic]
                for role in (producer, consumer)]
    assert barriers == [[1 | 128 << 8, 2 | 128 << 8] * 5] * 2  # of all 128 threads


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_edge_blocks_form_a_class(architecture: str) -> None:
    params = (TensorPointer("a", "f32", (300,), True), TensorPointer("b", "f32", (300,)), Scalar(300))
    program = load(architecture, "double_in_bounds", SassLaunch((3, 1, 1), (128, 1, 1), params, 0, 32))
    assert len(program.classes) == 2 and program.cta_class[0] == program.cta_class[1] != program.cta_class[2]
    assert [touched(program, "STG32", cta)[0] for cta in range(3)] == [
        list(range(128)), list(range(128, 256)), list(range(256, 300))]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("function", "scalars", "sentence"),
    [("gather", (), "the address depends on loaded data"), ("lane_branch", (3,), "lanes of a warp disagree|indirect")],
)
def test_what_depends_on_data_or_diverges_is_refused(
    architecture: str, function: str, scalars: tuple[int, ...], sentence: str
) -> None:
    tensors = [TensorPointer(name, "f32", (64,)) for name in ("a", "index", "b")]
    params = (*(tensors[:1] if scalars else tensors), *map(Scalar, scalars))
    with pytest.raises(UserError, match=sentence):
        load(architecture, function, SassLaunch((1, 1, 1), (64, 1, 1), params, 0, 32))
