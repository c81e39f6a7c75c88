"""No change brings its own measure: settings that were loosened in it do not count, and every format and tag says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.release.changes.loosenings import find_loosenings
from tests.release.shop import Shop, rubric
from tests.rows import mark_slow

Cli = Callable[..., Any]

FORMATS = ("text", "json", "github", "gitlab", "sarif", "junit", "markdown")
STRICT = {"a": {"dataset": "dataset/x@1.0.0", "strict": True}}
QUESTIONS = "id: answers\nversion: {version}\nquestions:\n- {{id: {id}, input: Hello?}}\n"


def loosened_rule(shop: Shop, version: str = "1.0.1") -> None:
    """Let another phrase be banned, as a patch by a setting of the same change."""
    shop.write("evalstore.yaml", "strict: false\nrules:\n  phrase-reworded: patch\n")
    shop.write("rubrics/tone.yaml", rubric(version=version, ban="just"))


def renamed(shop: Shop) -> None:
    shop.write("datasets/answers.yaml", QUESTIONS.format(version="1.1.0", id="bye"))
    shop.write("evalstore.yaml", "renames: {dataset/answers: {hi: bye}}\n")


def cosmetic(shop: Shop) -> None:
    text = rubric(version="1.0.1").replace("    values: [simply]", "    values: [simply]\n    reviewed_by: Ada")
    shop.write("rubrics/tone.yaml", text)
    shop.write("evalstore.yaml", "cosmetic: [reviewed_by]\n")


def profile(shop: Shop) -> None:
    text = QUESTIONS.format(version="1.1.0", id="hi") + "- {id: more, input: More?}\n"
    shop.write("datasets/answers.yaml", text)
    shop.write("evalstore.yaml", "profile: score\n")


def level(shop: Shop) -> None:
    loosened_rule(shop)


@pytest.fixture
def base(shop: Shop, template: Callable[..., Any]) -> Shop:
    """A store with two releases, judged by the stricter profile."""

    def release() -> None:
        shop.write("evalstore.yaml", "profile: headline\n")
        shop.write("datasets/answers.yaml", QUESTIONS.format(version="1.0.0", id="hi"))
        shop.bump()
        shop.git("branch", "base")

    template("two releases under a profile", release)
    return shop


CASES = {
    "rules: phrase-reworded: patch": level,
    "renames: dataset/answers: hi: bye": renamed,
    "cosmetic: reviewed_by": cosmetic,
    "profile: score": profile,
}


@pytest.mark.parametrize(
    ("what", "options"),
    [
        (what, option) if (place + turn) % 2 else mark_slow((what, option))
        for place, what in enumerate(CASES)
        for turn, option in enumerate(((), ("--base", "base")))
    ],
)
def test_what_the_change_itself_lets_through_does_not_count(
    base: Shop, cli: Cli, what: str, options: tuple[str, ...]
) -> None:
    CASES[what](base)
    base.git("add", ".")
    base.git("commit", "-q", "-m", "All at once")
    for format_ in FORMATS:
        ran = cli("-C", base.root, "status", "--check", *options, "--format", format_)
        assert (ran.code, "override-loosened" in ran.out) == (1, True), (format_, ran.out)
        assert what.replace(":", "&#58;") in ran.out or what in ran.out.replace("\\_", "_").replace("\\", "")
    # Where it was reviewed before, it counts.
    assert cli("-C", base.root, "status", "--check", "--base", "HEAD").code == 0


def test_a_release_that_was_made_since_the_base_is_judged_with_the_rest(base: Shop, cli: Cli) -> None:
    loosened_rule(base)
    base.bump("rubric/tone")
    assert cli("-C", base.root, "status", "--check").code == 0
    ran = cli("-C", base.root, "status", "--check", "--base", "base")
    assert (ran.code, "rubric/tone" in ran.out) == (1, True)
    assert "1.0.1 is too low" in ran.out
    assert cli("-C", base.root, "status", "--check", "--base", "main").code == 0


def test_the_tag_and_the_bump_say_what_was_overridden(base: Shop, cli: Cli) -> None:
    loosened_rule(base, "1.0.0")
    ran = cli("-C", base.root, "bump", "rubric/tone")
    assert "override: phrase-reworded from major" in ran.out
    message = base.git("tag", "-l", "--format=%(contents)", "rubric/tone@1.0.1")
    assert "\nEvalstore-Override: phrase-reworded from major\n" in message
    assert "\nEvalstore-Loosened: rules: phrase-reworded: patch, was major" in message
    assert "\nEvalstore-Loosened: profile: score, was headline" in message
    base.write("rubrics/tone.yaml", rubric(version="1.0.1", ban="merely"))
    document = json.loads(cli("-C", base.root, "bump", "rubric/tone", "--dry-run", "--format", "json").out)
    assert document["lowered"] == [
        {"ref": "rubric/tone@1.0.2", "by": ["override: phrase-reworded from major"]}
    ]  # now the last release has the setting


def test_a_loosened_rule_of_validate_is_not_said_to_lower_a_level(released: Shop, cli: Cli) -> None:
    released.write("evalstore.yaml", "rules: {judge-unvalidated: off}\n")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    ran = cli("-C", released.root, "bump", "--all")
    assert "1.0.0 -> 2.0.0  major" in ran.out
    assert "let more through when rubric/tone@2.0.0 was judged" in ran.out
    assert "loosened: rules: judge-unvalidated: off, was warning" in ran.out
    assert "lower level" not in ran.out


def test_what_was_declared_is_an_override(base: Shop) -> None:
    renamed(base)
    base.bump("dataset/answers")
    message = base.git("tag", "-l", "--format=%(contents)", "dataset/answers@1.1.0")
    assert "\nEvalstore-Override: question-id-renamed from major" in message


def test_an_acceptance_stands_in_the_tag_and_counts_by_default(base: Shop, cli: Cli) -> None:
    """An entry names one change, so that no release before it can have it; a base can."""
    base.write("rubrics/tone.yaml", rubric(ban="just"))
    found = json.loads(cli("-C", base.root, "diff", "rubric/tone", "--format", "json").out)["findings"][0]
    assert cli("-C", base.root, "accept", found["fingerprint"], "--reason", "same", "--level", "patch").code == 0
    base.write("rubrics/tone.yaml", rubric(version="1.0.1", ban="just"))
    assert cli("-C", base.root, "status", "--check").code == 0
    assert cli("-C", base.root, "status", "--check", "--base", "base").code == 1
    base.bump("rubric/tone")
    message = base.git("tag", "-l", "--format=%(contents)", "rubric/tone@1.0.1")
    assert "\nEvalstore-Accepted: phrase-reworded from major" in message


@pytest.mark.parametrize("format_", ["gitlab", "github", "sarif", "junit", "markdown", "text"])
def test_every_format_of_diff_and_status_shows_an_override(base: Shop, cli: Cli, format_: str) -> None:
    loosened_rule(base)
    base.git("add", ".")
    base.git("commit", "-q", "-m", "Reviewed")
    for command in (("diff", "rubric/tone"), ("status", "--base", "HEAD")):
        ran = cli("-C", base.root, *command, "--format", format_)
        assert "from major by phrase-reworded in evalstore.yaml" in " ".join(ran.out.replace("\\", "").split())


def test_a_stricter_setting_of_the_same_change_counts(base: Shop, cli: Cli) -> None:
    base.write("evalstore.yaml", "profile: headline\nrules: {metadata-changed: major}\n")
    base.write("rubrics/tone.yaml", rubric(version="1.0.1", title="Voice"))
    ran = cli("-C", base.root, "status", "--check")
    assert (ran.code, "override-loosened" in ran.out) == (1, False)


def test_settings_that_cannot_be_read_at_the_base_are_no_reason_to_let_through(base: Shop, cli: Cli) -> None:
    base.write("evalstore.yaml", "rules: {phrase-reworded: never}\n")
    base.git("commit", "-q", "-a", "-m", "x")
    loosened_rule(base)
    assert cli("-C", base.root, "status", "--check", "--base", "HEAD").code in {1, 3}
    assert cli("-C", base.root, "status", "--check", "--base", "nowhere").code in {2, 3}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({}, {"strict": False}, []),
        ({"strict": True}, {}, ["strict: false"]),
        ({"strict": True}, {"strict": False}, ["strict: false"]),
        ({"unpinned": "forbid"}, {}, ["unpinned: warn"]),
        ({"signed": "require"}, {}, ["signed: optional"]),
        ({}, {"judge_max_age_days": 400}, ["judge_max_age_days: 400"]),
        ({"judge_max_age_days": 30}, {}, ["judge_max_age_days: 90"]),
        ({"rules": {"check-removed": "minor"}}, {"rules": {"check-removed": "minor"}}, []),
        ({"rules": {"check-removed": "minor"}}, {"rules": {"check-removed": "patch"}}, ["rules: check-removed: patch"]),
        ({"rules": {"check-added": "minor"}}, {"rules": {"check-added:looser": "minor"}}, []),
        ({"rules": {"metadata-changed": "major"}}, {}, ["rules: metadata-changed: patch"]),
        ({}, {"rules": {"judge-unvalidated": "off"}}, ["rules: judge-unvalidated: off"]),
        ({}, {"rules": {"judge-unvalidated": "error"}}, []),
        ({}, {"targets": {"a": {"dataset": "dataset/x", "strict": False}}}, []),
        (
            {"targets": {"a": {"dataset": "dataset/x", "strict": True}}},
            {"targets": {"a": {"dataset": "dataset/x"}}},
            ["targets: a: strict: false"],
        ),
        ({"targets": STRICT}, {}, ["targets: a: strict: false"]),
        ({"targets": STRICT}, {"strict": True, "targets": {"a": {"dataset": "dataset/x"}}}, []),
        ({"targets": STRICT}, {"targets": {"b": {"dataset": "dataset/x@^2", "strict": True}}}, []),
        (
            {"targets": STRICT},
            {"targets": {"a": {"dataset": "dataset/y", "strict": True}}},
            ["targets: a: dataset: dataset/y", "targets: a: strict: false"],
        ),
        ({"strict": True, "targets": {"a": {"dataset": "dataset/x"}}}, {}, ["strict: false"]),
        (
            {"unpinned": "forbid"},
            {"unpinned": "forbid", "targets": {"a": {"dataset": "dataset/x", "unpinned": "allow"}}},
            ["targets: a: unpinned: allow"],
        ),
        ({"cosmetic": ["b"]}, {"cosmetic": ["b"]}, []),
    ],
)
def test_what_lets_more_through(old: dict[str, Any], new: dict[str, Any], found: list[str]) -> None:
    assert [one.now for one in find_loosenings(old, new)] == found


def test_the_line_of_a_setting_is_named(base: Shop, cli: Cli, tmp_path: Path) -> None:
    loosened_rule(base)
    findings = json.loads(cli("-C", base.root, "status", "--format", "json").out)["findings"]
    found = {finding["message"].partition(" is less strict")[0]: finding["line"] for finding in findings}
    assert found["rules: phrase-reworded: patch"] == 3


@pytest.mark.parametrize(
    "now", ["strict: true\n", "strict: false\n", "strict: true\nrules: {reference-unpinned: info}\n", None]
)
def test_validate_judges_by_the_settings_of_a_base(shop: Shop, cli: Cli, now: str | None) -> None:
    shop.write("evalstore.yaml", "strict: true\n")
    shop.write(
        "datasets/answers.yaml", QUESTIONS.format(version="1.0.0", id="hi") + "defaults: {rubric_ref: rubric/tone}\n"
    )
    shop.git("add", ".")
    shop.git("commit", "-q", "-m", "Strict")
    shop.git("branch", "base")
    (shop.root / "evalstore.yaml").unlink() if now is None else shop.write("evalstore.yaml", now)
    told = json.loads(cli("-C", shop.root, "validate", "--base", "base", "--format", "json").out)
    rules = {finding["rule"]: finding["severity"] for finding in told["findings"]}
    assert rules["reference-unpinned"] == "error"
    assert ("override-loosened" in rules) is (now != "strict: true\n")
    assert cli("-C", shop.root, "validate", "--base", "base").code == 1
    assert cli("-C", shop.root, "validate", "--base", "HEAD~9").code == 3


def test_settings_that_a_change_broke_are_a_finding_with_a_base_too(base: Shop, cli: Cli) -> None:
    base.write("evalstore.yaml", "rules: [\n")
    alone, ran = (cli("-C", base.root, "validate", *options) for options in ((), ("--base", "base")))
    assert (ran.code, ran.out, ran.err) == (1, alone.out, alone.err)
    assert "evalstore.yaml:2:1  error" in ran.out
