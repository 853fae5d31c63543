"""Models the operands of one SASS instruction: registers, predicates, immediates, constants, addresses.
Leaves out what an instruction does with them (gpusim.sass.semantics)."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["PREDICATES", "REGISTERS", "UNIFORM_PREDICATES", "UNIFORM_REGISTERS", "ZERO_REGISTERS", "Operand",
           "parse_operand", "split_operands"]

REGISTERS, UNIFORM_REGISTERS, PREDICATES, UNIFORM_PREDICATES = "R", "UR", "P", "UP"
ZERO_REGISTERS = {"RZ": 255, "URZ": 63, "PT": 7, "UPT": 7}
"""Registers that always read as zero (predicates: as true) and swallow writes, by their number in the encoding."""

_REGISTER = re.compile(r"(UR|UP|R|P)(\d+|Z|T)((?:\.[A-Za-z0-9]+)*)")
_NUMBER = re.compile(r"-?0x[0-9a-f]+|-?\d+")
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*(e[-+]?\d+)?|INF|QNAN)", re.IGNORECASE)
_CONSTANT = re.compile(r"u?cx?\[(\w+)\]\[(.*)\]")
_ADDRESS = re.compile(r"(?:desc\[(UR\d+|URZ)\])?\[(.*)\]")


@dataclass(frozen=True)
class Operand:
    """One operand; ``kind`` says which fields count.

    Kinds: ``R``, ``UR``, ``P``, ``UP`` (``number``), ``immediate`` (``value``), ``float`` (``text``),
    ``constant`` (bank ``number``, byte offset ``value``, index registers ``parts``),
    ``address`` (registers ``parts``, byte offset ``value``, ``descriptor``), ``other`` (special registers, scoreboards,
    barriers: ``text``).
    """

    kind: str
    text: str
    number: int = -1
    value: int = 0
    negated: bool = False  # "-R1", or "!P1" for a predicate
    inverted: bool = False  # "~R1"
    absolute: bool = False  # "|R1|"
    modifiers: tuple[str, ...] = ()  # "64", "X4", "reuse", "H0_H0"
    parts: tuple[Operand, ...] = ()
    descriptor: int = -1  # uniform register of a memory descriptor

    @property
    def is_predicate(self) -> bool:
        return self.kind in (PREDICATES, UNIFORM_PREDICATES)

    @property
    def is_register(self) -> bool:
        return self.kind in (REGISTERS, UNIFORM_REGISTERS)

    @property
    def is_zero(self) -> bool:
        """RZ, URZ, PT or UPT."""
        return self.kind in (REGISTERS, UNIFORM_REGISTERS, PREDICATES, UNIFORM_PREDICATES) and (
            self.number == {REGISTERS: 255, UNIFORM_REGISTERS: 63}.get(self.kind, 7)
        )


def split_operands(text: str) -> list[str]:
    """The comma-separated operands of an instruction."""
    return [part for part in (piece.strip() for piece in text.split(",")) if part]


def parse_operand(text: str) -> Operand:
    """One operand; anything that is no register, number, constant or address comes back as ``other``."""
    core = text
    negated = core.startswith(("-", "!")) and not _NUMBER.fullmatch(core)
    core = core[1:] if negated else core
    inverted = core.startswith("~")
    core = core[1:] if inverted else core
    absolute = core.startswith("|")
    core = core.replace("|", "") if absolute else core
    found = _parse_core(core)
    if found is None:
        return Operand("other", text)
    return Operand(found.kind, text, found.number, found.value, negated, inverted, absolute, found.modifiers,
                   found.parts, found.descriptor)


def _parse_core(core: str) -> Operand | None:
    if match := _REGISTER.fullmatch(core):
        return _register(match)
    if _NUMBER.fullmatch(core):
        return Operand("immediate", core, value=int(core, 0))
    if match := _CONSTANT.match(core):
        bank = int(match[1], 0) if _NUMBER.fullmatch(match[1]) else -1
        return _sum("constant", core, match[2], number=bank)
    if match := _ADDRESS.fullmatch(core):
        return _sum("address", core, match[2], descriptor=int(match[1][2:].replace("Z", "63")) if match[1] else -1)
    if _FLOAT.fullmatch(core):
        return Operand("float", core)
    return None


def _register(match: re.Match[str]) -> Operand:
    kind, number = match[1], match[2]
    index = ZERO_REGISTERS[kind + number] if number in "ZT" else int(number)
    return Operand(kind, match[0], index, modifiers=tuple(match[3].split(".")[1:]))


def _sum(kind: str, text: str, expression: str, *, number: int = -1, descriptor: int = -1) -> Operand | None:
    """``R1+UR4+-0x20``: registers and one byte offset."""
    parts, offset = [], 0
    for term in filter(None, expression.split("+")):
        if _NUMBER.fullmatch(term):
            offset += int(term, 0)
            continue
        part = parse_operand(term)
        if not part.is_register:
            return None
        parts.append(part)
    return Operand(kind, text, number, offset, parts=tuple(parts), descriptor=descriptor)
