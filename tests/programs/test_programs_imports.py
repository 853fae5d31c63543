"""What programs may import: gpusim itself and gpusim.cute, as a user's kernel does, and no other program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "programs"
FILES = sorted(PROGRAMS.rglob("*.py"))
ALLOWED = ("gpusim", "gpusim.cute", "gpusim.cute.cutlass2")


def imported(path: Path) -> set[str]:
    """Modules that a file imports, at its top or later."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROGRAMS)))
def test_a_program_imports_gpusim_and_its_layouts_only(path: Path) -> None:
    ours = {name for name in imported(path) if name.split(".")[0] == "gpusim"}
    assert ours <= set(ALLOWED)


def test_a_program_imports_no_other_program() -> None:
    names = {path.stem for path in PROGRAMS.glob("*.py")}
    assert len(FILES) > 60 and not {path.name for path in FILES if imported(path) & names}
