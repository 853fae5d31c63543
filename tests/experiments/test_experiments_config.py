"""Tests of run configurations: what can be named, what settings mean, and the sentence for every mistake."""

from __future__ import annotations

import pytest

from gpusim.errors import UserError
from gpusim.experiments.config import RunConfig, list_configs, load_plan, to_yaml
from gpusim.validation import load_yaml_model


def test_a_named_configuration_is_complete():
    plan = load_plan("hgemm")
    assert plan.problem == {"M": 2048, "N": 2048, "K": 2048}
    assert plan.parameters["swizzle"] == "64B" and plan.parameters["num_stages"] == 3
    assert plan.config.l2 == "cold" and plan.config.fidelity == "full"


def test_a_program_runs_with_its_defaults_by_name_and_by_path():
    by_name = load_plan("hgemm_multistage")
    by_path = load_plan(str(list_configs()["hgemm"].parents[2] / "programs" / "hgemm_multistage.py"))
    assert by_name.resolved().problem == by_path.resolved().problem == dict(by_name.program.sizes)


def test_bare_keys_find_parameters_and_problem_sizes():
    plan = load_plan("hgemm", ["num_stages=4", "M=512", "l2=warm", "timeline.sm=3", "tile=[64, 64, 32]"])
    assert plan.parameters["num_stages"] == 4 and plan.problem["M"] == 512
    assert plan.config.l2 == "warm" and plan.config.timeline.sm == 3 and plan.parameters["tile"] == [64, 64, 32]


def test_the_resolved_configuration_runs_again_to_the_same(tmp_path):
    plan = load_plan("hgemm", ["swizzle=none", "registers=128", "issue_policy=lrr"])
    path = tmp_path / "again.yaml"
    path.write_text(to_yaml(plan.resolved()))
    assert load_yaml_model(path, RunConfig) == plan.resolved()
    assert load_plan(str(path)).resolved() == plan.resolved()


def test_every_key_has_a_description():
    schema = RunConfig.model_json_schema()
    for section in (schema, schema["$defs"]["TimelineWindow"]):
        assert all(entry.get("description") for entry in section["properties"].values())


@pytest.mark.parametrize(
    ("target", "settings", "sentence"),
    [
        ("hgem", [], r"^CONFIG\|PROGRAM: no such configuration or program, got 'hgem'; did you mean 'hgemm'\? "
                     r"gpusim run --list names all \d+$"),
        ("hgemm_single", [], r"did you mean 'hgemm_single_stage' or '\w+' or '\w+'\? gpusim run"),
        ("qqqq", [], r"^CONFIG\|PROGRAM: no such configuration or program, got 'qqqq'; gpusim run --list names all"),
        ("hgemm", ["swizle=none"], r"--set swizle=none: unknown key 'swizle'; did you mean 'swizzle'\?"),
        ("hgemm", ["parameters.stages=2"], r"hgemm_multistage has no parameter 'stages'; did you mean 'num_stages'\?"),
        ("hgemm", ["problem.L=2"], r"hgemm_multistage has no problem size 'L'; known: K, M, N"),
        ("hgemm", ["l2=hot"], r"--set l2=hot: l2: Input should be 'cold' or 'warm', got 'hot'"),
        ("hgemm", ["registers=300"], r"registers: Input should be less than or equal to 255, got 300"),
        ("hgemm", ["M"], r"a setting is KEY=VALUE"),
        ("nowhere.yaml", [], r"nowhere\.yaml: the file cannot be read"),
        ("hgemm", ["program=hgemm_multistag"],
         r"--set program=hgemm_multistag: no such program, got 'hgemm_multistag'; did you mean"),
        ("hgemm", ["num_stages=x"], r"--set num_stages=x: parameter 'num_stages' is of type int, such as 3, got 'x'"),
        ("hgemm", ["tile=[64, 64]"], r"--set tile=\[64, 64\]: parameter 'tile' is of type tuple, such as \(128, 1"),
        ("hgemm", ["M=big"], r"--set M=big: problem\.M: Input should be a valid integer"),
        ("hgemm", ["gpu=h20"], r"--set gpu=h20: no such GPU, got 'h20'; did you mean 'h200'\?"),
    ],
)
def test_every_mistake_is_one_sentence(target: str, settings: list[str], sentence: str):
    with pytest.raises(UserError, match=sentence):
        load_plan(target, settings)


def test_all_mistakes_of_a_file_are_reported_with_their_lines(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("program: hgemm_multistage\nparameters:\n  stages: 2\nproblem: {M: 64, Q: 1}\n")
    with pytest.raises(UserError) as caught:
        load_plan(str(path))
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == ["bad.yaml:3:3", "bad.yaml:4:18"]


def test_mistakes_of_all_kinds_are_reported_together(tmp_path):
    """What the schema refuses, what the kernel does not have, a GPU without a file, and what was typed."""
    path = tmp_path / "bad.yaml"
    path.write_text("program: hgemm_multistage\ngpu: h20\nl2: hot\nparameters: {stages: 2}\n")
    with pytest.raises(UserError) as caught:
        load_plan(str(path), ["swizle=none", "fidelity=some", "num_stages"])
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [
        "--set swizle=none", "--set", "--set fidelity=some", "bad.yaml:3:1", "bad.yaml:4:14", "bad.yaml:2:1"]


def test_mistakes_beside_a_missing_program_are_reported_with_it(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("program: hgem_multistage\nl2: hot\nspeed: 1\nproblem: 7\n")
    with pytest.raises(UserError) as caught:
        load_plan(str(path), ["M=4", "registers=999"])
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [
        "bad.yaml:1:1", "bad.yaml:4:1", "--set registers=999", "bad.yaml:2:1", "bad.yaml:3:1"]


def test_a_file_without_a_program_is_refused(tmp_path):
    path = tmp_path / "empty.yaml"
    path.write_text("gpu: h200\n")
    with pytest.raises(UserError, match="required key 'program' is missing"):
        load_plan(str(path))
