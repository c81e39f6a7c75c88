"""Stores of everyday situations, and what an audit must say of each: numbers in points, to four decimals."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.audits.explain import RunNotes
from evalstore.audits.wording.answer import write_answer
from evalstore.audits.wording.points import format_points
from evalstore.checks.kinds import php_lint
from evalstore.checks.php import LintResult, PhpEngine
from evalstore.model.judge import NO_REPLY
from evalstore.report import render
from tests.audits.conftest import Desk, factor, rate

BAN = {"id": "ban", "kind": "must_not_contain", "values": ["foo"]}
BRIEF = {"id": "brief", "kind": "format", "format": "text", "max_chars": 50}
JUDGED = {"id": "j", "kind": "llm_judge", "judge_prompt_ref": "judge/acc@1.0.0"}
SAID_SIMPLY = ["simply ok"] * 4 + ["ok " * 12] * 3 + ["ok"] * 3


def points(found: Audit) -> dict[str, float]:
    """Return every factor and line that is not 0, in points."""
    shares = {one.name: one.share for one in found.factors} | {
        name: getattr(found.lines, name).score for name in ("mix", "no_answer", "judge_errors", "not_reproduced")
    }
    assert sum(shares.values()) == found.delta
    return {name: round(float(share) * 100, 4) for name, share in shares.items() if share}


def causes(found: Audit, name: str) -> list[tuple[str, float]]:
    return [
        (cause.source.part, round(float(cause.share) * 100, 4)) for cause in factor(found, name).causes if cause.share
    ]


@pytest.mark.parametrize("where", ["settings", "source"])
def test_a_rename_is_one_question(desk: Desk, where: str) -> None:
    # The settings declare it, or a migration noted that the source calls the case otherwise now.
    noted = {"x_source": {"renamed_from": "q0"}} if where == "source" else {}
    if not noted:
        desk.repo.write("evalstore.yaml", "renames: {dataset/d: {q0: q_zero}}\n")
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.dataset("1.0.0", 6)
    renamed = [{"id": f"q{i}", "input": "x"} | ({"id": "q_zero", **noted} if i == 0 else {}) for i in range(6)]
    desk.dataset("2.0.0", renamed, "1.0.0")
    a = desk.score("1.0.0", ["foo", *["ok"] * 5])
    b = desk.score("2.0.0", {"q_zero": "ok"} | {f"q{i}": "ok" for i in range(1, 6)}, "b")
    found = desk.audit(a, b)
    assert (points(found), found.common) == ({"outputs": 8.3333}, 6)


def test_an_untold_rename_has_the_line_to_write(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN)
    for version, names in (("1.0.0", ("q0", "q1", "q2", "q3")), ("2.0.0", ("q zero", "q1", "q4", "q5"))):
        desk.dataset(version, [{"id": name, "input": f"x{number}"} for number, name in enumerate(names)], "1.0.0")
    a = desk.score("1.0.0", {"q0": "ok", "q1": "ok", "q2": "ok", "q3": "foo"})
    b = desk.score("2.0.0", {"q zero": "ok", "q1": "ok", "q4": "other", "q5": "foo"}, "b")
    (note,) = desk.audit(a, b).notes
    line = 'renames: {dataset/d: {"q0": "q zero", "q2": "q4", "q3": "q5"}}'
    assert note == f"to declare 3 of the pairs, write into evalstore.yaml: {line}"
    desk.repo.write("evalstore.yaml", f"{line}\n")
    found = desk.audit(a, b)
    assert (found.common, found.notes) == (4, ())


def test_a_threshold_that_turns_verdicts_is_not_nothing(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, BRIEF, threshold=0.5)
    desk.rubric("2.0.0", BAN, BRIEF, threshold=0.9)
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, 12)
    texts = ["foo" if i < 6 else "ok" for i in range(12)]
    found = desk.audit(desk.score("1.0.0", texts), desk.score("2.0.0", texts))
    assert (points(found), found.passes_delta * 100, factor(found, "rubric").passes * 100) == ({}, -50, -50)
    assert (len(found.flips.pass_to_fail), [*found.flips.by], found.flips.mid_p) == (6, ["rubric"], None)
    assert found.sentence == "The score did not move, but the rubric (edit by Ada) turned 6 verdicts from pass to fail."
    assert [cause.source.part for cause in factor(found, "rubric").causes if cause.passes] == ["scoring.threshold"]


def test_versions_of_a_judge_are_steps_and_what_is_not_asked_is_joint(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", 20)
    desk.judge("2.0.0", "HARD", author="Bob")
    desk.judge("3.0.0", "HARD STRICT", author="Cyd")
    desk.rubric("2.0.0", {**JUDGED, "judge_prompt_ref": "judge/acc@3.0.0"}, BAN, author="Dan")
    desk.dataset("2.0.0", 20)
    chance = random.Random(1)  # noqa: S311
    old = ["good " * chance.randint(0, 3) + "a" for _ in range(20)]
    new = [old[i] if i < 8 else "good " * chance.randint(1, 3) + "b" for i in range(20)]
    a, b = desk.score("1.0.0", old), desk.score("2.0.0", new, "b")
    assert (float(a.score) * 100, round(float(b.score) * 100, 4)) == (77.5, 67.333)
    joint = desk.audit(a, b)
    assert (joint.price.calls, joint.price.steps) == (3, 10)
    assert set(points(joint)) == {"judge", "judge + outputs"}
    asked = desk.server.calls
    found = desk.audit(a, b, asks=True)
    assert desk.server.calls == asked + 10
    assert points(found) == {"judge": -12.0, "outputs": 1.833}
    steps = [
        (cause.source.origin.author, round(float(cause.share) * 100, 4)) for cause in factor(found, "judge").causes
    ]
    assert steps == [("Bob", -8.0), ("Cyd", -4.0)]
    assert factor(found, "judge").claim == "exact for the replies kept"


def drifted_outputs() -> tuple[list[str], list[str]]:
    chance = random.Random(3)  # noqa: S311
    stems = ["good " * chance.randint(1, 3) for _ in range(30)]
    return [f"{stem}a{i}" for i, stem in enumerate(stems)], [
        f"{stem}{'a' if i < 10 else 'b'}{i}" for i, stem in enumerate(stems)
    ]


def drift(desk: Desk, *, served: str) -> None:
    desk.server.served = served
    desk.server.text = lambda prompt: rate(f"HARD {prompt}")


@pytest.mark.parametrize("served", ["m-2", ""])
def test_a_judge_that_drifted_is_estimated_on_equal_outputs(desk: Desk, served: str) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", 30)
    old, new = drifted_outputs()
    a = desk.score("1.0.0", old)
    drift(desk, served=served)  # also where the service goes by the same name
    b = desk.score("1.0.0", new, "b", cache=desk.folder / "fresh.db")
    found = desk.audit(a, b)
    assert points(found) == {"judge_service": -10.0}
    service = factor(found, "judge_service")
    assert (service.anchors, service.claim) == (10, "estimated on 10 anchors, not resolvable (MDE 27.6)")
    assert any("standard deviations" in note for note in found.notes)
    assert found.sentence.startswith(
        "The score fell by 10.00 points: the judge service lost 10.00, which 10 questions cannot tell from chance."
    )
    # Nobody can say which of two services by one name would answer.
    priced = found.sentence.endswith(" 20 judge calls would replace the estimates (--ask).")
    assert (found.price.calls, priced) == ((20, True) if served else (0, False))
    outputs = factor(found, "outputs")
    assert (outputs.anchors, outputs.conclusion) == (10, service.conclusion)
    assert outputs.claim.startswith("estimated on 10 anchors, not resolvable (MDE ")
    (cause,) = service.causes
    assert (cause.source.origin.old, cause.source.origin.new) == ("m-served", served or "m-served")
    assert cause.source.message.endswith(", since run B of 2026-11-01")


def test_without_equal_outputs_service_and_outputs_move_together_until_somebody_asks(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", 30)
    old, new = drifted_outputs()
    a = desk.score("1.0.0", old)
    drift(desk, served="m-2")
    b = desk.score("1.0.0", new, "b")  # the ten equal outputs keep their replies
    found = desk.audit(a, b)
    assert points(found) == {"outputs + judge_service".replace("_", " "): -6.6667}
    assert (factor(found, "outputs + judge service").changed, found.price.calls, found.own.shapley) == (20, 20, None)
    asked = desk.server.calls
    assert points(desk.audit(a, b, asks=True)) == points(found)  # nobody said that the service may be asked
    assert desk.server.calls == asked
    told = desk.audit(a, b, asks=True, ask=True)
    assert (desk.server.calls - asked, points(told)) == (20, {"judge_service": -6.6667})
    assert (told.price.calls, points(desk.audit(a, b))) == (0, points(told))  # now it is kept


def test_a_judge_of_today_that_is_none_of_the_two_splits_nothing(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", 2)
    a = desk.score("1.0.0", ["good a", "good good b"])
    drift(desk, served="m-2")
    b = desk.score("1.0.0", ["good c", "good good d"], "b")
    desk.server.served = "m-3"
    found = desk.audit(a, b, asks=True, ask=True)
    assert [*points(found)] == ["outputs + judge service"]


def test_equal_names_and_no_equal_output_are_an_assumption_that_is_said(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED)
    desk.dataset("1.0.0", 2)
    found = desk.audit(desk.score("1.0.0", ["good a", "b"]), desk.score("1.0.0", ["c", "d"], "b"))
    assert points(found) == {"outputs": -16.665}
    assert " This holds if the judge service did not change: both runs name m-served" in write_answer(found)
    assert "2 judge calls would show it: score 2 of A's outputs again with --fresh" in write_answer(found)


@pytest.mark.parametrize(("with_ban", "failing", "expected"), [(True, range(5), 7.5), (False, (0, 1, 4), 13.8099)])
def test_a_judge_that_fails_is_no_better_output(desk: Desk, with_ban: bool, failing: Any, expected: float) -> None:  # noqa: FBT001
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, *([BAN] if with_ban else []))
    size = 20 if with_ban else 10
    desk.dataset("1.0.0", size)
    chance = random.Random(1)  # noqa: S311
    old = ["good " * chance.randint(0, 3) + "a" for _ in range(size)] if with_ban else [
        "good " * (i % 4) or "x" for i in range(size)
    ]  # fmt: skip
    desk.server.play("400", prompt="boom")
    a = desk.score("1.0.0", old)
    b = desk.score("1.0.0", [f"boom {text}" if i in failing else text for i, text in enumerate(old)], "b")
    found = desk.audit(a, b)
    assert (points(found), found.common) == ({"judge_errors": expected}, size - len(failing))
    (failed,) = found.lines.failed_checks
    assert (failed.run, failed.check, failed.questions) == ("B", "j", len(failing))
    assert f"judge errors on {len(failing)} questions gave" in found.sentence


def test_a_judge_that_fails_within_a_composite_is_no_better_output(desk: Desk) -> None:
    desk.judge("1.0.0")
    # Its average leaves out what could not be graded, so the composite has a score all the same.
    desk.rubric("1.0.0", JUDGED, {**BAN, "id": "c"}, name="inner", errors="skip")
    desk.rubric("1.0.0", {"id": "c", "kind": "composite", "rubric_ref": "rubric/inner@1.0.0"}, BRIEF)
    desk.dataset("1.0.0", 8)
    old = ["good " * (i % 3) + "a" for i in range(8)]
    desk.server.play("400", prompt="boom")
    a = desk.score("1.0.0", old)
    b = desk.score("1.0.0", [f"boom {text}" if i < 3 else text for i, text in enumerate(old)], "b")
    assert b.scored == 8
    found = desk.audit(a, b)
    assert (points(found), found.common, found.drift) == ({"judge_errors": points(found)["judge_errors"]}, 5, ())
    assert found.lines.errors == ("q0", "q1", "q2")
    (failed,) = found.lines.failed_checks
    assert (failed.run, failed.check, failed.questions) == ("B", "c/j", 3)
    assert found.lines.labels["judge_errors"] == "c/j not graded"
    # Where the judge failed in both runs, the question is compared by what is left.
    again = desk.audit(b, b)
    assert (points(again), again.common, again.drift) == ({}, 8, ())


def test_a_judge_that_nobody_asked_is_asked_by_score() -> None:
    """An audit asks for no reply that neither run had, so its note names the command that does."""
    reason = f"judge/j@1.0.0: {NO_REPLY.problem}"
    both = {id_: (id_, "either run") for id_ in "jk"}
    reasons = {both["j"]: reason, both["k"]: "it timed out"}
    notes = RunNotes(questions=4, failed=Counter({both["j"]: 4, both["k"]: 1}), reasons=reasons)
    asked, failed = notes.list_notes()
    assert asked.endswith(f"{reason}; evalstore score with --judge-url asks, into new runs")
    assert failed.endswith(": it timed out")


@pytest.mark.parametrize("both", [False, True])
def test_an_engine_that_is_not_there_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch, both: bool) -> None:  # noqa: FBT001
    """Without PHP the runs score 100 for 50, and a change of outputs says nothing of what could not be graded."""
    php = {"id": "parses", "kind": "php_lint", "on_no_code": "pass"}
    desk.rubric("1.0.0", php, BAN, errors="skip")
    desk.dataset("1.0.0", 4)
    broken = ["```php\n<?php echo (;\n```"] * 4
    parser = PhpEngine("a parser (approximate)")
    monkeypatch.setattr(php_lint, "check_block", lambda *_: LintResult(valid=False))

    def score(name: str, engine: PhpEngine | None, texts: list[str]) -> Any:
        monkeypatch.setattr(php_lint, "find_php_engine", lambda: engine)
        return desk.score("1.0.0", texts, name, offline=True)

    a = score("a", None if both else parser, broken)
    b = score("b", None, [f"{text} foo" for text in broken])
    found = desk.audit(a, b)
    if both:
        assert points(found) == {"outputs": -100}
        note = found.notes[-1]
        assert note.startswith("parses could not be graded in either run on 4 of 4 questions: ")
    else:
        assert (found.lines.failed_checks[0].check, found.lines.failed_checks[0].questions) == ("parses", 4)
        assert (found.common, [*points(found)]) == (0, ["judge_errors"])
        assert "php_lint not graded on 4 questions" in found.sentence
        assert "php_lint not graded" in render(found, "text")


def test_an_engine_that_answered_part_of_one_run_is_no_other_engine(desk: Desk) -> None:
    """What is no JSON at all needs no engine for its schema."""
    desk.rubric("1.0.0", {"id": "shape", "kind": "json_schema", "schema": {"type": "object"}}, BAN)
    desk.dataset("1.0.0", 3)
    a = desk.score("1.0.0", ["{}", "[]", "none"])
    b = desk.score("1.0.0", ["{}", "[]", "{}"], "b")
    assert len({check.engine for row in a.rows() for check in row.checks if check.id == "shape"}) == 2
    assert desk.audit(a, b).notes == ()


def test_empty_outputs_are_counted_on_both_sides(desk: Desk) -> None:
    """Of a rubric that only bans, an empty answer is as good as any."""
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 4)
    runs = [
        desk.score("1.0.0", texts, name) for name, texts in (("a", ["", "ok", "ok", "ok"]), ("b", ["", " ", "", "ok"]))
    ]
    found = desk.audit(*runs)
    assert "empty outputs: 1 in A, 3 in B" in found.notes
    # The answer would mislead without, so it is no note below it.
    assert write_answer(found).endswith(" Empty outputs: 1 in A, 3 in B.")
    assert "note: empty outputs" not in render(found, "text")
    assert desk.audit(runs[0], runs[0]).notes == ()


def test_a_missing_answer_is_no_other_question(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.dataset("1.0.0", 10)
    texts = {f"q{i}": "foo" if i < 5 else "ok" for i in range(10)}
    a = desk.score("1.0.0", texts)
    b = desk.score("1.0.0", {id_: text for id_, text in texts.items() if id_ not in {"q0", "q1", "q2"}}, "b")
    found = desk.audit(a, b)
    assert (points(found), found.common) == ({"no_answer": 10.7143}, 7)
    assert (found.lines.no_answer_as_zero.score * 100, found.own_as_zero.shapley * 100) == (-15, -15)
    assert found.lines.silent_b == ("q0", "q1", "q2")


def test_what_moved_no_mean_is_told_too(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 5)
    a = desk.score("1.0.0", {f"q{i}": "ok" for i in range(5)})
    b = desk.score("1.0.0", {f"q{i}": "ok" for i in range(3)}, "b")
    found = desk.audit(a, b)
    assert (found.delta, points(found), [*found.lines.told]) == (0, {}, ["no_answer"])
    assert found.sentence == (
        "The score did not move. "
        "Without an effect on the score: 2 questions without an answer in B (counted as 0: -40.00)."
    )
    assert "no answer    0.00    0.00             2 in B; -40.00 if they count 0" in render(found, "text")
    desk.dataset("2.0.0", 6, "1.0.0")
    more = desk.audit(a, desk.score("2.0.0", {f"q{i}": "ok" for i in range(6)}, "c"))
    assert more.sentence.endswith(" Without an effect on the score: 1 added question.")


def test_a_rubric_and_the_facts_that_only_it_reads_move_together(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.rubric("1.0.0", {"id": "facts", "kind": "fact_match"}, name="other")
    desk.dataset("1.0.0", 6)
    moved = {"rubric_ref": "rubric/other@1.0.0", "expected_facts": ["zz"]}
    desk.dataset("2.0.0", [{"id": f"q{i}", "input": "x", **(moved if i < 2 else {})} for i in range(6)], "1.0.0")
    found = desk.audit(desk.score("1.0.0", ["ok"] * 6), desk.score("2.0.0", ["ok"] * 6))
    assert points(found) == {"rubric + dataset": -33.3333}
    assert (
        found.sentence
        == "The score fell by 33.33 points: the rubric and changed references together took 33.33 (edit by Ada)."
    )
    (origin,) = (cause.source.origin for one in found.factors for cause in one.causes)
    assert (origin.ref, origin.old, origin.new) == ("dataset/d", "1.0.0", "2.0.0")
    assert (origin.author, origin.released_in) == ("Ada", "2.0.0")


@pytest.mark.parametrize("weight", [3, 0])
def test_a_rubric_of_another_id_moves_scores_by_its_edits(desk: Desk, weight: int) -> None:
    """Most checks are equal, so the question sees the swap in the weights alone."""
    desk.rubric("1.0.0", BAN, BRIEF, threshold=0.6)
    desk.rubric("1.0.0", BAN, BRIEF, name="style", threshold=0.6, weights={"ban": weight})
    desk.dataset("1.0.0", 4)
    pin = {"rubric_ref": "rubric/style@1.0.0"}
    desk.dataset("2.0.0", [{"id": f"q{i}", "input": "x", **pin} for i in range(4)], "1.0.0")
    outputs = ["foo", "foo", "foo", "ok"]
    a, b = desk.score("1.0.0", outputs), desk.score("2.0.0", outputs, "b")
    share = 3 / 4 * (1 / (1 + weight) - 1 / 2) * 100
    for found in (desk.audit(a, b), desk.audit(a, b, allow_drift=True)):
        assert points(found) == {"rubric": share}
        assert causes(found, "rubric") == [("weight of ban", share)]
        (cause,) = (cause for cause in factor(found, "rubric").causes if cause.share)
        assert cause.source.rules == ("check-weight-changed", "question-rubric-ref-changed")
        assert (cause.source.origin.new, cause.source.origin.author) == ("rubric/style@1.0.0", "Ada")
        assert "rubric" in render(found, "text")


def test_an_interaction_is_told_as_one(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.rubric("2.0.0", {**BAN, "values": ["foo", "simply"]}, BRIEF)
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, 20)
    a = desk.score("1.0.0", ["ok"] * 20)
    b = desk.score("2.0.0", ["simply ok" if i < 10 else "ok" for i in range(20)], "b")
    found = desk.audit(a, b)
    assert points(found) == {"rubric": -12.5, "outputs": -12.5}
    assert [end * 100 for end in (found.own.shapley, found.own.old, found.own.new)] == [-12.5, 0, -25]
    assert found.sentence.endswith(
        "the rubric took 12.50 (edit by Ada) and the outputs lost 12.50 (10 of 20 verdicts turned to fail), together: "
        "the outputs lose nothing under A's rubrics, 25.00 under B's."
    )
    assert write_answer(found) == (
        "Is the model better? It depends on the rubric: its outputs lose nothing under A's rubrics, lose 25.00 under B's."
    )


def test_the_outputs_are_not_told_what_missing_answers_and_other_questions_did(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.rubric("2.0.0", {**BAN, "values": ["foo", "simply"]}, BRIEF)
    for version, asked in (("1.0.0", "x"), ("2.0.0", "why?")):
        desk.dataset(version, [{"id": f"q{i}", "input": asked} for i in range(20)], version)
    a = desk.score("1.0.0", ["foo"] * 2 + ["ok"] * 18)
    texts = {f"q{i}": "simply ok" if i < 12 else "ok" for i in range(2, 20)}
    found = desk.audit(a, desk.score("2.0.0", texts, "b"))
    assert found.lines.no_answer.score == Fraction(1, 20)
    assert ", together: changed questions and missing answers come to +5.00 under A's rubrics" in found.sentence


def test_a_check_within_a_composite_may_have_its_name(desk: Desk) -> None:
    for version, words in (("1.0.0", ["foo"]), ("2.0.0", ["foo", "simply"])):
        desk.rubric(version, {**BAN, "id": "c", "values": words}, name="inner")
        outer = {"id": "c", "kind": "composite", "rubric_ref": f"rubric/inner@{version}"}
        desk.rubric(version, outer, {**BAN, "id": "d", "values": words})
        desk.dataset(version, 2)
    found = desk.audit(desk.score("1.0.0", ["simply", "ok"]), desk.score("2.0.0", ["simply", "ok"]))
    assert points(found) == {"rubric": -50}
    assert [cause.share * 100 for cause in factor(found, "rubric").causes if cause.share] == [-25, -25]


def test_the_edits_inside_a_composite_are_its_own(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, BRIEF, name="inner")
    inner = {**BAN, "values": ["foo", "simply"]}, {**BRIEF, "max_chars": 20}
    desk.rubric("2.0.0", *inner, name="inner", author="Bob")
    for version in ("1.0.0", "2.0.0"):
        outer = {"id": "c", "kind": "composite", "rubric_ref": f"rubric/inner@{version}"}
        desk.rubric(version, outer, {"id": "p", "kind": "must_contain_any", "values": ["ok"]}, author="Dan")
        desk.dataset(version, 10)
    found = desk.audit(desk.score("1.0.0", SAID_SIMPLY), desk.score("2.0.0", SAID_SIMPLY))
    assert causes(found, "rubric") == [("ban: 'simply'", -10.0), ("brief: max_chars", -7.5)]
    assert {cause.source.origin.author for cause in factor(found, "rubric").causes if cause.share} == {"Bob"}


def test_samples_are_no_questions(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 4)

    def samples(*passes: int) -> list[dict[str, Any]]:
        return [
            {"id": f"q{i}", "sample": k, "output": f"{'ok' if k < count else 'foo'} {i} {k}"}
            for i, count in enumerate(passes)
            for k in range(3)
        ]

    a, b = desk.score_lines("1.0.0", samples(3, 2, 1, 0)), desk.score_lines("1.0.0", samples(2, 2, 2, 2), "b")
    found = desk.audit(a, b)
    assert (points(found), found.common) == ({"outputs": 16.6667}, 4)
    assert (factor(found, "outputs").moved, found.passes_delta, found.drift) == (3, found.delta, ())


def test_ten_phrases_are_ten_exact_shares(desk: Desk) -> None:
    words = [f"w{i}" for i in range(10)]
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.rubric("2.0.0", {**BAN, "values": ["foo", *words]}, BRIEF)
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, 30)
    chance = random.Random(2)  # noqa: S311
    texts = [" ".join(chance.sample(words, chance.choice([0, 0, 1, 2]))) or "ok" for _ in range(30)]
    found = desk.audit(desk.score("1.0.0", texts), desk.score("2.0.0", texts))
    assert dict(causes(found, "rubric")) == {
        f"ban: 'w{number}'": share
        for number, share in {
            8: -7.5,
            2: -5.0,
            6: -4.1667,
            4: -2.5,
            5: -1.6667,
            7: -1.6667,
            9: -1.6667,
            3: -0.8333,
        }.items()
    }
    assert factor(found, "rubric").is_exact


def test_a_changed_question_is_no_worse_output(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.dataset("1.0.0", 4)
    desk.dataset("2.0.0", [{"id": f"q{i}", "input": "new" if i == 3 else "x"} for i in range(4)], "1.0.0")
    found = desk.audit(desk.score("1.0.0", ["ok"] * 4), desk.score("2.0.0", ["ok", "ok", "ok", "foo"], "b"))
    assert (points(found), factor(found, "outputs").changed, found.input_changed) == ({"input": -12.5}, 0, ("q3",))
    assert "changed questions and another model together lost 12.50, which" in found.sentence


def test_what_is_not_nothing_is_not_said_to_be_nothing(desk: Desk) -> None:
    checks = {"id": "ban", "kind": "must_not_contain", "values": ["foo"]}, {**BRIEF, "id": "brief"}
    desk.rubric("1.0.0", *checks, weights={"ban": 0.00001, "brief": 1})
    desk.rubric("2.0.0", {**checks[0], "values": ["foo", "ok"]}, checks[1], weights={"ban": 0.00001, "brief": 1})
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, 2)
    runs = [desk.score(version, ["ok", "fine"], version[0]) for version in ("1.0.0", "2.0.0")]
    found = desk.audit(*runs)
    assert found.sentence == "The score fell by less than 0.01 points: the rubric took less than 0.01 (edit by Ada)."
    assert [format_points(one) for one in (found.delta, Fraction(0), -found.delta)] == ["-0.00", "0.00", "+0.00"]
