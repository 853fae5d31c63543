"""Models the text that `cuobjdump -sass` prints: functions, instructions, and the control fields of their encoding.
Leaves out the meaning of instructions, relocations and debug lines."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

from gpusim.errors import UserError, did_you_mean
from gpusim.sass.operands import PREDICATES, UNIFORM_PREDICATES, Operand, parse_operand, split_operands

__all__ = ["INSTRUCTION_BYTES", "Control", "SassFunction", "SassInstruction", "parse_sass", "read_sass",
           "select_function"]

INSTRUCTION_BYTES = 16

_FUNCTION = re.compile(r"\s*Function : (\S+)")
_ARCHITECTURE = re.compile(r"EF_CUDA_SM(\d+)|arch = sm_(\d+)")
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*(?:/\* 0x([0-9a-f]{16}) \*/)?\s*$")
_HIGH_WORD = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
_GUARD = re.compile(r"@(!?)(UP|P)([0-9T])\s+(.*)")


@dataclass(frozen=True)
class Control:
    """Control fields, as the 128-bit encoding of sm_70 and later holds them (bit numbers in parentheses)."""

    stall: int  # cycles before the warp may issue again (105-108)
    yield_: bool  # prefer to switch warps (109, stored inverted)
    write_barrier: int  # 7: none (110-112)
    read_barrier: int  # 7: none (113-115)
    wait_mask: int  # (116-121)


@dataclass(frozen=True)
class SassInstruction:
    """One instruction as written."""

    address: int  # byte address in the function
    guard: Operand | None
    mnemonic: str  # with modifiers: IMAD.WIDE.U32
    operands: tuple[Operand, ...]
    control: Control
    place: str  # "file:line", for messages
    text: str

    @property
    def base(self) -> str:
        """The mnemonic without modifiers."""
        return self.mnemonic.partition(".")[0]

    @property
    def modifiers(self) -> tuple[str, ...]:
        return tuple(self.mnemonic.split(".")[1:])


@dataclass(frozen=True)
class SassFunction:
    name: str
    architecture: int  # 90 for sm_90 and sm_90a
    instructions: tuple[SassInstruction, ...]  # the i-th is at address 16 i


def read_sass(path: Path | str) -> tuple[SassFunction, ...]:
    """Functions in a text file or gzip file made by ``cuobjdump -sass``.

    Raises:
        UserError: no such file, no function in it, or a line that does not parse (names file and line).
    """
    path = Path(path)
    if not path.is_file():
        raise UserError("no such disassembly file", got=str(path), suggestion="make one with `cuobjdump -sass`")
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", "replace")
    return parse_sass(text, name=path.name)


def parse_sass(text: str, *, name: str = "sass") -> tuple[SassFunction, ...]:
    """Functions in ``text``; ``name`` stands for the file in messages. Raises as `read_sass`."""
    functions: list[tuple[str, list[SassInstruction]]] = []
    architecture, pending = 0, None
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{name}:{number}"
        if match := _ARCHITECTURE.search(line):
            architecture = int(match[1] or match[2])
        if match := _FUNCTION.match(line):
            functions.append((match[1], []))
        elif match := _INSTRUCTION.match(line):
            _refuse_pending(pending)
            pending = (match, place)
        elif pending and (match := _HIGH_WORD.match(line)):
            instructions = _current(functions, pending[1])
            instructions.append(_instruction(pending[0], int(match[1], 16), pending[1], len(instructions)))
            pending = None
    _refuse_pending(pending)
    if not functions:
        raise UserError("no function in the disassembly", place=name, suggestion="make the text with `cuobjdump -sass`")
    return tuple(SassFunction(function, architecture, tuple(body)) for function, body in functions)


def select_function(functions: tuple[SassFunction, ...], function: str | None) -> SassFunction:
    """The function called ``function`` (a unique part of the name is enough), or the only one.

    Raises:
        UserError: none or several fit.
    """
    fitting = [f for f in functions if function is None or function == f.name]
    fitting = fitting or [f for f in functions if function is not None and function in f.name]
    if len(fitting) == 1:
        return fitting[0]
    names = [f.name for f in functions]
    if function is None:
        raise UserError("several functions, name one", got=len(names), suggestion=f"known: {', '.join(names)}")
    rule = "several functions fit" if fitting else "no such function"
    raise UserError(rule, got=f"'{function}'", suggestion=did_you_mean(function, names))


def _current(functions: list[tuple[str, list[SassInstruction]]], place: str) -> list[SassInstruction]:
    if not functions:
        raise UserError("an instruction before any 'Function :' line", place=place)
    return functions[-1][1]


def _refuse_pending(pending: tuple[re.Match[str], str] | None) -> None:
    if pending:
        raise UserError("an instruction without both words of its encoding", place=pending[1], got=f"'{pending[0][2]}'",
                        suggestion="keep the encoding comments that `cuobjdump -sass` prints")


def _instruction(match: re.Match[str], high: int, place: str, index: int) -> SassInstruction:
    address, text = int(match[1], 16), match[2]
    if match[3] is None:
        raise UserError("an instruction without its encoding", place=place, got=f"'{text}'")
    if address != index * INSTRUCTION_BYTES:
        raise UserError("instruction addresses must rise by 16 from 0", place=place, got=hex(address))
    guard, rest = _split_guard(text)
    mnemonic, _, operands = rest.partition(" ")
    parsed = tuple(parse_operand(part) for part in split_operands(operands))
    return SassInstruction(address, guard, mnemonic, parsed, _control(high), place, text)


def _split_guard(text: str) -> tuple[Operand | None, str]:
    match = _GUARD.match(text)
    if not match:
        return None, text
    kind = {"P": PREDICATES, "UP": UNIFORM_PREDICATES}[match[2]]
    number = 7 if match[3] == "T" else int(match[3])
    return Operand(kind, match[1] + match[2] + match[3], number, negated=bool(match[1])), match[4]


def _control(high: int) -> Control:
    """Control fields out of the high 64-bit word: bit b of the encoding is bit b - 64 of it."""
    return Control(
        stall=high >> 41 & 0xF,
        yield_=not high >> 45 & 1,
        write_barrier=high >> 46 & 7,
        read_barrier=high >> 49 & 7,
        wait_mask=high >> 52 & 0x3F,
    )
