"""Manners of the command line in a process of its own: quick help, completion, colours, pipes, and a real Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import typer

from gpusim.cli.main import app

COMMAND = [sys.executable, "-m", "gpusim"]
HEAVY = {"numba", "pandas", "matplotlib", "numpy", "simpy", "pyarrow", "joblib", "pydantic", "ruamel", "rich"}
OCCUPANCY = ["occupancy", "--threads", "128", "--registers", "254"]


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **variables})


def on_terminal(*arguments: str, **variables: str) -> str:
    """What a terminal receives."""
    master, slave = pty.openpty()
    process = subprocess.Popen([*COMMAND, *arguments], stdout=slave, stderr=slave,
                               env={**os.environ, "TERM": "xterm-256color", **variables})
    os.close(slave)
    received = b""
    try:
        while chunk := os.read(master, 4096):
            received += chunk
    except OSError:  # the other side is closed
        pass
    os.close(master)
    assert process.wait() == 0
    return received.decode()


def test_help_takes_a_fifth_of_a_second_of_work_and_imports_nothing_heavy():
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "Exit status" in run("--help").stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime

    assert min(seconds() for _ in range(3)) < 0.4  # 0.12 on the machine where this was written; CI is slower
    code = f"""
import sys; sys.argv = ['gpusim', '--help']
from gpusim.cli.main import main
try: main()
except SystemExit as stop: assert not stop.code
found = {HEAVY!r} & set(sys.modules)
assert not found, found
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("gpusim r", {"run"}),
        ("gpusim run hgemm_mult", {"hgemm_multistage"}),
        ("gpusim check hgem", {"hgemm", "hgemm_multistage"}),
        ("gpusim sweep hgemm_t", {"hgemm_tiles"}),
        ("gpusim occupancy --gpu h2", {"h200"}),
    ],
)
def test_the_shell_completes_commands_and_names(words: str, expected: set[str]):
    code = "import sys; sys.argv = ['gpusim']; from gpusim.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env={
        **os.environ, "_GPUSIM_COMPLETE": "complete_bash", "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1)})
    assert done.returncode == 0 and expected <= set(done.stdout.split())


def test_every_command_that_prints_a_table_has_json():
    group = typer.main.get_command(app)
    commands = dict(group.commands) | dict(group.commands["config"].commands)  # type: ignore[attr-defined]
    text = {"config", "schema", "gallery"}  # a group, JSON in any case, and what prints nothing
    for name, command in commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert name in text or "--json" in options, name


def test_a_terminal_gets_colour_unless_it_wants_none():
    assert "\x1b[" in on_terminal(*OCCUPANCY)
    assert "\x1b[3" not in on_terminal(*OCCUPANCY, NO_COLOR="1")
    assert "\x1b[" not in on_terminal(*OCCUPANCY, TERM="dumb")


def test_a_narrow_terminal_cuts_nothing_off():
    assert "…" not in on_terminal("banks", "hgemm", "--set", "swizzle=none", COLUMNS="60")


def test_a_pipe_gets_data_and_nothing_else(tmp_path: Path):
    done = run("check", "hgemm", "--set", "M=128", "--set", "N=128", "--set", "K=64")
    assert done.returncode == 0 and done.stderr == "" and "\x1b" not in done.stdout
    process = subprocess.Popen([*COMMAND, "config", "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout and process.stderr
    process.stdout.close()  # as head does
    assert b"Traceback" not in process.stderr.read()
    process.wait()


def interrupt(arguments: list[str], ready: Path, pattern: str) -> tuple[int, str]:
    """Start a command in a process group of its own, press Ctrl-C once a file is there: (status, stderr)."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    deadline = time.monotonic() + 300
    while not list(ready.glob(pattern)):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[1]
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    return process.wait(120), process.communicate()[1]


@pytest.mark.parametrize("backend", ["local", "dask"])
def test_ctrl_c_in_a_sweep_keeps_what_is_finished_and_leaves_nothing_half_written(tmp_path: Path, backend: str):
    if backend == "dask":
        pytest.importorskip("distributed", reason="needs gpusim[dask]")
    (tmp_path / "many.yaml").write_text(
        "run: hgemm\nsettings: {M: 256, N: 256, K: 1024, tile: [64, 64, 32]}\n"
        "grid: {swizzle: [none, 32B, 64B], num_stages: [2, 3, 4, 5, 6], l2: [cold, warm]}\n")
    arguments = ["sweep", str(tmp_path / "many.yaml"), "-j", "2", "--backend", backend, "--output", str(tmp_path)]
    directory = tmp_path / "sweep-many"
    status, err = interrupt(arguments, directory / "points", "*.json")
    assert status == 130 and "Traceback" not in err, err
    assert err.splitlines()[-1] == "interrupted" and f"finished points are kept in {directory}" in err
    kept = [json.loads(file.read_text()) for file in (directory / "points").iterdir()]
    assert 1 <= len(kept) < 30 and all(point["summary"]["cycles"] > 0 for point in kept)
    assert len(pd.read_csv(directory / "results.csv")) == len(kept)
    assert not [path for path in directory.rglob("*") if path.name.startswith(".")]


def test_ctrl_c_in_text_that_is_executed_ends_with_the_same_status(tmp_path: Path):
    """Python itself would end by the signal, though it was caught: as when dataclasses are just being imported."""
    pressed = "exec('import os, signal; os.kill(os.getpid(), signal.SIGINT)')\n"
    (tmp_path / "pressed.py").write_text(pressed)
    done = run("run", str(tmp_path / "pressed.py"))
    assert done.returncode == 130 and done.stderr == "interrupted\n"


def test_ctrl_c_in_a_run_leaves_no_directory(tmp_path: Path):
    from gpusim.dsl import program_names

    source = program_names()["hgemm_multistage"].read_text()
    mark = f"from pathlib import Path; Path({str(tmp_path / 'loaded')!r}).touch()\nimport gpusim as gs"
    (tmp_path / "mine.py").write_text(source.replace("import gpusim as gs", mark, 1))
    sizes = ["--set", "M=8192", "--set", "N=8192"]
    status, err = interrupt(["run", str(tmp_path / "mine.py"), *sizes, "--output", str(tmp_path / "out")],
                            tmp_path, "loaded")
    assert status == 130 and err == "interrupted\n"
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
