"""Models how MMA, clearing, conversion and store statements become instructions.
Leaves out shared memory and copies (the modules beside this one)."""

from __future__ import annotations

from gpusim.dsl.lowering.emitter import Emitter
from gpusim.dsl.registers import Group
from gpusim.dsl.statements import Clear, Code, Convert, Mma, Store, Sync

__all__ = ["emit_simple"]


def emit_simple(emit: Emitter, spec: Mma | Clear | Convert | Store | Sync | Code) -> None:
    """Statements that mean the same inside a loop and outside."""
    if isinstance(spec, Mma):
        emit_mma(emit, spec)
    elif isinstance(spec, Clear):
        emit_clear(emit, spec)
    elif isinstance(spec, Convert):
        emit_convert(emit, spec)
    elif isinstance(spec, Store):
        emit_store(emit, spec)
    elif isinstance(spec, Code):
        emit_code(emit, spec)
    else:
        emit.op(spec.mnemonic, operand=True)


def emit_mma(emit: Emitter, mma: Mma) -> None:
    c, a, b = mma.c_a_b_widths
    for accumulator, left, right in mma.triples:
        emit.op(mma.mnemonic, (left, a), (right, b), (accumulator, c), dst=(accumulator, c))


def emit_clear(emit: Emitter, clear: Clear) -> None:
    """CS2R writes two registers with zeros; an odd one out takes a move."""
    for start in clear.registers:
        for register in range(start, start + clear.width, 2):
            if register + 1 < start + clear.width:
                emit.op("CS2R", dst=(register, 2))
            else:
                emit.op("IMAD.MOV.U32", dst=(register, 1))


def emit_convert(emit: Emitter, convert: Convert) -> None:
    """``F2FP d, high, low``: the first source becomes the high half."""
    for destination, low in convert.pairs:
        emit.op(convert.mnemonic, (low + 1, 1), (low, 1), dst=(destination, 1))


def emit_code(emit: Emitter, code: Code) -> None:
    for line in code.lines:
        emit.op(line.mnemonic, *line.sources, dst=line.dst, piece=line.piece, memory_key=line.memory_key,
                operand=line.operand, active=line.active, immediate=line.immediate, parameter=line.parameter,
                skips=line.skips)


EPILOGUE_OPS = ("SHF.R.S32.HI", "LOP3.LUT", "LEA.HI", "SHF.R.S32.HI", "IMAD.SHL.U32", "LOP3.LUT", "LEA.HI", "IMAD.IADD",
                "IMAD.SHL.U32", "LOP3.LUT", "IMAD", "IMAD.IADD", "SHF.R.S32.HI")
"""Thread and block number to the first row and column a lane stores to (S2R x 3, ULDC.64 and LDC beside them)."""


def emit_store(emit: Emitter, store: Store) -> None:
    """Row pointers, then one store per register: the first two rows from scratch, the others by adding 8 pitches."""
    thread = emit.new("S2R")
    emit.new("S2R")
    emit.uniform("S2UR")
    pitch = emit.new("LDC")
    emit.uniform("ULDC.64", count=2)
    column = emit.chain(EPILOGUE_OPS, thread)
    pointers: list[Group] = []
    for row in range(max(store.rows, default=-1) + 1):
        pointers.append(_row_pointer(emit, column, pitch) if row < 2
                        else emit.wide("IMAD.WIDE", pitch, pointers[row - 2]))
    for piece, (register, row) in enumerate(zip(store.registers, store.rows, strict=True)):
        guards = (emit.op("ISETP.LT.AND", column, dst=emit.registers.predicate()),) if store.partial else ()
        emit.op(store.mnemonic, pointers[row], *guards, (register, 1), piece=piece)


def _row_pointer(emit: Emitter, column: Group, pitch: Group) -> Group:
    offset = emit.wide("IMAD.WIDE", emit.new("VIADD", column), pitch, column)
    pair = emit.registers.vector(2)
    emit.op("LEA", (offset[0], 1), dst=(pair[0], 1))
    emit.op("LEA.HI.X", offset, (pair[0], 1), dst=(pair[0] + 1, 1))
    return pair
