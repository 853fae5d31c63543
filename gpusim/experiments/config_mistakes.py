"""Models what is wrong with a configuration beyond its schema: keys that a kernel does not have, values, names.
Leaves out the schema (gpusim.experiments.config) and what only recording shows: alignment, room, divisibility."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gpusim.arch import gpu_names
from gpusim.dsl import ProgramFile, program_names
from gpusim.errors import UserError, did_you_mean
from gpusim.validation import Document

__all__ = ["LISTING", "known_program", "mistakes_of", "qualified"]

LISTING = "gpusim run --list"


def mistakes_of(document: Document, program: ProgramFile) -> Iterator[UserError]:
    """One error for every key that the program does not have, every value of another kind, and an unknown GPU."""
    parameters = program.kernel.parameters
    yield from _unknown_keys(document, "parameters", parameters, f"{program.name} has no parameter")
    yield from _unknown_keys(document, "problem", program.sizes, f"{program.name} has no problem size")
    for name, value in _section(document, "parameters").items():
        default = parameters.get(name)
        if default is not None and _kind(value) != _kind(default):
            yield UserError(f"parameter '{name}' is of type {type(default).__name__}, such as {default!r}",
                            place=document.place(("parameters", name)), got=repr(value))
    gpu = document.data.get("gpu")
    if isinstance(gpu, str) and not gpu.endswith((".yaml", ".yml")) and gpu not in gpu_names():
        yield UserError("no such GPU", place=document.place(("gpu",)), got=f"'{gpu}'",
                        suggestion=did_you_mean(gpu, gpu_names()))


def known_program(document: Document, name: str) -> str:
    """The name, if it is one or a path. Raises UserError with its place in the document."""
    if name.endswith(".py") or name in program_names():
        return name
    raise UserError("no such program", place=document.place(("program",)), got=f"'{name}'",
                    suggestion=did_you_mean(name, program_names(), listed_by=LISTING))


def qualified(setting: str, program: ProgramFile, keys: Collection[str]) -> str:
    """``num_stages=2`` -> ``parameters.num_stages=2``, ``M=4096`` -> ``problem.M=4096``; ``keys``: of a run.

    Raises UserError for a key that is none of them.
    """
    key = setting.partition("=")[0].strip()
    if "." in key or key in keys or "=" not in setting:
        return setting  # also what is no setting: it is refused as it was typed
    if key in program.kernel.parameters:
        return f"parameters.{setting}"
    if key in program.sizes:
        return f"problem.{setting}"
    known = {*keys, *program.kernel.parameters, *program.sizes}
    raise UserError(f"unknown key '{key}'", place=f"--set {setting}", suggestion=did_you_mean(key, known))


def _unknown_keys(document: Document, section: str, known: Collection[str], rule: str) -> Iterator[UserError]:
    for key in (key for key in _section(document, section) if key not in known):
        yield UserError(f"{rule} '{key}'", place=document.place((section, key)),
                        suggestion=did_you_mean(str(key), known))


def _section(document: Document, name: str) -> Mapping[str, Any]:
    """A section of the document; empty where something else stands there, which the schema refuses."""
    found = document.data.get(name)
    return found if isinstance(found, Mapping) else {}


def _kind(value: object) -> object:
    """What a value and its default have in common: the type, of a list and a tuple those of the elements."""
    return [type(item) for item in value] if isinstance(value, list | tuple) else type(value)
