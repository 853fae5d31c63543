"""Models random small programs: what real kernels mix, with control fields that no compiler would dare to set.
Leaves out barriers shared by different kinds of memory, and warps of a CTA that run different code."""

from __future__ import annotations

from engine_programs import Memory, Row, depbar, program
from hypothesis import strategies as st

from gpusim.program import Program

__all__ = ["ACCESSES", "programs"]

ACCESSES = {
    "lds": Memory("LDS32", (1, 2, 4, 8, 32)),
    "ldsm": Memory("LDSM4", (8, 1, 2)),
    "sts": Memory("STS128", (1, 4)),
    "tile": Memory("CPA16", lines=4),
    "scattered": Memory("CPA16", lines=32, first_line=300),
    "ldg": Memory("LDG128", lines=16, first_line=600),
    "again": Memory("LDG32", lines=2, first_line=604),
    "neighbour": Memory("CPA16CA", lines=8, first_line=632),
    "stg": Memory("STG32", lines=8),
}
SHORT_BOARDS, LONG_BOARD, READ_BOARDS, GROUP_BOARD, NONE = (0, 1), 2, (3, 4), 5, 7
STALLS = (1, 2, 4, 5, 15)
CONSTANT = st.sampled_from((40, 528, 536, 600))


def _row(mnemonic: str, **fields: st.SearchStrategy) -> st.SearchStrategy[list[Row]]:
    waits = st.lists(st.sampled_from((*SHORT_BOARDS, LONG_BOARD, *READ_BOARDS)), max_size=1).map(tuple)
    made = st.builds(Row, st.just(mnemonic), stall=st.sampled_from(STALLS), wait=waits, yields=st.booleans(), **fields)
    return made.map(lambda row: [row])


SHORT = st.sampled_from((*SHORT_BOARDS, NONE))
READ = st.sampled_from((*READ_BOARDS, NONE))
STEPS = st.one_of(
    _row("FFMA", reads=st.lists(st.integers(0, 4), max_size=3).map(tuple), reuse=st.integers(0, 7), off=st.booleans()),
    *(_row(name) for name in ("IMAD", "IMAD.WIDE", "HMMA.16816.F32", "BAR.SYNC")),
    *(_row(name, write=SHORT) for name in ("MUFU", "S2R")),
    _row("LDC", write=SHORT, constant=CONSTANT, off=st.booleans()),
    *(_row(name, constant=CONSTANT, off=st.booleans()) for name in ("ULDC", "ISETP")),
    _row("LDS", access=st.just("lds"), write=SHORT, read=READ, off=st.booleans()),
    _row("LDSM", access=st.just("ldsm"), write=SHORT, read=READ),
    _row("STS", access=st.just("sts"), read=READ),
    _row("LDGSTS", access=st.sampled_from(("tile", "scattered")), read=READ),
    _row("LDG", access=st.sampled_from(("ldg", "again")), write=st.just(LONG_BOARD), read=READ),
    _row("LDG.STRONG.GPU", access=st.just("again"), write=st.just(LONG_BOARD), read=READ),
    _row("LDGSTS.E.128", access=st.just("neighbour"), read=READ),
    _row("STG", access=st.just("stg"), read=READ),
    _row("BRA", jumps=st.booleans()),
    st.sampled_from((0, 1, 2)).map(lambda allowed: [Row("LDGDEPBAR", write=GROUP_BOARD), depbar(GROUP_BOARD, allowed)]),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """One or two CTAs of 1 to 8 warps and 5 to 40 rows."""
    steps = draw(st.lists(STEPS, min_size=5, max_size=36))
    body = [row for step in steps for row in step][:40]
    return program([(draw(st.integers(1, 8)), body)], ACCESSES, ctas=draw(st.integers(1, 2)))
