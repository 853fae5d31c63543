"""What parameters mean: read from the programs' texts, complete for the library, shown as YAML that runs again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

import gpusim as gs
from gpusim.experiments.config import load_plan
from gpusim.experiments.explain import explained_yaml
from gpusim.experiments.meanings import described, parameter_meanings

LIBRARY = sorted(gs.program_names())
TEXT = """A kernel.

Parameters. tile, warp: (m, n, k) of a block; of a warp, too. scale (one, two), mode: how sums
are scaled. swizzle: in bytes; none: conflicts. D = A: no parameter.
"""


def test_a_text_is_cut_at_lists_of_names() -> None:
    assert described(TEXT, ["tile", "warp", "scale", "mode", "swizzle", "other"]) == {
        "tile": "(m, n, k) of a block; of a warp, too", "warp": "(m, n, k) of a block; of a warp, too",
        "scale": "how sums are scaled: one, two", "mode": "how sums are scaled",
        "swizzle": "in bytes; none: conflicts. D = A: no parameter",
    }


def test_a_text_without_the_paragraph_explains_nothing() -> None:
    assert described("A kernel. tile: of a block.", ["tile"]) == {}


@given(st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), st.from_regex(r"of [A-Z]{1,9}", fullmatch=True)))
def test_what_was_written_is_read(meanings: dict[str, str]) -> None:
    text = " ".join(f"{name}: {meaning}." for name, meaning in meanings.items())
    assert described(f"Parameters. {text}", meanings) == meanings


@pytest.mark.parametrize("name", LIBRARY)
def test_every_parameter_of_the_library_is_explained(name: str) -> None:
    program = gs.load_program(name)
    assert set(program.kernel.parameters) <= set(parameter_meanings(program))


@pytest.mark.parametrize("name", LIBRARY)
def test_a_meaning_stands_for_itself(name: str) -> None:
    """Shown alone above its key, it says what the value is: no "of a CTA", and nothing that belongs to all of them."""
    for parameter, meaning in parameter_meanings(gs.load_program(name)).items():
        first = meaning.split()[0]
        assert first not in ("of", "in", "to", "along", "as", "on", "from"), f"{name} {parameter}: {meaning}"
        assert len(meaning) >= 18 and "need not" not in meaning, f"{name} {parameter}: {meaning}"


def test_meanings_are_borrowed_where_the_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "borrowing.py"
    path.write_text('''"""A kernel.

Parameters. tile: as in hgemm_cute. pipe: its own. The others are those
of hgemm_cute.
"""
import gpusim as gs

def problem(M): return {"A": gs.tensor("A", gs.f16, (M, M))}
def flops(M): return 0.0
def reference(inputs): return {}

@gs.kernel
def borrowing(ctx, A, *, tile=(1, 1, 1), pipe=1, num_stages=3, unknown=1): ...
''')
    found, other = parameter_meanings(gs.load_program(path)), parameter_meanings(gs.load_program("hgemm_cute"))
    assert found == {"tile": other["tile"], "num_stages": other["num_stages"], "pipe": "its own"}


@pytest.mark.parametrize("name", ["hgemm_cute", "gemm_multistage", "conv2d_fprop", "micro/barrier"])
def test_explained_yaml_runs_again(name: str, tmp_path: Path) -> None:
    plan, path = load_plan(name), tmp_path / "again.yaml"
    path.write_text(explained_yaml(plan))
    values = plan.resolved().model_dump(mode="json")
    assert YAML(typ="safe").load(path) == load_plan(str(path)).resolved().model_dump(mode="json") == values


def test_comments_stand_above_their_keys_and_neighbours_share_one() -> None:
    lines = explained_yaml(load_plan("copy_async")).splitlines()
    assert lines[0].startswith("# Copy through shared memory by cp.async")
    assert lines[lines.index("  cache: cg") - 1] == "  # ca, through L1, or cg, past it"
    shared = explained_yaml(load_plan("conv2d_fprop")).splitlines()
    row = shared.index("  tile: [128, 128, 32]")
    assert shared[row - 2].startswith("  # tile, warp: (m, n, k) that a threadblock and a warp multiply at a time")
    assert shared[row + 1] == "  warp: [64, 64, 32]"
    assert all(len(line) <= 102 for line in lines)
