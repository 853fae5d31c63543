"""Sweeps: every point once, refused ones with their reason; resuming simulates only what is new or changed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gpusim.errors import SimulatedFailure, UserError
from gpusim.experiments.batch import Job
from gpusim.experiments.config import load_plan
from gpusim.experiments.sweep import SweepResult, point_digest, run_sweep
from gpusim.experiments.sweep_config import SweepConfig, list_sweeps, load_sweep

TEXT = """
run: hgemm
settings: {M: 128, N: 128, K: 128, timeline.cycles: 0}
grid:
  swizzle: [none, 64B]
  tile: [[128, 128, 32], [64, 64, 32]]
"""


def config(folder: Path, text: str = TEXT) -> SweepConfig:
    (folder / "mine.yaml").write_text(text)
    return load_sweep(str(folder / "mine.yaml"), [f"output={folder}"])[1]


def swept(folder: Path, text: str = TEXT, *, resume: bool = False) -> SweepResult:
    return run_sweep("mine", config(folder, text), resume=resume)


def test_every_combination_is_simulated_and_written(instant_engine, tmp_path: Path):
    result = swept(tmp_path)
    assert len(instant_engine) == 4 and result.directory == tmp_path / "sweep-mine"
    written = pd.read_csv(result.directory / "results.csv")
    assert written[["swizzle", "tile"]].to_numpy().tolist() == [
        ["none", "[128, 128, 32]"], ["none", "[64, 64, 32]"], ["64B", "[128, 128, 32]"], ["64B", "[64, 64, 32]"]]
    assert written["bank_conflicts_load"].gt(0).tolist() == [True, True, False, False]
    binary = pd.read_parquet(result.directory / "results.parquet")
    assert list(binary.columns) == list(written.columns) and binary["cycles"].tolist() == written["cycles"].tolist()


def test_resuming_reads_what_is_there_and_simulates_the_rest(instant_engine, tmp_path: Path):
    first = swept(tmp_path)
    next((first.directory / "points").iterdir()).unlink()  # as if interrupted
    instant_engine.clear()
    again = swept(tmp_path, TEXT.replace("none,", "none, 32B,"), resume=True)
    assert (again.reused, len(instant_engine)) == (3, 3)
    assert swept(tmp_path, resume=True).table().equals(first.table())
    instant_engine.clear()
    assert swept(tmp_path).reused == 0 and len(instant_engine) == 4


def test_a_point_is_known_by_what_it_is_computed_from(tmp_path: Path):
    point = point_digest(Job("hgemm"))
    assert point == point_digest(Job("hgemm", ("output=elsewhere", "timeline.cycles=9")))
    assert point == point_digest(Job("hgemm", ("parameters.num_stages=3",)))
    source = Path(load_plan("hgemm").program.kernel.file).read_text()
    changed = []
    for text in (source, source.replace("num_stages=3", "num_stages=4")):
        (tmp_path / "mine.py").write_text(text)
        changed.append(point_digest(Job(str(tmp_path / "mine.py"))))
    others = [point_digest(Job("hgemm", (setting,))) for setting in ("M=64", "gpu=a100", "l2=warm", "swizzle=none")]
    assert len({point, *others, *changed}) == 7
    assert point_digest(Job("hgemm", ("registers=999",))) == ""


def test_refused_points_keep_their_place_and_reason(instant_engine, tmp_path: Path):
    result = swept(tmp_path, TEXT.replace("[none, 64B]", '[none, "S<1,3,3>"]'))
    for table in (result.headlines(), result.table(), pd.read_parquet(result.directory / "results.parquet")):
        assert table["not_simulated"].notna().tolist() == [False, False, True, True]
    assert "needs a swizzle with base >= 4" in result.failures[2]
    assert result.headlines()["cycles"].notna().tolist() == [True, True, False, False]


def test_a_sweep_without_any_result_fails(instant_engine, tmp_path: Path):
    with pytest.raises(SimulatedFailure, match="needs a swizzle with base >= 4"):
        swept(tmp_path, TEXT.replace("[none, 64B]", '["S<1,3,3>"]'))


@pytest.mark.parametrize(
    ("wrong", "right", "sentence"),
    [
        ("run:", "ran:", r"mine\.yaml:2:1: unknown key 'ran'; did you mean 'run'\?"),
        ("[none, 64B]", "[]", r"mine\.yaml:5:3: grid\.swizzle: List should have at least 1 item"),
        ("[none, 64B]", "none", r"grid\.swizzle: Input should be a valid list, got 'none'"),
        ("swizzle:", "swizle:", r"unknown key 'swizle'; did you mean 'swizzle'\?"),
        ("run: hgemm", "run: hgem", r"no such configuration or program, got 'hgem'; did you mean"),
    ],
)
def test_mistakes_are_sentences(tmp_path: Path, wrong: str, right: str, sentence: str):
    with pytest.raises(UserError, match=sentence):
        swept(tmp_path, TEXT.replace(wrong, right))


def test_an_unknown_sweep_names_the_nearest():
    with pytest.raises(UserError, match=r"no such sweep, got 'hgemm_tile'; did you mean 'hgemm_tiles'\?"):
        load_sweep("hgemm_tile")


@pytest.mark.parametrize("name", sorted(list_sweeps()))
def test_the_committed_sweeps_have_points_that_load(name: str):
    points = load_sweep(name)[1].points()
    assert len({point_digest(point.job) for point in points}) == len(points) > 1
    assert "" not in {point_digest(point.job) for point in points}
