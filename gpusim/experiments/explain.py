"""Models a run's configuration as YAML that says beside every key what it means, and that runs again.
Leaves out the configuration itself (gpusim.experiments.config)."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from gpusim.experiments.config import Plan
from gpusim.experiments.meanings import parameter_meanings

__all__ = ["explained_yaml"]

WIDTH, INDENT = 100, 2


def explained_yaml(plan: Plan) -> str:
    """The resolved configuration; sizes and parameters that are not the program's own are those of its file."""
    config = plan.resolved()
    document = _commented(config.model_dump(mode="json"), _descriptions(config), 0)
    document["parameters"] = _commented(document["parameters"], parameter_meanings(plan.program), INDENT)
    document["timeline"] = _commented(document["timeline"], _descriptions(config.timeline), INDENT)
    title = textwrap.fill(plan.program.summary, WIDTH, initial_indent="# ", subsequent_indent="# ")
    return f"{title}\n\n{_text(document)}"


def _descriptions(model: BaseModel) -> dict[str, str]:
    return {name: field.description or "" for name, field in type(model).model_fields.items()}


def _commented(values: Mapping[str, Any], meanings: Mapping[str, str], indent: int) -> CommentedMap:
    """Neighbours that share a meaning have one comment, which names them; a map without meanings stays on a line."""
    found = CommentedMap(values)
    if any(meanings.get(name) for name in values):
        found.fa.set_block_style()
    for meaning, run in groupby(values, key=lambda name: meanings.get(name, "")):
        names = list(run)
        if meaning:
            text = f"{', '.join(names)}: {meaning}" if len(names) > 1 else meaning
            found.yaml_set_comment_before_after_key(names[0], before=_wrapped(text, indent), indent=indent)
    return found


def _wrapped(text: str, indent: int) -> str:
    return "\n".join(textwrap.wrap(text, WIDTH - indent))


def _text(document: CommentedMap) -> str:
    stream = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = WIDTH
    yaml.dump(document, stream)
    return stream.getvalue()
