"""What a change does to the outputs of a run: the same numbers as grading them twice, and nothing where replies lack."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import ChangeSide, measure_change
from evalstore.checks import evaluate
from evalstore.diff import RunMeasurement
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.report.diff_words import summarize_measurement
from evalstore.runs import Run, read_rows
from evalstore.scoring.judging import Endpoint, Judges
from evalstore.store import ArtifactStore
from tests.audits.conftest import AT, JUDGE, Repo
from tests.scoring.jobs import score

Answers = Callable[..., Path]
RUBRIC = """id: answer
version: {version}
checks:
  - {{id: brief, kind: format, format: text, max_chars: {most}}}
  - {{id: polite, kind: must_contain_any, values: [{words}]}}
scoring: {{combine: weighted_avg, threshold: 0.6}}
"""
COMPOSITE = """id: whole
version: 1.0.0
checks:
  - {kind: composite, rubric_ref: rubric/answer@1.0.0}
scoring: {combine: all_pass}
"""
DATASET = """id: small
version: {version}
defaults: {{rubric_ref: rubric/{rubric}@1.0.0}}
questions: [{{id: one, input: {input}}}, {{id: two, input: b}}, {{id: three, input: c, rubric_ref: rubric/{third}@1.0.0}}]
"""
OUTPUTS = {"one": "please, do", "two": "a long answer without any such word", "three": "thanks"}


def subject(store: ArtifactStore, ref: str) -> ChangeSide:
    questions = (lambda: store.questions(ref)) if ref.startswith("dataset") else tuple
    return ChangeSide(store.read_artifact(ref), store.read_artifact, questions)


def measured(repo: Repo, run: Run, old: str, new: str) -> RunMeasurement:
    with ArtifactStore.open(repo.root) as store:
        return measure_change(run.path, subject(store, old), subject(store, new), store)


def counts(found: RunMeasurement) -> tuple[int, ...]:
    return found.outputs, found.moved, found.verdict_moved, found.unscored


@pytest.fixture
def store(repo: Repo) -> Repo:
    repo.release("rubrics/answer", RUBRIC.format(version="1.0.0", most=20, words="please, thanks"))
    repo.release("rubrics/answer", RUBRIC.format(version="2.0.0", most=20, words="please"))
    repo.release("rubrics/answer", RUBRIC.format(version="3.0.0", most=99, words="please"))
    repo.release("rubrics/whole", COMPOSITE)
    repo.release("datasets/small", DATASET.format(version="1.0.0", rubric="answer", third="answer", input="a"))
    repo.release("datasets/small", DATASET.format(version="2.0.0", rubric="answer", third="whole", input="new"))
    return repo


@pytest.fixture
def run(store: Repo, answers: Answers) -> Run:
    return store.score("dataset/small@1.0.0", answers("a", **OUTPUTS))


def test_outputs_are_graded_under_both_versions(store: Repo, run: Run) -> None:
    found = measured(store, run, "rubric/answer@1.0.0", "rubric/answer@2.0.0")
    assert counts(found) == (3, 1, 1, 0)
    assert (found.mean_shift, found.bound) == (Fraction(-1, 6), None)
    (moved,) = found.examples
    assert (moved.id, moved.old_score, moved.new_score, str(moved.place)) == (
        "three",
        Fraction(1),
        Fraction(1, 2),
        f"{run.samples}:3",
    )


@pytest.mark.parametrize("new", ["2.0.0", "3.0.0"])
@pytest.mark.parametrize("old", ["1.0.0", "2.0.0"])
def test_the_numbers_are_those_of_grading_twice(store: Repo, run: Run, old: str, new: str) -> None:
    found = measured(store, run, f"rubric/answer@{old}", f"rubric/answer@{new}")
    with ArtifactStore.open(store.root) as opened:
        rubrics = [opened.read_artifact(f"rubric/answer@{version}") for version in (old, new)]
        pairs = [tuple(evaluate(rubric, row.output) for rubric in rubrics) for row in read_rows(run)]
    moved = [pair for pair in pairs if (pair[0].score, pair[0].verdict) != (pair[1].score, pair[1].verdict)]
    assert counts(found) == (3, len(moved), sum(a.verdict is not b.verdict for a, b in moved), 0)
    assert found.mean_shift == sum((b.score or 0) - (a.score or 0) for a, b in pairs) / Fraction(3)
    assert found.bound == (None if moved else Fraction(1))


def test_none_moved_is_a_bound_and_no_proof(store: Repo, answers: Answers) -> None:
    run = store.score("dataset/small@1.0.0", answers("b", one="please", two="please", three="no"))
    found = measured(store, run, "rubric/answer@1.0.0", "rubric/answer@2.0.0")
    assert (counts(found), found.mean_shift, found.bound) == ((3, 0, 0, 0), 0, Fraction(1))


def test_the_bound_is_three_over_n(repo: Repo, answers: Answers) -> None:
    ids = [f"q{number}" for number in range(40)]
    questions = "".join(f"  - {{id: {id_}, input: a}}\n" for id_ in ids)
    repo.release("rubrics/answer", RUBRIC.format(version="1.0.0", most=20, words="please"))
    repo.release("rubrics/answer", RUBRIC.format(version="1.1.0", most=21, words="please"))
    text = f"id: wide\nversion: 1.0.0\ndefaults: {{rubric_ref: rubric/answer@1.0.0}}\nquestions:\n{questions}"
    repo.release("datasets/wide", text)
    run = repo.score("dataset/wide@1.0.0", answers("c", **dict.fromkeys(ids, "please")))
    found = measured(repo, run, "rubric/answer@1.0.0", "rubric/answer@1.1.0")
    assert (found.outputs, found.bound) == (40, Fraction(3, 40))


def test_a_composite_is_reached_and_another_rubric_is_not(store: Repo, answers: Answers) -> None:
    run = store.score("dataset/small@2.0.0", answers("a", **OUTPUTS))
    found = measured(store, run, "rubric/answer@1.0.0", "rubric/answer@2.0.0")
    assert (found.outputs, [one.id for one in found.examples]) == (3, ["three"])
    store.release("rubrics/other", RUBRIC.format(version="1.0.0", most=1, words="x").replace("answer", "other"))
    store.release("rubrics/other", RUBRIC.format(version="2.0.0", most=9, words="x").replace("answer", "other"))
    nothing = measured(store, run, "rubric/other@1.0.0", "rubric/other@2.0.0")
    assert (counts(nothing), nothing.mean_shift, nothing.bound) == ((0, 0, 0, 0), None, None)


def test_questions_that_name_another_rubric_are_graded_by_it(store: Repo, run: Run) -> None:
    found = measured(store, run, "dataset/small@1.0.0", "dataset/small@2.0.0")
    # The first question is another one now, which its output does not answer.
    assert (counts(found), found.asked_otherwise) == ((3, 0, 0, 0), 1)
    words = "none of 2 outputs moves; too few to say more; 1 answers an input other than the new one"
    assert summarize_measurement(found) == f"{run.path}: {words}"


def test_the_mean_is_over_what_each_side_scores(repo: Repo, answers: Answers) -> None:
    for version, missing in (("1.0.0", "skip"), ("2.0.0", "zero")):
        check = f"checks: [{{kind: fact_match}}]\nscoring: {{combine: all_pass, missing: {missing}}}\n"
        repo.release("rubrics/facts", f"id: facts\nversion: {version}\n{check}")
    rows = "  - {id: one, input: a, expected_facts: [please]}\n  - {id: two, input: b}\n"
    defaults = "defaults: {rubric_ref: rubric/facts@1.0.0}"
    repo.release("datasets/small", f"id: small\nversion: 1.0.0\n{defaults}\nquestions:\n{rows}")
    run = repo.score("dataset/small@1.0.0", answers("a", one="please", two="no"))
    found = measured(repo, run, "rubric/facts@1.0.0", "rubric/facts@2.0.0")
    assert (counts(found), found.mean_shift) == ((2, 1, 1, 0), Fraction(-1, 2))


def test_a_run_that_cannot_be_graded_again_is_refused(store: Repo, run: Run, tmp_path: Path) -> None:
    with pytest.raises(EvalstoreError, match="cannot be read"):
        measured(store, replace(run, path=tmp_path / "none.json"), "rubric/answer@1.0.0", "rubric/answer@2.0.0")
    assert run.dataset
    run.path.write_text(run.path.read_text("utf-8").replace(run.dataset.digest, "0" * 64), "utf-8")
    with pytest.raises(RefusedError, match="the tag has changed since the run"):
        measured(store, run, "rubric/answer@2.0.0", "rubric/answer@3.0.0")


# Judges: kept replies, else what was recorded of the same judge, else unscored.

JUDGED = """id: judged
version: {version}
checks:
  - {{id: kind, kind: llm_judge, judge_prompt_ref: judge/tone@{pin}}}
  - {{id: brief, kind: format, format: text, max_chars: {most}}}
