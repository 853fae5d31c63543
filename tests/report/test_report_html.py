"""Tests of report.html: what it says, and how a real browser lays it out on a laptop and on paper."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import matplotlib.image as image
import pytest

from gpusim.arch import load_gpu
from gpusim.engine.result import SimulationResult
from gpusim.program import Program
from gpusim.report.html import Page, render_report
from gpusim.report.metric import Run
from gpusim.report.metrics import METRICS
from gpusim.report.pictures import pictures
from gpusim.report.style import svg_text
from gpusim.report.summary import Summary, summarise
from gpusim.report.tables import all_tables

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome", "chrome")
                if (path := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on PATH")
LAPTOP, SMALL_LAPTOP, PAPER = (1440, 900), (1024, 768), (1039, 700)
"""Pixels; paper is A4 landscape between its margins."""

PROBE = """
<script>
(function () {
  function text(node) { return node.textContent.trim().slice(0, 40); }
  function meet(a, b) {
    var across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    var down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return across > 2 && down > 3;
  }
  function overlaps(nodes) {
    var found = [], boxes = nodes.map(function (node) { return node.getBoundingClientRect(); });
    for (var i = 0; i < nodes.length; i++) for (var j = i + 1; j < nodes.length; j++)
      if (meet(boxes[i], boxes[j])) found.push(text(nodes[i]) + " | " + text(nodes[j]));
    return found;
  }
  var all = function (where, what) { return Array.from(where.querySelectorAll(what)); };
  var body = document.body, answer = {width: innerWidth, page: document.documentElement.scrollWidth};
  answer.overlaps = [].concat.apply([], all(body, "svg").map(function (svg) { return overlaps(all(svg, "text")); }))
    .concat(overlaps(Array.from(body.children).filter(function (node) { return node.offsetHeight > 0; })))
    .concat(overlaps(all(body, ".tile"))).concat(overlaps(all(body, ".advice")))
    .concat([].concat.apply([], all(body, ".bar").map(function (bar) { return overlaps(Array.from(bar.children)); })));
  answer.spilling = all(body, ".two > div, .tile, .bar, td, th").filter(function (node) {
    return node.scrollWidth > node.clientWidth + 2; }).map(text);
  answer.outside = all(body, "svg .box").filter(function (box) {
    var frame = box.querySelector("rect").getBoundingClientRect();
    return all(box, "text").some(function (line) {
      var place = line.getBoundingClientRect();
      return place.left < frame.left || place.right > frame.right || place.top < frame.top - 1
        || place.bottom > frame.bottom + 1; });
  }).map(text);
  answer.cut = all(body, ".wide").filter(function (node) { return node.scrollWidth > node.clientWidth + 2; }).map(text);
  answer.invisible = all(body, "svg").filter(function (svg) { return svg.getBoundingClientRect().height < 50; }).length;
  answer.pictures = all(body, "svg").length;
  document.body.setAttribute("data-probe", JSON.stringify(answer));
})();
</script>
"""


@pytest.fixture(scope="module")
def run(tiny: tuple[Program, SimulationResult]) -> Run:
    return Run(*tiny, load_gpu("h200"))


@pytest.fixture(scope="module")
def summary(run: Run) -> Summary:
    return summarise("tiny", run.program, run.result, run.spec)


def _drawn(run: Run) -> dict[str, str]:
    return {name: svg_text(picture) for name, picture in pictures(run, "tiny")}


@pytest.fixture(scope="module")
def drawn(run: Run) -> dict[str, str]:
    return _drawn(run)


def _page(run: Run, summary: Summary, drawn: dict[str, str]) -> str:
    return render_report(Page(run, summary, all_tables(run.program, run.result), drawn, "program: tiny\n"))


@pytest.fixture(scope="module")
def page(run: Run, summary: Summary, drawn: dict[str, str]) -> str:
    return _page(run, summary, drawn)


def _text(page: str) -> str:
    """What a reader sees: no style, script or tags."""
    bare = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    spaced = re.sub(r"<[^>]+>", " ", bare.replace("<wbr>", ""))
    return re.sub(r"\s+", " ", unescape(spaced))


def test_every_metric_stands_in_the_page_with_its_unit_and_nsights_name(page: str, summary: Summary):
    seen = _text(page)
    for metric in METRICS:
        if summary[metric.name] is not None:
            assert metric.title in seen and metric.ncu in seen and metric.sentence in seen


def test_sections_come_in_the_order_of_questions(page: str):
    assert re.findall(r'<section id="(\w+)"', page) == [
        "findings", "light", "occupancy", "warps", "memory", "time", "source", "instructions", "assumed", "metrics",
        "configuration",
    ]
    assert set(re.findall(r'<a href="#(\w+)"', page)) == set(re.findall(r'<section id="(\w+)"', page))


def test_the_findings_are_the_rules(page: str, summary: Summary):
    seen = _text(page)
    for sentence in summary["advice"]:
        level, rest = sentence.split(" ", 1)
        assert (rest in seen) or level == "WRN"


def test_a_run_without_trials_says_how_to_get_them(page: str):
    assert "No change was simulated: gpusim run ... --what-if" in _text(page)


def test_simulated_changes_stand_with_their_worth_and_price(run: Run, summary: Summary, drawn: dict[str, str]):
    trial = {"change": "swizzle=64B instead of none", "reason": "because of 192 bank conflicts", "possible": True,
             "cycles_before": 500, "cycles": 400, "speedup_pct": 25.0, "price": "16 bytes more", "failure": ""}
    refused = {**trial, "change": "num_stages=9", "cycles": None, "speedup_pct": None, "price": "",
               "failure": "too big"}
    bound = {**trial, "change": "a warm L2", "possible": False}
    seen = _text(_page(run, {**summary, "what_if": [trial, bound, refused]}, drawn))
    assert "swizzle=64B instead of none 400 +25.0 % 16 bytes more because of 192 bank conflicts" in seen
    assert "a warm L2 (a bound: no change you can make)" in seen
    assert "num_stages=9 - - too big" in seen


def test_the_page_says_what_was_assumed(run: Run, summary: Summary, page: str):
    seen = _text(page)
    assert "L2 when the kernel starts cold" in seen
    assert "Fidelity full: 2 of 132 SMs simulated" in seen
    assert summary["provenance"]["sentence"] in seen
    for name, reason in summary["provenance"]["guesses"].items():
        assert name in seen and reason in seen


def test_text_from_outside_cannot_become_markup(run: Run, summary: Summary, drawn: dict[str, str]):
    hostile = _page(run, {**summary, "name": "<script>alert(1)</script>"}, drawn)
    assert "<script>alert(1)" not in hostile


def test_equal_runs_give_equal_pages(run: Run, summary: Summary, page: str):
    assert _page(run, summary, _drawn(run)) == page


def test_a_run_without_recorded_events_has_no_section_about_time(run: Run, summary: Summary):
    silent = Run(run.program, dataclasses.replace(run.result, events=run.result.events[:0]), run.spec)
    page = _page(silent, summary, _drawn(silent))
    assert '<section id="time"' not in page and "#time" not in page


def _browse(arguments: list[str], page: Path, size: tuple[int, int], home: Path) -> str:
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               f"--user-data-dir={home}", f"--window-size={size[0]},{size[1]}", *arguments, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def _probe(page: str, size: tuple[int, int], place: Path) -> dict:
    """How a browser lays the page out in a window of that size."""
    file = place / "probe.html"
    file.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    found = re.search(r'data-probe="([^"]*)"', _browse(["--dump-dom"], file, size, place / "home"))
    assert found, "the browser did not run the probe"
    return json.loads(unescape(found[1]))


@needs_browser
@pytest.mark.parametrize("medium", ["laptop", "small laptop", "paper"])
def test_nothing_overlaps_and_nothing_leaves_its_place(page: str, tmp_path: Path, medium: str):
    size = {"laptop": LAPTOP, "small laptop": SMALL_LAPTOP, "paper": PAPER}[medium]
    shown = page.replace("@media print", "@media all") if medium == "paper" else page
    found = _probe(shown, size, tmp_path)
    assert found["page"] <= found["width"], "the page scrolls sideways"
    assert found["overlaps"] == []
    assert found["spilling"] == []
    assert found["outside"] == [], "text leaves a box of the memory chart"
    assert found["cut"] == [] or medium == "small laptop", "a table must be scrolled to be read"
    assert found["invisible"] == 0 and found["pictures"] == 6


@needs_browser
def test_the_report_of_the_gallery_is_laid_out_well(tmp_path: Path):
    """A real kernel has more lines, instructions and accesses than the hand-made one."""
    sample = Path(__file__).parents[2] / "reports" / "gallery" / "hgemm.html"
    found = _probe(sample.read_text(encoding="utf-8"), LAPTOP, tmp_path)
    assert found["page"] <= found["width"] and found["overlaps"] == found["spilling"] == found["outside"] == []


@needs_browser
def test_a_screenshot_shows_the_headline_and_colours(page: str, tmp_path: Path):
    file, shot = tmp_path / "report.html", tmp_path / "shot.png"
    file.write_text(page, encoding="utf-8")
    _browse([f"--screenshot={shot}"], file, LAPTOP, tmp_path / "home")
    pixels = image.imread(shot)[..., :3]
    assert pixels.shape[:2] == (LAPTOP[1], LAPTOP[0])
    assert 0.6 < (pixels.min(axis=2) > 0.95).mean() < 0.98, "a page is mostly paper, with something on it"
    assert (pixels.max(axis=2) - pixels.min(axis=2) > 0.5).any(), "no colour: figures or bars are missing"


@needs_browser
def test_the_page_prints_on_a_few_sheets(page: str, tmp_path: Path):
    file, printed = tmp_path / "report.html", tmp_path / "report.pdf"
    file.write_text(page, encoding="utf-8")
    _browse([f"--print-to-pdf={printed}"], file, LAPTOP, tmp_path / "home")
    sheets = len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))
    assert 4 <= sheets <= 14
