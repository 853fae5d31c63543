"""Implicit-GEMM convolution: the answer of a loop over pixels, the filter loop's counts, classes that tiles share."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl.backend import check_hazards
from gpusim.engine import simulate
from gpusim.program import Program
from gpusim.verify import check_program, random_inputs

SPEC = gs.load_gpu("h200")
GROUP = 4  # copies beside a k step
FILE = gs.load_program("conv2d_fprop")
SMALL = {"tile": (64, 64, 32), "warp": (32, 32, 32)}
NAMES = ("N", "H", "W", "C", "K", "R", "S")


@cache
def record(sizes: tuple[int, ...], schedule: str = "list", **parameters: Any) -> Program:
    return FILE.record(SPEC, dict(zip(NAMES, sizes, strict=True)), schedule=schedule, **parameters)


def naive(x: np.ndarray, w: np.ndarray, padding: tuple, stride: tuple, dilation: tuple) -> np.ndarray:
    """Output pixel by output pixel, filter position by filter position."""
    (batch, height, width, _), (filters, rows, columns, _) = x.shape, w.shape
    P = (height + 2 * padding[0] - dilation[0] * (rows - 1) - 1) // stride[0] + 1
    Q = (width + 2 * padding[1] - dilation[1] * (columns - 1) - 1) // stride[1] + 1
    y = np.zeros((batch, P, Q, filters), np.float64)
    for p, q, r, s in np.ndindex(P, Q, rows, columns):
        h, v = p * stride[0] - padding[0] + r * dilation[0], q * stride[1] - padding[1] + s * dilation[1]
        if 0 <= h < height and 0 <= v < width:
            y[:, p, q] += x[:, h, v].astype(np.float64) @ w[:, r, s].T
    return y


CASES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((1, 8, 16, 32, 128, 1, 1), {"padding": (0, 0)}),
    ((2, 9, 11, 40, 72, 3, 3), {}),
    ((2, 9, 11, 40, 72, 3, 3), {"iterator": "analytic"}),
    ((1, 16, 16, 64, 64, 3, 3), {**SMALL, "num_stages": 4}),
    ((2, 19, 12, 34, 136, 3, 2), {**SMALL, "padding": (2, 0), "stride": (2, 1), "dilation": (1, 2)}),
    ((3, 8, 8, 8, 8, 5, 5), {**SMALL, "padding": (2, 2), "stride": (2, 2), "iterator": "analytic"}),
    ((1, 7, 5, 12, 24, 3, 1), {**SMALL, "padding": (0, 3), "dilation": (3, 1)}),
]


@pytest.mark.parametrize(("sizes", "parameters"), CASES)
def test_convolves_once_and_without_a_race(sizes: tuple, parameters: dict) -> None:
    program = record(sizes, **parameters)
    geometry = [program.parameters[name] for name in ("padding", "stride", "dilation")]
    report = check_program(program, random_inputs(program, seed=sum(sizes), exact=True),
                           lambda inputs: {"Y": naive(inputs["X"], inputs["W"], *geometry)})
    assert report.problems == []
    names = [static.mnemonic for static in program.statics]
    for cta_class in program.classes:
        assert check_hazards(cta_class.roles[0].ops, names, SPEC.instruction_table) == []


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_reference_is_the_naive_convolution(data: Any) -> None:
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    filters, stride, dilation = data.draw(pair), data.draw(pair), data.draw(pair)
    padding = data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    extents = [data.draw(st.integers(max(1, dilation[n] * (filters[n] - 1) + 1 - 2 * padding[n]), 9)) for n in (0, 1)]
    generator = np.random.default_rng(0)
    x = generator.integers(-2, 3, (2, *extents, 3)).astype(np.float16)
    w = generator.integers(-2, 3, (4, *filters, 3)).astype(np.float16)
    found = FILE.reference({"X": x, "W": w}, padding, stride, dilation)["Y"]
    assert np.array_equal(found, naive(x, w, padding, stride, dilation))


def mnemonics(program: Program, scope: str) -> list[str]:
    statics = [program.statics[pc] for pc in program.classes[0].roles[0].ops["pc"].tolist()]
    return [static.mnemonic for static in statics if static.scope == scope]


@pytest.mark.parametrize(("channels", "filters", "tiles"), [(32, (3, 3), 9), (40, (3, 3), 18), (128, (1, 1), 4)])
def test_the_k_loop_runs_over_positions_and_tiles_of_channels(channels: int, filters: tuple, tiles: int) -> None:
    program = record((1, 16, 16, channels, 128, *filters), padding=(filters[0] // 2, filters[1] // 2))
    found = Counter(mnemonics(program, "main_loop"))
    assert found["BAR.SYNC.DEFER_BLOCKING"] == found["BRA"] == tiles
    assert found["HMMA.16816.F32"] == 64 * tiles


def test_activations_go_through_l1_and_filters_past_it() -> None:
    accesses = Counter(name for name in mnemonics(record((1, 16, 16, 64, 128, 3, 3)), "main_loop") if "LDGSTS" in name)
    past = {name: n for name, n in accesses.items() if "BYPASS" in name}
    assert len(accesses) == 2 and len(past) == 1 and set(accesses.values()) == {4 * 18}


@pytest.mark.parametrize(("iterator", "compiled"), [("optimized", 203), ("analytic", 394)])
def test_the_loop_is_about_as_long_as_the_one_that_ptxas_compiled(iterator: str, compiled: int) -> None:
    """CUTLASS 4, DefaultConv2dFprop of 128x128x32, warps of 64x64x32, 3 stages, f16 with f32 sums, sm_90a."""
    names = mnemonics(record((8, 16, 16, 128, 128, 3, 3), iterator=iterator), "main_loop")
    ends = [row for row, name in enumerate(names) if name.startswith("BAR.SYNC")]
    assert ends[-1] - ends[-2] == pytest.approx(compiled, rel=0.05)


def test_tiles_that_look_alike_are_one_class() -> None:
    """Four rows of 32 pixels a tile: at the top, in the middle, at the bottom of an image."""
    program = record((4, 32, 32, 32, 64, 3, 3), **SMALL)  # two rows a tile
    assert len(program.classes) == 3
    assert np.bincount(program.cta_class).tolist() == [4, 56, 4]
    uneven = record((1, 14, 14, 32, 64, 3, 3), **SMALL)
    assert len(uneven.classes) == 4  # no two of its tiles begin in the same column


def test_without_padding_or_stride_it_is_a_gemm() -> None:
    """A 1x1 filter: the same instructions on tensor cores and sectors of global memory as the GEMM of these sizes; but
    the first copies of the tile behind the last one are issued, too."""
    convolution = record((1, 16, 16, 128, 128, 1, 1), padding=(0, 0))
    gemm = gs.load_program("gemm_multistage").record(SPEC, {"M": 256, "N": 128, "K": 128}, clear="zfill")
    assert len(convolution.classes) == 1
    for prefix in ("HMMA", "LDSM", "LDGSTS", "STG"):
        found = [sum(program.statics[pc].mnemonic.startswith(prefix) for pc in program.classes[0].roles[0].ops["pc"])
                 for program in (convolution, gemm)]
        assert found[0] == found[1] + (GROUP if prefix == "LDGSTS" else 0), prefix


def test_optimized_iterators_are_worth_cycles() -> None:
    fast, slow = (int(simulate(record((4, 16, 16, 128, 128, 3, 3), iterator=name), SPEC).cycles)
                  for name in ("optimized", "analytic"))
    assert fast < slow


@pytest.mark.parametrize(("sizes", "parameters", "sentence"), [
    ((1, 2, 2, 8, 8, 5, 5), {}, "positive strides and dilations, and an output"),
    ((1, 8, 8, 8, 8, 3, 3), {"stride": (0, 1)}, "positive strides"),
    ((1, 8, 8, 8, 8, 3, 3), {"iterator": "fixed"}, "no such iterator, got 'fixed'; analytic or optimized"),
    ((1, 8, 8, 8, 8, 3, 3), {"num_stages": 2}, "at least 3 stages"),
    ((1, 8, 8, 9, 8, 3, 3), {}, "cp.async moves 4, 8 or 16 bytes"),
])
def test_what_is_refused_is_refused_in_one_sentence(sizes: tuple, parameters: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        record(sizes, **parameters)
