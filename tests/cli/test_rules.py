"""`rules` and `explain` through the real command: the rows as they are, and every rule of every table in words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.catalogue import explain_name
from evalstore.catalogue.rule_catalogue import RuleSubject, render_template
from evalstore.diff.rules import RULES as CHANGES
from evalstore.diff.settings import RULE_SETS
from evalstore.errors import RefError
from evalstore.lint import VALIDATION_RULES as FILES
from evalstore.release.changes.version_rules import RULES as VERSIONS
from evalstore.release.changes.version_rules import VersionRule
from evalstore.release.integrity_rules import RULES as RELEASES
from evalstore.report.explain import document, text
from tests.rows import each

Cli = Callable[..., Any]
TABLES = {
    RuleSubject.CHANGE: CHANGES,
    RuleSubject.FILE: FILES,
    RuleSubject.RELEASE: RELEASES,
    RuleSubject.VERSION: VERSIONS,
}
LISTS = "list them: evalstore explain"
EVERY = sorted({id_ for table in TABLES.values() for id_ in table})


def test_rules_lists_every_row(cli: Cli, tmp_path: Path) -> None:
    ran = cli("explain", "--rules", "--format", "json", cwd=tmp_path)
    listed = json.loads(ran.out)
    assert (ran.code, listed["rule_set"]) == (0, RULE_SETS[-1])
    assert [row["id"] for row in listed["rules"]] == list(CHANGES)
    row = next(row for row in listed["rules"] if row["id"] == "list-reordered")
    assert (row["level"], row["mirror"]) == ("patch", "list-reordered")
    assert row["headline"] == {"level": "minor", "only": "questions"}
    assert "weightless" in next(row for row in listed["rules"] if row["id"] == "check-added")["deciders"]


def test_the_list_fits_a_terminal(cli: Cli, tmp_path: Path) -> None:
    lines = cli("explain", "--rules", cwd=tmp_path).out.splitlines()
    assert max(map(len, lines)) <= 100
    assert not any("…" in line for line in lines)
    assert all(any(line.split()[0] == id_ for line in lines if line) for id_ in CHANGES)
    assert lines[-1].startswith(f"{len(CHANGES)} rules, set {RULE_SETS[-1]};")


def test_a_rule_of_changes_is_explained_with_examples_and_what_to_do(cli: Cli, tmp_path: Path) -> None:
    ran = cli("explain", "contain-phrase-added", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    said = [line.split(maxsplit=1) for line in ran.out.splitlines()[1:] if line[2] != " "]
    words = dict(reversed(said))
    assert list(dict(said)) == ["says", "why", "needs", "moves", "less", "mirror", "bad", "good", "accept", "setting"]
    assert words["bad"] == CHANGES["contain-phrase-added"].example
    assert words["needs"] == "major (since rule set 1, for a rubric)"
    assert " ".join(words["less"].split()).startswith("if the rubric ignores the check on both sides")
    assert words["accept"].endswith('evalstore accept FINGERPRINT --reason "…"')


@each(EVERY)
def test_every_rule_of_every_table_is_explained(id_: str) -> None:
    explanation = explain_name(id_)
    assert [one.subject for one in explanation.rules] == [of for of, table in TABLES.items() if id_ in table]
    told = text(explanation)
    assert max(map(len, told.splitlines())) <= 100
    assert not any(re.search(r"\{\w", one["says"]) for one in document(explanation)["rules"])
    for one in explanation.rules:
        assert one.why
        assert one.message or one.subject in {RuleSubject.FILE, RuleSubject.RELEASE}


def test_the_rules_on_versions_are_all_in_words() -> None:
    assert set(VERSIONS) == set(VersionRule)


def test_what_no_setting_changes_says_so() -> None:
    settings = {id_: document(explain_name(id_))["rules"][0]["setting"] for id_ in EVERY}
    assert settings["document-malformed"] == settings["tag-remade"] == settings["version-decreased"]
    assert settings["document-malformed"] == "no setting changes it"
    assert 'rules: {required-without-check: "off"}' in settings["required-without-check"]
    assert "rules: {question-added: patch}" in settings["question-added"]


def test_a_rule_goes_with_a_direction_too() -> None:
    assert explain_name("ban-phrase-added:stricter").name == "ban-phrase-added"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("check-aded", "did you mean check-added?"),
        ("required-witout-check", "did you mean required-without-check?"),
        ("version-too-small", "did you mean version-bump-too-small?"),
        ("qqq", LISTS),
        ("", LISTS),
        ("999", LISTS),
    ],
)
def test_a_name_that_is_near_is_told(name: str, hint: str) -> None:
    with pytest.raises(RefError, match="unknown rule, kind or key") as raised:
        explain_name(name)
    assert raised.value.hint == hint


def test_an_unknown_rule_answers_3(cli: Cli, tmp_path: Path) -> None:
    ran = cli("explain", "check-aded", cwd=tmp_path)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "error: unknown rule, kind or key check-aded\nhint: did you mean check-added?\n"


def test_facts_stand_in_their_sentences_by_name() -> None:
    assert render_template("{check} also bans {item!r}") == "<check> also bans <item>"
    assert render_template("nothing fills {{{{ {found} }}}}") == "nothing fills {{ <found> }}"
    assert render_template("{message}") == ""
