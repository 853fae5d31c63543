"""Tests of the command line's contract: exit status, streams, sentences, CSV and JSON, and a quick --help."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

TABLES = Path(str(files("gpusim"))) / "data" / "hardware" / "h200"
SMALL = ["--set", "M=128", "--set", "N=128", "--set", "K=128", "--set", "timeline.cycles=0"]


def test_every_command_is_listed(gpusim):
    status, out, _ = gpusim("--help")
    assert status == 0 and "Exit status: 0 done, 1 the simulated thing failed" in out
    assert all(f"\n  {name} " in out for name in ("compare", "sweep", "layout", "banks", "suggest", "check"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "hgem"], "error: CONFIG|PROGRAM: no such configuration or program, got 'hgem'; did you mean 'hgemm'?"),
        (["check", "qqqq"], "got 'qqqq'; gpusim run --list names all "),
        (["run", "hgemm", "--set", "swizle=none"], "unknown key 'swizle'; did you mean 'swizzle'?"),
        (["run", "hgemm", "--set", "gpu=h20"], "no such GPU, got 'h20'; did you mean 'h200'?"),
        (["run", "hgemm", "--set", "swizzle"], "--set: a setting is KEY=VALUE with dots in KEY, got 'swizzle'"),
        (["validate", "nofile.csv"], "nofile.csv: the file cannot be read as CSV, got 'No such file or directory'"),
        (["run"], "name a configuration or a program"),
        (["run", "hgemm", "--sett", "a=b"], "No such option: --sett"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["timeline", "hgemm", "--cycles", "9:3"], "'9:3' is not START:END in cycles"),
        (["banks"], "name a program, or give --op and --layout, or --csv FILE"),
        (["banks", "--csv", "absent.csv"], "error: absent.csv: the file cannot be read as CSV"),
        (["occupancy", "--threads", "64"], "give --threads and --registers, or --csv FILE"),
        (["validate", "absent.csv"], "error: absent.csv: the file cannot be read as CSV"),
        (["compare", "hgemm", "--over", "swizzle"], "a comparison is KEY=VALUE,VALUE"),
        (["config", "schema", "cpu"], "'cpu' is neither run nor gpu"),
    ],
)
def test_bad_usage_is_a_sentence_on_stderr_and_status_2(gpusim, arguments: list[str], sentence: str):
    status, out, err = gpusim(*arguments)
    assert status == 2 and out == ""
    assert sentence in err and "Traceback" not in err


def test_every_mistake_of_a_configuration_has_its_own_line(gpusim):
    status, _, err = gpusim("run", "hgemm", "--set", "l2=hot", "--set", "registers=999")
    assert status == 2
    assert len([line for line in err.splitlines() if line.startswith("error: ")]) == 2


def test_banks_prints_csv_for_every_row_of_a_table(gpusim, tmp_path):
    status, out, _ = gpusim("banks", "--csv", str(TABLES / "smem_patterns.csv"), "--gpu", "h200")
    (tmp_path / "out.csv").write_text(out)
    answer, measured = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(TABLES / "smem_patterns.csv")
    assert status == 0 and list(answer.columns) == ["idx", "wavefronts", "bank_conflicts"]
    assert answer["idx"].tolist() == measured["idx"].tolist()


def test_occupancy_prints_csv_with_the_questions_and_answers(gpusim, tmp_path):
    questions = "registers_per_thread,threads_per_block,dynamic_smem_bytes"
    (tmp_path / "in.csv").write_text(f"{questions}\n254,128,49152\n32,2048,0\n")
    status, out, _ = gpusim("occupancy", "--csv", str(tmp_path / "in.csv"), "--gpu", "h200")
    lines = out.splitlines()
    assert status == 0 and lines[0] == f"{questions},blocks_per_sm,limiter"
    assert lines[1] == "254,128,49152,2,registers" and lines[2].startswith("32,2048,0,-1,")


def test_occupancy_of_one_launch_as_json(gpusim):
    status, out, _ = gpusim("occupancy", "--threads", "128", "--registers", "254", "--shared", "49152", "--json")
    assert status == 0
    assert (json.loads(out)["blocks_per_sm"], json.loads(out)["limiter"]) == (2, "registers")


def test_banks_of_one_access(gpusim):
    status, out, _ = gpusim("banks", "--op", "LDSM4", "--layout", "(8,4):(64,16)", "--json")
    assert status == 0 and [row["wavefronts"] for row in json.loads(out)] == [4, 4, 4, 4]


def test_config_show_prints_yaml_that_runs_again(gpusim, tmp_path):
    status, first, _ = gpusim("config", "show", "hgemm", "--set", "num_stages=4")
    (tmp_path / "again.yaml").write_text(first)
    assert status == 0 and "num_stages: 4" in first
    assert gpusim("config", "show", str(tmp_path / "again.yaml"))[1] == first
    assert json.loads(gpusim("config", "schema")[1])["properties"]["program"]["description"]


def test_run_lists_what_has_a_name(gpusim):
    status, out, _ = gpusim("run", "--list", "--json")
    assert status == 0
    listed = {(row["kind"], row["name"]) for row in json.loads(out)}
    assert {("run", "hgemm"), ("program", "hgemm_multistage")} <= listed


def test_run_prints_what_a_profiler_would(gpusim, instant_engine, tmp_path):
    status, out, err = gpusim("run", "hgemm", *SMALL, "--output", str(tmp_path))
    assert status == 0 and err == ""
    for words in ("TFLOP/s", "% of mma.sync peak", "Theoretical Occupancy", "limited by", "Bank Conflicts", "Ways",
                  "Warp Cycles Per Issued Instruction", "L2 Hit Rate", "DRAM Bytes Read", "million per second"):
        assert words in out, words
    (directory,) = tmp_path.iterdir()
    assert f"wrote {directory}" in out and (directory / "report.html").exists()


def test_run_json_is_the_summary_and_nothing_else(gpusim, instant_engine, tmp_path):
    status, out, _ = gpusim("run", "hgemm", *SMALL, "--output", str(tmp_path), "--json")
    summary = json.loads(out)
    assert status == 0 and summary["engine"]["warp_instructions_per_second"] > 0
    assert summary["cycles"] == json.loads((Path(summary["run_directory"]) / "summary.json").read_text())["cycles"]


def test_compare_ends_with_one_sentence(gpusim, instant_engine, tmp_path):
    figure = tmp_path / "swizzles"
    status, out, _ = gpusim("compare", "hgemm", "--over", "swizzle=none,64B", *SMALL, "--figure", str(figure))
    last = out.strip().splitlines()[-1]
    assert status == 0 and last.startswith("swizzle=64B is ") and last.endswith("x faster than swizzle=none")
    assert figure.with_suffix(".svg").exists() and figure.with_suffix(".png").exists()


def test_validate_writes_json_and_its_gate_decides_the_status(gpusim, instant_engine, tmp_path):
    rows = pd.read_csv(TABLES / "kernels.csv")
    rows[(rows["M"] == 256) & (rows["source"] == "hand")].head(1).to_csv(tmp_path / "one.csv", index=False)
    arguments = ["validate", str(tmp_path / "one.csv"), "--gpu", "h200", "--json", str(tmp_path / "out.json")]
    status, out, _ = gpusim(*arguments)
    written = json.loads((tmp_path / "out.json").read_text())
    assert status == 0 and written["summary"]["rows_built"] == 1 and "mape cycles pct" in out
    status, _, err = gpusim(*arguments, "--gate", "0")
    assert status == 1 and "error: the mean absolute error of cycles is" in err


def test_check_passes_a_right_kernel_and_fails_a_wrong_one(gpusim, tmp_path):
    sizes = ["--set", "M=128", "--set", "N=128", "--set", "K=64"]
    status, out, _ = gpusim("check", "hgemm", *sizes, "--json")
    assert status == 0 and json.loads(out)["passed"]
    status, out, _ = gpusim("check", "gemm_multistage", *sizes)
    assert status == 0 and re.search(r"LDSM4 sA, multistage\.py:\d+ ", out) and "gemm_multistage.py:" in out
    source = (TABLES.parents[3] / "programs" / "hgemm_multistage.py").read_text()
    broken = tmp_path / "broken.py"
    broken.write_text(source.replace("ctx.cp_async_wait_group(num_stages - 2)", "pass"))
    status, out, err = gpusim("check", str(broken), *sizes)
    assert status == 1 and "FAIL" in out and "error: broken failed: " in err


MISTAKES = {
    "ctx.sync_thread()":
        r"AttributeError: 'Context' object has no attribute 'sync_thread'; did you mean 'sync_threads'\?",
    "1 / 0": r"ZeroDivisionError: division by zero",
    "import numpy; numpy.zeros(-1)": r"ValueError: negative dimensions are not allowed",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_kernel_is_one_sentence_with_its_line(gpusim, tmp_path: Path, mistake: str):
    from gpusim.dsl import program_names

    source = program_names()["hgemm_multistage"].read_text()
    broken = tmp_path / "mine.py"
    broken.write_text(source.replace("ctx.sync_threads()", mistake))
    line = source[: source.index("ctx.sync_threads()")].count("\n") + 1
    status, out, err = gpusim("run", str(broken), *SMALL)
    assert status == 2 and out == ""
    assert re.fullmatch(f"error: {broken}:{line}: {MISTAKES[mistake]}\n", err)


def test_a_module_that_is_not_there_is_named_with_the_line_that_wants_it(gpusim, tmp_path: Path):
    (tmp_path / "mine.py").write_text("import gpusim as gs\nimport nothere\n")
    status, _, err = gpusim("run", str(tmp_path / "mine.py"))
    assert status == 2 and err == f"error: {tmp_path}/mine.py:2: ModuleNotFoundError: No module named 'nothere'\n"
