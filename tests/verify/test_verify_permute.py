"""PRMT with an immediate selector, against a selection byte by byte; tables with a tensor once per visit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Line
from gpusim.verify import check_program, execute

SPEC = gs.load_gpu("h200")
WORD = st.integers(0, 2**32 - 1)


def naive(a: int, c: int, selector: int) -> int:
    pool = a.to_bytes(4, "little") + c.to_bytes(4, "little")
    chosen = [(pool[selector >> 4 * n & 7], selector >> 4 * n & 8) for n in range(4)]
    return int.from_bytes(bytes((0xFF if byte & 0x80 else 0) if sign else byte for byte, sign in chosen), "little")


@gs.kernel
def permutes(ctx, words, out, *, selector=0x5410, alone=False):  # type: ignore[no-untyped-def]
    """One warp: out[lane] = PRMT of words[lane] and words[lane + 32]."""
    from gpusim.dsl.iterators import GlobalIterator, Pieces
    ctx.launch((1, 1), warps=1)
    lane, registers = np.arange(32)[None], ctx.recorder.registers
    address, result = registers.vector(2), registers.vector()
    loaded: list[Group] = [registers.vector(), registers.vector()]
    both = Pieces(np.vstack([lane, lane + 32]), np.zeros((2, 32), int), 1)
    source = GlobalIterator(ctx, words, (64, 1), (None, None), both)
    ctx.code([Line("LDG.E", register, (address,), n) for n, register in enumerate(loaded)],
             source.access("LDG32", 0, [0, 1]))
    ctx.code([Line("PRMT", result, tuple(loaded[:1] if alone else loaded), immediate=selector)])
    target = GlobalIterator(ctx, out, (32, 1), (None, None), Pieces(lane, np.zeros((1, 32), int), 1))
    ctx.code(target.store_lines("STG.E", [0], [result]), target.access("STG32", 0, [0]))


@settings(deadline=None, max_examples=40)
@given(st.lists(WORD, min_size=64, max_size=64), st.integers(1, 0xFFFF), st.booleans())
def test_every_selector_picks_the_bytes_it_names(words: list[int], selector: int, alone: bool) -> None:
    table = gs.tensor("words", gs.DType("u32", 32), (64, 1))
    out = gs.tensor("out", gs.DType("u32", 32), (32, 1))
    program = permutes.record(SPEC, table, out, selector=selector, alone=alone)
    got = execute(program, {"words": np.array(words, np.uint32)[:, None]}).outputs["out"][:, 0]
    pairs = [(0, a) if alone else (a, c) for a, c in zip(words[:32], words[32:], strict=True)]
    assert got.tolist() == [naive(a, c, selector) for a, c in pairs]


def test_what_a_reference_masks_is_no_element() -> None:
    """An output with space between its matrices: what lies there need not be written, and may not be wrong."""
    table = gs.tensor("words", gs.DType("u32", 32), (64, 1))
    out = gs.tensor("out", gs.DType("u32", 32), (40, 1))
    program = permutes.record(SPEC, table, out)
    inputs = {"words": np.zeros((64, 1), np.uint32)}
    plain = check_program(program, inputs, {"out": np.zeros((40, 1))})
    assert (plain.outputs[0].elements, plain.outputs[0].unwritten) == (40, 8)
    masked = np.ma.array(np.full((40, 1), 7), mask=np.arange(40)[:, None] >= 32)
    masked[:32] = 0
    report = check_program(program, inputs, {"out": masked})
    assert (report.outputs[0].elements, report.problems) == (32, [])
