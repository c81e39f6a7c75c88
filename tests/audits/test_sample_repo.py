"""The sample repository's audit: its numbers, exactly, through real git, a real score and the real command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.audits import Audit, AuditOptions, Cause, LineEffect, audit_runs
from evalstore.audits.values import LINE_LABELS, FactorName
from evalstore.audits.wording.answer import write_answer
from evalstore.places import find_resource_folder
from evalstore.report import render
from evalstore.report.audit import text
from evalstore.report.text_layout import COLOURS, Screen
from evalstore.statistics import Conclusion
from evalstore.store import ArtifactStore
from tests.audits.conftest import factor


@pytest.fixture(scope="module")
def found(sample: Any) -> Audit:
    with ArtifactStore.open(sample.root) as store:
        return audit_runs(sample.a, sample.b, store, AuditOptions())


def told(cause: Cause) -> tuple[Any, ...]:
    origin = cause.source.origin
    return cause.source.rule, cause.source.part, origin.ref, origin.old, origin.new, origin.author, cause.share


def test_the_shares(found: Audit) -> None:
    assert (found.a.score, found.b.score, found.delta) == (Fraction(45, 56), Fraction(103, 140), Fraction(-19, 280))
    shares = {factor.name: factor.share for factor in found.factors if factor.share}
    assert shares == {"rubric": Fraction(-19, 104), "outputs": Fraction(67, 520)}
    assert (found.lines.mix.score, found.lines.total.score) == (Fraction(-51, 3640),) * 2
    assert (found.lines.questions.added, found.lines.questions.removed) == (("apply_a_recipe",), ("drupal7_block",))
    assert found.common == 13
    assert found.common_b - found.common_a == Fraction(-7, 130)


def test_the_sentence(found: Audit) -> None:
    assert found.sentence == (
        "The score fell by 6.79 points: the rubric took 18.27 (edits by Jonas Brandt), 1 added question and 1 removed question took 1.40, "
        "and the outputs gained 12.88, which 13 questions cannot tell from chance."
    )


def test_every_edit_has_its_points_and_its_release(found: Audit, sample: Any) -> None:
    causes = factor(found, "rubric").causes
    by = ("rubric/answer_style", "1.0.0", "2.0.0", "Jonas Brandt")
    assert [told(cause) for cause in causes if cause.share] == [
        ("scoring-required-changed", "required no_filler", *by, Fraction(-9, 104)),
        ("ban-phrase-added", "no_filler: 'of course'", *by, Fraction(-5, 104)),
        ("ban-phrase-added", "no_filler: 'simply'", *by, Fraction(-5, 104)),
    ]
    assert {cause.source.origin.commit for cause in causes if cause.share} == {
        sample.commits["rubrics/answer_style@2.0.0"]
    }


def test_edits_that_can_move_nothing_are_named_and_moved_nothing(found: Audit) -> None:
    silent = [cause for cause in factor(found, "rubric").causes if not cause.share]
    assert {(cause.source.origin.new, cause.source.rule) for cause in silent} == {
        ("2.0.1", "check-reordered"),
        ("2.0.1", "check-weights-rescaled"),
        ("2.0.1", "list-reordered"),
        ("2.0.1", "metadata-changed"),
        ("1.1.0", "check-added"),
    }
    assert [cause.moved for cause in silent] == [0] * len(silent)


def test_outputs_and_flips(found: Audit) -> None:
    outputs = factor(found, "outputs")
    assert (outputs.changed, outputs.moved) == (11, 9)  # two answers are the same in both runs, byte for byte
    assert [told(cause) for cause in outputs.causes] == [
        (None, "", None, "model_a", "model_b", None, Fraction(67, 520))
    ]
    # The outputs' part of the verdicts is one or a half on eight questions, more often downwards.
    assert [len(found.flips.pass_to_fail), len(found.flips.fail_to_pass), found.flips.mid_p] == [3, 3, 35 / 2**7]
    assert outputs.ci is not None
    assert outputs.ci[0] < 0 < outputs.ci[1]
    assert outputs.claim.startswith("not resolvable")
    assert factor(found, "rubric").claim == "exact on these questions"
    assert factor(found, "dataset").claim == "unchanged"


def test_the_text_fits_a_screen_and_begins_with_the_answer(found: Audit) -> None:
    lines = render(found, "text").splitlines()
    assert lines[0].startswith("The score fell by 6.79 points")
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 100
    assert "      -8.65  no_filler becomes required" in lines
    whole = text(found, Screen(whole=True)).splitlines()
    assert "rubric -18.27   (-21.15 to -15.38 depending on whose answers it is measured on)" in whole


def test_the_answer_is_first_and_last(found: Audit) -> None:
    answer = "Is the model better? 13 questions cannot tell; about 150 would."
    lines = text(found, Screen(width=80)).splitlines()
    assert [place for place, line in enumerate(lines) if line == answer] == [3, len(lines) - 1]
    assert lines[-2] == "-6.79 points: rubric -18.27, outputs +12.88, question mix -1.40"
    painted = text(found, Screen(width=80, colours=COLOURS))
    assert [painted.count(f"\x1b[{code}m{word}") for code, word in (("33", "cannot tell"), ("31", "-18.27"))] == [2, 1]


def test_a_cut_sentence_is_marked_and_nobody_is_named_for_edits_that_are_left_out(found: Audit) -> None:
    long = replace(found, notes=("The engine differs. " * 20,) * 3)
    lines = text(long, Screen(width=80)).splitlines()
    (end,) = (number for number, line in enumerate(lines) if "more lines with --verbose" in line)
    assert lines[end - 1].endswith(" …")
    for most in range(2, 20):
        edits = [line for line in text(found, Screen(width=80), results=[""] * most).splitlines() if line[:2] == "  "]
        assert not edits or re.match(r" {4,}[-+]", edits[-1])


def change_outputs(found: Audit, **facts: Any) -> Audit:
    """Return the audit with other facts about what its outputs did."""
    factors = (replace(one, **facts) if one.name == "outputs" else one for one in found.factors)
    return replace(found, factors=tuple(factors))


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({"conclusion": Conclusion.SIGNIFICANT}, "Yes: its outputs gained 12.88 points (95 %: -20.48 to +42.82)."),
        ({"conclusion": Conclusion.SIGNIFICANT, "share": Fraction(-1, 8), "ci": (-0.2, -0.05)},
         "No, worse: its outputs lost 12.50 points (95 %: -20.00 to -5.00)."),
        ({"conclusion": Conclusion.BOUNDED_NULL, "share": Fraction(1, 500), "ci": (-0.01, 0.012)},
         "About the same: its outputs gained 0.20 points (95 %: -1.00 to +1.20)."),
        ({"conclusion": Conclusion.MOVED_NONE}, "Its outputs differ, but no score does."),
        ({"changed": 0}, "The outputs to the 13 questions compared are the same."),
        ({"detectable": 0.1}, "13 questions cannot tell: only 9 of them moved."),
        ({"detectable": None}, "13 questions cannot tell."),
        ({"share": Fraction(1, 10**6)}, "13 questions cannot tell; it would take more than 100,000."),
        ({"anchors": 7}, "7 questions with equal outputs cannot tell."),
        ({"members": (FactorName.OUTPUTS, FactorName.JUDGE_SERVICE)},
         "These runs cannot tell: the outputs and the judge service together moved the score."),
    ],
)  # fmt: skip
def test_the_answer_says_no_more_than_the_table(found: Audit, facts: dict[str, Any], answer: str) -> None:
    assert write_answer(change_outputs(found, **facts)) == f"Is the model better? {answer}"


def test_the_answer_counts_what_is_missing(found: Audit) -> None:
    lines = replace(found.lines, no_answer_as_zero=LineEffect(Fraction(-3, 10)))
    missing = replace(found, lines=lines, own_as_zero=replace(found.own, shapley=Fraction(-1, 5)))
    assert write_answer(missing).endswith(" With missing answers counted as 0, it lost 20.00.")
    same = replace(found, b=replace(found.b, model=found.a.model))
    assert write_answer(same).startswith("Are the outputs better?")


@pytest.mark.parametrize("conditions", [0, 2])
def test_the_text_has_at_most_twenty_lines(found: Audit, conditions: int) -> None:
    """Everything at once: a long sentence, every factor and line, many notes, edits and names without a blank."""
    rubric = factor(found, "rubric")
    many = tuple(replace(one, changed=3, share=rubric.share, causes=rubric.causes * 3) for one in found.factors)
    lost = replace(found.lines, **dict.fromkeys(LINE_LABELS, LineEffect(Fraction(1, 50))))
    long = replace(found, sentence="The rubric took 1.00, and " * 30, notes=("The engine differs. " * 9,) * 5)
    long = replace(long, factors=many, lines=lost, a=replace(long.a, model="m" * 300))
    results = ["own<-0.02: cannot tell"] * conditions
    lines = text(long, Screen(width=80), results=results).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    assert any("others" in line for line in lines)
    assert any("more lines with --verbose" in line for line in lines)


def test_the_command(sample: Any, cli: Callable[..., Any]) -> None:
    ran = cli("audit", sample.a.path, sample.b.path, "--format", "json", cwd=sample.root)
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    schema = json.loads((find_resource_folder("schema") / "output" / "audit.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert list(Draft202012Validator(schema).iter_errors(document)) == []
    shares = sum(factor["share"] for factor in document["factors"])
    lines = sum(document["lines"][name] for name in ("mix", "no_answer", "judge_errors", "not_reproduced"))
    assert shares + lines == pytest.approx(document["delta"], abs=1e-9)
    passes = sum(factor["passes"] for factor in document["factors"])
    lines = sum(document["lines"]["passes"][name] for name in ("mix", "no_answer", "judge_errors", "not_reproduced"))
    assert passes + lines == pytest.approx(document["passes_delta"], abs=1e-9)
    assert document["factors"][0]["share_exact"] == "-19/104"
    assert document["mix_exact"] == "-51/3640"
    assert document["a"]["run"] == str(sample.a.path)
    for factor_ in document["factors"]:
        causes = sum(cause["share"] for cause in factor_["causes"])
        assert causes == pytest.approx(factor_["share"], abs=1e-9)


def test_a_run_is_named_as_the_user_named_it(sample: Any, cli: Callable[..., Any]) -> None:
    names = [f"../{run.path.relative_to(sample.root.parent)}" for run in (sample.a, sample.b)]
    document = json.loads(cli("-C", sample.root, "audit", *names, "--format", "json").out)
    assert [document["a"]["run"], document["b"]["run"]] == names


def test_the_other_way_round_every_sign_turns(found: Audit, sample: Any) -> None:
    with ArtifactStore.open(sample.root) as store:
        back = audit_runs(sample.b, sample.a, store, AuditOptions())
    assert [factor.share for factor in back.factors] == [-factor.share for factor in found.factors]
    assert (back.delta, back.lines.mix.score) == (-found.delta, -found.lines.mix.score)
    assert {told(cause)[:6] for cause in factor(back, "rubric").causes if cause.share} == {
        # Going back undoes what Jonas released.
        (rule, part, "rubric/answer_style", "2.0.0", "1.0.0", "Jonas Brandt")
        for rule, part in [
            ("scoring-required-changed", "required no_filler"),
            ("ban-phrase-removed", "no_filler: 'of course'"),
            ("ban-phrase-removed", "no_filler: 'simply'"),
        ]
    }


def test_a_run_against_itself_says_that_nothing_changed(sample: Any) -> None:
    with ArtifactStore.open(sample.root) as store:
        same = audit_runs(sample.a, sample.a, store, AuditOptions())
    assert same.sentence == "The score did not move: nothing changed."
    assert (same.delta, same.lines.total.score, {factor.changed for factor in same.factors}) == (0, 0, {0})
    assert {factor.ci for factor in same.factors} == {None}
    assert render(same, "text").startswith(same.sentence)


def test_a_question_and_its_points_stand_on_one_line(found: Audit) -> None:
    lines = [line.strip() for line in text(found, Screen(whole=True)).splitlines()]
    worst = factor(found, "outputs").worst
    assert worst
    for one in worst:
        assert any(f"{one.id} {float(one.share) * 100:+.2f}" in line for line in lines)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_text_fits_the_screen(found: Audit, width: int) -> None:
    shown = text(found, Screen(width=width, whole=True))
    # A path or a reference is never cut.
    assert [line for line in shown.splitlines() if len(line) > width] == []
    assert shown.split() == text(found, Screen(whole=True)).split()
