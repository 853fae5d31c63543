"""Models how a wheel gets what a checkout has beside the package: programs and configurations, under gpusim/_data.
Leaves out editable installs, which find them in the checkout (gpusim.arch.paths)."""

from __future__ import annotations

from pathlib import Path

from setuptools.command.build_py import build_py

__all__ = ["BuildWithData", "data_files"]

_SOURCES = {"programs": "*.py", "configs": "*.yaml"}


def data_files(root: Path) -> list[Path]:
    """Files below ``root`` that belong into a wheel beside the package, relative to ``root``."""
    found = [path for directory, pattern in _SOURCES.items() for path in (root / directory).rglob(pattern)]
    return sorted(path.relative_to(root) for path in found)


class BuildWithData(build_py):
    """Builds the package, then adds the data files."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for path in data_files(Path()):
            target = Path(self.build_lib) / "gpusim" / "_data" / path
            self.mkpath(str(target.parent))
            self.copy_file(str(path), str(target))

    def get_source_files(self) -> list[str]:
        """What a source distribution carries."""
        return [*super().get_source_files(), *map(str, data_files(Path()))]
