"""Models where a number of a GPU file comes from: every number is written with its source, then read without.
Leaves out which numbers there are (gpusim.arch.spec)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim.errors import UserError, did_you_mean
from gpusim.validation import ConfigError, Document

__all__ = ["SOURCE_KINDS", "Source", "inherited", "split_provenance"]

SOURCE_KINDS = ("measured", "paper", "datasheet", "guess", "setting")
"""measured: on silicon, ``ref`` names the table; paper, datasheet: published; guess: nobody measured it;
setting: given by the user on the command line."""

_LEAF_KEYS = {"value", "source", "ref"}
Path_ = tuple[str | int, ...]


@dataclass(frozen=True)
class Source:
    """Where a number comes from; ``ref`` names a table, a document or a reason."""

    kind: str
    ref: str = ""


def inherited(node: Any, base: str) -> Any:
    """Data of a base file as another GPU inherits it: whatever was known about the base is a guess about the other."""
    if isinstance(node, dict) and node.get("source") in SOURCE_KINDS:
        known = " ".join(str(node[key]) for key in ("source", "ref") if key in node)
        return {**node, "source": "guess", "ref": f"as on the {base} ({known})"}
    if isinstance(node, dict):
        return {key: inherited(value, base) for key, value in node.items()}
    return [inherited(value, base) for value in node] if isinstance(node, list) else node


def split_provenance(document: Document) -> tuple[Document, dict[str, Source]]:
    """The document with ``{value, source, ref}`` leaves replaced by their values, and the sources by dotted key.

    Raises ConfigError when a number has no source, or a source is of no known kind.
    """
    sources: dict[str, Source] = {}
    errors: list[UserError] = []
    data = _split(document.data, (), document, sources, errors)
    if errors:
        raise ConfigError(errors)
    return Document(document.name, data, document.places), sources


def _split(node: Any, path: Path_, document: Document, sources: dict[str, Source], errors: list[UserError]) -> Any:
    if isinstance(node, dict) and "value" in node:
        return _leaf(node, path, document, sources, errors)
    if isinstance(node, dict):
        return {key: _split(value, (*path, key), document, sources, errors) for key, value in node.items()}
    if isinstance(node, list):
        return [_split(value, (*path, i), document, sources, errors) for i, value in enumerate(node)]
    if isinstance(node, int | float) and not isinstance(node, bool):
        errors.append(UserError(
            f"{_dotted(path)}: a number needs its source", place=document.place(path), got=node,
            suggestion=f"write {{value: {node}, source: {' | '.join(SOURCE_KINDS[:4])}, ref: ...}}",
        ))
    return node


def _leaf(node: dict[str, Any], path: Path_, document: Document, sources: dict[str, Source],
          errors: list[UserError]) -> Any:
    for key in node.keys() - _LEAF_KEYS:
        errors.append(UserError(f"unknown key '{key}' in '{_dotted(path)}'", place=document.place((*path, key)),
                                suggestion=did_you_mean(str(key), _LEAF_KEYS)))
    kind = node.get("source")
    if kind not in SOURCE_KINDS:
        errors.append(UserError(f"{_dotted(path)}: source should be one of {', '.join(SOURCE_KINDS[:4])}",
                                place=document.place((*path, "source")), got=repr(kind)))
    sources[_dotted(path)] = Source(str(kind), str(node.get("ref", "")))
    return node["value"]


def _dotted(path: Path_) -> str:
    return ".".join(map(str, path))
