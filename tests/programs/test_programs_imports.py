"""What programs may import: gpusim itself and gpusim.cute, as a user's kernel does; what gpusim promises is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gpusim as gs

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


@pytest.mark.parametrize("name", gs.__all__)
def test_every_public_name_is_there_and_has_a_type(name: str) -> None:
    """The stub that type checkers read, and what is loaded at the first use."""
    assert getattr(gs, name) is not None
    stub = ast.parse(Path(gs.__file__).with_suffix(".pyi").read_text())
    known = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    known |= {target.id for node in stub.body if isinstance(node, ast.Assign) for target in node.targets
              if isinstance(target, ast.Name)}
    assert name in known
