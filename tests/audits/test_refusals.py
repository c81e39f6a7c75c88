"""What an audit refuses, and what it says instead of guessing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import EvalstoreError, RefusedError
from evalstore.report import render
from evalstore.runs import Run, read_rows, read_run
from evalstore.runs.eee_aggregate import format_aggregate
from evalstore.runs.run_view import RowChoice, view_run
from evalstore.runs.tally import RunTally
from evalstore.scoring.judging import Judges
from tests.audits.conftest import factor

TONE = """\
id: tone
version: 1.0.0
checks:
  - {id: calm, kind: must_not_contain, values: ["!"]}
  - {id: polite, kind: must_contain_any, values: [please]}
scoring: {combine: weighted_avg}
"""
JUDGED = """\
id: judged
version: 1.0.0
checks: [{id: sound, kind: llm_judge, judge_prompt_ref: judge/nobody@1.0.0}]
scoring: {combine: min, errors: ERRORS}
"""
NOBODY = 'id: nobody\nversion: 1.0.0\ntemplate: "{{ output }}"\n'  # names no model, so nobody is asked
SMALL = """\
id: small
version: 1.0.0
defaults: {rubric_ref: rubric/tone@1.0.0}
questions:
  - {id: one, input: Say one.}
  - {id: two, input: Say two.}
  - {id: three, input: Say three.}
