"""Tests of the recorded window: copies by stage, issue classes, iterations, busy units; figure and text agree."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

from gpusim.arch import load_gpu
from gpusim.engine.result import EVENT, WARP_STATES
from gpusim.errors import UserError
from gpusim.report.states import STATES
from gpusim.report.style import CLASS_COLORS, save_figure, svg_text
from gpusim.report.timeline import ISSUE_CLASSES, CopyGroup, busy_share, copy_tags, events_of, timeline
from gpusim.report.timeline_figure import draw_timeline, draw_timelines
from gpusim.report.timeline_iterations import iteration_cycles, num_iterations
from gpusim.report.timeline_text import ISSUE_LETTERS, STATE_LETTERS, axis_row, text_legend, text_rows


@pytest.fixture
def window(tiny_program, tiny_result):
    return timeline(tiny_program, tiny_result, load_gpu("h200"))


def test_copies_go_round_the_stages_in_commit_order(window):
    assert [copy.group for copy in window.copies] == list(range(8))
    assert [copy.stage for copy in window.copies] == [number % 3 for number in range(8)]
    assert window.stages == [0, 1, 2]


def test_a_copy_group_lasts_from_its_first_issue_to_its_last_arrival(window, tiny_program, tiny_result):
    copies = events_of(tiny_result, "copy")
    own = copies[copies["cta"] == window.cta]
    group = copy_tags(tiny_program, own).group
    for copy in window.copies:
        assert copy.start == own["start"][group == copy.group].min()
        assert copy.end == own["end"][group == copy.group].max()


def test_copies_overlap_the_mma_of_earlier_tiles(window):
    """The picture the timeline is for: group k + 1 is in flight while the tensor pipe works on tile k."""
    busy = window.tensor[window.tensor["cta"] == window.cta]
    overlapping = [copy for copy in window.copies if ((busy["start"] < copy.end) & (busy["end"] > copy.start)).any()]
    assert len(overlapping) == len(window.copies)


def test_issue_classes_name_what_is_issued(window):
    classes = {ISSUE_CLASSES[number] for number in window.issue_classes}
    assert classes == {"MMA or FMA", "shared memory", "asynchronous copy", "wait and barrier", "global memory", "other"}


def test_a_window_without_events_or_an_absent_cta_is_refused(tiny_program, tiny_result):
    spec = load_gpu("h200")
    empty = dataclasses.replace(tiny_result, events=np.empty(0, EVENT))
    with pytest.raises(UserError, match="timeline: no events were recorded; choose a window"):
        timeline(tiny_program, empty, spec)
    with pytest.raises(UserError, match="that CTA is not in the recorded window, got 7; known: 0, 1"):
        timeline(tiny_program, tiny_result, spec, cta=7)
    with pytest.raises(UserError, match="that warp of CTA 1 is not in the recorded window, got 9; known: 0, 1, 2, 3"):
        timeline(tiny_program, tiny_result, spec, cta=1, warps=[9])


def test_chosen_warps_and_cycles_are_all_that_is_shown(tiny_program, tiny_result):
    data = timeline(tiny_program, tiny_result, load_gpu("h200"), cta=1, warps=(0, 2), cycles=(150, 250))
    assert data.warps == [0, 2] and (data.start_cycle, data.end_cycle) == (150, 250)
    assert set(data.issues["warp"]) == {0, 2} and set(data.issues["cta"]) == {1}
    assert data.issues["start"].max() < 250 and data.issues["end"].min() > 150


def test_warps_of_a_cta_with_several_roles_are_named_by_them(tiny_program, tiny_result):
    (role,) = tiny_program.classes[0].roles
    roles = (dataclasses.replace(role, name="load", num_warps=1), dataclasses.replace(role, name="mma", first_warp=1))
    kind = dataclasses.replace(tiny_program.classes[0], roles=roles)
    data = timeline(dataclasses.replace(tiny_program, classes=(kind,)), tiny_result, load_gpu("h200"))
    assert list(data.warp_names.values())[:2] == ["warp 0 (load, sub-partition 0)", "warp 1 (mma, sub-partition 1)"]


def test_roles_that_run_apart_have_names_of_their_own_iterations(tiny_program, tiny_result):
    """Warp 0 as a role that is two iterations ahead: it begins iteration 2 before warp 1 has begun it."""
    (role,) = tiny_program.classes[0].roles
    roles = (dataclasses.replace(role, name="producer", num_warps=1),
             dataclasses.replace(role, name="consumer", first_warp=1, num_warps=3))
    program = dataclasses.replace(tiny_program, classes=(dataclasses.replace(tiny_program.classes[0], roles=roles),))
    events = tiny_result.events.copy()
    late = events["warp"] > 0
    events["start"][late] += 120
    events["end"][late] += 120
    result = dataclasses.replace(tiny_result, events=events)
    data = timeline(program, result, load_gpu("h200"), cta=0)
    span = iteration_cycles(program, events, 0, 2, 3)
    assert (span.first_role, span.last_role) == ("producer", "consumer")
    begins = {(begin.warp, begin.iteration): begin.cycle for begin in data.iterations}
    assert span.start_cycle == begins[0, 2] < begins[1, 2]
    texts = [text.get_text() for text in draw_timeline(data, "tiny").axes[0].texts]
    assert texts.count("iteration 3") == 2
    together = draw_timeline(timeline(tiny_program, result, load_gpu("h200"), cta=0), "tiny")
    assert [text.get_text() for text in together.axes[0].texts].count("iteration 3") == 1


def test_a_window_without_length_is_refused(tiny_program, tiny_result):
    with pytest.raises(UserError, match="timeline: a window ends after it begins, got cycles 200 to 200"):
        timeline(tiny_program, tiny_result, load_gpu("h200"), cycles=(200, 200))


def test_iterations_begin_where_the_loop_body_begins_again(window, tiny_program, tiny_result):
    """The body starts at its ldmatrix (pc 3) and runs six times."""
    first_pc = window.issues[window.issues["pc"] == 3]
    begins = [(begin.warp, begin.cycle) for begin in window.iterations]
    assert sorted(begins) == sorted(zip(first_pc["warp"].tolist(), first_pc["start"].tolist(), strict=True))
    assert num_iterations(tiny_program, window.cta) == 6
    assert [begin.iteration for begin in window.iterations if begin.warp == 0] == list(range(6))


def test_iterations_last_from_their_first_issue_to_their_last_in_any_warp(window, tiny_program, tiny_result):
    begins = {begin.iteration: begin.cycle for begin in window.iterations if begin.warp == 0}
    start, end, *roles = iteration_cycles(tiny_program, tiny_result.events, window.cta, 2, 3)
    assert start == begins[2]  # warp 0 starts first, warp 3 six cycles later
    barriers = window.issues[(window.issues["pc"] == 9) & (window.issues["warp"] == 3)]
    assert end == barriers["end"][3]
    assert roles == ["all", "all"]


def test_iterations_that_are_not_recorded_whole_have_no_cycles(window, tiny_program, tiny_result):
    end = iteration_cycles(tiny_program, tiny_result.events, window.cta, 2, 3).end_cycle
    part = tiny_result.events[tiny_result.events["end"] < end]
    assert iteration_cycles(tiny_program, part, window.cta, 2, 3) is None
    assert iteration_cycles(tiny_program, part, window.cta, 1, 2) is not None


@given(
    spans=st.lists(st.tuples(st.integers(-20, 120), st.integers(1, 40)), max_size=12),
    bins=st.integers(1, 30), units=st.integers(1, 4),
)
def test_busy_share_counts_busy_cycles(spans, bins, units):
    rows = np.array([(0,) * 8 + (start, start + length) for start, length in spans], EVENT)
    share = busy_share(rows, 10, 100, bins, units)
    cycles = sum(max(0, min(start + length, 100) - max(start, 10)) for start, length in spans)
    assert share.mean() * 90 * units == pytest.approx(cycles)
    if bins == 30:  # three cycles a bin
        busy = [sum(start <= cycle < start + length for start, length in spans) for cycle in range(10, 100)]
        assert share * 3 * units == pytest.approx(np.array(busy).reshape(30, 3).sum(axis=1))


def test_the_figure_is_the_same_text_for_the_same_events(window, tmp_path):
    first, second = (svg_text(draw_timeline(window, "tiny")) for _ in range(2))
    assert first == second
    assert "Long Scoreboard" in first
    svg, png = save_figure(draw_timeline(window, "tiny"), tmp_path / "timeline")
    assert svg.read_text().startswith("<?xml") and png.read_bytes().startswith(b"\x89PNG")


def test_two_windows_share_an_axis_that_starts_with_each(tiny_program, tiny_result):
    spec = load_gpu("h200")
    windows = [timeline(tiny_program, tiny_result, spec, cycles=cycles) for cycles in ((100, 300), (200, 500))]
    *panels, _ = draw_timelines(windows, ["short", "long"], aligned=True).axes
    assert [axes.get_xlim() for axes in panels] == [(0, 300)] * 2
    assert [axes.get_xlabel() for axes in panels] == [
        "cycles since the first cycle shown, 100 (SM 0, CTA 0)", "cycles since the first cycle shown, 200 (SM 0, CTA 0)"
    ]
    *panels, _ = draw_timelines(windows, ["short", "long"]).axes
    assert [axes.get_xlim() for axes in panels] == [(100, 500)] * 2


@pytest.mark.parametrize("cycles", [2, 9, 14, 19, 25, 60])
def test_texts_of_the_figure_stay_in_it_and_names_of_groups_in_their_bars(window, cycles):
    """A thousand iterations in, names are long; a bar that is cut at the edge of the window may be short."""
    start = window.start_cycle
    late = (CopyGroup(0, 1207, start - 50, start + cycles), CopyGroup(0, 1208, start + cycles, window.end_cycle + 50))
    long = "hgemm_warp_specialized M=1024 N=1024 K=1024 swizzle=128B on h200: iterations 8 (producer) to 11 (consumer)"
    drawn = draw_timelines([dataclasses.replace(window, copies=late), window], [long, "tiny"])
    renderer = FigureCanvasAgg(drawn).get_renderer()
    shown = drawn.get_tightbbox(renderer)
    assert shown.x0 >= 0 and shown.x1 <= drawn.get_figwidth() and shown.y0 >= 0 and shown.y1 <= drawn.get_figheight()
    edges = drawn.axes[0].transData.transform([(start, 0), (start + cycles, 0), (window.end_cycle, 0)])[:, 0]
    texts = {text.get_text(): text for text in drawn.axes[0].texts}
    names = {name: text.get_window_extent(renderer) for name, text in texts.items() if name.endswith(("1207", "1208"))}
    assert "group 1208" in names and names["group 1208"].x0 >= edges[1] and names["group 1208"].x1 <= edges[2]
    for name in {"group 1207", "1207"} & names.keys():
        assert edges[0] <= names[name].x0 and names[name].x1 <= edges[1]


def test_a_letter_of_the_text_is_what_fills_most_of_its_column(window):
    """One column per cycle: every cycle shows the very event."""
    columns = window.end_cycle - window.start_cycle
    issued, waits = text_rows(window, columns)[:2]
    assert issued.name == "warp 0 (sub-partition 0)" and waits.name.strip() == "waits for"
    own = window.issues["warp"] == 0
    for start, kind in zip(window.issues["start"][own], window.issue_classes[own], strict=True):
        column = start - window.start_cycle
        assert (issued.text[column], issued.colors[column]) == (ISSUE_LETTERS[kind], CLASS_COLORS[kind])
    for row in window.states[window.states["warp"] == 0]:
        name = WARP_STATES[row["state"]]
        for column in range(max(row["start"] - window.start_cycle, 0), row["end"] - window.start_cycle):
            assert (waits.text[column], waits.colors[column]) == (STATE_LETTERS[name], STATES[name].color)


def test_rows_of_the_text_are_equally_long_and_its_legend_names_every_letter(window):
    rows = text_rows(window, 60)
    assert {len(row.text) for row in rows} == {len(row.colors) for row in rows} == {60}
    known = {entry.letter for entries in text_legend(window) for entry in entries}
    assert {letter for row in rows[: 2 * len(window.warps)] for letter in row.text} - {" "} <= known
    assert axis_row(window, 60).text.startswith(f"|{window.start_cycle:,}")


def test_no_letter_means_two_things():
    letters = [*ISSUE_LETTERS, *STATE_LETTERS.values()]
    assert len(letters) == len(set(letters)) == len(ISSUE_CLASSES) + len(WARP_STATES)


def test_a_window_between_iterations_is_drawn_without_their_names(window):
    drawn = draw_timeline(dataclasses.replace(window, iterations=()), "tiny")
    assert not [text for text in drawn.axes[0].texts if text.get_text().startswith("iteration")]
