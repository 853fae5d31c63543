"""What hardware or the DSL refuses is refused in one sentence: the kernel's file and line, rule, value, fix."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import gpusim as gs
from gpusim import cute
from gpusim.dsl import Context, GmemTensor, Kernel, TiledCopy, TiledMma

SPEC = gs.load_gpu("h200")
SENTENCES = {
    "stages": ({"stages": 3}, "has no parameter 'stages'; did you mean 'num_stages'?"),
    "kind": ({"num_stages": "3"}, "parameter 'num_stages' is of type int, such as 3, got '3'"),
    "length": ({"tile": (128, 128)}, r"parameter 'tile' is of type tuple, such as \(128, 128, 32\), got \(128, 128\)"),
    "one stage": ({"num_stages": 1}, "needs one stage to fill and one to read, got num_stages=1; num_stages=2 or more"),
    "element swizzle": ({"swizzle": "S<2,3,3>"},
                        "sA: cp.async of 16 bytes needs a swizzle with base >= 4, got S<2,3,3>; S<2,4,3> on byte"),
    "padding": ({"swizzle": "pad:8B"}, "sA: cp.async needs addresses aligned to 16 bytes, got 72; rows must start"),
    "swizzle": ({"swizzle": "96B"}, "unknown shared-memory swizzle, got '96B'; did you mean '64B'?"),
    "warps m": ({"warps": (3, 2)}, "tile m must be a multiple of warps m x instruction m, got 128 for 3 warps x 16"),
    "warps n": ({"tile": (128, 120, 32), "warps": (2, 4)}, "tile n must be a multiple of warps n x instruction n"),
    "threads": ({"tile": (64, 64, 32), "warps": (4, 4)},
                "a tiled copy must divide the tile it moves, got 128x32 for 64x32; choose fewer threads"),
    "shared memory": ({"num_stages": 15},
                      r"limited to 232448 bytes, got 245760 \(sA 122880 \+ sB 122880\); fewer stages"),
    "k steps": ({"tile": (128, 128, 16)}, "at least two whole k steps in a tile, got tile k 16; a multiple of 16, 32"),
    "k": ({"tile": (128, 128, 48)}, "the vectors of a row must divide the threads, got 48 columns, 128 threads"),
    "raster": ({"raster": "k"}, "the raster names the axis along which CTAs start first, got 'k'; 'm' or 'n'"),
}


@pytest.mark.parametrize(("parameters", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_the_sentence_names_the_line_of_the_kernel(parameters: dict, sentence: str) -> None:
    program = gs.load_program("hgemm_multistage")
    pattern = rf"^programs/hgemm_multistage\.py:\d+: .*{sentence.replace('?', '[?]')}"
    with pytest.raises(gs.UserError, match=pattern) as raised:
        program.record(SPEC, {"M": 256, "N": 256, "K": 256}, **parameters)
    line = int(re.match(r"programs/hgemm_multistage\.py:(\d+)", str(raised.value))[1])
    assert 1 <= line <= len(Path(program.kernel.file).read_text().splitlines())


@pytest.mark.parametrize(("sizes", "sentence"), [
    ({"M": 0}, "a shape holds positive integers"),
    ({"K": 2050}, "cp.async needs addresses aligned to 16 bytes, got 4100; rows must start at multiples of it"),
    ({"N": 2049}, "needs addresses aligned to|a whole vector of 2 elements, got 1"),
    ({"L": 1}, "program hgemm_multistage has no problem size 'L'; known: K, M, N"),
])
def test_a_problem_the_tile_does_not_fit(sizes: dict, sentence: str) -> None:
    with pytest.raises(gs.UserError, match=sentence):
        gs.load_program("hgemm_multistage").record(SPEC, sizes)


Body = Callable[[Context, GmemTensor, TiledMma], None]


def kernel_with(body: Body) -> Kernel:
    """A kernel of four warps that makes one mistake."""

    @gs.kernel
    def mistaken(ctx: Context, A: GmemTensor) -> None:
        mma = gs.tiled_mma(gs.mma.SM80_16x8x16_F32F16F16F32_TN, tile=(64, 64), warps=(2, 2))
        ctx.launch((1, 1), warps=4)
        body(ctx, A, mma)

    return mistaken


def tiled_copy_of(threads: tuple[int, int], elements: int) -> TiledCopy:
    thr_layout, val_layout = cute.Layout(threads, (threads[1], 1)), cute.Layout((1, elements), (elements, 1))
    return gs.tiled_copy(gs.copy.SM80_CP_ASYNC_CACHEGLOBAL_16B, thr_layout, val_layout)


def store_unconverted(ctx: Context, A: GmemTensor, mma: TiledMma) -> None:
    ctx.copy(gs.copy.UniversalCopy_32b, ctx.fragment(mma, "C"), ctx.local_tile(A, (64, 64), (None, None))[..., 0, 0])


def copy_outside(ctx: Context, A: GmemTensor, mma: TiledMma) -> None:
    copy = tiled_copy_of((32, 4), 8)
    tile, shared = ctx.local_tile(A, (64, 32), (None, None)), ctx.smem("sA", gs.f16, (64, 32, 2))
    ctx.copy(copy, tile[..., 0, 2], shared[..., 0])


def narrow_values(ctx: Context, A: GmemTensor, mma: TiledMma) -> None:
    tile, shared = ctx.local_tile(A, (64, 32), (None, None)), ctx.smem("sA", gs.f16, (64, 32, 2))
    ctx.copy(tiled_copy_of((16, 8), 4), tile[..., 0, 0], shared[..., 0])


def a_warp_too_many(ctx: Context, A: GmemTensor, mma: TiledMma) -> None:
    with ctx.role("load", warps=1):
        ctx.sync_threads()
    with ctx.role("mma", warps=4):
        ctx.sync_threads()


def negative_wait(ctx: Context, A: GmemTensor, mma: TiledMma) -> None:
    ctx.cp_async_wait_group(-1)


def unindexed(ctx: Context, A: GmemTensor, mma: TiledMma) -> None:
    ctx.local_tile(A, (64, 32), (None, None))[..., 0]


MISTAKES = {
    store_unconverted: "accumulators are converted to the tensor's 16-bit type before they are stored, got f32; ctx",
    copy_outside: "a copy from A to sA must stay inside its tensors, got index 2 of a mode of 2; guard it with pred=",
    narrow_values: "the values of a tiled copy must fill its atom, got 8 bytes for SM80_.*; a value layout of 8",
    a_warp_too_many: "the roles of a CTA must fit into its warps, got 5 of 4",
    negative_wait: "cp_async_wait_group takes the number of groups that may stay in flight, got -1",
    unindexed: r"tile of A needs 2 index\(es\) after its rows and columns, got 1",
}


@pytest.mark.parametrize(("body", "sentence"), MISTAKES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_mistakes_in_a_kernel_name_its_line(body: Body, sentence: str) -> None:
    kernel = kernel_with(body)
    with pytest.raises(gs.UserError, match=rf"^tests/dsl/test_dsl_frontend_errors\.py:\d+: {sentence}"):
        kernel.record(SPEC, gs.tensor("A", gs.f16, (64, 64)))


def test_an_atom_the_gpu_lacks() -> None:
    with pytest.raises(gs.UserError, match="no such MMA atom, got 'SM80_16x8x16_F32F16F16F32'; did you mean"):
        _ = gs.mma.SM80_16x8x16_F32F16F16F32
    with pytest.raises(gs.UserError, match=r"no such copy atom.*did you mean 'SM75_U32x4_LDSM_N'"):
        _ = gs.copy.SM75_U32x4_LDSM


def test_an_older_gpu_refuses_the_newer_instruction() -> None:
    turing = SPEC.model_copy(update={"architecture": "sm_75"})
    with pytest.raises(gs.UserError, match=r"^programs/hgemm_multistage\.py:\d+: .*SM80_CP_ASYNC"):
        gs.load_program("hgemm_multistage").record(turing)


@pytest.mark.parametrize(("text", "sentence"), [
    ("import gpusim as gs", "a program file defines exactly one @gs.kernel, got 0"),
    ("import gpusim as gs\n@gs.kernel\ndef k(ctx, A): pass", r"a program file defines the function problem\(\)"),
    ("def (", r"the program is not valid Python"),
])
def test_a_file_that_is_no_program(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(gs.UserError, match=sentence):
        gs.load_program(file)


def test_an_unknown_program() -> None:
    with pytest.raises(gs.UserError, match=r"no such program.*did you mean 'hgemm_multistage'[?]"):
        gs.load_program("hgemm_multistag")
    with pytest.raises(gs.UserError, match=r"nowhere\.py: no such program file"):
        gs.load_program("nowhere.py")
