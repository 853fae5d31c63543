"""Models what a simulation is computed from, as a few digits: configuration, kernel, GPU and gpusim's own code.
Leaves out libraries and the host: their versions must not change a result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import gpusim
from gpusim.arch import load_gpu
from gpusim.experiments.config import load_plan, to_yaml

__all__ = ["digest"]

_WITHOUT_EFFECT = ("output", "timeline")
"""Keys of a run that do not change its summary."""


def digest(target: str, settings: Iterable[str] = ()) -> str:
    """16 digits that are equal where everything is that a run's summary depends on. Raises UserError as load_plan."""
    plan = load_plan(target, settings)
    same = {key: field.default for key, field in type(plan.config).model_fields.items() if key in _WITHOUT_EFFECT}
    resolved = to_yaml(plan.resolved().model_copy(update=same))
    kernel = Path(plan.program.kernel.file)
    code = (_files(kernel.parent, "*.py"), _files(kernel.parent / "common", "**/*.py"), _own_code())
    parts = (resolved, load_gpu(plan.config.gpu).model_dump_json(), *code)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@cache
def _own_code() -> str:
    return _files(Path(gpusim.__file__).parent, "**/*.py")


def _files(directory: Path, pattern: str) -> str:
    """Of names and contents of the files of a directory."""
    found = hashlib.sha256()
    for path in sorted(directory.glob(pattern)):
        found.update(str(path.relative_to(directory)).encode() + path.read_bytes())
    return found.hexdigest()