"""
Answers = Callable[..., Path]


@pytest.fixture
def released(repo: Any) -> Any:
    repo.release("rubrics/tone", TONE)
    repo.release("datasets/small", SMALL)
    return repo


def edit_row(run: Run, id_: str, **details: Any) -> None:
    """Change what a row of a stored run says of itself, and its aggregate to agree with that."""
    rows = [json.loads(line) for line in run.samples.read_text().splitlines()]
    for row in rows:
        if row["sample_id"] == id_:
            row["metadata"] |= details
            said = row["metadata"]
            is_correct = said["evalstore_verdict"] == "pass"
            row["evaluation"] = {"score": float(Fraction(said["evalstore_score"])), "is_correct": is_correct}
    run.samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tally = RunTally()
    for number, row in enumerate(read_rows(run)):
        tally.add(row, number)
    run.path.write_text(json.dumps(format_aggregate(tally.fill_sums(run))))


def test_unlike_question_sets_are_compared_on_what_they_share(released: Any, answers: Answers) -> None:
    a = released.score("dataset/small@1.0.0", answers("a", one="please", two="hello!"))
    b = released.score("dataset/small@1.0.0", answers("b", three="please!", one="hello"), "n")
    found = released.audit(a, b)
    assert (found.common, found.delta) == (1, 0)
    assert (factor(found, "outputs").share, found.lines.no_answer.score) == (Fraction(-1, 2), Fraction(1, 2))
    assert (found.lines.silent_a, found.lines.silent_b) == (("three",), ("two",))
    assert found.sentence == (
        "The score did not move: 1 question without an answer in A and 1 question without an answer in B "
        "(counted as 0: +50.00) gave 50.00, and the outputs lost 50.00, which 1 question cannot tell from chance."
    )


def test_runs_that_share_no_question_are_refused(released: Any, answers: Answers) -> None:
    a = released.score("dataset/small@1.0.0", answers("a", one="please"))
    others = SMALL.replace("1.0.0", "2.0.0", 1).replace("{id: ", "{id: other_").replace("input: Say", "input: Tell")
    released.release("datasets/small", others)
    b = released.score("dataset/small@2.0.0", answers("b", other_two="please"), "n")
    with pytest.raises(RefusedError, match="no scored question in common") as caught:
        released.audit(a, b)
    assert caught.value.hint is not None
    assert "compare two runs of the same questions" in caught.value.hint


def test_a_question_that_one_run_left_unscored_is_no_zero(released: Any, answers: Answers) -> None:
    released.release("judges/nobody", NOBODY)
    released.release("rubrics/judged", JUDGED.replace("ERRORS", "skip"))
    later = SMALL.replace("1.0.0", "2.0.0", 1).replace("Say two.", "Say two., rubric_ref: rubric/judged@1.0.0")
    released.release("datasets/small", later)
    a = released.score("dataset/small@1.0.0", answers("a", one="please", two="hello!"))
    offline = Judges(offline=True)
    b = released.score("dataset/small@2.0.0", answers("b", one="hello", two="hello!"), "n", judges=offline)
    found = released.audit(a, b)
    assert (found.common, found.lines.errors) == (1, ("two",))
    shares = factor(found, "outputs").share, found.lines.judge_errors.score
    assert (found.delta, *shares) == (0, Fraction(-1, 2), Fraction(1, 2))
    assert [(one.run, one.check, one.questions) for one in found.lines.failed_checks] == [("B", "sound", 1)]


def test_a_mix_that_cannot_be_scored_is_a_joint_factor(released: Any, answers: Answers) -> None:
    php = "id: php\nversion: 1.0.0\nchecks: [{id: parses, kind: php_lint, on_no_code: unscored}]\n"
    released.release("rubrics/php", f"{php}scoring: {{combine: min}}\n")
    later = SMALL.replace("1.0.0", "2.0.0", 1).replace("Say two.", "Say two., rubric_ref: rubric/php@1.0.0")
    released.release("datasets/small", later)
    code = "```php\n<?php echo 1;\n```\n"
    a = released.score("dataset/small@1.0.0", answers("a", one="please", two="hello!"))
    b = released.score("dataset/small@2.0.0", answers("b", one="hello", two=code), "n")
    # Two moved from 0 to 1; but the new rubric has nothing to grade in the old output.
    found = released.audit(a, b)
    shares = {factor.name: factor.share for factor in found.factors if factor.share}
    assert (found.common, found.lines.total.score) == (2, 0)
    assert shares == {"outputs": Fraction(-1, 4), "rubric + outputs": Fraction(1, 2)}
    assert found.delta == Fraction(1, 4)
    assert found.own.shapley is None
    assert "rubric + outputs  +50.00" in render(found, "text")


def test_a_record_that_is_not_reproduced_is_refused_by_name(released: Any, answers: Answers) -> None:
    a = released.score("dataset/small@1.0.0", answers("a", one="please", two="hello"))
    b = released.score("dataset/small@1.0.0", answers("b", one="please!", two="please"), "n")
    checks = json.loads(json.loads(b.samples.read_text().splitlines()[0])["metadata"]["evalstore_checks"])
    checks[0] |= {"score": "1", "verdict": "pass"}
    edit_row(b, "one", evalstore_checks=json.dumps(checks), evalstore_score="1")
    forged = read_run(b.path)
    assert forged.score == 1
    with pytest.raises(RefusedError, match=r"1 recorded result is not reproduced: B one: calm was 1 \(pass\), is 0"):
        released.audit(a, forged)
    found = released.audit(a, forged, allow_drift=True)
    assert (found.delta, found.lines.not_reproduced.score) == (Fraction(1, 4), Fraction(1, 4))
    assert factor(found, "outputs").share == 0
    assert [(one.run, one.id) for one in found.drift] == [("B", "one")]
    assert "what could not be reproduced gave 25.00" in found.sentence
    assert "1 recorded result not reproduced:\n  B one: calm was 1 (pass), is 0 (fail)" in render(found, "text")


def test_the_command_answers_3_for_drift_and_0_when_it_is_allowed(
    released: Any, answers: Answers, cli: Callable[..., Any]
) -> None:
    a = released.score("dataset/small@1.0.0", answers("a", one="please"))
    b = released.score("dataset/small@1.0.0", answers("b", one="please!"), "n")
    edit_row(a, "one", evalstore_verdict="fail")
    ran = cli("audit", a.path, b.path, cwd=released.root)
    assert (ran.code, ran.out) == (3, "")
    assert "A one: the score was 1 (fail), is 1 (pass)" in ran.err
    assert "--allow-drift" in ran.err
    assert cli("audit", a.path, b.path, "--allow-drift", cwd=released.root).code == 0


def test_rows_of_another_run_are_refused_where_runs_are_compared_and_said_where_one_is_shown(
    released: Any, answers: Answers, cli: Callable[..., Any]
) -> None:
    a = released.score("dataset/small@1.0.0", answers("a", one="please", two="hello"))
    b = released.score("dataset/small@1.0.0", answers("b", one="please", two="please"), "n")
    b.samples.write_bytes(a.samples.read_bytes())
    problem = f"{b.path}: its score says 1, its rows give 3/4"
    with pytest.raises(RefusedError, match=re.escape(problem)):
        released.audit(a, b)
    ran = cli("comparable", a.path, b.path, cwd=released.root)
    assert ran.code == 3
    assert problem in " ".join(ran.err.split())
    shown = cli("show", b.path, "--format", "json", cwd=released.root)
    assert json.loads(shown.out)["notes"][-1].startswith(problem)
    page = cli("show", b.path, "--failed", "--format", "html", cwd=released.root)
    assert "its score says 1, its rows give 3/4" in page.out
    assert "its rows give" not in cli("show", a.path, cwd=released.root).out
    site = cli("site", "public", "--runs", b.path.parent, "--format", "json", cwd=released.root)
    assert [note.startswith(problem) for note in json.loads(site.out)["notes"]] == [True]
    assert "its rows give 3/4" in (released.root / "public/index.html").read_text("utf-8")


# By what an aggregate is made to say: how it is changed, and what is then said of it.
DOCTORED = {
    "pass_rate": ({"pass_rate": Fraction(9, 10)}, "its pass_rate says 9/10, its rows give 1/2"),
    "scored": ({"scored": 3}, "its scored says 3, its rows give 2"),
    "unscored": ({"unscored": 3}, "its unscored says 3, its rows give 0"),
    "outputs": ({"outputs": 7}, "its outputs says 7, its rows give 2"),
    "without_output": ({"without_output": 5}, "its without_output says 5, its rows give 1"),
    "no score": ({"score": None}, "its score says none, its rows give 3/4"),
    "no check": ({"checks": {}}, "its mean of calm says none, its rows give 1"),
    **{
        f"a check's {name}": ({"checks.calm": {name: value}}, f"its {name} of calm says {said}, its rows give {real}")
        for name, value, said, real in [
            ("mean", Fraction(1, 3), "1/3", "1"),
            ("mean", None, "none", "1"),
            ("scored", 3, "3", "2"),
            ("fail", 2, "2", "0"),
            ("unscored", 1, "1", "0"),
            ("errors", 1, "1", "0"),
            ("error_ids", ("one",), "one", "none"),
            ("partial", 1, "1", "0"),
            ("hollow", 1, "1", "0"),
            ("left_out", 1, "1", "0"),
        ]
    },
}


def test_no_number_of_an_aggregate_is_believed_against_its_rows(released: Any, answers: Answers) -> None:
    run = released.score("dataset/small@1.0.0", answers("a", one="please", two="hello"))
    for change, problem in DOCTORED.values():
        found = run
        for key, value in change.items():
            name, _, check = key.partition(".")
            of_checks = {**run.checks, check: replace(run.checks[check], **value)} if check else value
            found = replace(found, **{name: of_checks})
        run.path.write_text(json.dumps(format_aggregate(found)))
        assert problem in view_run(run.path, RowChoice()).run.notes[-1]
        with pytest.raises(RefusedError, match=re.escape(problem)):
            released.audit(run.path, run.path)
    run.path.write_text(json.dumps(format_aggregate(run)))
    assert view_run(run.path, RowChoice()).run.notes == run.notes


def test_samples_in_any_order_are_the_mean_of_their_questions(
    released: Any, answers: Answers, cli: Callable[..., Any]
) -> None:
    path = answers("s", one="please", two="hello")
    texts = [("one", 0, "please"), ("two", 0, "hello"), ("one", 1, "no!"), ("one", 2, "please"), ("two", 1, "please")]
    rows = ({"id": id_, "sample": sample, "output": text} for id_, sample, text in texts)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = released.score("dataset/small@1.0.0", path)
    assert run.outputs > run.questions
    assert "its rows give" not in cli("show", run.path, cwd=released.root).out


def test_a_moved_tag_is_said_and_the_recorded_content_found(released: Any, answers: Answers) -> None:
    a = released.score("dataset/small@1.0.0", answers("a", one="please", two="hello!"))
    old = a.rubrics[0].commit
    released.write("rubrics/tone.yaml", TONE.replace("please", "thanks"))
    released.git("commit", "-qam", "Edit a release")
    released.git("tag", "-fam", "x", "rubric/tone@1.0.0")
    b = released.score("dataset/small@1.0.0", answers("b", one="please", two="hello!"), "n")
    found = released.audit(a, b)
    (note,) = found.notes
    assert note.startswith("rubric/tone@1.0.0 has changed since the run; ")
    assert note.endswith(f"its content is that of rubric/tone@git:{old}")
    assert found.factors[0].share == Fraction(-1, 4)
    assert f"note: {note}" in " ".join(render(found, "text").split())


def test_content_that_is_nowhere_is_refused_with_what_is_missing(released: Any, answers: Answers) -> None:
    a = released.score("dataset/small@1.0.0", answers("a", one="please"))
    other = replace(a, rubrics=(replace(a.rubrics[0], digest="0" * 64),))
    with pytest.raises(RefusedError, match=r"rubric/tone@1\.0\.0: the tag has changed since the run .digest 0{12}"):
        released.audit(other, a)
    gone = replace(a, rubrics=(replace(a.rubrics[0], ref="rubric/tone@7.0.0", digest="0" * 64),))
    refusal = r"graded with rubric/tone@7\.0\.0, and rubric/tone has no version 7\.0\.0"
    with pytest.raises(RefusedError, match=refusal) as caught:
        released.audit(gone, a)
    # As for any reference: the versions there are, or how a clone without tags gets them.
    assert caught.value.hint == "released: 1.0.0, or score the outputs with a released version again"


def test_a_file_on_disk_is_found_by_its_digest_once_it_is_released(released: Any, answers: Answers) -> None:
    outputs = answers("a", one="please!", two="hello")
    b = released.score("dataset/small@1.0.0", outputs, "n")
    edited = TONE.replace("1.0.0", "2.0.0").replace('["!"]', '["!", hello]')
    released.write("rubrics/tone.yaml", edited)
    a = released.score("dataset/small@1.0.0", outputs, rubric="rubric/tone@worktree")
    on_disk = released.audit(b, a)
    assert on_disk.factors[0].causes[0].source.origin.commit is None
    commit = released.release("rubrics/tone", edited)
    found = released.audit(b, a)
    assert found.notes == ("rubric/tone@worktree was an unreleased file; its content is that of rubric/tone@2.0.0",)
    assert [(cause.source.rule, cause.source.origin.commit) for cause in found.factors[0].causes] == [
        ("ban-phrase-added", commit)
    ]
    released.write("rubrics/tone.yaml", TONE)
    released.git("tag", "-d", "rubric/tone@2.0.0")
    # A commit still holds it, and one that is gone from every branch holds it no more.
    in_commit = released.audit(b, a)
    assert in_commit.notes[0].endswith(f"was an unreleased file; its content is that of rubric/tone@git:{commit}")
    assert in_commit.factors[0].causes[0].source.origin.commit == commit
    released.git("reset", "-q", "--hard", "HEAD~1")
    with pytest.raises(
        RefusedError, match="no release, commit or file has rubric/tone@worktree with the content that the run"
    ):
        released.audit(b, a)


def test_an_untagged_commit_is_named_with_its_author(released: Any, answers: Answers) -> None:
    outputs = answers("a", one="please", two="hello")
    a = released.score("dataset/small@1.0.0", outputs)
    released.write("rubrics/tone.yaml", TONE.replace('["!"]', '["!", hello]'))
    released.git("commit", "-qam", "Not released yet", author="Ines")
    commit = released.git("rev-parse", "HEAD")
    b = released.score("dataset/small@1.0.0", outputs, "n", rubric="rubric/tone@git:HEAD")
    origin = released.audit(a, b).factors[0].causes[0].source.origin
    assert (origin.old, origin.new) == ("1.0.0", f"git:{commit}")
    assert (origin.commit, origin.author) == (commit, "Ines")


def test_a_run_that_cannot_be_read_is_refused(released: Any, answers: Answers, tmp_path: Path) -> None:
    run = released.score("dataset/small@1.0.0", answers("a", one="please"))
    with pytest.raises(EvalstoreError):
        released.audit(tmp_path / "none.json", run)
    run.samples.unlink()
    with pytest.raises(EvalstoreError, match="the rows of this run are not next to it"):
        released.audit(run, run)


def test_results_of_another_tool_are_named_where_rubrics_are_needed(released: Any, cli: Any) -> None:
    path = released.root / "r.jsonl"
    path.write_text('{"vars": {"id": "one"}, "provider": "m", "response": {"output": "x"}, "success": true}\n')
    for argv in (("comparable", path, path), ("history", "rubric/tone", "--run", path)):
        ran = cli("-C", released.root, *argv)
        assert ran.code == 3
        assert "r.jsonl: holds results of promptfoo, and names no rubrics of a store" in " ".join(ran.err.split())
        assert f"hint: evalstore show {path}" in " ".join(ran.err.split())


def test_a_question_with_two_answers_is_refused(released: Any, answers: Answers) -> None:
    run = released.score("dataset/small@1.0.0", answers("a", one="please"))
    run.samples.write_text(run.samples.read_text() * 2)
    with pytest.raises(RefusedError, match="contains the question one twice"):
        released.audit(run, run)


def test_a_score_without_a_ruler_is_refused(released: Any, answers: Answers) -> None:
    run = released.score("dataset/small@1.0.0", answers("a", one="please"))
    edit_row(run, "one", evalstore_rubric="")
    with pytest.raises(RefusedError, match="does not say what the rubric was that graded one"):
        released.audit(run, run)


def test_wrong_arguments_are_usage_errors(cli: Callable[..., Any], tmp_path: Path) -> None:
    assert cli("audit").code == 2
    alone = cli("audit", "only-one.json", cwd=tmp_path)
    assert (alone.code, alone.err) == (3, "error: only-one.json: cannot be read: no such file or directory\n")
    (tmp_path / "a.jsonl").write_text('{"id": "a", "output": "x"}\n')
    outside = cli("audit", "a.jsonl", "a.jsonl", cwd=tmp_path)
    assert (outside.code, outside.out) == (3, "")
    assert "name the store of the rubrics with -C" in outside.err
    help_ = cli("audit", "--help")
    assert help_.code == 0
    assert "Examples:" in help_.out


def test_control_characters_of_a_stranger_do_not_reach_the_terminal(released: Any, answers: Answers) -> None:
    a = released.score("dataset/small@1.0.0", answers("a", one="please"))
    b = replace(released.score("dataset/small@1.0.0", answers("b", one="!"), "n"), model="evil\x1b[2J\u202e")
    assert "\x1b" not in render(released.audit(a, b), "text")
    assert "\u202e" not in render(released.audit(a, b), "text")
