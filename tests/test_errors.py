"""Suggestions: what is near a misspelt word, or as much of what is known as a sentence holds."""

from __future__ import annotations

import pytest

from gpusim.errors import did_you_mean

MANY = [f"metric_{letter}{digit}" for letter in "abcdef" for digit in range(10)]


@pytest.mark.parametrize(
    ("word", "known", "listed_by", "sentence"),
    [
        ("swizle", ["swizzle", "num_stages"], "", "did you mean 'swizzle'?"),
        ("xyz", ["swizzle", "num_stages"], "", "known: num_stages, swizzle"),
        ("hgem", ["hgemm", "sgemm", "conv"], "gpusim run --list",
         "did you mean 'hgemm' or 'sgemm'? gpusim run --list names all 3"),
        ("xyz", ["hgemm", "sgemm"], "gpusim run --list", "gpusim run --list names all 2"),
    ],
)
def test_a_suggestion_names_what_is_near_or_what_there_is(word, known, listed_by, sentence):
    assert did_you_mean(word, known, listed_by=listed_by) == sentence


def test_a_long_list_is_cut_to_what_is_nearest():
    sentence = did_you_mean("a0", MANY)
    assert sentence.startswith("nearest of 60: metric_a0, ") and sentence.count("metric_") == 5
