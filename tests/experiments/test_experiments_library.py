"""Tests of the use from Python: every way to name a kernel gives the same run; tables, figures, a notebook's view."""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path

import pytest

import gpusim as gs
from gpusim.errors import UserError
from gpusim.experiments.config import load_plan
from gpusim.experiments.run import simulate_plan
from gpusim.report.metrics import METRICS

SIZES = {"M": 128, "N": 128, "K": 128}


@pytest.fixture(scope="module")
def simulated() -> gs.Result:
    """A small launch on the real engine."""
    return gs.simulate("hgemm_multistage", gpu="h200", **SIZES)


def test_a_name_is_simulated_as_the_command_line_would(simulated):
    summary = simulate_plan(load_plan("hgemm_multistage", [f"{key}={value}" for key, value in SIZES.items()])).summary
    assert simulated.cycles == summary["cycles"] and simulated["l2_hit_pct"] == summary["l2_hit_pct"]
    assert simulated.plan.problem == SIZES
    assert simulated.time_us == pytest.approx(simulated.cycles / 1980)


def test_every_way_to_name_a_kernel_gives_the_same_cycles(simulated):
    file = gs.load_program("hgemm_multistage")
    tensors = file.problem(**SIZES)
    for again in (
        gs.simulate(Path(file.kernel.file), **SIZES), gs.simulate(file, **SIZES), gs.simulate(file.kernel, **SIZES),
        gs.simulate(simulated.program), gs.simulate(file.kernel, tensors=tensors, flops=file.flops(**SIZES)),
        gs.simulate(file.kernel, tensors=list(tensors.values()), flops=file.flops(**SIZES)),
    ):
        assert (again.cycles, again.tflops) == (simulated.cycles, simulated.tflops)


def test_settings_are_python_values(instant_engine):
    choices = {"swizzle": "none", "tile": (64, 64, 32), "timeline": {"cycles": 0}}
    result = gs.simulate("hgemm", gpu="a100", l2="warm", **choices, **SIZES)
    assert result.spec.name == "a100"
    assert instant_engine[0]["l2"] == "warm" and instant_engine[0]["record"] is None
    assert result.plan.parameters["tile"] == [64, 64, 32] and result.plan.parameters["swizzle"] == "none"
    recorded = gs.simulate(result.program, gpu="a100", fidelity="sampled")
    assert instant_engine[1]["fidelity"] == "sampled" and recorded.plan is None


def test_a_configuration_keeps_its_gpu(instant_engine, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text("program: hgemm_multistage\ngpu: a100\nproblem: {M: 128, N: 128, K: 128}\n")
    assert gs.simulate(config).spec.name == "a100"
    assert gs.simulate(config, gpu="h200").spec.name == "h200"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"program": "hgemm", "swizle": "none"}, "^swizle=\"none\": unknown key 'swizle'; did you mean 'swizzle'"),
        ({"program": "hgemm", "gpu": "h2000"}, "h2000"),
        ({"program": "hgemm", "gpu": gs.load_gpu("h200")}, "gpu: a GPU is a name or a YAML file, got a GpuSpec; "),
        ({"program": "hgemm", "flops": 1.0}, "simulate: tensors and flops belong to a kernel; programs bring theirs"),
    ],
)
def test_mistakes_are_one_sentence(instant_engine, arguments, sentence):
    with pytest.raises(UserError, match=sentence):
        gs.simulate(**arguments)
    assert instant_engine == []


def test_a_kernel_without_a_problem_wants_tensors():
    @gs.kernel
    def nothing(ctx, A):
        ctx.launch((1, 1), warps=1)

    with pytest.raises(UserError, match=r"the module of kernel nothing has no function problem\(\); give it tensors="):
        gs.simulate(nothing)


def test_a_recorded_program_cannot_be_recorded_otherwise(simulated):
    with pytest.raises(UserError, match="a recorded program has its schedule already, got schedule=source"):
        gs.simulate(simulated.program, schedule="source")
    with pytest.raises(UserError, match="fidelty"):
        gs.simulate(simulated.program, fidelty="full")


def test_tables_are_those_of_a_run_directory(simulated):
    metrics = simulated.metrics.set_index("name")
    assert list(metrics.index) == [metric.name for metric in METRICS]
    assert metrics.loc["cycles", "value"] == simulated.cycles
    assert metrics.loc["cycles", "ncu_name"] == "sm__cycles_elapsed.max"
    tables = simulated.tables
    assert tables["source_lines"]["issued"].sum() == simulated["warp_instructions"]
    with pytest.raises(UserError, match="a result has no number 'l2_hit'; did you mean 'l2_hit_pct'"):
        simulated["l2_hit"]


def test_figures_are_drawn_and_notebooks_show_them(simulated):
    for drawn in (simulated.timeline(), simulated.timeline(against=simulated, warps=[0]), simulated.warp_states()):
        assert drawn._repr_svg_().startswith("<svg")
    assert len(simulated.timeline(against=simulated).axes) == 3


def test_the_notebook_view_escapes_and_says_what_limits(simulated):
    page = simulated._repr_html_()
    assert f"{simulated.cycles:,} cycle" in page and "<svg" in page and "Elapsed Cycles" in page
    assert "<script" not in page and "array(" not in repr(simulated)
    assert repr(simulated).startswith(f"Result(hgemm_multistage on h200: {simulated.cycles:,} cycles, ")


def test_results_compare_and_write(simulated, tmp_path):
    choices = {"swizzle": "none", "output": str(tmp_path / "runs"), "timeline": {"cycles": 100}}
    slower = gs.simulate("hgemm_multistage", **choices, **SIZES)
    difference = simulated.compare(slower)
    assert difference.verdict().startswith("hgemm_multistage (swizzle=64B) is 1.")
    trace = json.loads(gzip.decompress(slower.write_trace(tmp_path / "t.json.gz").read_bytes()))
    assert trace["otherData"] == {"name": "hgemm_multistage", "gpu": "h200"}
    directory = slower.write()
    assert directory.parent == tmp_path / "runs" and (directory / "report.html").exists()
    with pytest.raises(UserError, match="only a run with a configuration has a directory"):
        gs.simulate(slower.program).write()


def test_type_checkers_see_the_names_that_are_loaded_lazily():
    package = Path(gs.__file__).parent
    stub = ast.parse((package / "__init__.pyi").read_text())
    imported = {name.asname: (node.module, name.name) for node in stub.body if isinstance(node, ast.ImportFrom)
                for name in node.names}
    seen = {name: module for name, (module, there) in imported.items() if name == there}
    renamed = {node.targets[0].id: imported[node.value.id] for node in stub.body if isinstance(node, ast.Assign)}
    seen |= {name: f"{module}:{there}" for name, (module, there) in renamed.items()}
    assert seen == gs._HOMES, "gpusim/__init__.pyi lists every name of _HOMES with its module"
    assert all(getattr(gs, name) is not None for name in gs.__all__)
    assert (package / "py.typed").exists()
