"""What the rows say of themselves is true: their examples are edits of the fixtures, and their words are complete."""

from __future__ import annotations

import re
from functools import cache

from evalstore.diff import DiffFinding
from evalstore.diff.change import ChangeRule
from evalstore.diff.deciders.claims import CLAIMS, name_decider
from evalstore.diff.rules import RULES
from evalstore.diff.settings import RULE_SETS
from evalstore.versions import Bump
from tests.diff.case_pairs import CASES, NAMES, difference
from tests.rows import each

EDIT = re.compile(r"(?P<old>.*) → (?P<new>.*?)(?: \((?P<note>[^()]*(?:\([^()]*\)[^()]*)*)\))?", re.DOTALL)
NOTHING = "nothing"
each_rule = each(RULES.values(), name=lambda rule: rule.id)


@cache
def texts(name: str) -> tuple[str, str]:
    old, new = (" ".join((CASES / name / f"{side}.yaml").read_text("utf-8").split()) for side in ("old", "new"))
    return old, new


def holds(edit: re.Match[str], sides: tuple[str, str]) -> bool:
    """Whether an edit is there word by word; `nothing` is what the other side alone has."""
    old, new = edit["old"], edit["new"]
    if old == NOTHING:
        return new in sides[1] and new not in sides[0]
    if new == NOTHING:
        return old in sides[0] and old not in sides[1]
    return old in sides[0] and new in sides[1]


def fixtures(edit: re.Match[str]) -> list[tuple[DiffFinding, ...]]:
    """Return what is found in every fixture that makes an edit, there or back."""
    there = [difference(name).findings for name in NAMES if holds(edit, texts(name))]
    return there + [difference(name, back=True).findings for name in NAMES if holds(edit, texts(name)[::-1])]


@each_rule
def test_the_example_is_an_edit_that_the_rule_finds_at_its_level(rule: ChangeRule) -> None:
    edit = EDIT.fullmatch(rule.example)
    assert edit, rule.example
    found = {(finding.rule, finding.level) for fixture in fixtures(edit) for finding in fixture}
    assert (rule.id, rule.level) in found


@each_rule
def test_what_to_do_instead_needs_less(rule: ChangeRule) -> None:
    if rule.level is Bump.PATCH:
        assert rule.instead == ""
        return
    assert rule.instead
    if edit := EDIT.fullmatch(rule.instead):
        assert any(max(finding.level for finding in fixture) < rule.level for fixture in fixtures(edit))


@each_rule
def test_a_rule_is_told_in_one_line_each(rule: ChangeRule) -> None:
    for words in (rule.message, rule.reason, rule.example, rule.instead, rule.direction.words):
        assert "\n" not in words
        assert not words.endswith(".")
    assert rule.since in RULE_SETS


def test_each_decider_has_a_claim_and_each_claim_a_decider() -> None:
    assert {name_decider(decider) for rule in RULES.values() for decider in rule.deciders} == CLAIMS.keys()


@each_rule
def test_a_headline_never_asks_for_less(rule: ChangeRule) -> None:
    assert rule.headline is None or rule.headline.level > Bump.PATCH
