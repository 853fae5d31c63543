"""Models what a shell completes: names of runs, programs, sweeps and GPUs, and files, without importing anything heavy.
Leaves out keys of --set, which need the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["complete_gpu", "complete_sweep", "complete_target"]


def complete_target(incomplete: str) -> list[str]:
    """Runs, programs, and files of either."""
    names = {*_names("configs/runs", ".yaml"), *_names("programs", ".py")}
    return [*_starting(names, incomplete), *_files(incomplete, (".yaml", ".yml", ".py"))]


def complete_sweep(incomplete: str) -> list[str]:
    """Sweeps, and YAML files."""
    return [*_starting(_names("configs/sweeps", ".yaml"), incomplete), *_files(incomplete, (".yaml", ".yml"))]


def complete_gpu(incomplete: str) -> list[str]:
    """GPUs, and YAML files."""
    return [*_starting(_names("configs/gpus", ".yaml"), incomplete), *_files(incomplete, (".yaml", ".yml"))]


def _names(directory: str, suffix: str) -> Iterable[str]:
    from gpusim.arch.paths import list_data

    return list_data(directory, suffix)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete) and not name.startswith("_"))


def _files(incomplete: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Files of these kinds, and directories, below what is typed so far."""
    folder, _, start = incomplete.rpartition("/")
    for path in sorted(Path(f"{folder}/" if folder or incomplete.startswith("/") else ".").glob(f"{start}*")):
        if path.is_dir() or path.suffix in suffixes:
            yield f"{path}/" if path.is_dir() else str(path)
