"""Combinations of languages: what all short texts say, a complete search has found, each with a shortest text."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
import regex

from evalstore.budget import SharedBudget
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


def test_what_can_be_typed_is_preferred_to_what_is_shorter() -> None:
    table = find_memberships([build_pattern_language(Expression(r"\u212a|kelvin"))], SharedBudget(STEPS))
    assert table.texts[(True,)] == "kelvin"


@pytest.mark.parametrize("seed", range(6))
def test_all_short_texts_are_of_a_combination_that_was_found(seed: int, samples: int) -> None:
    random, complete = Random(seed), 0  # noqa: S311  # not for secrets
    for _ in range(samples(8)):
        drawn = [patterns.pattern(random, 1) for _ in range(2)]
        try:
            languages = [build_pattern_language(Expression(pattern)) for pattern in drawn]
        except UndecidedError:
            continue
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