scoring: {{combine: weighted_avg}}
"""
ASKED = """id: small
version: 1.0.0
defaults: {rubric_ref: rubric/judged@1.0.0}
questions: [{id: one, input: a}, {id: two, input: b}]
"""


@pytest.fixture
def judged(repo: Repo, judge_server: Any, answers: Answers, tmp_path: Path) -> tuple[Repo, Run]:
    judge_server.text = lambda prompt: json.dumps({"score": (len(prompt) % 4) / 4})
    repo.release("judges/tone", JUDGE.format(version="1.0.0", words="How kind?"))
    repo.release("judges/tone", JUDGE.format(version="2.0.0", words="How kind is it really?"))
    repo.release("rubrics/judged", JUDGED.format(version="1.0.0", pin="1.0.0", most=40))
    repo.release("rubrics/judged", JUDGED.format(version="2.0.0", pin="1.0.0", most=4))
    repo.release("rubrics/judged", JUDGED.format(version="3.0.0", pin="2.0.0", most=4))
    repo.release("datasets/small", ASKED)
    outputs, judges = answers("j", one="thank you", two="no"), Judges(Endpoint(judge_server.url))
    with ArtifactStore.open(repo.root) as store:
        run = score("dataset/small@1.0.0", outputs, store=store, out=tmp_path / "runs", at=AT, judges=judges)
    judge_server.text = "nobody is asked again"
    return repo, run


@pytest.mark.parametrize("kept", [True, False])
def test_an_unchanged_judge_answers_as_kept_or_as_recorded(judged: tuple[Repo, Run], *, kept: bool) -> None:
    repo, run = judged
    if not kept:
        repo.forget()
    found = measured(repo, run, "rubric/judged@1.0.0", "rubric/judged@2.0.0")
    assert (counts(found), found.mean_shift) == ((2, 1, 0, 0), Fraction(-1, 4))


@pytest.mark.parametrize(
    ("old", "new"), [("judge/tone@1.0.0", "judge/tone@2.0.0"), ("rubric/judged@1.0.0", "rubric/judged@3.0.0")]
)
def test_a_judge_that_nobody_asked_leaves_outputs_unscored(judged: tuple[Repo, Run], old: str, new: str) -> None:
    found = measured(*judged, old, new)
    assert (counts(found), found.mean_shift, found.bound) == ((2, 0, 0, 2), None, None)


def test_what_was_recorded_of_one_judge_says_nothing_of_the_next(judged: tuple[Repo, Run]) -> None:
    judged[0].forget()
    assert counts(measured(*judged, "judge/tone@1.0.0", "judge/tone@2.0.0")) == (2, 0, 0, 2)


def test_a_judge_whose_prompt_is_the_same_moves_nothing(judged: tuple[Repo, Run]) -> None:
    repo, run = judged
    repo.release("judges/tone", JUDGE.format(version="1.0.1", words="How kind?") + "title: Kind\n")
    assert counts(measured(repo, run, "judge/tone@1.0.0", "judge/tone@1.0.1")) == (2, 0, 0, 0)


def document(cli: Any, repo: Repo, *words: str) -> Mapping[str, Any]:
    ran = cli("-C", repo.root, "diff", *words, "--format", "json")
    assert ran.code == 0, ran.err
    found: Mapping[str, Any] = json.loads(ran.out)
    return found


def test_it_informs_and_never_lowers_a_level(store: Repo, answers: Answers, cli: Any) -> None:
    run = store.score("dataset/small@1.0.0", answers("b", one="please", two="please", three="no"))
    plain, told = (
        document(cli, store, "rubric/answer@1.0.0", "rubric/answer@2.0.0", *words)
        for words in ((), ("--run", str(run.path), "--run", str(run.path)))
    )
    assert plain == {**told, "measured": []}
    assert (told["required_bump"], len(told["measured"])) == ("major", 2)
    assert told["measured"][0] == {
        "run": str(run.path),
        "outputs": 3,
        "moved": 0,
        "verdict_moved": 0,
        "asked_otherwise": 0,
        "unscored": 0,
        "mean_shift": 0.0,
        "bound": 1.0,
        "examples": [],
    }


def test_the_text_is_a_sentence_and_the_outputs_that_move(store: Repo, run: Run, cli: Any) -> None:
    ran = cli("diff", "rubric/answer@1.0.0", "rubric/answer@2.0.0", "--run", run.path, cwd=store.root)
    told = " ".join(ran.out.partition("the next version is 2.0.0\n\n")[2].split())
    assert told == (
        f"{run.path}: 1 of 3 outputs moves, 1 to another verdict; the mean score falls by 16.67 points "
        f"as in {run.samples}: three 100 → 50 pass → fail line 3"
    )


def test_a_working_file_is_measured_before_it_is_released(store: Repo, run: Run, cli: Any) -> None:
    store.write("rubrics/answer.yaml", RUBRIC.format(version="3.0.0", most=99, words="thanks"))
    (told,) = document(cli, store, "rubric/answer", "--run", str(run.path))["measured"]
    assert (told["outputs"], told["moved"]) == (3, 2)


def test_two_files_outside_of_any_store_have_no_run(run: Run, cli: Any, tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / f"{name}.yaml").write_text(RUBRIC.format(version="1.0.0", most=9, words=name))
    ran = cli("diff", "old.yaml", "new.yaml", "--run", run.path, cwd=tmp_path)
    assert (ran.code, "--run needs the store" in ran.err) == (2, True)


def test_a_judge_that_is_not_there_yet_leaves_outputs_unscored(judged: tuple[Repo, Run], cli: Any) -> None:
    repo, run = judged
    repo.write("rubrics/judged.yaml", JUDGED.format(version="4.0.0", pin="9.0.0", most=4))
    (told,) = document(cli, repo, "rubric/judged", "--run", str(run.path))["measured"]
    assert (told["outputs"], told["moved"], told["unscored"]) == (2, 0, 2)


def test_a_rubric_that_is_not_there_yet_leaves_outputs_unscored(store: Repo, run: Run, cli: Any) -> None:
    store.write("datasets/small.yaml", DATASET.format(version="3.0.0", rubric="answer", third="nowhere", input="a"))
    (told,) = document(cli, store, "dataset/small@1.0.0", "dataset/small@worktree", "--run", str(run.path))["measured"]
    assert (told["outputs"], told["moved"], told["unscored"]) == (3, 0, 1)
