"""Hybrid rubrics: the ends are the rubrics themselves, and what is in between can always be graded."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from evalstore.audits.edits.check_pins import insert_check_pins, remove_check_pins, remove_rubric_pins
from evalstore.audits.edits.rubric_edits import RubricEdits, RubricPart, find_edits
from evalstore.audits.edits.rubric_plan import PlannedRubric
from evalstore.checks import evaluate
from evalstore.checks.evaluate import OUTPUT_TOO_LONG
from evalstore.model import CheckResult, Rubric, UnscoredReason, Verdict, read_rubric

CALM = {"id": "calm", "kind": "must_not_contain", "values": ["!"]}
POLITE = {"id": "polite", "kind": "must_contain_any", "values": ["please"]}
SHORT = {"id": "short", "kind": "must_not_contain", "values": ["moreover"]}


def rubric(*checks: Mapping[str, Any], combine: str = "weighted_avg", **scoring: Any) -> Rubric:
    return read_rubric({"checks": list(checks), "scoring": {"combine": combine, **scoring}})


def parts(found: RubricEdits) -> list[tuple[str, ...]]:
    return [tuple(word for word in edit.part if word) for edit in found.edits]


def build_hybrid(found: RubricEdits, held: int) -> Rubric:
    """Return the rubric that has made the edits `held`; the ids of its checks are their names."""
    checks = (found.build_check(name, held) for name in found.check_names)
    return Rubric("", "", tuple(check for check in checks if check), found.build_scoring(held))


def whole(found: RubricEdits) -> tuple[Rubric, Rubric]:
    return build_hybrid(found, 0), build_hybrid(found, found.all_edits)


def test_equal_rubrics_have_no_edit() -> None:
    assert find_edits(rubric(CALM, POLITE), rubric(CALM, POLITE)).edits == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(rubric(CALM, POLITE), rubric(POLITE, CALM), id="order of checks"),
        pytest.param(rubric(CALM), rubric({**CALM, "title": "No shouting", "x_note": 1}), id="title and extension"),
        pytest.param(rubric(CALM, POLITE, weights={"calm": 2}),
                     rubric(CALM, POLITE, weights={"calm": Decimal("0.5"), "polite": Decimal("0.25")}), id="rescaled"),
        pytest.param(rubric({**CALM, "values": ["a", "b"]}), rubric({**CALM, "values": ["b", "a", "b"]}), id="a set"),
        pytest.param(rubric(CALM), rubric({**CALM, "threshold": 1, "negate": False}), id="written defaults"),
        pytest.param(rubric(CALM), rubric({**CALM, "id": "quiet"}), id="renamed"),
    ],
)  # fmt: skip
def test_what_no_score_depends_on_is_no_edit(old: Rubric, new: Rubric) -> None:
    assert parts(find_edits(old, new)) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(rubric({**CALM, "values": ["a", "b"]}), rubric({**CALM, "values": ["b", "c"]}),
                     [("item", "calm", "values", "a"), ("item", "calm", "values", "c")], id="items"),
        pytest.param(rubric(CALM), rubric({**CALM, "case_sensitive": True}), [("param", "calm", "case_sensitive")],
                     id="parameter"),
        pytest.param(rubric(CALM), rubric({**CALM, "negate": True}), [("param", "calm", "negate")], id="negate"),
        pytest.param(rubric(CALM), rubric({**CALM, "kind": "must_contain_any"}), [("check", "calm")], id="kind"),
        pytest.param(rubric(CALM), rubric(CALM, POLITE, weights={"polite": 0}, required=["polite"]),
                     [("check", "polite")], id="an added check brings its weight and its gate"),
        pytest.param(rubric(CALM, POLITE, weights={"polite": 3}), rubric(CALM), [("check", "polite")],
                     id="a removed check takes its weight"),
        pytest.param(rubric(CALM, POLITE), rubric(CALM, POLITE, required=["calm"]), [("required", "calm")], id="gate"),
        pytest.param(rubric(CALM, POLITE), rubric(CALM, POLITE, weights={"calm": 2}), [("weight", "calm")], id="weight"),
        pytest.param(rubric(CALM, threshold=1), rubric(CALM, threshold=Decimal("0.2")), [("scoring", "threshold")],
                     id="bar of the rubric"),
        pytest.param(rubric(CALM), rubric(CALM, combine="min", missing="zero", errors="fail"),
                     [("scoring", "combine"), ("scoring", "errors"), ("scoring", "missing")], id="scoring"),
        pytest.param(rubric({"kind": "must_contain_any", "values": ["a"]}, {"kind": "must_contain_any", "values": ["b"]}),
                     rubric({"kind": "must_contain_any", "values": ["c"]}, {"kind": "must_contain_any", "values": ["a"]},
                            {"kind": "must_contain_any", "values": ["b"]}),
                     [("check", "must_contain_any'")], id="a check before others whose ids come from the order"),
    ],
)  # fmt: skip
def test_an_edit_is_one_part(old: Rubric, new: Rubric, expected: list[tuple[str, ...]]) -> None:
    assert parts(find_edits(old, new)) == expected


def test_an_edit_has_both_values_of_its_part() -> None:
    found = find_edits(
        rubric(CALM, POLITE),
        rubric({**CALM, "min_x": 2}, {**POLITE, "values": ["thanks"]}, required=["calm"]),
    )
    edits = zip(parts(found), found.edits, strict=True)
    assert {words: (edit.before, edit.after) for words, edit in edits} == {
        ("item", "polite", "values", "please"): (True, None),
        ("item", "polite", "values", "thanks"): (None, True),
        ("param", "calm", "min_x"): (None, 2),
        ("required", "calm"): (False, True),
    }


def test_a_renamed_check_keeps_its_first_name() -> None:
    found = find_edits(rubric(CALM), rubric({**CALM, "id": "quiet", "values": ["!", "?"]}, {**CALM, "id": "calm2"}))
    assert found.names[1] == {"calm2": "calm", "quiet": "quiet"}


def test_a_gate_without_its_check_is_void_and_a_rubric_without_checks_scores_nothing() -> None:
    found = find_edits(rubric(CALM, required=["calm"]), rubric(POLITE, required=["polite"]))
    assert parts(found) == [("check", "calm"), ("check", "polite")]
    assert [evaluate(build_hybrid(found, held), "please!").score for held in range(4)] == [0, None, 0, 1]


def test_any_number_of_phrases_is_that_many_edits() -> None:
    words = [f"w{n}" for n in range(40)]
    assert len(find_edits(rubric(CALM), rubric({**CALM, "values": ["!", *words]})).edits) == len(words)


def test_another_pin_of_a_judge_is_no_edit_of_the_rubric() -> None:
    member = {"judge_prompt_ref": "judge/a@1.0.0", "weight": 2}
    jury = {
        "id": "j",
        "kind": "llm_judge",
        "jury": {"members": [member, {**member, "judge_prompt_ref": "judge/a@2.0.0"}]},
    }
    later = {**jury, "jury": {"members": [{**member, "judge_prompt_ref": "judge/a@3.0.0"}, member]}}
    inner = {"id": "c", "kind": "composite", "rubric_ref": "rubric/inner@1.0.0"}
    sides = rubric(CALM, jury, inner), rubric(CALM, later, {**inner, "rubric_ref": "rubric/inner@^2"})
    assert parts(find_edits(*map(remove_rubric_pins, sides))) == []
    other = {**jury, "jury": {"members": [member, {**member, "judge_prompt_ref": "judge/b@2.0.0"}]}}
    assert parts(find_edits(remove_rubric_pins(sides[0]), remove_rubric_pins(rubric(CALM, other, inner)))) == [
        ("check", "j")
    ]
    tokens = {"judge/a": "judge/a@1.0.0", "judge/a#2": "judge/a@2.0.0"}
    check = sides[0].checks[1]
    assert insert_check_pins(remove_check_pins(check), tokens) == check


def test_the_last_hybrid_of_a_rescaled_rubric_scores_as_the_rubric_does() -> None:
    old = rubric(CALM, POLITE, SHORT, weights={"calm": 2})
    new = rubric(
        CALM, POLITE, SHORT, {**CALM, "id": "loud", "negate": True}, weights={"calm": 4, "polite": 2, "short": 2}
    )
    found = find_edits(old, new)
    assert parts(found) == [("check", "loud")]
    assert RubricPart("weight", "loud") in found.fixed
    for text in ("please", "!", "moreover please!"):
        assert [evaluate(end, text).score for end in whole(found)] == [evaluate(end, text).score for end in (old, new)]


def test_an_output_that_is_too_long_shares_no_score_with_a_check_that_gave_up() -> None:
    planned = PlannedRubric(find_edits(rubric(CALM, errors="zero"), rubric(CALM, errors="zero")), 0, [], 0)
    scores = []
    for reason in ("it gave up", OUTPUT_TOO_LONG, "it gave up"):
        failed = CheckResult("calm", "must_not_contain", None, Verdict.UNSCORED, reason, UnscoredReason.ERROR)
        scores.append(planned.combine_cell(0, [failed])[0])
    assert scores == [0, None, 0]
