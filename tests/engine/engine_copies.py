"""Models, lane by lane, the turns in which a cp.async that bypasses L1 writes its data to shared memory.
Leaves out when that is: what the turns hold up is the tag stage (engine_reference)."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["CLASSES", "LINE_BYTES", "write_turns"]

AT_ONCE, CLASSES, LINE_BYTES, CHUNK_BYTES = 4, 4, 128, 16
Request = tuple[int, int, str, int]
"""Global line, shared line, which halves of its sectors, exchange of chunks inside 64 bytes."""


def write_turns(shared: Sequence[int], source: Sequence[int], lanes: Sequence[int]) -> int:
    """Of each four requests, in the order of their first lanes, those of one class of lines go one after another."""
    asked: list[Request] = []
    for lane in lanes:
        request = _request(lane, shared, source, lanes)
        if request not in asked:
            asked.append(request)
    turns = 0
    for start in range(0, len(asked), AT_ONCE):
        classes = [line % CLASSES for _, line, _, _ in asked[start : start + AT_ONCE]]
        turns += max(classes.count(number) for number in classes)
    return turns


def _request(lane: int, shared: Sequence[int], source: Sequence[int], lanes: Sequence[int]) -> Request:
    """A sector stays whole where its other half goes to the other half of the same 32 bytes."""
    whole = any(source[mate] == source[lane] ^ CHUNK_BYTES and shared[mate] == shared[lane] ^ CHUNK_BYTES
                for mate in lanes)
    half = "high" if source[lane] & CHUNK_BYTES else "low"
    exchange = (source[lane] ^ shared[lane]) // CHUNK_BYTES % 4
    return source[lane] // LINE_BYTES, shared[lane] // LINE_BYTES, "whole" if whole else half, exchange
