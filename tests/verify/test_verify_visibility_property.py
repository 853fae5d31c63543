"""Random programs of two warps against a naive model of visibility that keeps every write as an event."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from verify_builder import RoleBuilder, make_program, tensors

from gpusim.verify import ExecutionResult, execute

LANE = np.arange(32)
WARPS = np.arange(2)
OLD = 0xFFFFFFFF
SLOT_BYTES = 128
Action = tuple[str, int, int]
"""(what, buffer, swap): warp w touches slot 2 x buffer + (w XOR swap); for a wait, ``buffer`` groups stay allowed."""

TOUCH = st.tuples(st.sampled_from(["copy", "store", "load", "load"]), st.just(0) | st.integers(0, 1), st.integers(0, 1))
BARRIER, COMMIT, WAIT_ALL = ("barrier", 0, 0), ("commit", 0, 0), ("wait", 0, 0)
PIECES = st.one_of(TOUCH.map(lambda touch: [touch]), TOUCH.map(lambda touch: [touch, BARRIER]),
                   TOUCH.map(lambda touch: [touch, COMMIT, WAIT_ALL]), st.just([BARRIER]),
                   TOUCH.map(lambda touch: [touch, COMMIT, ("wait", 1, 0)]))
ACTIONS = st.lists(PIECES, max_size=8).map(lambda pieces: [action for piece in pieces for action in piece])


@dataclass
class Write:
    warp: int
    value: int  # number of the action, stored in every word
    asynchronous: bool
    done: int | None = None  # when its own warp may see it


@dataclass
class NaiveModel:
    """Happens-before by definition: done, and then by the same warp or after a barrier."""

    writes: dict[int, list[Write]] = field(default_factory=dict)
    reads: list[tuple[int, int, int]] = field(default_factory=list)  # (time, warp, slot)
    barriers: list[int] = field(default_factory=list)
    open_group: list[Write] = field(default_factory=list)
    groups: list[list[Write]] = field(default_factory=list)

    def visible(self, write: Write, warp: int, now: int) -> bool:
        if write.done is None:
            return False
        return write.warp == warp or any(write.done <= barrier < now for barrier in self.barriers)

    def write(self, now: int, warp: int, slot: int, *, asynchronous: bool) -> set[str]:
        since = max(self.barriers, default=-1)
        found = {"war" for time, reader, read in self.reads if read == slot and reader != warp and time > since}
        found |= {"waw" for write in self.writes.get(slot, []) if not self.visible(write, warp, now)}
        write = Write(warp, now, asynchronous, None if asynchronous else now)
        self.writes.setdefault(slot, []).append(write)
        if asynchronous:
            self.open_group.append(write)
        return found

    def read(self, now: int, warp: int, slot: int) -> tuple[int, set[str]]:
        self.reads.append((now, warp, slot))
        writes = self.writes.get(slot, [])
        seen = [write.value for write in writes if self.visible(write, warp, now)]
        flying = [write for write in writes if write.done is None]
        landed = sorted((write for write in writes if write.done is not None), key=lambda write: write.done or 0)
        hidden = {"raw_async" if write.asynchronous else "raw" for write in flying + landed[-1:]
                  if not self.visible(write, warp, now)}
        return (seen[-1] if seen else OLD), hidden or (set() if writes else {"uninitialised"})

    def wait(self, now: int, allowed: int) -> None:
        for group in self.groups[:len(self.groups) - allowed]:
            for write in group:
                write.done = now if write.done is None else write.done

    def commit(self) -> None:
        self.groups.append(self.open_group)
        self.open_group = []


def slots(action: Action) -> np.ndarray:
    return 2 * action[1] + (WARPS ^ action[2])


def run_naively(actions: list[Action]) -> tuple[dict[int, set[str]], dict[int, list[int]], bool]:
    """Hazard kinds and loaded values by action number, and whether it stopped at a WAW (what follows is undefined)."""
    model, kinds, values = NaiveModel(), {}, {}
    for now, action in enumerate(actions):
        what = action[0]
        if what in ("copy", "store"):
            copied = what == "copy"
            found = [model.write(now, w, int(slot), asynchronous=copied) for w, slot in enumerate(slots(action))]
            kinds[now] = found[0] | found[1]
            if "waw" in kinds[now]:
                return kinds, values, True
        elif what == "load":
            read = [model.read(now, w, int(slot)) for w, slot in enumerate(slots(action))]
            values[now], kinds[now] = [value for value, _ in read], read[0][1] | read[1][1]
        elif what == "wait":
            model.wait(now, action[1])
        elif what == "commit":
            model.commit()
        else:
            model.barriers.append(now)
    return kinds, values, False


def run_for_real(actions: list[Action]) -> tuple[ExecutionResult, dict[int, int]]:
    """The result, and the action of each source line. Action i moves words of value i; loads go to row i of D."""
    role, lines = RoleBuilder(num_warps=2), {}
    for now, action in enumerate(actions):
        what, where = action[0], slots(action)[:, None] * SLOT_BYTES + LANE * 4
        row = now * SLOT_BYTES + LANE * 4
        if what == "copy":
            lines[role.copy_async(where, row, tensor=0, size=4)] = now
        elif what == "store":
            role.load_global((0, 1), row, tensor=0)
            lines[role.store_shared((0, 1), where)] = now
        elif what == "load":
            lines[role.load_shared((1, 1), where)] = now
            role.store_global((1, 1), 2 * now * SLOT_BYTES + WARPS[:, None] * SLOT_BYTES + LANE * 4, tensor=1)
        elif what == "wait":
            role.wait(action[1])
        else:
            role.commit() if what == "commit" else role.barrier()
    rows = max(1, len(actions))
    infos = tensors(("A", "u32", (rows, 32)), ("D", "u32", (rows, 2, 32)))
    data = np.repeat(np.arange(rows, dtype=np.uint32)[:, None], 32, axis=1)
    return execute(make_program(infos, role), {"A": data}), lines


@given(ACTIONS)
@settings(max_examples=100, deadline=None)
def test_random_programs_race_and_read_as_the_naive_model_says(actions: list[Action]) -> None:
    kinds, values, stopped = run_naively(actions)
    result, lines = run_for_real(actions)
    last = max(kinds) if stopped else len(actions)
    found: dict[int, set[str]] = {}
    for hazard in result.hazards:
        now = lines[int(hazard.place.split(":")[1])]
        if now <= last:
            found.setdefault(now, set()).add(hazard.kind)
    assert found == {now: kind for now, kind in kinds.items() if kind}
    for now, expected in values.items():
        assert result.outputs["D"][now].tolist() == [[value] * 32 for value in expected]


@given(ACTIONS)
@settings(max_examples=40, deadline=None)
def test_without_hazards_every_load_sees_the_newest_write(actions: list[Action]) -> None:
    result, _ = run_for_real(actions)
    if result.hazards:
        return
    newest: dict[int, int] = {}
    for now, action in enumerate(actions):
        if action[0] in ("copy", "store"):
            newest.update(dict.fromkeys(slots(action).tolist(), now))
        elif action[0] == "load":
            assert result.outputs["D"][now, :, 0].tolist() == [newest[slot] for slot in slots(action).tolist()]
