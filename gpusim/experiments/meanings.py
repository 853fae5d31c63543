"""Models what the parameters of a program mean, as its docstring says: ``Parameters. tile, warp: of ... layouts: ...``.
Leaves out sizes, and programs whose text has no such paragraph.

A parameter that a program leaves out has the meaning that another program gives it, where the text says so: "The
others are those of gemm_multistage", "alpha, beta: as gemm_multistage has them".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from pathlib import Path

from gpusim.dsl import ProgramFile, load_program, program_names

__all__ = ["described", "parameter_meanings"]

_OTHERS = re.compile(r"[Tt]he others are those of (\w+)[^.]*\.?")
_SAME = re.compile(r"as (?:in )?(\w+)(?: has (?:it|them))?(;.*)?")


def parameter_meanings(program: ProgramFile) -> dict[str, str]:
    """One sentence or more for every parameter that the text explains."""
    text = ast.get_docstring(ast.parse(Path(program.kernel.file).read_text(encoding="utf-8"))) or ""
    found = described(text, program.kernel.parameters)
    for name, meaning in found.items():
        if (same := _SAME.fullmatch(meaning)) and same[1] in program_names():
            own = same[2] or ""
            found[name] = _elsewhere(same[1]).get(name, meaning) + own * (name in own)
    if others := _OTHERS.search(" ".join(text.split())):
        borrowed = _elsewhere(others[1])
        found = {**{name: borrowed[name] for name in program.kernel.parameters if name in borrowed}, **found}
    return found


def _elsewhere(name: str) -> dict[str, str]:
    return parameter_meanings(load_program(name)) if name in program_names() else {}


def described(text: str, names: Collection[str]) -> dict[str, str]:
    """What the paragraph says of each of ``names``; one text may serve several, with a note in brackets for one."""
    paragraph = _OTHERS.sub("", " ".join(text.partition("Parameters.")[2].split()))
    heads = [head for colon in re.finditer(r": ", paragraph) if (head := _head(paragraph, colon.start(), names))]
    ends = [*(start for start, _, _ in heads[1:]), len(paragraph)][: len(heads)]
    found: dict[str, str] = {}
    for (_, colon, subjects), end in zip(heads, ends, strict=True):
        meaning = paragraph[colon + 2 : end].strip(" .;")
        found.update({name: f"{meaning}: {note}" if note else meaning for name, note in subjects.items()})
    return found


def _head(paragraph: str, colon: int, names: Collection[str]) -> tuple[int, int, dict[str, str]] | None:
    """(start, colon, names with their notes) of a clause that is a list of names, None for other clauses."""
    before = re.sub(r"\([^)]*\)", lambda match: "(" + "_" * (len(match[0]) - 2) + ")", paragraph[:colon])
    start = max(before.rfind(". ") + 2, before.rfind("; ") + 2, 0) if re.search(r"[.;] ", before) else 0
    items = re.findall(r"(\w+)(?: \(([^)]*)\))?(?:, | and |$)", paragraph[start:colon])
    spelled = ", ".join(f"{name} ({note})" if note else name for name, note in items)
    if not items or spelled != paragraph[start:colon].replace(" and ", ", ") or not set(dict(items)) <= set(names):
        return None
    return start, colon, dict(items)
