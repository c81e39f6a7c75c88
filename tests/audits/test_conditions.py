"""Conditions for CI: holds, fails, cannot tell; and one question in full."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.audits.conditions import Answer, decide_conditions, find_worst_answer, parse_condition
from evalstore.audits.values import FactorName, OwnShare, Price
from evalstore.errors import UsageError
from evalstore.places import find_resource_folder
from tests.audits.conftest import Desk, Repo
from tests.audits.test_acceptance import BAN, JUDGED

FORMS = ("text", "markdown", "html", "json")
RUBRIC = """\
id: tone
version: {version}
checks:
  - {{id: calm, kind: must_not_contain, values: [foo{more}]}}
  - {{id: brief, kind: format, format: text, max_chars: 50}}
scoring: {{combine: weighted_avg, threshold: 0.7}}
"""


def dataset(version: str) -> str:
    questions = [{"id": f"q{n}", "input": f"x{n}"} for n in range(10)]
    return f"id: d\nversion: {version}\ndefaults: {{rubric_ref: rubric/tone@{version}}}\nquestions: {json.dumps(questions)}\n"


@pytest.fixture
def runs(repo: Repo, answers: Callable[..., Path]) -> dict[str, str]:
    """Five of ten answers say foo; `crashed` lacks three of these; `banned` has the same answers under a stricter rubric."""
    repo.release("rubrics/tone", RUBRIC.format(version="1.0.0", more=""))
    repo.release("rubrics/tone", RUBRIC.format(version="2.0.0", more=", fine"), author="Bob")
    for version in ("1.0.0", "2.0.0"):
        repo.release("datasets/d", dataset(version))
    texts = {f"q{n}": "foo" if n < 5 else "fine" for n in range(10)}
    whole, worse = answers("a", **texts), answers("worse", **{**texts, "q9": "foo"})
    crashed = answers("crashed", **{id_: text for id_, text in texts.items() if id_ not in {"q0", "q1", "q2"}})
    made = {
        "a": repo.score("dataset/d@1.0.0", whole, "a"),
        "crashed": repo.score("dataset/d@1.0.0", crashed, "crashed"),
        "worse": repo.score("dataset/d@1.0.0", worse, "worse"),
        "banned": repo.score("dataset/d@2.0.0", whole, "banned"),
    }
    return {name: str(run.path) for name, run in made.items()}


@pytest.fixture
def ask(repo: Repo, cli: Callable) -> Callable[..., Any]:
    def run(*argv: str) -> tuple[int, Any]:
        ran = cli("audit", *argv, "--format", "json", cwd=repo.root)
        name = "audit_question" if "--question" in argv else "audit"
        schema = json.loads((find_resource_folder("schema") / "output" / f"{name}.schema.json").read_text())
        Draft202012Validator(schema).validate(json.loads(ran.out))
        return ran.code, json.loads(ran.out)

    return run


def test_a_condition_has_three_answers(runs: dict[str, str], ask: Any) -> None:
    told = [
        ("banned", 0, {"own<-0.02": 0, "own@new<-0.02": 0, "rubric<-25": -0.25, "judge<0": 0}, "holds"),
        ("banned", 1, {"rubric<-0.02": -0.25, "rubric<=-25": -0.25, "flips>4": 5}, "fails"),
        # One of ten fell by a half: its interval is wide, and only the share itself is below.
        ("worse", 0, {"own<-40": -0.05, "outputs.mean<-0.06": -0.05}, "holds"),
        ("worse", 1, {"own.mean<-0.02": -0.05, "own@new.mean<-0.02": -0.05}, "fails"),
        ("worse", 1, {"own<-0.02": None, "own@old<-0.02": None, "outputs<-0.02": None}, "cannot tell"),
        # Three answers are missing: they count 0, and what that would change of the rest cannot be told.
        ("crashed", 1, {"own<-0.02": -0.15, "no_answer>10": pytest.approx(0.107142857143)}, "fails"),
        ("crashed", 1, {"outputs<-0.02": None, "delta<-0.02": None}, "cannot tell"),
        ("crashed", 0, {"mix<0": 0}, "holds"),
    ]
    for b, code, values, answer in told:
        words = [word for condition in values for word in ("--fail-on", condition)]
        exit_code, found = ask(runs["a"], runs[b], *words)
        given = [(one["answer"], one["value"]) for one in found["conditions"]]
        assert (exit_code, given) == (code, [(answer, value) for value in values.values()]), (b, found["conditions"])


def test_the_worst_answer_decides_and_what_cannot_be_told_may_pass(
    runs: dict[str, str], ask: Any, cli: Any, repo: Repo
) -> None:
    both = ("--fail-on", "mix<0", "--fail-on", "outputs<-0.02")
    assert ask(runs["a"], runs["crashed"], *both)[0] == 1
    assert ask(runs["a"], runs["crashed"], *both, "--undecided", "pass")[0] == 0
    assert ask(runs["a"], runs["crashed"], *both, "--fail-on", "own<0", "--undecided", "pass")[0] == 1
    ran = cli("audit", runs["a"], runs["crashed"], *both, cwd=repo.root)
    assert [line.split(" (")[0] for line in ran.out.splitlines() if line.startswith(("mix<", "outputs<"))] == [
        "mix<0: holds at 0.00",
        "outputs<-2: cannot tell",
    ]
    comment = cli("audit", runs["a"], runs["crashed"], *both, "--format", "markdown", cwd=repo.root).out
    assert comment.startswith("### evalstore audit\n")
    assert "❓ outputs" in comment
    assert "| no answer | +10.71 |" in comment


def test_a_condition_is_read_strictly() -> None:
    assert parse_condition(" own@old >= 50 ").bound == Fraction(1, 2)
    assert str(parse_condition("outputs.mean<-0.02")) == "outputs.mean<-2"
    for words in (
        "flips.mean>0",
        "mix.mean<0",
        "own.median<0",
        "own",
        "own<",
        "own<x",
        "owen<0",
        "own<-0.02 or",
        "outputs=0",
        "own<1e9",
    ):
        with pytest.raises(UsageError, match="is not a valid condition"):
            parse_condition(words)


def test_one_question_is_a_square_of_outputs_and_rulers(runs: dict[str, str], ask: Any, cli: Any, repo: Repo) -> None:
    code, found = ask(runs["worse"], runs["banned"], "--question", "q9")
    assert (code, found["outputs"], found["models"]) == (0, {"a": "foo", "b": "fine"}, {"a": "worse", "b": "banned"})
    cells = {(cell["output"], cell["under"]): cell for cell in found["cells"]}
    assert {key: (cell["score"], cell["recorded"]) for key, cell in cells.items()} == {
        ("a", "a"): (0.5, True), ("a", "b"): (0.5, False), ("b", "a"): (1, False), ("b", "b"): (0.5, True),
    }  # fmt: skip
    assert next(check["reason"] for check in cells["b", "b"]["checks"]) == "found 'fine'"
    text = cli("audit", runs["worse"], runs["banned"], "--question", "q9", cwd=repo.root).out
    assert "  B under A  100.00  none of the values found" in text
    assert text.splitlines()[-1].split(" | ") == [f"{'foo':<48}", "fine"]
    ran = cli("audit", runs["a"], runs["banned"], "--question", "q99", cwd=repo.root)
    assert (ran.code, "has no answer to the question q99" in ran.err) == (3, True)
    gate = ("audit", runs["worse"], runs["banned"], "--question")
    assert "hint: did you mean q9?" in cli(*gate, "Q9", cwd=repo.root).err
    assert "hint: its questions: q0, q1, q2, q3, q4 and 5 more" in cli(*gate, "nope", cwd=repo.root).err
    assert cli("audit", runs["a"], runs["banned"], "--question", "q9", "--fail-on", "own<0", cwd=repo.root).code == 2


def test_slices_by_tag_group_and_check(repo: Repo, answers: Callable[..., Path], ask: Any, cli: Any) -> None:
    repo.release("rubrics/tone", RUBRIC.format(version="1.0.0", more=""))
    repo.release("rubrics/tone", RUBRIC.format(version="2.0.0", more=", fine"))
    for version in ("1.0.0", "2.0.0"):
        questions = [
            {"id": f"q{n}", "input": f"x{n}", "group": f"g{n % 2}", "tags": ["easy"] * (n < 3) + ["odd"] * (n % 2)}
            for n in range(10)
        ]
        text = f"id: d\nversion: {version}\ndefaults: {{rubric_ref: rubric/tone@{version}}}\nquestions: {json.dumps(questions)}\n"
        repo.release("datasets/d", text)
    old, new = (
        {f"q{n}": "ok" for n in range(10)},
        {f"q{n}": "foo" if n == 1 else "fine" if n in {2, 3} else "ok" for n in range(10)},
    )
    a = str(repo.score("dataset/d@1.0.0", answers("a", **old), "a").path)
    b = str(repo.score("dataset/d@2.0.0", answers("b", **new), "b").path)
    _, found = ask(a, b, "--by", "tag")
    slices = {one["name"]: one for one in found["slices"]}
    # q0 q1 q2 are easy: q1 says what was always banned, q2 what only the new rubric bans.
    assert (slices["easy"]["questions"], slices["easy"]["change_exact"]) == (3, "-1/3")
    assert slices["easy"]["shares"] == {"rubric": pytest.approx(-1 / 12), "outputs": -0.25}
    assert (slices["odd"]["change"], slices["(none)"]["change"], slices["(none)"]["p"]) == (-0.2, 0, None)
    assert slices["odd"]["p_holm"] >= slices["odd"]["p"]
    _, found = ask(a, b, "--by", "group")
    groups = [(one["name"], one["questions"], one["change"]) for one in found["slices"]]
    assert groups == [("g0", 5, -0.1), ("g1", 5, -0.2)]
    assert sum(one["change"] * one["questions"] for one in found["slices"]) / 10 == pytest.approx(found["delta"])
    _, found = ask(a, b, "--by", "check")
    assert [(one["name"], one["change"]) for one in found["slices"]] == [("brief", 0), ("calm", -0.3)]
    by_check = cli("audit", a, b, "--by", "check", cwd=repo.root).out
    # Checks have no chance and no shares, and so no columns of them.
    assert (
        "slice  in A  in B  both  change\nbrief    10    10    10    0.00\ncalm     10    10    10  -30.00\n"
        in by_check
    )
    told = {form: cli("audit", a, b, "--by", "tag", "--format", form, cwd=repo.root).out for form in FORMS}
    row = ("easy", "3", "3", "3", "-33.33", "0.250", "0.500", "rubric -8.33, outputs -25.00")
    assert f"easy       3     3     3  -33.33  0.250     0.500  {row[-1]}" in told["text"].splitlines()
    assert f"| {' | '.join(row)} |" in told["markdown"]
    page = " ".join(re.sub(r"<[^>]*>", " ", told["html"]).split())
    assert f"p (Holm) of it (none) 3 3 3 0.00 {' '.join(row)} odd 5" in page
    assert json.loads(told["json"])["slices"][1]["name"] == "easy"
    both = cli("audit", a, b, "--by", "tag", "--question", "q1", cwd=repo.root)
    assert (both.code, "--by sums up all of them" in both.err) == (2, True)


def test_nothing_is_decided_where_judges_failed_too_often_or_factors_move_together(
    runs: dict[str, str], repo: Repo
) -> None:
    found = repo.audit(Path(runs["a"]), Path(runs["worse"]))
    own, rubric = parse_condition("own.mean<-0.02"), parse_condition("rubric<-0.02")
    failed = replace(found, lines=replace(found.lines, errors=("x",)))
    (result,) = decide_conditions(failed, [own])
    assert (result.answer, result.value) == (Answer.UNDECIDED, None)
    assert "judges graded 1 questions" not in result.reason
    assert decide_conditions(failed, [own], max_ungraded=Fraction(1, 10))[0].answer is Answer.FAILS
    joint = tuple(
        replace(one, members=(FactorName.RUBRIC, FactorName.OUTPUTS)) if one.members == (FactorName.OUTPUTS,) else one
        for one in found.factors
    )
    together = replace(found, factors=joint, own_as_zero=OwnShare(None, None, None), price=Price(calls=7))
    answers = decide_conditions(together, [own, rubric, parse_condition("dataset<-0.02")])
    assert [one.answer for one in answers] == [Answer.UNDECIDED, Answer.UNDECIDED, Answer.HOLDS]
    assert "7 judge calls would tell" in answers[0].reason
    assert find_worst_answer(answers) is Answer.UNDECIDED


def test_a_condition_that_is_none_is_a_wrong_command_line(runs: dict[str, str], cli: Any, repo: Repo) -> None:
    ran = cli("audit", runs["a"], runs["worse"], "--fail-on", "owen<0", "--format", "json", cwd=repo.root)
    assert (ran.code, json.loads(ran.out)["error"]["exit_code"]) == (2, 2)
    assert "'owen<0' is not a valid condition" in ran.err
    assert "own.mean, own.passes, own.typical" in " ".join(ran.err.split())


def test_a_condition_is_not_decided_by_what_no_judge_graded(desk: Desk, cli: Callable[..., Any]) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", 10)
    desk.server.text = lambda _: "no score"
    runs = [desk.score("1.0.0", [text] * 10, text).path for text in ("ok", "fine")]
    gate = ("audit", *runs, "--fail-on", "own<-40")
    ran = cli(*gate, "--format", "json", cwd=desk.repo.root)
    (found,) = json.loads(ran.out)["conditions"]
    assert (ran.code, found["answer"]) == (1, "cannot tell")
    assert found["reason"] == "checks failed on 10 of 10 questions, more than 2 %"
    assert cli(*gate, "--max-ungraded", "1", cwd=desk.repo.root).code == 0
