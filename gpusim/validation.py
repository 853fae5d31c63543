"""Models how a YAML file becomes a checked model: every mistake of a file at once, each with its line.
Leaves out what the files mean (gpusim.arch, gpusim.experiments) and how errors look on a terminal (gpusim.cli)."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from gpusim.errors import UserError, did_you_mean

__all__ = ["ConfigError", "Document", "apply_settings", "load_yaml_model", "parse_yaml", "read_yaml",
           "validate_document", "validate_mapping"]

Model = TypeVar("Model", bound=BaseModel)
Path_ = tuple[str | int, ...]


class ConfigError(UserError):
    """All mistakes of one configuration; ``str(error)`` has a line per mistake, ``errors`` the single sentences."""

    def __init__(self, errors: Sequence[UserError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        super().__init__(first.rule, place=first.place, got=first.got, suggestion=first.suggestion)
        self.args = ("\n".join(str(error) for error in self.errors),)


@dataclass(frozen=True)
class Document:
    """Plain data of a YAML file, and where each key path stands (``h200.yaml:12:5``)."""

    name: str
    data: dict[str, Any]
    places: dict[Path_, str] = field(default_factory=dict)

    def place(self, path: Path_) -> str:
        """The place of a key path, or of its nearest ancestor that the file has."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, self.name)

    def with_settings(self, settings: Iterable[str]) -> Document:
        """The document after ``a.b=c`` settings; mistakes in them are then reported as theirs, not the file's."""
        settings = list(settings)
        places = dict(self.places)
        for setting in settings:
            key = tuple(setting.partition("=")[0].strip().split("."))
            places[key] = f"--set {setting}"
        return Document(self.name, apply_settings(self.data, settings), places)


def read_yaml(path: str | Path) -> Document:
    """Read a YAML 1.2 file whose top level is a mapping. Raises ConfigError for a missing or malformed file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError([UserError("the file cannot be read", place=str(path), got=f"'{error.strerror}'")]) from None
    return parse_yaml(text, path.name)


def parse_yaml(text: str, name: str) -> Document:
    """Parse YAML text; ``name`` stands before the line numbers of errors."""
    try:
        node = YAML(typ="safe", pure=True).compose(text)
        data = YAML(typ="safe").load(text)
    except MarkedYAMLError as error:
        raise ConfigError([_syntax_error(error, name)]) from None
    if not isinstance(data, dict):
        got = "an empty file" if data is None else type(data).__name__
        raise ConfigError([UserError("the top level should be a mapping of keys to values", place=name, got=got)])
    return Document(name, data, dict(_node_places(node, name, ())))


def _syntax_error(error: MarkedYAMLError, name: str) -> UserError:
    mark = error.problem_mark or error.context_mark
    place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
    context = f" ({error.context})" if error.context else ""
    return UserError(f"not valid YAML: {error.problem}{context}".splitlines()[0], place=place)


def _node_places(node: Node, name: str, path: Path_) -> Iterable[tuple[Path_, str]]:
    yield path, f"{name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield from _node_places(value, name, (*path, key.value))
            yield (*path, key.value), f"{name}:{key.start_mark.line + 1}:{key.start_mark.column + 1}"
    elif isinstance(node, SequenceNode):
        for i, item in enumerate(node.value):
            yield from _node_places(item, name, (*path, i))


def apply_settings(mapping: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """A copy of ``mapping`` after settings ``a.b=c``: values are YAML 1.2, missing mappings are created.

    Raises ConfigError for a setting without ``=`` or one that reaches into something that is no mapping.
    """
    result: dict[str, Any] = copy.deepcopy(dict(mapping))
    for setting in settings:
        dotted, equals, text = setting.partition("=")
        if not equals or not all(part.strip() for part in dotted.split(".")):
            raise ConfigError([UserError("a setting is KEY=VALUE with dots in KEY", place="--set", got=f"'{setting}'",
                                         suggestion="for example --set problem.M=4096")])
        _assign(result, dotted.strip(), _parse_value(text, setting))
    return result


def _assign(mapping: dict[str, Any], dotted: str, value: object) -> None:
    *parents, last = dotted.split(".")
    for depth, part in enumerate(parents):
        mapping = mapping.setdefault(part, {})
        if not isinstance(mapping, dict):
            raise ConfigError([UserError(f"'{'.'.join(parents[: depth + 1])}' is a value and has no keys",
                                         place=f"--set {dotted}")])
    mapping[last] = value


def _parse_value(text: str, setting: str) -> object:
    try:
        return YAML(typ="safe").load(text)
    except YAMLError:
        raise ConfigError([UserError("the value is not valid YAML", place="--set", got=f"'{setting}'")]) from None


def load_yaml_model(path: str | Path, model: type[Model], *, settings: Iterable[str] = ()) -> Model:
    """Read ``path``, apply ``a.b=c`` settings, validate. Raises ConfigError with one line per mistake."""
    return validate_document(read_yaml(path).with_settings(settings), model)


def validate_mapping(data: Mapping[str, Any], model: type[Model], *, place: str = "") -> Model:
    """Validate plain data; ``place`` says where it came from."""
    return validate_document(Document(place, dict(data)), model)


def validate_document(document: Document, model: type[Model]) -> Model:
    """Validate a document. Raises ConfigError with one line per mistake."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise ConfigError([_sentence(document, model, detail) for detail in details]) from None


def _sentence(document: Document, model: type[BaseModel], detail: Any) -> UserError:
    path = _data_path(document.data, detail["loc"])
    place, key = document.place(path), ".".join(map(str, path))
    if detail["type"] == "extra_forbidden":
        known = _known_keys(model, path[:-1])
        parent = f" in '{'.'.join(map(str, path[:-1]))}'" if path[:-1] else ""
        return UserError(f"unknown key '{path[-1]}'{parent}", place=place,
                         suggestion=did_you_mean(str(path[-1]), known) if known else "")
    if detail["type"] == "missing":
        return UserError(f"required key '{key}' is missing", place=place)
    message = detail["msg"].removeprefix("Value error, ")
    got = None if isinstance(detail["input"], Mapping | list | BaseModel) else repr(detail["input"])
    return UserError(f"{key}: {message}" if key else message, place=place, got=got)


def _data_path(data: object, loc: Path_) -> Path_:
    """The part of a pydantic location that exists in the data; union branches and validator names do not."""
    path: list[str | int] = []
    for i, part in enumerate(loc):
        inside = (isinstance(data, Mapping) and part in data) or (isinstance(data, list) and part in range(len(data)))
        if inside:
            data = data[part]  # type: ignore[index]
            path.append(part)
        elif i == len(loc) - 1 and isinstance(data, Mapping):
            path.append(part)
    return tuple(path)


def _known_keys(model: type[BaseModel], path: Path_) -> list[str]:
    """Keys of the model that stands at ``path``, [] where that is not a model."""
    current: Any = model
    for part in path:
        if isinstance(part, str):
            field_info = current.model_fields.get(part)
            current = _model_in(field_info.annotation) if field_info else None
        if current is None:
            return []
    return list(current.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg))), None)
