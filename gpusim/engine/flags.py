"""Models flags as the memory sees them: what is written to a word and when, what a poll finds, who waits for nobody.
Leaves out the way to L2 and back (gpusim.engine.memory) and the polling loop itself (gpusim.engine.scheduler).

A write counts from the cycle in which its owner slice has it; a poll finds what its slice has when it gets there. Among
requests that are under way together, a poll that left its SM first does not see a write that left later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from gpusim.program import FlagAction, FlagUse, Program, RoleProgram, flag_action
from gpusim.program.flags import JUMP_ALL_THERE, JUMP_MISSING

__all__ = ["FLAG_OP", "FlagState", "FlagWait", "flag_jumps", "flag_ops", "missing_flags", "new_flags",
           "note_write", "word_line", "word_value", "writes_flag"]

FLAG_OP = np.dtype([("action", "<i8"), ("slot", "<i8"), ("value", "<i8"), ("span", "<i8")], align=True)
POLL, SWAP, SET, ADD = (int(FlagAction[name]) for name in ("poll", "swap", "set", "add"))
WORD_BITS, LINE_MASK = 2, -128


class FlagState(NamedTuple):
    """C CTAs, F slots, W words, at most H writes to each."""

    ops: np.ndarray  # FLAG_OP: what the image's rows name
    words: np.ndarray  # (C, F) i8
    base: np.ndarray  # (1,) i8: byte address of word 0
    writes: np.ndarray  # (W,) i8: how many so far, in the order in which they left their SMs
    time: np.ndarray  # (W, H) f8: when the owner slice has it
    action: np.ndarray  # (W, H) i8
    value: np.ndarray  # (W, H) i8


class FlagWait(NamedTuple):
    """A CTA that polls a flag in vain."""

    word: int
    value: int  # what it has
    awaited: int


def flag_ops(program: Program, roles: Sequence[RoleProgram]) -> tuple[np.ndarray, list[np.ndarray]]:
    """All different FLAG_OP rows, and per role which of them each op is, -1: none."""
    actions = [flag_action(static.mnemonic) if program.flags.words.size else None for static in program.statics]
    known: dict[tuple[int, int, int, int], int] = {}
    numbers = [np.full(len(role.ops), -1, np.int32) for role in roles]
    action_of_pc = np.array([-1 if action is None else int(action) for action in actions])
    for role, number in zip(roles, numbers, strict=True):
        for row in np.flatnonzero((action_of_pc[role.ops["pc"]] >= 0) & (role.ops["access"] >= 0)):
            use = FlagUse.of(int(role.ops["operand"][row]))
            key = (int(action_of_pc[role.ops["pc"][row]]), use.slot, use.value, use.span)
            number[row] = known.setdefault(key, len(known))
    return np.array(list(known), np.int64).reshape(-1, 4).view(FLAG_OP).reshape(-1), numbers


def flag_jumps(role: RoleProgram, flags: np.ndarray, is_branch: np.ndarray) -> np.ndarray:
    """Per op, by how many rows a branch on a flag goes on (back: negative); 0: no such branch."""
    jumps, rows = np.zeros(len(role.ops), np.int32), np.arange(len(role.ops))
    if not (flags >= 0).any():
        return jumps
    back = rows[is_branch & (role.ops["operand"] == JUMP_MISSING)]
    polls = rows[flags >= 0]
    for row in back.tolist():
        jumps[row] = polls[polls < row].max() - row
    for row in rows[is_branch & (role.ops["operand"] == JUMP_ALL_THERE)].tolist():
        jumps[row] = back[back > row].min() + 1 - row
    return jumps


def new_flags(program: Program, ops: np.ndarray, roles_of_class: Sequence[Sequence[np.ndarray]]) -> FlagState:
    """All words zero. ``roles_of_class``: per class and role what flag_ops says of its ops."""
    table = program.flags
    writes = np.zeros(table.num_words, np.int64)
    for number, roles in enumerate(roles_of_class):
        used = np.concatenate([np.zeros(0, np.int64), *(role[role >= 0] for role in roles)]).astype(np.int64)
        ctas = np.flatnonzero(program.cta_class == number)
        for op in ops[used][ops["action"][used] != POLL]:
            for word in range(op["span"]):
                np.add.at(writes, table.words[ctas, op["slot"]] + word, 1)
    most = int(writes.max(initial=0))
    shape = (table.num_words, most)
    return FlagState(ops, table.words.astype(np.int64), np.array([table.base_address], np.int64),
                     np.zeros(table.num_words, np.int64), np.zeros(shape), np.zeros(shape, np.int64),
                     np.zeros(shape, np.int64))


@njit(cache=True, nogil=True)
def writes_flag(action):
    """SET and ADD, whose answer nobody waits for."""
    return action >= SET


@njit(cache=True, nogil=True)
def word_line(flags, cta, op):
    """Byte address of the line with the word that the op names."""
    return (flags.base[0] + (flags.words[cta, op.slot] << WORD_BITS)) & LINE_MASK


@njit(cache=True, nogil=True)
def note_write(flags, cta, op, time):
    """The owner slice has the op's write at ``time``. A swap writes 0."""
    for word in range(flags.words[cta, op.slot], flags.words[cta, op.slot] + op.span):
        n = flags.writes[word]
        flags.time[word, n], flags.action[word, n] = time, op.action
        flags.value[word, n] = 0 if op.action == SWAP else op.value
        flags.writes[word] = n + 1


@njit(cache=True, nogil=True)
def word_value(flags, word, time):
    """What a word holds at ``time``."""
    value = np.int64(0)
    for n in range(flags.writes[word]):
        if flags.time[word, n] <= time:
            value = value + flags.value[word, n] if flags.action[word, n] == ADD else flags.value[word, n]
    return value


def missing_flags(flags: FlagState, ctas: np.ndarray, ops: np.ndarray) -> list[FlagWait] | None:
    """What CTAs that poll in vain wait for, when none of their words has the awaited value after all writes so far;
    None as soon as one of them has."""
    waits = []
    for cta, op in zip(ctas.tolist(), flags.ops[ops], strict=True):
        word = int(flags.words[cta, op["slot"]])
        waits.append(FlagWait(word, int(word_value(flags, word, np.inf)), int(op["value"])))
    return None if any(wait.value == wait.awaited for wait in waits) else waits
