"""What a store says of changes: overrides, declarations, profiles and acceptances, each visible on the finding."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from evalstore.diff import (
    LEVELS,
    AcceptedLevel,
    Certainty,
    ComparisonSettings,
    Diff,
    DiffFinding,
    Direction,
    Profile,
    compare,
    read_comparison_settings,
)
from evalstore.diff.settings import RULE_SETS
from evalstore.documents import read_yaml
from evalstore.errors import LoadError
from evalstore.model import Artifact, parse_ref
from evalstore.versions import Bump

Mapping = dict[str, Any]


def rubric(*values: str, **scoring: Any) -> Mapping:
    check = {"id": "a", "kind": "must_contain_any", "values": list(values)}
    return {"id": "r", "version": "1.0.0", "checks": [check], "scoring": {"combine": "min", **scoring}}


def dataset(*questions: Mapping, **root: Any) -> Mapping:
    return {"id": "d", "version": "1.0.0", "questions": list(questions), **root}


def question(id_: str, **more: Any) -> Mapping:
    return {"id": id_, "input": f"What is {more.pop('asks', id_)}?", **more}


def only(diff: Diff) -> DiffFinding:
    (finding,) = diff.findings
    return finding


PHRASE = (rubric("foo"), rubric("foo", "bar"))


@pytest.mark.parametrize(
    ("overrides", "level", "by"),
    [
        ({"contain-phrase-added": "minor"}, Bump.MINOR, "contain-phrase-added"),
        ({"contain-phrase-added:looser": "patch"}, Bump.PATCH, "contain-phrase-added:looser"),
        (
            {"contain-phrase-added": "minor", "contain-phrase-added:looser": "patch"},
            Bump.PATCH,
            "contain-phrase-added:looser",
        ),
        ({"contain-phrase-added:stricter": "patch"}, Bump.MAJOR, None),
        ({"contain-phrase-added": "major"}, Bump.MAJOR, None),
        ({"judge-unvalidated": "error", "ban-phrase-added": "patch"}, Bump.MAJOR, None),
    ],
)
def test_an_override_is_seen_on_the_finding(overrides: Mapping, level: Bump, by: str | None) -> None:
    diff = compare(*PHRASE, settings=read_comparison_settings({"rules": overrides}))
    finding = only(diff)
    assert (finding.level, finding.level_before, finding.overridden, diff.required_bump) == (
        level,
        Bump.MAJOR,
        by,
        level,
    )


def test_a_direction_is_the_verdicts_where_the_score_stays() -> None:
    sides = (
        rubric("foo", "bar", threshold=0.5, combine="weighted_avg"),
        rubric("foo", "bar", threshold=0, combine="weighted_avg"),
    )
    settings = read_comparison_settings({"rules": {"scoring-threshold-changed:looser": "minor"}})
    finding = only(compare(*sides, settings=settings))
    assert (finding.direction, finding.verdict_direction) == (Direction.NONE, Direction.LOOSER)
    assert (finding.level, finding.overridden) == (Bump.MINOR, "scoring-threshold-changed:looser")


def test_an_override_raises_as_well() -> None:
    sides = rubric("foo"), {**rubric("foo"), "title": "R"}
    assert (
        compare(*sides, settings=read_comparison_settings({"rules": {"metadata-changed": "major"}})).required_bump
        is Bump.MAJOR
    )


def judge(template: str) -> str:
    return f"id: fair\nversion: 1.0.0\ntemplate: '{template}'\nscore_type: binary\n"


def load(ref: str) -> Artifact:
    text = judge("{{ output }}" if ref.endswith("1.0.0") else "Is it? {{ output }}")
    return Artifact(parse_ref(ref).kind, "fair", "1.0.0", read_yaml(text, ref))


def test_what_people_think_of_a_judge_proves_nothing_to_who_pins_it() -> None:
    sides = [
        {**rubric(), "checks": [{"kind": "llm_judge", "judge_prompt_ref": f"judge/fair@{pin}"}]}
        for pin in ("1.0.0", "1.1.0")
    ]
    finding = only(
        compare(*sides, load=load, settings=read_comparison_settings({"rules": {"judge-template-changed": "patch"}}))
    )
    assert (finding.rule, finding.level, finding.overridden) == ("judge-ref-changed", Bump.MAJOR, None)
    assert [(child.level, child.overridden) for child in finding.children] == [(Bump.MAJOR, None)]
    overridden = only(
        compare(*sides, load=load, settings=read_comparison_settings({"rules": {"judge-ref-changed": "minor"}}))
    )
    assert (overridden.level, overridden.certainty) == (Bump.MINOR, Certainty.ASSUMED)


ACCEPTED = AcceptedLevel(Bump.MINOR, Bump.MAJOR, "nobody writes bar", "Ada", date(2026, 11, 1))


def test_an_accepted_finding_stays_visible() -> None:
    before = compare(*PHRASE)
    settings = ComparisonSettings(accepted={only(before).fingerprint: ACCEPTED})
    diff = compare(*PHRASE, settings=settings)
    finding = only(diff)
    assert (finding.level, finding.level_before, finding.accepted, finding.adjusted) == (
        Bump.MINOR,
        Bump.MAJOR,
        ACCEPTED,
        True,
    )
    assert (diff.required_bump, diff.next_version) == (Bump.MINOR, "1.1.0")
    assert finding.witness == only(before).witness


def test_an_acceptance_holds_for_its_own_change_only() -> None:
    settings = ComparisonSettings(accepted={only(compare(*PHRASE)).fingerprint: ACCEPTED})
    assert compare(PHRASE[0], rubric("foo", "baz"), settings=settings).required_bump is Bump.MAJOR
    others = [{**side, "id": "s"} for side in PHRASE]
    assert compare(*others, settings=settings).required_bump is Bump.MAJOR


def test_an_acceptance_never_reaches_above_what_was_looked_at() -> None:
    sides = dataset(question("a")), dataset(question("a"), question("b"))
    fingerprint = only(compare(*sides)).fingerprint
    accepted = {fingerprint: AcceptedLevel(Bump.PATCH, Bump.MINOR, "more of the same", "Ada", date(2026, 11, 1))}
    assert compare(*sides, settings=ComparisonSettings(accepted=accepted)).required_bump is Bump.PATCH
    headline = only(compare(*sides, settings=ComparisonSettings(Profile.HEADLINE, accepted=accepted)))
    assert (headline.level, headline.accepted) == (Bump.MAJOR, None)


def test_an_acceptance_never_raises() -> None:
    sides = rubric("foo"), {**rubric("foo"), "title": "R"}
    accepted = {only(compare(*sides)).fingerprint: ACCEPTED}
    assert compare(*sides, settings=ComparisonSettings(accepted=accepted)).required_bump is Bump.PATCH


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({**rubric("foo"), "reviewed_by": "Ada"}, {**rubric("foo"), "reviewed_by": "Bo"}),
        (dataset(question("a", reviewed_by="Ada")), dataset(question("a", reviewed_by="Bo"))),
        (dataset(question("a")), dataset(question("a", reviewed_by="Bo"))),
    ],
)
def test_a_declared_key_is_cosmetic(old: Mapping, new: Mapping) -> None:
    assert only(compare(old, new)).level is Bump.MINOR
    finding = only(compare(old, new, settings=read_comparison_settings({"cosmetic": ["reviewed_by"]})))
    assert (finding.rule, finding.level, finding.certainty) == (
        "extension-field-changed",
        Bump.PATCH,
        Certainty.BY_DEFINITION,
    )
    assert (finding.direction, finding.verdict_direction) == (Direction.NONE, Direction.NONE)
    # What a setting declares is no proof, and is shown as the override that it is.
    assert (finding.overridden, finding.level_before) == ("cosmetic", Bump.MINOR)


def test_a_key_that_scoring_reads_cannot_be_declared_away() -> None:
    settings = read_comparison_settings({"cosmetic": ["values", "combine", "scoring", "threshold"]})
    assert compare(*PHRASE, settings=settings) == compare(*PHRASE)


RENAMES = read_comparison_settings({"renames": {"dataset/d": {"a": "b", "b": "c"}}})


def test_a_declared_name_is_minor() -> None:
    finding = only(compare(dataset(question("a")), dataset(question("b", asks="a")), settings=RENAMES))
    assert (finding.rule, finding.level, finding.certainty) == (
        "question-id-renamed",
        Bump.MINOR,
        Certainty.BY_DEFINITION,
    )


def test_names_are_followed_to_the_last() -> None:
    sides = dataset(question("a")), dataset(question("c", asks="a"))
    assert only(compare(*sides, settings=RENAMES)).level is Bump.MINOR
    assert only(compare(*sides)).level is Bump.MAJOR


def test_a_declared_name_keeps_the_edits_of_its_question() -> None:
    sides = dataset(question("a")), dataset(question("b", asks="something else"))
    levels = {finding.rule: finding.level for finding in compare(*sides, settings=RENAMES).findings}
    assert levels == {"question-input-changed": Bump.MAJOR, "question-id-renamed": Bump.MINOR}
    undeclared = {finding.rule for finding in compare(*sides).findings}
    assert undeclared == {"question-removed", "question-added"}


def test_a_renamed_question_reads_the_defaults() -> None:
    sides = [
        {**dataset(question(id_, asks="a")), "defaults": {"rubric_ref": ref}}
        for id_, ref in (("a", "rubric/x@1.0.0"), ("b", "rubric/y@1.0.0"))
    ]
    levels = {finding.rule: finding.level for finding in compare(*sides, settings=RENAMES).findings}
    assert levels == {"question-rubric-ref-changed": Bump.MAJOR, "question-id-renamed": Bump.MINOR}


@pytest.mark.parametrize(
    "sides",
    [
        (dataset(question("a"), question("b")), dataset(question("b"))),
        (dataset(question("a")), dataset(question("x", asks="a"))),
        ({**dataset(question("a")), "id": "e"}, {**dataset(question("b", asks="a")), "id": "e"}),
    ],
)
def test_a_declaration_hides_no_other_change(sides: tuple[Mapping, Mapping]) -> None:
    assert compare(*sides, settings=RENAMES).required_bump is Bump.MAJOR


def test_a_circle_of_names_ends() -> None:
    settings = read_comparison_settings({"renames": {"dataset/d": {"a": "b", "b": "a"}}})
    assert (
        compare(dataset(question("a")), dataset(question("b", asks="a")), settings=settings).required_bump is Bump.MINOR
    )
    assert (
        compare(dataset(question("a")), dataset(question("c", asks="a")), settings=settings).required_bump is Bump.MAJOR
    )


@pytest.mark.parametrize(
    ("old", "new", "score", "headline"),
    [
        (dataset(question("a")), dataset(question("a"), question("b")), Bump.MINOR, Bump.MAJOR),
        (dataset(question("a"), question("b")), dataset(question("b"), question("a")), Bump.PATCH, Bump.MINOR),
        (rubric("foo", "bar"), rubric("bar", "foo"), Bump.PATCH, Bump.PATCH),
        (dataset(question("a"), title="A"), dataset(question("a"), title="B"), Bump.PATCH, Bump.PATCH),
        (*PHRASE, Bump.MAJOR, Bump.MAJOR),
    ],
)
def test_a_headline_asks_for_more(old: Mapping, new: Mapping, score: Bump, headline: Bump) -> None:
    assert (compare(old, new).required_bump, compare(old, new).profile) == (score, Profile.SCORE)
    diff = compare(old, new, settings=read_comparison_settings({"profile": "headline"}))
    assert (diff.required_bump, diff.profile) == (headline, Profile.HEADLINE)
    asked = compare(old, new, settings=read_comparison_settings({"profile": "headline"}, Profile.SCORE))
    assert asked.required_bump is score


def test_a_diff_names_the_rule_set_that_judged() -> None:
    assert compare(*PHRASE).rule_set == RULE_SETS[-1]
    assert compare(*PHRASE, settings=read_comparison_settings({"rule_set": 1})).rule_set == 1


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rule_set": max(RULE_SETS) + 1}, "this version of evalstore has no rule set"),
        ({"rule_set": "1"}, "this version of evalstore has no rule set"),
        ({"rule_set": True}, "this version of evalstore has no rule set"),
        ({"profile": "headlines"}, "profile: headlines is not a profile"),
        ({"profile": ["score"]}, "is not a profile"),
        ({"rules": {"question-added": "mayor"}}, "rules: question-added: mayor is not a level"),
        ({"rules": {"qestion-added": "major"}}, "rules: unknown rule qestion-added"),
        ({"rules": {"version-not-bumped": "minor"}}, "unknown rule version-not-bumped"),
        ({"rules": {"question-added:up": "major"}}, "rules: question-added:up has no meaning"),
        ({"rules": {"question-added": "off"}}, "rules: question-added: off has no meaning"),
        ({"rules": {"judge-unvalidated": "minor"}}, "rules: judge-unvalidated: minor has no meaning"),
        ({"rules": ["question-added"]}, "rules is not a mapping"),
        ({"rules": {"question-added": 1}}, "rules is not a mapping of strings"),
        ({"cosmetic": "owner"}, "cosmetic is not a list of strings"),
        ({"renames": {"dataset/d": {"a": 1}}}, "renames: dataset/d is not a mapping of strings"),
    ],
)
def test_a_word_that_means_nothing_is_not_ignored(settings: Mapping, told: str) -> None:
    with pytest.raises(LoadError, match=told) as raised:
        read_comparison_settings(settings)
    assert str(raised.value.place) == "evalstore.yaml"
    assert raised.value.hint


def test_every_level_but_none_may_be_asked_for() -> None:
    assert list(LEVELS) == ["major", "minor", "patch"]
