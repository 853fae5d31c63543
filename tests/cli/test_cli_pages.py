"""Pages that teach: every command and code block of README.md and of the tutorial runs, and their links lead somewhere.

Sizes are shrunk by settings appended to each command (``SIZES``) and by keeping one row of kernels.csv; nothing is left
out. What installs is run by .ci/run, in a fresh environment.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import gpusim
from gpusim.cli.gallery import gallery
from gpusim.cli.main import main
from gpusim.errors import SimulatedFailure, UserError
from gpusim.report.page import blocks, commands, refresh

ROOT = Path(gpusim.__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "reports" / "gallery" / "tutorial.md"]
SIZES = {"M": 256, "N": 256, "K": 1024}
TABLES = Path("gpusim") / "data" / "hardware" / "h200"
SIMULATE = ("run", "banks", "suggest", "compare", "timeline", "check")

if not all(page.exists() for page in PAGES):
    pytest.skip("needs a checkout", allow_module_level=True)


def shrunk(words: list[str]) -> list[str]:
    """The command at ``SIZES``."""
    if words[1] in SIMULATE and not words[2].startswith("-"):
        return [*words, *(f"--set={key}={value}" for key, value in SIZES.items())]
    if words[1] == "sweep":
        return [*words, *(f"--set=settings.{key}={value // 2}" for key, value in SIZES.items())]
    return words


def typed(page: Path) -> list[list[str]]:
    """The page's commands of gpusim, each once."""
    unique = dict.fromkeys(tuple(words) for words in commands(page.read_text()) if words[0] == "gpusim")
    return [list(words) for words in unique]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the measured tables where a reader in a checkout has them; one row of kernels.csv."""
    place = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / TABLES, place / TABLES, ignore=shutil.ignore_patterns("src"))
    rows = pd.read_csv(place / TABLES / "kernels.csv")
    rows[rows["M"] * rows["N"] * rows["K"] <= 256**3].head(1).to_csv(place / TABLES / "kernels.csv", index=False)
    return place


@pytest.mark.parametrize("words", [words for page in PAGES for words in typed(page)], ids=" ".join)
def test_every_command_of_the_pages_works(
    words: list[str], place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    if "--install-completion" in words:
        return installs_completion(place)
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", shrunk(words[: words.index(">")] if ">" in words else words))
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert not stop.value.code, printed.err
    assert printed.out.strip()


def installs_completion(home: Path) -> None:
    """From a shell, with a home directory of its own."""
    code = f"{sys.executable} -m gpusim --install-completion; exit $?"
    done = subprocess.run(["bash", "-c", code], env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=False,
                          capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "completion" in (home / ".bashrc").read_text()


def test_the_kernel_of_the_readme_prints_what_stands_below_it(tmp_path: Path):
    page = PAGES[0].read_text()
    (code,) = blocks(page, "python")
    (tmp_path / "my_kernel.py").write_text(code.replace("size = 1024", "size = 256"))
    done = subprocess.run([sys.executable, str(tmp_path / "my_kernel.py")], capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    cycles = [int(found.replace(",", "")) for found in re.findall(r"([\d,]+) cycles", done.stdout)]
    assert cycles[0] > cycles[1] > 0
    shape, shown = (re.sub(r"[\d.,]+|mostly [A-Z][\w ]+", "0", text) for text in (done.stdout, page))
    assert shape in shown  # another size: other numbers, and another stall may be the first


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_lead_somewhere(page: Path):
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert len(targets) > 5
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


def test_what_the_readme_installs_is_what_ci_installs():
    ci = (ROOT / ".ci" / "run").read_text()
    install = [" ".join(words[1:]) for words in commands(PAGES[0].read_text()) if words[0] == "pip"]
    assert install == ["install -e .", "install -e .[test]"]
    assert "install --quiet -e '.[test]'" in ci and re.search(r"^pytest", ci, re.MULTILINE)


PAGE = """
```console
$ gpusim one --set a=b   # why
old
answer
$ gpusim two
```
```bash
gpusim three && gpusim four   # both
```
"""


def test_a_page_is_refreshed_in_its_console_blocks_only():
    seen: list[list[str]] = []

    def run(words: list[str]) -> str:
        seen.append(words)
        return f"answer {len(seen)}\n"

    new = refresh(PAGE, run)
    assert seen == [["gpusim", "one", "--set", "a=b"], ["gpusim", "two"]]
    assert new == PAGE.replace("old\nanswer\n", "answer 1\n").replace("$ gpusim two\n", "$ gpusim two\nanswer 2\n")
    assert refresh(new, lambda words: "answer 1\n" if words[1] == "one" else "answer 2\n") == new
    assert commands(PAGE) == [["gpusim", "three"], ["gpusim", "four"], *seen]


def test_the_gallery_puts_answers_on_the_page_or_leaves_it(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ gpusim occupancy --threads 128 --registers 254\n```\n")
    gallery(page)
    assert "blocks per sm" in page.read_text() and page.read_text().endswith("\n```\n")
    before = page.read_text().replace("--threads 128", "--threads")
    page.write_text(before)
    with pytest.raises(SimulatedFailure, match="exits with 2"):
        gallery(page)
    assert page.read_text() == before
    page.write_text("no command\n")
    with pytest.raises(UserError, match=r"the page has no command '\$ gpusim \.\.\.'"):
        gallery(page)
