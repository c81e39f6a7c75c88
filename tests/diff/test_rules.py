"""Every rule by its fixture folder: every fixture runs through every rule, and the exact set of findings is asserted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from evalstore.diff import Diff, DiffFinding, Direction, Witness, compare
from evalstore.diff.direction import flip_direction
from evalstore.diff.kinds import KINDS
from evalstore.diff.plain_data import list_differences
from evalstore.diff.rules import RULES
from evalstore.documents import convert_fraction
from evalstore.versions import Bump
from tests.diff.case_pairs import CASES, NAMES, difference, read
from tests.diff.fuzz.claims import list_contradictions
from tests.diff.fuzz.grading import graders
from tests.diff.fuzz.pair import Drawn, Pair
from tests.rows import each


def hold_witnesses(name: str, diff: Diff, *, back: bool = False) -> int:
    """Hold each output that is shown against its line, and against the scorer where it is of both files; count these."""
    claims = [*diff.findings, *(child for finding in diff.findings for child in finding.children), diff.total]
    shown = [(claim, claim.witness) for claim in claims if isinstance(claim.witness, Witness)]
    for claim, witness in shown:
        assert list(list_contradictions(claim, witness)) == []
        assert witness.output.strip(), "a text of blanks shows nothing that anybody would give"
    # A finding among others is of its edit alone, which no file holds; what judges would say is in no file either.
    whole = [diff.total, *(diff.findings if len(diff.findings) == 1 else ())]
    graded = [one for claim, one in shown if claim in whole and not one.judged]
    sides = [read(CASES / name / f"{side}.yaml") for side in (("new", "old") if back else ("old", "new"))]
    if not graded or "checks" not in sides[0]:
        return 0
    refs = {
        str(path.relative_to(CASES / name / "refs").with_suffix("")): read(path)
        for path in (CASES / name / "refs").rglob("*.yaml")
    }
    grades = graders(Pair(sides[0], sides[1], refs))
    for one in graded:
        old, new = (next(iter(grade(Drawn.from_witness(one)).values())) for grade in grades)
        assert (old.seen, new.seen) == ((one.old_score, one.old_verdict), (one.new_score, one.new_verdict))
    return len(graded)


def told(finding: DiffFinding, keys: list[str]) -> dict[str, Any]:
    facts = {
        "rule": finding.rule,
        "level": str(finding.level),
        "direction": str(finding.direction),
        "verdict": str(finding.verdict_direction),
        "certainty": str(finding.certainty),
        "witness": finding.witness is not None,
        "children": len(finding.children),
        "max_shift": None if finding.max_shift is None else str(finding.max_shift),
        "max_shift_scored": None if finding.max_shift_scored is None else str(finding.max_shift_scored),
    }
    return {key: facts[key] for key in keys}


@each(NAMES)
def test_the_findings_are_exactly_those_expected(name: str) -> None:
    expected = read(CASES / name / "expect.yaml")["findings"]
    diff = difference(name)
    left = list(diff.findings)
    for one in expected:
        wanted = {key: str(value) if key.startswith("max_shift") else value for key, value in one.items()}
        found = [told(finding, list(wanted)) for finding in left]
        assert wanted in found
        left.pop(found.index(wanted))
    assert left == []
    rule = name.partition("--")[0]
    assert rule in RULES or (rule, expected) == ("silent", [])
    hold_witnesses(name, diff)
    prints = [finding.fingerprint for finding in diff.findings]
    assert len(set(prints)) == len(prints)


def hold_mirror(name: str) -> None:
    expected = read(CASES / name / "expect.yaml")
    wanted = expected.get("back") or [
        {
            "rule": RULES[one["rule"]].mirror,
            **{key: str(flip_direction(Direction(one[key]))) for key in ("direction", "verdict")},
        }
        for one in expected["findings"]
    ]
    diff = difference(name, back=True)
    found = [told(finding, ["rule", "direction", "verdict"]) for finding in diff.findings]
    hold_witnesses(name, diff, back=True)
    assert Counter(map(str, found)) == Counter(map(str, wanted))


test_the_edit_taken_back_is_found_by_the_mirror = each(NAMES[::3])(hold_mirror)
test_all_edits_taken_back_are_found_by_the_mirror = pytest.mark.slow(each(NAMES)(hold_mirror))


@each(NAMES[::3])
def test_nothing_differs_from_itself(name: str) -> None:
    for side in ("old", "new"):
        value = read(CASES / name / f"{side}.yaml")
        assert compare(value, value).findings == ()
        assert compare(value, {**value, "version": "7.7.7"}).required_bump is Bump.NONE


def test_a_witness_that_lies_is_found() -> None:
    diff = difference("contain-phrase-added")
    assert hold_witnesses("contain-phrase-added", diff) == 2
    witness = diff.findings[0].witness
    assert isinstance(witness, Witness)
    turned = replace(witness, old_score=witness.new_score, new_score=witness.old_score)
    for lie in (turned, replace(witness, output="nothing of it")):
        findings = (replace(diff.findings[0], witness=lie),)
        with pytest.raises(AssertionError):
            hold_witnesses("contain-phrase-added", replace(diff, findings=findings))


@pytest.mark.heavy
def test_every_rule_fires_somewhere_and_has_a_folder() -> None:
    fired = {one["rule"] for name in NAMES for one in read(CASES / name / "expect.yaml")["findings"]}
    assert fired == set(RULES)
    assert {name.partition("--")[0] for name in NAMES} - {"silent"} == set(RULES)


@each(RULES.values(), name=lambda rule: rule.id)
def test_every_rule_is_told_in_full_and_has_its_mirror(rule: Any) -> None:
    assert rule.mirror in RULES
    assert rule.example
    assert rule.reason
    assert rule.message
    assert rule.direction.words
    assert not rule.reason.endswith(".")


@each([(kind, name) for kind in KINDS for name in KINDS[kind].params])
def test_every_parameter_of_a_kind_names_rules_that_there_are(row: tuple[str, str]) -> None:
    kind, name = row
    param = KINDS[kind].params[name]
    named = {param.rule, param.rewording, *(param.items or ())} - {None}
    assert named or param.edits, (
        f"evalstore/diff/kinds/{kind}.py: give {name} a rule; until then an edit of it is major"
    )
    assert named <= set(RULES)


def test_numbers_are_told_as_decimals_where_they_have_one() -> None:
    from fractions import Fraction

    assert [str(convert_fraction(Fraction(text))) for text in ("1/4", "2", "1/3")] == ["0.25", "2", "1/3"]


@pytest.mark.parametrize(
    "text", ["0.1234567890123456789012345678901", "1234567890123456789012345678901", "-0.5", "1E-40"]
)
def test_a_number_is_told_with_all_its_digits(text: str) -> None:
    from fractions import Fraction

    assert Fraction(convert_fraction(Fraction(text))) == Fraction(text)


@pytest.mark.heavy
def test_what_differs_is_listed_in_one_order_in_every_process() -> None:
    old, new = ([{f"k{number}": value for number in range(9)} for _ in range(11)] for value in (0, 1))
    assert list_differences(old, new) == "/0/k0, /0/k1, /0/k2, /0/k3, /0/k4 and 94 more"
    assert list_differences(list(range(11)), [-1, *range(1, 10), -1]) == "/0, /10"
