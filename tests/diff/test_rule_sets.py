"""A rule set judges as it did: every pair of fixtures keeps its verdicts, and no newer rule, decider or proof is used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from evalstore.diff import ComparisonSettings, Diff, compare
from evalstore.diff.change import Change, Proof
from evalstore.diff.changes import rubric as rubric_changes
from evalstore.diff.changes.judge import KEY_RULES
from evalstore.diff.kinds import KINDS
from evalstore.diff.rules import RULES
from evalstore.diff.settings import RULE_SETS
from evalstore.documents import read_json
from evalstore.model import Artifact, Kind
from evalstore.versions import Bump
from tests.diff.rule_sets import GOLDEN, find_stale, judge_pair, list_names, read_golden
from tests.rows import mark_slow

Mapping = dict[str, Any]
PINNED, NEWER = RULE_SETS[-1], RULE_SETS[-1] + 1
HOW = "a published set never changes: give what is new `since`; until then run `python -m tests.diff.rule_sets`"
PARAMS = KINDS["php_lint"].params
NAME = "on_no_code"
RULE, NEW_RULE = "php-lint-options-changed", "php-lint-options-read"


def rubric(**params: Any) -> Mapping:
    check = {"id": "a", "kind": "php_lint", **params}
    return {"id": "r", "version": "1.0.0", "checks": [check], "scoring": {"combine": "all_pass"}}


OPTIONS = rubric(), rubric(on_no_code="fail")


def judge(sides: tuple[Mapping, Mapping], rule_set: int, **more: Any) -> Diff:
    return compare(*sides, settings=ComparisonSettings(rule_set=rule_set), **more)


def install(monkeypatch: pytest.MonkeyPatch, **facts: Any) -> None:
    """Put a rule of the newer set in the catalogue, and let the facts name it."""
    row = replace(RULES[RULE], id=NEW_RULE, level=Bump.MINOR, since=NEWER, **facts)
    monkeypatch.setitem(RULES, NEW_RULE, row)
    monkeypatch.setitem(PARAMS, NAME, replace(PARAMS[NAME], rule=NEW_RULE))


@pytest.mark.heavy
@pytest.mark.parametrize("every", [9, mark_slow(1)])
@pytest.mark.parametrize("rule_set", RULE_SETS)
def test_a_rule_set_judges_as_it_did(rule_set: int, every: int) -> None:
    assert list(find_stale(rule_set, every)) == [], HOW  # an odd step meets pairs there and back


def test_every_rule_set_has_its_verdicts() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {str(number) for number in RULE_SETS}
    assert list(read_golden(RULE_SETS[-1])) == list_names(), HOW


def test_a_change_that_only_a_newer_rule_knows_is_unclassified(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setitem(PARAMS, NAME, replace(PARAMS[NAME], rule=None))
        unknown = judge(OPTIONS, PINNED)
    install(monkeypatch)
    assert judge(OPTIONS, PINNED) == unknown
    (pinned,), (newer,) = judge(OPTIONS, PINNED).findings, judge(OPTIONS, NEWER).findings
    assert (pinned.rule, pinned.level) == ("unclassified-change", Bump.MAJOR)
    assert (newer.rule, newer.level) == (NEW_RULE, Bump.MINOR)


def test_a_rule_that_replaces_another_leaves_every_verdict_of_the_older_set(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, replaces=RULE)
    for name in (name for name in list_names() if "php-lint" in name):
        assert judge_pair(name, PINNED) == read_golden(PINNED)[name]
    assert judge(OPTIONS, PINNED).findings[0].rule == RULE
    assert judge(OPTIONS, NEWER).findings[0].rule == NEW_RULE


def test_what_a_newer_decider_proves_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def prove_idle(_: Change) -> Proof:
        """Prove that nobody writes PHP."""
        return Proof("nobody writes PHP", since=NEWER)

    before = judge(OPTIONS, PINNED)
    row = RULES[RULE]
    monkeypatch.setitem(RULES, RULE, replace(row, deciders=(prove_idle, *row.deciders)))
    assert judge(OPTIONS, PINNED) == before
    assert before.required_bump is Bump.MAJOR
    newer = judge(OPTIONS, NEWER)
    assert (newer.required_bump, newer.findings[0].reason) == (Bump.PATCH, "nobody writes PHP")


def test_a_newer_proof_of_the_facts_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = rubric(), {**rubric(), "scoring": {"combine": "all_pass", "weights": {"nobody": 2}}}
    assert judge(sides, PINNED).required_bump is Bump.PATCH
    monkeypatch.setattr(rubric_changes, "_NO_SUCH_CHECK", rubric_changes._NO_SUCH_CHECK._replace(since=NEWER))
    assert judge(sides, PINNED).required_bump is Bump.MAJOR
    assert judge(sides, NEWER).required_bump is Bump.PATCH


def test_what_a_reference_imports_is_judged_by_the_same_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(ref: str) -> Artifact:
        document = read_json(json.dumps(OPTIONS["@2" in ref]), "r.json")
        return Artifact(Kind.RUBRIC, "r", ref.partition("@")[2], document)

    install(monkeypatch)
    sides = tuple(
        {**rubric(), "checks": [{"id": "c", "kind": "composite", "rubric_ref": f"rubric/r@{n}.0.0"}]} for n in (1, 2)
    )
    assert judge(sides, PINNED, load=load).required_bump is Bump.MAJOR
    assert judge(sides, NEWER, load=load).required_bump is Bump.MINOR


def test_a_judge_is_stale_by_the_same_set(monkeypatch: pytest.MonkeyPatch) -> None:
    judge_ = {"id": "j", "version": "1.0.0", "template": "{{ output }}", "model": {"id": "m"}, "validation": {"tpr": 1}}
    sides = judge_, {**judge_, "reply_pattern": "a"}
    row = replace(RULES["metadata-changed"], id="judge-reply-read", since=NEWER)
    monkeypatch.setitem(RULES, row.id, row)
    monkeypatch.setitem(KEY_RULES, "reply_pattern", row.id)
    assert [finding.rule for finding in judge(sides, PINNED).findings] == [
        "unclassified-change",
        "judge-validation-stale",
    ]
    assert [finding.rule for finding in judge(sides, NEWER).findings] == ["judge-reply-read"]
