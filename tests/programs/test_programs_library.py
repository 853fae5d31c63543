"""Laws of the whole library: every program has an answer on three sizes, one ragged, and a committed summary."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from library import ANSWERED, PROGRAMS, SUMMARISED

from gpusim.experiments.check import CheckResult, check
from gpusim.experiments.config import load_plan

EXPECTED = Path(__file__).parent / "expected"
RUNS = [(name, sizes, case.parameters) for name, cases in ANSWERED.items() for case in cases for sizes in case.sizes]


@cache
def checked(number: int) -> CheckResult:
    """What ``gpusim check NAME --set ...`` says of a run."""
    name, sizes, parameters = RUNS[number]
    settings = [*(f"problem.{key}={value}" for key, value in sizes.items()),
                *(f"parameters.{key}={value}" for key, value in parameters.items())]
    return check(load_plan(name, settings))


@pytest.mark.parametrize("number", range(len(RUNS)), ids=[f"{name}-{number}" for number, (name, *_) in enumerate(RUNS)])
def test_check_finds_nothing_wrong(number: int) -> None:
    """The answer is NumPy's, every element is written once, no race, every register hazard covered."""
    result = checked(number)
    assert [verdict for verdict in result.verdicts if verdict.verdict == "FAIL"] == []
    questions = " ".join(verdict.question for verdict in result.verdicts)
    assert all(words in questions for words in ("equals NumPy", "written once", "without races", "control fields"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_answered_on_three_sizes_of_which_one_is_ragged(name: str) -> None:
    """Ragged: a class of CTAs at an edge, as the verdict on its control fields names it."""
    runs = [number for number, run in enumerate(RUNS) if run[0] == name]
    assert len({str(RUNS[number][1:]) for number in runs}) >= 3, f"{name} needs three sizes in ANSWERED"
    questions = [verdict.question for number in runs for verdict in checked(number).verdicts]
    assert any(question.startswith("control fields, edge") for question in questions), \
        f"{name} needs a size that tiles do not divide"


def test_every_program_has_a_committed_summary_and_every_summary_a_program() -> None:
    assert {path.stem for path in EXPECTED.glob("*.json")} == set(SUMMARISED)
    assert {case.program for case in SUMMARISED.values()} == set(PROGRAMS) == set(ANSWERED)


def test_no_two_summaries_are_of_the_same_launch() -> None:
    assert max(Counter(str(case) for case in SUMMARISED.values()).values()) == 1
