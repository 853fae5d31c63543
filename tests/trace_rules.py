"""Models what a viewer does with a Chrome trace (JSON): it sorts, stacks slices, joins async pairs, binds arrows.
Leaves out drawing. Rules: the Trace Event Format, and what Perfetto's trace processor drops or binds elsewhere.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

__all__ = ["broken_rules"]

Event = dict[str, Any]
PHASES = {
    "X": {"name", "cat", "pid", "tid", "ts", "dur"}, "b": {"name", "cat", "pid", "id", "ts"},
    "e": {"name", "cat", "pid", "id", "ts"}, "s": {"name", "cat", "pid", "tid", "id", "ts"},
    "f": {"name", "cat", "pid", "tid", "id", "ts", "bp"}, "C": {"name", "pid", "ts", "args"},
    "M": {"name", "pid", "args"},
}
"""What the events that gpusim writes must have."""


def broken_rules(document: dict[str, Any]) -> list[str]:
    """Sentences, one for each thing that a viewer would drop, bind elsewhere, or show without a name."""
    if document.keys() - {"traceEvents", "displayTimeUnit", "otherData"} or document["displayTimeUnit"] != "ns":
        return ["the document has other keys than a viewer knows"]
    events = document["traceEvents"]
    malformed = list(_malformed(events))
    if malformed:
        return malformed
    return [*_names(events), *_stacks(events), *_async(events), *_arrows(events), *_counters(events)]


def nanoseconds(event: Event, key: str = "ts") -> int:
    """Viewers count whole nanoseconds; the file has microseconds."""
    return round(event[key] * 1000)


def _malformed(events: list[Event]) -> Iterator[str]:
    for event in events:
        phase = event.get("ph")
        if phase not in PHASES or PHASES[phase] - event.keys():
            yield f"an event of phase {phase} lacks {sorted(PHASES.get(phase, set()) - event.keys())}"
            continue
        for key in ("ts", "dur"):
            if key in event and not _is_time(event[key]):
                yield f"{key} of '{event['name']}' is no whole number of nanoseconds from 0 on: {event[key]}"
        if event.get("dur") == 0:
            yield f"'{event['name']}' takes no time"
        for key in ("pid", "tid"):
            if key in event and (type(event[key]) is not int or not 0 <= event[key] < 2**32):
                yield f"{key} of '{event['name']}' is no number of 32 bits: {event[key]}"
        if phase != "M" and event["pid"] == 0:
            yield f"'{event['name']}' belongs to process 0, which is the idle process"


def _is_time(value: object) -> bool:
    return (isinstance(value, int | float) and math.isfinite(value) and value >= 0
            and abs(value * 1000 - round(value * 1000)) < 1e-6)


def _names(events: list[Event]) -> Iterator[str]:
    """Every process and thread has one name and one place; threads are numbered over all processes."""
    named: dict[tuple[str, int], list[str]] = defaultdict(list)
    home: dict[int, int] = {}
    for event in events:
        if event["ph"] == "M":
            number = event["pid"] if event["name"].startswith("process") else event["tid"]
            named[event["name"], number].append(str(event["args"]))
            if event["name"] not in ("process_name", "process_sort_index", "thread_name", "thread_sort_index"):
                yield f"no viewer knows metadata '{event['name']}'"
    for event in events:
        if event["ph"] == "M":
            continue
        for what in ("process_name", "process_sort_index"):
            if len(named[what, event["pid"]]) != 1:
                yield f"process {event['pid']} has {len(named[what, event['pid']])} entries of {what}"
        if "tid" in event:
            if home.setdefault(event["tid"], event["pid"]) != event["pid"]:
                yield f"thread {event['tid']} is in two processes"
            for what in ("thread_name", "thread_sort_index"):
                if len(named[what, event["tid"]]) != 1:
                    yield f"thread {event['tid']} has {len(named[what, event['tid']])} entries of {what}"


def _in_order(events: list[Event]) -> list[Event]:
    """By time; what is equally early stays in the order of the file."""
    return sorted((event for event in events if event["ph"] != "M"), key=nanoseconds)


def _stacks(events: list[Event]) -> Iterator[str]:
    """A slice is dropped unless it ends inside the slice that is open when it begins."""
    open_slices: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for event in (event for event in _in_order(events) if event["ph"] == "X"):
        stack, start = open_slices[event["tid"]], nanoseconds(event)
        end = start + nanoseconds(event, "dur")
        while stack and stack[-1][0] <= start:
            stack.pop()
        if stack and stack[-1][0] < end:
            yield f"'{event['name']}' at {start} ns ends after '{stack[-1][1]}', in which it begins"
        stack.append((end, event["name"]))


def _async(events: list[Event]) -> Iterator[str]:
    """Pairs have category, number, name and process in common; each number is used once."""
    pairs: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] in "be":
            pairs[event["cat"], event["id"]].append(event)
    for key, pair in pairs.items():
        if [event["ph"] for event in pair] != ["b", "e"]:
            yield f"async slice {key} has phases {''.join(event['ph'] for event in pair)}"
        elif any(pair[0][what] != pair[1][what] for what in ("name", "pid")):
            yield f"async slice {key} changes its name or process"
        elif nanoseconds(pair[0]) >= nanoseconds(pair[1]):
            yield f"async slice {key} takes no time"


def _arrows(events: list[Event]) -> Iterator[str]:
    """An arrow is bound to the slice opened last on its thread: it must be the one that begins with the arrow."""
    last: dict[int, Event] = {}
    begun: dict[tuple[str, str, int], Event] = {}
    ended = 0
    for event in _in_order(events):
        if event["ph"] == "X":
            last[event["tid"]] = event
        elif event["ph"] in "sf":
            key, bound = (event["cat"], event["name"], event["id"]), last.get(event["tid"])
            if bound is None or nanoseconds(bound) != nanoseconds(event) or bound["cat"] != "issue":
                yield f"arrow {key} is bound to '{bound and bound['name']}', which is no instruction that begins there"
            if event["ph"] == "s" and begun.setdefault(key, event) is not event:
                yield f"arrow {key} begins twice"
            if event["ph"] == "f":
                ended += 1
                if event["bp"] != "e" or key not in begun or nanoseconds(begun[key]) >= nanoseconds(event):
                    yield f"arrow {key} ends before it begins, or at the next slice"
    if ended != len(begun):
        yield f"{len(begun)} arrows begin and {ended} end"


def _counters(events: list[Event]) -> Iterator[str]:
    """A counter has one value of one name, and its samples follow each other."""
    tracks: dict[tuple[int, str], list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            tracks[event["pid"], event["name"]].append(event)
            values = list(event["args"].values())
            if len(values) != 1 or type(values[0]) not in (int, float) or not math.isfinite(values[0]) or values[0] < 0:
                yield f"counter '{event['name']}' is {event['args']}"
    for (_, name), samples in tracks.items():
        times = [nanoseconds(sample) for sample in samples]
        if any(first >= second for first, second in itertools.pairwise(times)):
            yield f"samples of '{name}' are not one after the other"
        if len({key for sample in samples for key in sample["args"]}) != 1:
            yield f"counter '{name}' changes its unit"
