"""Models, lane by lane, the turns in which a cp.async that bypasses L1 writes its data to shared memory.
Leaves out when that is: what the turns hold up is the tag stage (engine_reference)."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["CLASSES", "LINE_BYTES", "write_turns"]

AT_ONCE, CLASSES, LINE_BYTES = 4, 4, 128


def write_turns(shared: Sequence[int], source: Sequence[int], lanes: Sequence[int]) -> int:
    """Of each four pairs of a global and a shared line, in the order of their first lanes, those of one class of shared
    lines go one after another."""
    pairs = list(dict.fromkeys((source[lane] // LINE_BYTES, shared[lane] // LINE_BYTES) for lane in lanes))
    turns = 0
    for start in range(0, len(pairs), AT_ONCE):
        classes = [line % CLASSES for _, line in pairs[start : start + AT_ONCE]]
        turns += max(classes.count(number) for number in classes)
    return turns
