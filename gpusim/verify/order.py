"""Models the order that flags impose on CTAs: turns, in each of which every CTA can run to its end.
Leaves out time, and programs whose CTAs need each other's progress before either ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusim.errors import SimulatedFailure
from gpusim.program import FlagAction, FlagUse, Program, flag_action
from gpusim.verify.hazards import place_of

__all__ = ["turns"]

Use = tuple[FlagAction, FlagUse, int]  # and the instruction's pc


def turns(program: Program, ctas: np.ndarray) -> Iterator[np.ndarray]:
    """The CTAs of ``ctas`` in turns: those of one wait for flags that earlier turns have left behind.

    Without flags there is one turn. Raises SimulatedFailure when nobody can go on, naming the first that waits.
    """
    if not program.flags.words.size:
        yield ctas
        return
    uses = [_uses(program, number) for number in range(len(program.classes))]
    words = np.zeros(program.flags.num_words, np.int64)
    waiting = ctas
    while len(waiting):
        outcomes = [_outcome(words, program.flags.words[cta], uses[program.cta_class[cta]]) for cta in waiting.tolist()]
        done = np.array([isinstance(outcome, dict) for outcome in outcomes])
        if not done.any():
            raise SimulatedFailure(_nobody(program, int(waiting[0]), words, outcomes[0]))
        yield waiting[done]
        waiting = waiting[~done]
        for outcome in outcomes:
            if isinstance(outcome, dict):
                for word, change in outcome.items():
                    words[word] = change(words[word])


def _uses(program: Program, number: int) -> list[Use]:
    """What a CTA of a class does with flags, in program order."""
    found = []
    for role in program.classes[number].roles:
        for op in role.ops[role.ops["access"] >= 0]:
            action = flag_action(program.statics[op["pc"]].mnemonic)
            if action is not None:
                found.append((action, FlagUse.of(int(op["operand"])), int(op["pc"])))
    return found


class _Change:
    """What becomes of a word: set to a value or increased."""

    def __init__(self) -> None:
        self.value: int | None = None
        self.added = 0

    def __call__(self, word: int) -> int:
        return (word if self.value is None else self.value) + self.added


def _outcome(words: np.ndarray, slots: np.ndarray, uses: list[Use]) -> dict[int, _Change] | Use:
    """What a CTA does to words when it runs now, or the poll that stops it."""
    changes: dict[int, _Change] = {}
    for action, use, pc in uses:
        word = int(slots[use.slot])
        present = changes[word](int(words[word])) if word in changes else int(words[word])
        if action in (FlagAction.poll, FlagAction.swap) and present != use.value:
            return action, use, pc
        for number in range(word, word + use.span):
            _apply(changes.setdefault(number, _Change()), action, use.value)
    return changes


def _apply(change: _Change, action: FlagAction, value: int) -> None:
    if action == FlagAction.add:
        change.added += value
    elif action != FlagAction.poll:
        change.value, change.added = (value if action == FlagAction.set else 0), 0


def _nobody(program: Program, cta: int, words: np.ndarray, poll: dict[int, _Change] | Use) -> str:
    assert not isinstance(poll, dict)
    _, use, pc = poll
    word = int(program.flags.words[cta, use.slot])
    return (f"deadlock: CTA {cta} ({program.classes[program.cta_class[cta]].name}) waits for word {word} of "
            f"{program.flags.name} to be {use.value}, where it is {int(words[word])} and nobody will write it, "
            f"at {place_of(program.statics[pc])}")
