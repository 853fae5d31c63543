"""Models a Markdown page whose commands are run: what a reader may type, and what it printed, beneath each command.
Leaves out running them (gpusim.cli.gallery, and the tests of README.md)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

__all__ = ["blocks", "commands", "refresh"]

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "


def blocks(page: str, language: str) -> list[str]:
    """Texts of the page's code blocks in a language."""
    return [match[2] for match in _BLOCK.finditer(page) if match[1] == language]


def commands(page: str) -> list[list[str]]:
    """Every command as words: lines of ``bash`` blocks, parts of one line joined by ``&&``, and prompts of ``console``.

    Comments are left out.
    """
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    lines += [line.removeprefix(_PROMPT) for block in blocks(page, "console") for line in block.splitlines()
              if line.startswith(_PROMPT)]
    words = [shlex.split(part, comments=True) for line in lines for part in line.split("&&")]
    return [command for command in words if command]


def refresh(page: str, run: Callable[[list[str]], str]) -> str:
    """The page with what ``run`` says of each command of its ``console`` blocks beneath it."""
    return _BLOCK.sub(lambda match: _refreshed(match, run) if match[1] == "console" else match[0], page)


def _refreshed(match: re.Match[str], run: Callable[[list[str]], str]) -> str:
    answers = (f"{line}\n{run(shlex.split(line.removeprefix(_PROMPT), comments=True))}" for line in _prompts(match[2]))
    return f"```{match[1]}\n{''.join(answers)}```"


def _prompts(block: str) -> Iterator[str]:
    return (line for line in block.splitlines() if line.startswith(_PROMPT))
