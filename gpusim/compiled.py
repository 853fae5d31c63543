"""Models nothing: where Numba keeps compiled code, so that a change in one module is noticed by its callers in others.
Leaves out what is compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["compiled_cache"]


@contextmanager
def compiled_cache(package: Path) -> Iterator[None]:
    """While it is open, functions decorated with ``@njit(cache=True)`` are cached under the hash of a whole package.

    Numba itself looks at the file of the outermost function only; an edited callee in another file would go unnoticed.
    """
    import numba

    before = numba.config.CACHE_DIR
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sorted(package.glob("*.py")))).hexdigest()[:16]
    if not before:
        numba.config.CACHE_DIR = str(package / "__pycache__" / digest)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
