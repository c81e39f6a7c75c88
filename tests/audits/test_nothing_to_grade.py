"""Checks that have nothing to grade in one run: no recorded calls, no code, an empty list; absence is no gain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from evalstore.audits import Audit
from evalstore.audits.conditions import decide_conditions, decide_record_conditions, parse_condition
from evalstore.audits.question_view import view_question
from evalstore.audits.records.comparison import compare_records
from evalstore.audits.slices import SliceKind
from evalstore.audits.wording.answer import write_answer
from evalstore.runs import Run
from evalstore.store import ArtifactStore
from tests.audits.conftest import Desk, factor

CODE = "```php\n<?php echo 1;\n```\n"
TOOLS = {"id": "tools", "kind": "tool_usage", "tools": [{"name": "search"}]}
BAN = {"id": "ban", "kind": "must_not_contain", "values": ["simply"]}
FORMS = ("text", "markdown", "html", "json")
QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)


def release(desk: Desk, *checks: Mapping[str, Any], version: str = "1.0.0", questions: Any = 4, **scoring: Any) -> None:
    desk.rubric(version, *checks, **scoring)
    desk.dataset(version, questions)


def call(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def score_lines(
    desk: Desk, name: str, texts: Sequence[str], calls: Sequence[Any] | None = None, version: str = "1.0.0"
) -> Run:
    lines: list[dict[str, Any]] = [{"id": f"q{i}", "output": text} for i, text in enumerate(texts)]
    for line, recorded in zip(lines, calls or (), strict=False):
        line.update({} if recorded is None else {"tool_calls": recorded})
    return desk.score_lines(version, lines, name)


def lose_calls(desk: Desk, texts: Sequence[str] = ("one", "two", "three", "four"), **scoring: Any) -> Audit:
    """Audit the run of a harness that records calls, two of them wrong, and one that records none."""
    release(desk, BAN, TOOLS, **scoring)
    calls = [call("search"), call("search"), call("other"), call("other")]
    a = score_lines(desk, "a", ["one", "two", "three", "four"], calls)
    return desk.audit(a, score_lines(desk, "b", texts))


def test_a_harness_that_stopped_recording_calls_gained_nothing(desk: Desk) -> None:
    found = lose_calls(desk)
    assert (found.a.score, found.b.score, found.delta) == (Fraction(3, 4), 1, QUARTER)
    assert found.lines.nothing_to_grade.score == QUARTER
    assert found.lines.nothing_to_grade.passes == HALF
    assert factor(found, "outputs").share == 0
    assert found.own.shapley == 0
    assert [(one.run, one.check, one.kind, one.questions) for one in found.lines.empty_checks] == [
        ("B", "tools", "tool_usage", 4)
    ]
    assert found.lines.empty_checks[0].reason == "no record of tool calls"
    assert found.lines.emptied == ("q0", "q1", "q2", "q3")


def test_what_else_the_outputs_did_stays_theirs(desk: Desk) -> None:
    found = lose_calls(desk, ("one", "simply", "three", "four"))
    assert factor(found, "outputs").share == -QUARTER
    assert found.lines.nothing_to_grade.score == found.delta + QUARTER


def test_missing_calls_that_count_zero_are_no_loss_of_the_outputs(desk: Desk) -> None:
    found = lose_calls(desk, missing="zero")
    assert found.delta == found.lines.nothing_to_grade.score == -QUARTER
    assert factor(found, "outputs").share == 0


def test_a_model_that_stopped_writing_code_gained_nothing(desk: Desk) -> None:
    release(desk, BAN, {"id": "lint", "kind": "php_lint", "on_no_code": "unscored"})
    broken = CODE.replace("echo 1;", "echo (;")
    a = score_lines(desk, "a", [CODE, broken, broken, "none"])
    b = score_lines(desk, "b", ["no", "no", CODE, "none"])
    found = desk.audit(a, b)
    assert found.lines.nothing_to_grade.score == Fraction(1, 8)
    assert factor(found, "outputs").share == Fraction(1, 8)
    assert [(one.run, one.check, one.questions) for one in found.lines.empty_checks] == [("B", "lint", 2)]


def test_an_edit_that_grades_no_output_without_code_any_more_is_the_edits_own(desk: Desk) -> None:
    """Neither output has code: it is the rubric that made one of them nothing to grade."""
    lint = {"id": "lint", "kind": "php_lint", "on_no_code": "fail"}
    release(desk, BAN, lint)
    release(desk, BAN, {**lint, "on_no_code": "unscored"}, version="2.0.0")
    a = score_lines(desk, "a", ["no", "no", "no", "no"])
    b = score_lines(desk, "b", ["none", "none", "none", "simply"], version="2.0.0")
    found = desk.audit(a, b)
    assert found.lines.nothing_to_grade.score == 0
    assert found.lines.emptied == ()
    assert factor(found, "rubric").share + factor(found, "outputs").share == found.delta


def test_a_list_that_the_dataset_lost_is_nothing_to_grade(desk: Desk) -> None:
    facts = {"id": "facts", "kind": "fact_match"}
    questions = [{"id": f"q{i}", "input": "x", "expected_facts": ["two"]} for i in range(4)]
    release(desk, BAN, facts, questions=questions)
    bare = [{"id": f"q{i}", "input": "x", **({"expected_facts": ["two"]} if i < 2 else {})} for i in range(4)]
    release(desk, BAN, facts, version="2.0.0", questions=bare)
    texts = ["one", "two", "three", "four"]
    a = score_lines(desk, "a", texts)
    found = desk.audit(a, score_lines(desk, "b", texts, version="2.0.0"))
    assert found.delta == found.lines.nothing_to_grade.score == QUARTER
    assert factor(found, "dataset").share == 0


def test_a_question_with_nothing_left_is_behind_the_line_as_a_whole(desk: Desk) -> None:
    release(desk, TOOLS)
    a = score_lines(desk, "a", ["1", "2", "3", "4"], [call("search"), call("other"), call("other"), call("other")])
    b = score_lines(desk, "b", ["5", "6", "7", "8"], [call("search"), call("search"), None, None])
    found = desk.audit(a, b)
    assert (found.common, found.lines.emptied) == (2, ("q2", "q3"))
    assert (found.delta, factor(found, "outputs").share) == (Fraction(3, 4), HALF)
    assert found.lines.nothing_to_grade.score == QUARTER
    assert [(one.run, one.check, one.questions) for one in found.lines.empty_checks] == [("B", "tools", 2)]


def test_two_runs_that_grade_no_check_of_a_question_in_common_are_not_compared_on_it(desk: Desk) -> None:
    lint = {"id": "lint", "kind": "php_lint", "on_no_code": "unscored"}
    release(desk, TOOLS, lint, questions=2)
    a = score_lines(desk, "a", [CODE, "x"], [None, call("search")])
    b = score_lines(desk, "b", ["x", "x"], [call("other"), call("search")])
    found = desk.audit(a, b)
    assert (found.common, found.lines.emptied) == (1, ("q0",))
    assert found.delta == found.lines.nothing_to_grade.score == -HALF
    assert [(one.run, one.check) for one in found.lines.empty_checks] == [("A", "tools"), ("B", "lint")]


def test_a_check_within_a_composite_has_nothing_to_grade_either(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, TOOLS, name="inner")
    release(desk, {"id": "brief", "kind": "format", "format": "text", "max_chars": 4},
            {"id": "style", "kind": "composite", "rubric_ref": "rubric/inner@1.0.0"}, questions=2)  # fmt: skip
    a = score_lines(desk, "a", ["one", "two"], [call("other"), call("search")])
    found = desk.audit(a, score_lines(desk, "b", ["one", "three"]))
    assert [(one.run, one.check, one.questions) for one in found.lines.empty_checks] == [("B", "style/tools", 2)]
    assert found.lines.nothing_to_grade.score == found.delta - factor(found, "outputs").share
    assert factor(found, "outputs").share == -HALF


def test_of_samples_the_one_without_a_record_is_left_out(desk: Desk) -> None:
    release(desk, BAN, TOOLS, questions=1)

    def run(name: str, calls: Sequence[Any]) -> Run:
        recorded = [{} if one is None else {"tool_calls": one} for one in calls]
        lines = [{"id": "q0", "sample": k, "output": "x", **one} for k, one in enumerate(recorded)]
        return desk.score_lines("1.0.0", lines, name)

    found = desk.audit(run("a", [call("other"), call("other")]), run("b", [call("search"), None]))
    assert found.delta == HALF
    assert found.lines.nothing_to_grade.score == QUARTER
    assert factor(found, "outputs").share == QUARTER


def test_the_answer_says_that_the_runs_cannot_tell_and_no_gate_holds(desk: Desk) -> None:
    found = lose_calls(desk)
    assert write_answer(found).startswith(
        "Is the model better? These runs cannot tell: tools with nothing to grade in B on 4 questions; by the checks "
        "that both runs graded its outputs neither gained nor lost."
    )
    assert (
        "The score rose by 25.00 points: tools with nothing to grade in B on 4 questions gave 25.00." in found.sentence
    )
    asked = [
        parse_condition(text)
        for text in ("own<-0.02", "outputs<0", "flips>0", "delta<0", "rubric<0", "nothing_to_grade>0")
    ]
    results = decide_conditions(found, asked)
    assert [str(one.answer) for one in results] == [*["cannot tell"] * 4, "holds", "fails"]
    assert "nothing to grade in one run on 4 of 4 questions" in results[0].reason
    lenient = decide_conditions(found, asked[3:4], max_ungraded=Fraction(1))
    assert [str(one.answer) for one in lenient] == ["holds"]


def test_slices_show_the_check_and_add_up(desk: Desk) -> None:
    questions = [{"id": f"q{i}", "input": "x", "tags": ["even" if i % 2 == 0 else "odd"]} for i in range(4)]
    release(desk, BAN, TOOLS, questions=questions)
    a = score_lines(desk, "a", ["1", "2", "3", "4"], [call("search"), call("search"), call("other"), call("other")])
    b = score_lines(desk, "b", ["1", "simply", "3", "4"])
    by_check = desk.audit(a, b, by=SliceKind.CHECK).slices
    assert [(one.name, one.questions, one.scored_a, one.scored_b, one.change) for one in by_check] == [
        ("ban", 4, 4, 4, -QUARTER), ("tools", 0, 4, 0, None)
    ]  # fmt: skip
    found = desk.audit(a, b, by=SliceKind.TAG)
    assert {one.name: dict(one.shares) for one in found.slices} == {
        "even": {"nothing_to_grade": QUARTER},
        "odd": {"outputs": -HALF, "nothing_to_grade": Fraction(-1, 4) + HALF},
    }
    assert sum(one.questions * (one.change or 0) for one in found.slices) == found.delta * found.common


def test_a_slice_of_questions_that_are_not_compared_is_there(desk: Desk) -> None:
    questions = [{"id": f"q{i}", "input": "x", "group": "g" if i else "h"} for i in range(2)]
    release(desk, TOOLS, questions=questions)
    a = score_lines(desk, "a", ["1", "2"], [call("search"), call("search")])
    b = score_lines(desk, "b", ["1", "2"], [call("search"), None])
    slices = desk.audit(a, b, by=SliceKind.GROUP).slices
    assert [(one.name, one.questions, one.scored_a, one.scored_b, one.change) for one in slices] == [
        ("g", 0, 1, 0, None), ("h", 1, 1, 1, 0)
    ]  # fmt: skip


def test_what_one_run_had_nothing_to_grade_of_is_not_comparable(desk: Desk, cli: Any) -> None:
    release(desk, BAN, TOOLS)
    a = score_lines(desk, "a", ["1", "2", "3", "4"], [call("search")] * 4)
    b, half = (
        score_lines(desk, "b", ["1", "2", "3", "4"]),
        score_lines(desk, "half", ["1", "2", "3", "4"], [call("search")] * 3),
    )
    ran = cli("comparable", a.path, b.path, cwd=desk.repo.root)
    assert "no: not all scores" in ran.out
    assert "coverage: no (of 4 questions, tools had nothing to grade in B on 4)" in " ".join(ran.out.split())
    bounded = cli("comparable", a.path, half.path, cwd=desk.repo.root).out
    assert "coverage: bounded (of 4 questions, tools had nothing to grade in B on 1)" in " ".join(bounded.split())
    records = compare_records(a.path, b.path)
    assert records.emptied == 4
    assert records.notes == ("tools had nothing to grade in B on 4 of 4 answers, which the other record graded",)
    assert [str(one.answer) for one in decide_record_conditions(records, [parse_condition("delta<0")])] == [
        "cannot tell"
    ]


def test_coverage_stands_beside_both_means_in_every_form(desk: Desk, cli: Any) -> None:
    release(desk, BAN, TOOLS)
    a = score_lines(desk, "a", ["1", "2", "3", "4"], [call("other")] * 4)
    b = score_lines(desk, "b", ["1", "2", "3", "4"])
    told = {form: cli("audit", a.path, b.path, "--format", form, cwd=desk.repo.root).out for form in FORMS}
    assert "a, 8 of 8 gradings, dataset/d@1.0.0" in told["text"]
    assert "b, 4 of 8 gradings, dataset/d@1.0.0" in told["text"]
    assert "4 of 8 gradings" in told["markdown"]
    assert "4 of 8 gradings" in told["html"]
    assert json.loads(told["json"])["b"]["coverage"] == {"graded": 4, "asked": 8}
    history = cli("history", "rubric/r", "--run", b.path, cwd=desk.repo.root).out
    assert "was recorded with 4 of 8 gradings; tools had nothing to grade on any output" in " ".join(history.split())
    assert max(map(len, told["text"].splitlines())) <= 100  # the width of this screen


def test_a_run_without_a_score_is_not_given_one(desk: Desk, cli: Any) -> None:
    judged = {"id": "accurate", "kind": "llm_judge", "judge_prompt_ref": "judge/acc@1.0.0"}
    desk.judge("1.0.0")
    release(desk, BAN, judged)
    release(desk, judged, version="2.0.0")
    texts = ["good", "good", "good", "good"]
    b = desk.score("1.0.0", texts, "b")
    desk.repo.forget()
    desk.server.text = lambda _: "no verdict"
    a, bare = desk.score("1.0.0", texts, "a"), desk.score("2.0.0", texts, "bare")
    ran = cli("audit", a.path, b.path, cwd=desk.repo.root)
    assert ran.code == 1
    assert ran.out.startswith("Not comparable: A has no score (accurate graded 0 of 4).")
    assert "These runs cannot tell: A has no score" in " ".join(ran.out.split())
    assert json.loads(cli("audit", a.path, b.path, "--format", "json", cwd=desk.repo.root).out)["a"]["ungraded"]
    same = cli("comparable", a.path, a.path, cwd=desk.repo.root)
    assert same.code == 1
    assert "the score of A: no (it has none, because gradings failed: accurate graded 0 of 4)" in same.out
    for folder in (desk.repo.root, "/"):  # where no store is, two records are compared
        ran = cli("audit", b.path, bare.path, cwd=folder)
        assert ran.code == 1
        assert "Not comparable: B has no score (accurate graded 0 of 4)" in ran.err


def test_numbers_that_no_rubric_read_before_are_those_of_the_same_output(desk: Desk) -> None:
    fast = {"id": "fast", "kind": "limits", "latency_ms": {"max": 2000}}
    release(desk, BAN)
    release(desk, BAN, fast, version="2.0.0")
    lines = [{"id": f"q{i}", "output": "one", "latency_ms": 1000 * (i + 1)} for i in range(4)]
    runs = desk.score_lines("1.0.0", lines, "m"), desk.score_lines("2.0.0", lines, "m")
    found = desk.audit(*runs)
    assert (factor(found, "rubric").share, factor(found, "outputs").changed) == (-QUARTER, 0)
    with ArtifactStore.open(desk.repo.root) as store:
        under_b = view_question(*(run.path for run in runs), "q3", store).cells[1]
    assert (under_b.output, under_b.under, under_b.score) == ("A", "B", HALF)
