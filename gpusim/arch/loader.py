"""Models the reading of a GPU file: find it, inherit from another, split values from sources, validate.
Leaves out what the numbers mean (gpusim.arch.spec)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpusim.arch.paths import list_data
from gpusim.arch.provenance import Source, inherited, split_provenance
from gpusim.arch.spec import GpuSpec
from gpusim.errors import UserError, did_you_mean
from gpusim.validation import ConfigError, Document, read_yaml, validate_document

__all__ = ["gpu_names", "load_gpu"]

_DIRECTORY = "configs/gpus"
Path_ = tuple[str | int, ...]


def gpu_names() -> tuple[str, ...]:
    """GPUs that can be named without a path."""
    return tuple(sorted(list_data(_DIRECTORY, ".yaml")))


def load_gpu(name_or_path: str | Path, settings: Iterable[str] = ()) -> GpuSpec:
    """The GPU of ``configs/gpus/NAME.yaml``, or of a YAML file given by path.

    ``settings`` are ``sm.count=66`` and the like. Raises UserError for an unknown name, ConfigError for a bad file.
    """
    if _is_path(name_or_path):
        return _load(Path(name_or_path), tuple(settings))
    return _load_known(_resolve(name_or_path), tuple(settings))


def _is_path(name_or_path: str | Path) -> bool:
    return Path(name_or_path).suffix in (".yaml", ".yml")


def _resolve(name: str | Path) -> Path:
    known = list_data(_DIRECTORY, ".yaml")
    if str(name) in known:
        return known[str(name)]
    close = did_you_mean(str(name), known)
    listed = "" if close.startswith("known") else f" known: {', '.join(sorted(known))}"
    raise UserError("no such GPU", place="gpu", got=f"'{name}'", suggestion=close + listed)


@lru_cache(maxsize=32)
def _load_known(path: Path, settings: tuple[str, ...]) -> GpuSpec:
    return _load(path, settings)


def _load(path: Path, settings: tuple[str, ...]) -> GpuSpec:
    document = _inherit(read_yaml(path), path)
    plain, sources = split_provenance(document)
    spec = validate_document(plain.with_settings(settings), GpuSpec)
    spec._provenance = sources | {setting.partition("=")[0].strip(): Source("setting") for setting in settings}
    return spec


def _inherit(child: Document, path: Path) -> Document:
    """The child over its base. Sections merge key by key; instructions of the child are found before the base's.

    Another architecture is another instruction set: its file has to list all of it and the units that came with it,
    and inherits none.
    """
    base_name = child.data.pop("base", None)
    if base_name is None:
        return child
    beside = path.parent / f"{base_name}.yaml"
    base = read_yaml(beside if beside.exists() else _resolve(base_name))
    if "base" in base.data:
        raise ConfigError([UserError("a base may not have a base itself", place=child.place(("base",)),
                                     got=f"'{base_name}'", suggestion=f"inherit from '{base.data['base']}'")])
    if child.data.get("architecture", base.data.get("architecture")) != base.data.get("architecture"):
        for part in ("instructions", "mbarrier", "tma", "wgmma", "cluster"):
            base.data.pop(part, None)
    shift = len(child.data.get("instructions", []))
    shifted = {_shift(key, shift): place for key, place in base.places.items()}
    return Document(child.name, _merge(inherited(base.data, base_name), child.data), {**shifted, **child.places})


def _shift(path: Path_, shift: int) -> Path_:
    if len(path) > 1 and path[0] == "instructions" and isinstance(path[1], int):
        return (path[0], path[1] + shift, *path[2:])
    return path


def _merge(base: dict[str, Any], child: dict[str, Any]) -> dict[str, Any]:
    merged = {**base, **child}
    for key in base.keys() & child.keys():
        if isinstance(base[key], dict) and isinstance(child[key], dict) and "value" not in base[key]:
            merged[key] = _merge(base[key], child[key])
        elif isinstance(base[key], list) and isinstance(child[key], list):
            merged[key] = [*child[key], *base[key]]
    return merged
