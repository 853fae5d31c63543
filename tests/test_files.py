"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusim.files import replacing, write_whole


def test_a_file_is_replaced_only_when_the_block_ends_well(tmp_path: Path):
    file = tmp_path / "new" / "table.csv"
    write_whole(file, "old")
    with pytest.raises(KeyboardInterrupt), replacing(file) as place:
        place.write_text("ha")
        raise KeyboardInterrupt
    assert file.read_text() == "old" and list(file.parent.iterdir()) == [file]
    with replacing(file) as place:
        place.write_text("new")
        assert file.read_text() == "old" and place.suffix == ".csv"
    assert file.read_text() == "new" and list(file.parent.iterdir()) == [file]
