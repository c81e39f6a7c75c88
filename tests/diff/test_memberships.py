"""Combinations of languages: what all short texts say, a complete search has found, each with a shortest text."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random

import pytest
import regex

from evalstore.budget import SharedBudget
from evalstore.diff.answers.text_scores import TextScore, is_in_all
from evalstore.diff.effects.assembled_texts import TextAssembly, TextGrader
from evalstore.languages.pattern_comparison import (
    Expression,
    RegexTree,
    UndecidedError,
    build_pattern_language,
    build_phrase_language,
    build_words_language,
    find_memberships,
)
from tests.diff.fuzz import patterns

STEPS = 60_000
LETTERS = "ab1 \nA\u00df"
TEXTS = ["".join(letters) for length in range(4) for letters in product(LETTERS, repeat=length)]


def build(phrases: list[str], *, case_sensitive: bool = False) -> RegexTree:
    return build_phrase_language(phrases, case_sensitive=case_sensitive)


def test_every_combination_has_its_shortest_text() -> None:
    languages = [build(["foo", "bar"]), build(["foo"]), build(["FOO"], case_sensitive=True)]
    table = find_memberships(languages, SharedBudget(STEPS))
    assert table.is_complete
    assert table.texts == {
        (False, False, False): "",
        (True, False, False): "bar",
        (True, True, False): "foo",
        (True, True, True): "FOO",
    }


@pytest.mark.parametrize(
    "phrases",
    [
        [["cache tag", "max-age"], ["kill switch 9"], ["out of date 9"]],
        [["foo"], ["foo", "bar"], ["qux"]],
        [["foo", "bar"], ["foo"], ["FOO"]],
        [["xay"], ["a"]],
    ],
)
def test_texts_are_put_together_of_the_combinations_that_a_search_finds(phrases: list[list[str]]) -> None:
    cased = [all(map(str.isupper, some)) for some in phrases]
    languages = [build(some, case_sensitive=case) for some, case in zip(phrases, cased, strict=True)]
    graders = [
        TextGrader(TextScore((language,), is_in_all), (place,), partial(_holds_any, phrases[place], cased[place]))
        for place, language in enumerate(languages)
    ]
    found, table = find_memberships(languages, SharedBudget(STEPS)), TextAssembly(languages, graders).build_table()
    # That one phrase is within another is no matter of the lists: there, a search has to tell.
    assert (table is None) == any("xay" in some for some in phrases)
    if table:
        assert table.texts.keys() == found.texts.keys()
        assert all(
            tuple(grader.grade(text) == 1 for grader in graders) == members for members, text in table.texts.items()
        )
        assert sum(map(len, table.texts.values())) == sum(map(len, found.texts.values()))


def _holds_any(phrases: list[str], case: bool, text: str) -> Fraction:  # noqa: FBT001  # of a partial
    return Fraction(any(phrase in (text if case else text.lower()) for phrase in phrases))


def test_what_can_be_typed_is_preferred_to_what_is_shorter() -> None:
    table = find_memberships([build_pattern_language(Expression(r"\u212a|kelvin"))], SharedBudget(STEPS))
    assert table.texts[(True,)] == "kelvin"


@pytest.mark.parametrize("seed", range(6))
def test_all_short_texts_are_of_a_combination_that_was_found(seed: int, samples: int) -> None:
    random, complete = Random(seed), 0  # noqa: S311  # not for secrets
    for _ in range(samples(8)):
        drawn, languages = _draw_languages(random)
        table = find_memberships(languages, SharedBudget(STEPS))
        compiled = [regex.compile(pattern) for pattern in drawn]
        for text in [*TEXTS, *table.texts.values()]:
            members = tuple(one.search(text) is not None for one in compiled)
            assert not table.is_complete or members in table.texts, (drawn, text)
            if not text.isascii():
                continue
            found = table.texts.get(members, text)
            assert not found.isascii() or len(found) <= len(text) or not table.is_complete, (drawn, text, found)
        for members, text in table.texts.items():
            assert members == tuple(one.search(text) is not None for one in compiled)
        complete += table.is_complete
    assert complete


def _draw_languages(random: Random) -> tuple[list[str], list[RegexTree]]:
    """Draw two patterns of which each is a language; most that are drawn ask for more."""
    while True:
        drawn = [patterns.pattern(random, 1) for _ in range(2)]
        with suppress(UndecidedError):
            return drawn, [build_pattern_language(Expression(pattern)) for pattern in drawn]


@pytest.mark.parametrize("fact", [" A \n\x1c b ", "i x", "x i", "\u00df a"])
def test_words_stand_apart_by_any_white_space(fact: str) -> None:
    wanted = " ".join(fact.lower().split())
    language = build_words_language(fact, case_sensitive=False)
    for text in ("a\x1cB", "ab", "\u0130 x", "x  \u0130", "I\u2028X", "x\ni", "\u00df  a", "\u1e9e a"):
        only = build_pattern_language(Expression(regex.escape(text), mode="fullmatch"))
        table = find_memberships([language, only], SharedBudget(STEPS))
        assert ((wanted in " ".join(text.lower().split())), True) in table.texts


def test_a_budget_that_ends_is_told() -> None:
    assert not find_memberships([build(["foo", "bar"])], SharedBudget(10)).is_complete
