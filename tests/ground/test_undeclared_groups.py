"""Questions that belong together though no group says so are a note, and templates and chance are none."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from evalstore.statistics import UndeclaredGroups

CASE = "Dear support team, I have a question about a {}, and my number is {}."
TOPICS = [f"{first}{last}" for first in ("par", "vou", "lic") for last in ("cel", "cher", "ence", "ing")]


def search(*questions: tuple[str, str, float]) -> str:
    found = UndeclaredGroups()
    for id_, asked, change in questions:
        found.add_question(id_, asked, Fraction(change))
    return "".join(found.list_notes())


def test_inputs_that_differ_in_a_number_or_a_word_are_nearly_equal() -> None:
    others = [(f"q{n}", f"{random.Random(n).random()}", 0) for n in range(40)]  # noqa: S311  # no secret
    found = search(*others, *((topic, CASE.format(topic, 7), 0) for topic in TOPICS))
    assert "12 have inputs that are nearly equal (parcel and 11 more)" in found
    assert "`group:`" in found


@pytest.mark.parametrize("asked", ["What is {}?", "{}", CASE])
def test_what_all_questions_have_is_their_form(asked: str) -> None:
    assert search(*((f"q{n}", asked.format(n, n), n % 2) for n in range(40))) == ""


def test_changes_agree_where_ids_begin_alike() -> None:
    chance = random.Random(5)  # noqa: S311  # no secret
    falls = {topic: chance.random() < 0.5 for topic in TOPICS}
    asked = [(f"{topic}-{n}", chance.randbytes(9).hex(), -falls[topic]) for topic in TOPICS for n in range(5)]
    assert "those whose ids begin alike (" in search(*asked)
    alone = [(id_, text, -(chance.random() < 0.5)) for id_, text, _ in asked]
    assert search(*alone) == ""
