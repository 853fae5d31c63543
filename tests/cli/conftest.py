"""Models a user at a terminal: runs the command line inside the test's process.
Leaves out processes of their own, and what the commands should say."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from gpusim.cli.main import main


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output goes to a pipe of no width, wherever pytest runs: workers of pytest-xdist are told that of a terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def gpusim(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs one command: (exit status, stdout, stderr)."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gpusim", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return run
