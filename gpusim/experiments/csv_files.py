"""Models reading a CSV file that a user names: a frame, or one sentence that says why there is none.
Leaves out its columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from gpusim.errors import UserError

__all__ = ["read_csv"]


def read_csv(path: str | Path, **options: Any) -> pd.DataFrame:
    """As pandas does, with its ``options``. Raises UserError for a file that is missing or no CSV."""
    try:
        return pd.read_csv(path, **options)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError("the file cannot be read as CSV", place=str(path), got=f"'{reason}'") from None
