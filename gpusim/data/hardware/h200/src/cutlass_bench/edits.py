"""What marks.py, split_marks.py and streamk_marks.py share: puts text in place of passages that have to be there."""
from pathlib import Path


def edit(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    path.write_text(text)
