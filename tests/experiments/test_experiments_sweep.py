"""Sweeps: every point once, refused ones with their reason; resuming simulates only what is new or changed."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from gpusim.errors import SimulatedFailure, UserError
from gpusim.experiments.config import load_plan
from gpusim.experiments.digest import digest
from gpusim.experiments.sweep import run_sweep
from gpusim.experiments.sweep_config import SweepConfig, list_sweeps, load_sweep
from gpusim.experiments.sweep_result import SweepResult

TEXT = """
run: hgemm
settings: {M: 128, N: 128, K: 128, timeline.cycles: 0}
grid:
  swizzle: [none, 64B]
  tile: [[128, 128, 32], [64, 64, 32]]
"""
WRONG_SWIZZLE = TEXT.replace("[none, 64B]", '[none, "S<1,3,3>"]')


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


def test_listed_points_are_multiplied_by_the_grid(tmp_path: Path):
    text = """
run: hgemm
points:
  - {tile: [128, 128, 32], warps: [2, 2]}
  - {tile: [64, 64, 32]}
grid: {num_stages: [2, 3]}
"""
    listed = [point.values for point in config(tmp_path, text).combinations()]
    wide, small = {"tile": [128, 128, 32], "warps": [2, 2]}, {"tile": [64, 64, 32]}
    assert listed == [first | {"num_stages": stages} for first in (wide, small) for stages in (2, 3)]
    only = [point.values for point in config(tmp_path, text[: text.index("grid")]).combinations()]
    assert only == [wide, small]


def test_resuming_reads_what_is_there_and_simulates_the_rest(instant_engine, tmp_path: Path):
    first = swept(tmp_path)
    next((first.directory / "points").iterdir()).unlink()  # as if interrupted
    instant_engine.clear()
    again = swept(tmp_path, TEXT.replace("none,", "none, 32B,"), resume=True)
    assert (again.reused, len(instant_engine)) == (3, 3)
    assert swept(tmp_path, resume=True).table().equals(first.table())
    instant_engine.clear()
    assert swept(tmp_path).reused == 0 and len(instant_engine) == 4


def test_equal_points_are_simulated_once(instant_engine, tmp_path: Path):
    result = swept(tmp_path, TEXT.replace("[none, 64B]", "[none, none]"))
    assert len(instant_engine) == 2 and len(result.simulated) == 4


def test_an_interrupted_sweep_leaves_whole_files_of_what_is_finished(monkeypatch, instant_engine, tmp_path: Path):
    from gpusim.experiments.run import simulate_plan

    def interrupted(plan, **options):
        if len(instant_engine) == 2:
            raise KeyboardInterrupt
        return simulate_plan(plan, **options)

    monkeypatch.setattr("gpusim.experiments.batch.simulate_plan", interrupted)
    with pytest.raises(KeyboardInterrupt):
        swept(tmp_path)
    directory = tmp_path / "sweep-mine"
    assert len(pd.read_csv(directory / "results.csv")) == len(list((directory / "points").iterdir())) == 2
    monkeypatch.undo()
    assert swept(tmp_path, resume=True).reused == 2


def test_a_point_is_known_by_what_it_is_computed_from(tmp_path: Path):
    point = digest("hgemm")
    assert point == digest("hgemm", ("output=elsewhere", "timeline.cycles=9"))
    assert point == digest("hgemm", ("parameters.num_stages=3",))
    source = Path(load_plan("hgemm").program.kernel.file).read_text()
    changed = []
    for text in (source, source.replace("num_stages=3", "num_stages=4")):
        (tmp_path / "mine.py").write_text(text)
        changed.append(digest(str(tmp_path / "mine.py")))
    others = [digest("hgemm", (setting,)) for setting in ("M=64", "gpu=a100", "l2=warm", "swizzle=none")]
    assert len({point, *others, *changed}) == 7


def test_refused_points_keep_their_place_and_reason_and_are_not_tried_again(instant_engine, tmp_path: Path):
    result = swept(tmp_path, WRONG_SWIZZLE)
    for table in (result.table(), pd.read_parquet(result.directory / "results.parquet")):
        assert table["status"].tolist() == ["done", "done", "refused", "refused"]
        assert table["cycles"].notna().tolist() == [True, True, False, False]
    assert result.failures()["reason"].str.contains("needs a swizzle with base >= 4").tolist() == [True, True]
    assert swept(tmp_path, WRONG_SWIZZLE, resume=True).reused == 4


def test_a_refused_configuration_is_a_point_too(instant_engine, tmp_path: Path):
    result = swept(tmp_path, TEXT.replace("swizzle: [none, 64B]", "registers: [999, 128]"))
    assert [point.status for point in result.points] == ["refused", "refused", "done", "done"]
    assert "less than or equal to 255" in result.points[0].failure


def test_failed_points_are_kept_and_crashed_ones_tried_again(monkeypatch, instant_engine, tmp_path: Path):
    from gpusim.experiments.run import simulate_plan

    def broken(plan, **options):
        errors = {"none": SimulatedFailure("deadlock: warp 0 waits"), "64B": ZeroDivisionError("division by zero")}
        if plan.parameters["tile"] == [64, 64, 32]:
            raise errors[plan.parameters["swizzle"]]
        return simulate_plan(plan, **options)

    monkeypatch.setattr("gpusim.experiments.batch.simulate_plan", broken)
    result = swept(tmp_path)
    assert [point.status for point in result.points] == ["done", "failed", "done", "crashed"]
    assert result.points[1].failure == "deadlock: warp 0 waits"
    assert result.points[3].failure.endswith("ZeroDivisionError: division by zero")
    monkeypatch.setattr("gpusim.experiments.batch.simulate_plan", simulate_plan)
    again = swept(tmp_path, resume=True)
    assert [point.status for point in again.points] == ["done", "failed", "done", "done"] and again.reused == 3


def test_a_kernel_that_changes_during_the_sweep_is_not_mixed_in(monkeypatch, instant_engine, tmp_path: Path):
    from gpusim.experiments.run import simulate_plan

    kernel = tmp_path / "mine.py"
    source = Path(load_plan("hgemm").program.kernel.file).read_text()
    kernel.write_text(source)

    def edited(plan, **options):
        kernel.write_text(source.replace("num_stages=3", "num_stages=4"))
        return simulate_plan(plan, **options)

    monkeypatch.setattr("gpusim.experiments.batch.simulate_plan", edited)
    result = swept(tmp_path, TEXT.replace("run: hgemm", f"run: {kernel}"))
    assert [point.status for point in result.points] == ["done", "crashed", "crashed", "crashed"]
    assert "is another here than when this was planned" in result.points[1].failure


def test_points_of_one_problem_compete_for_the_front(instant_engine, tmp_path: Path):
    text = TEXT.replace("M: 128, ", "").replace("  tile:", "  M: [128, 256]\n  tile:")
    front = swept(tmp_path, text).pareto()
    assert set(front["M"]) == {128, 256}
    assert list(front.columns) == ["swizzle", "M", "tile", "cycles", "shared_bytes"]
    assert front["cycles"].is_monotonic_increasing
    chosen = swept(tmp_path, text + "pareto: {tflops: max}\n", resume=True).pareto()
    best = json.loads((chosen.groupby("M")["tflops"].count()).to_json())
    assert set(best) == {"128", "256"}


def test_figures_are_written_with_the_tables(instant_engine, tmp_path: Path):
    directory = swept(tmp_path).directory
    assert {f"{name}.{kind}" for name in ("points", "pareto") for kind in ("svg", "png")} <= {
        path.name for path in directory.iterdir()}
    assert not [path for path in directory.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("wrong", "right", "sentence"),
    [
        ("run:", "ran:", r"mine\.yaml:2:1: unknown key 'ran'; did you mean 'run'\?"),
        ("[none, 64B]", "[]", r"mine\.yaml:5:3: grid\.swizzle: List should have at least 1 item"),
        ("[none, 64B]", "none", r"grid\.swizzle: Input should be a valid list, got 'none'"),
        ("swizzle:", "swizle:", r"unknown key 'swizle'; did you mean 'swizzle'\?"),
        ("run: hgemm", "run: hgem", r"^mine\.yaml:2:1: no such configuration or program, got 'hgem'; did you mean"),
        ("grid:", "pareto: {cycle: min}\ngrid:", r"mine\.yaml:4:1: pareto: no such number 'cycle'; did you mean"),
        ("grid:", "pareto: {cycles: low}\ngrid:", r"pareto\.cycles: Input should be 'min' or 'max', got 'low'"),
        ("grid:", "points: [{tile: [64, 64, 32]}]\ngrid:", r"'tile' stands in 'grid' and in 'points'; keep one"),
        (TEXT[TEXT.index("grid") :], "", r"a sweep needs a 'grid' of values or a list of 'points'"),
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
    points = load_sweep(name)[1].combinations()
    assert len({digest(point.job.target, point.job.settings) for point in points}) == len(points) > 1
