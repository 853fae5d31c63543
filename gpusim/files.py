"""Models writing a file so that it is there whole or not at all, whatever interrupts the writer.
Leaves out directories (gpusim.report.run_directory) and what is written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing", "write_whole"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well; parents are created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = f".{path.stem}."
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=hidden, suffix=path.suffix, delete=False) as made:
        place = Path(made.name)
    try:
        yield place
        place.chmod(0o644)
        place.replace(path)
    finally:
        place.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with replacing(path) as place:
        place.write_text(text, encoding="utf-8")
