from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from evalstore.errors import EvalstoreError, LoadError, RefError, RefusedError
from evalstore.model import JudgeReply, Verdict
from evalstore.runs import CheckSummary, Run, read_rows, read_run
from evalstore.scoring.grading import ArtifactResolver
from evalstore.store import ArtifactStore
from tests.scoring.jobs import score

Scored = Callable[..., Run]
Write = Callable[..., Path]

NO_FACT = "1 output has no score: the question lists no fact (four)"


def test_a_run_says_what_came_out_and_what_measured_it(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@1.0.0", write())
    assert (run.score, run.pass_rate) == (Fraction(8, 9), Fraction(1))
    assert (run.questions, run.scored, run.unscored) == (4, 3, 1)
    assert run.checks == {
        "calm": CheckSummary(Fraction(1, 2), 2, 1, 0),
        "code/polite": CheckSummary(Fraction(1), 1, 0, 0),
        "fenced": CheckSummary(Fraction(1), 1, 0, 0),
        "short": CheckSummary(Fraction(1), 2, 0, 0),
        "sound": CheckSummary(None, 0, 0, 1),
        "tone/polite": CheckSummary(Fraction(1), 2, 0, 0),
    }
    assert [pinned.ref for pinned in run.rubrics] == ["rubric/code@1.0.0", "rubric/factual@1.0.0", "rubric/tone@1.0.0"]
    assert (run.name, run.model, run.id) == ("small", "model_a", "small/model_a/1789401600.000000")
    assert run.notes == (NO_FACT,)


def test_what_is_pinned_is_what_the_store_resolves(scored: Scored, write: Write, store: ArtifactStore) -> None:
    run = scored("dataset/small@1.0.0", write())
    for pinned in (run.dataset, *run.rubrics):
        assert pinned is not None
        found = store.resolve(pinned.ref)
        assert (pinned.digest, pinned.scoring_digest) == (found.digest, found.scoring_digest)
        assert (pinned.commit, pinned.tag, pinned.version) == (found.commit, found.tag, found.version)
    assert run.commit == run.rubrics[0].commit
    assert not run.unreleased


def test_the_rows_keep_the_order_of_the_outputs(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@1.0.0", write({"two": "x", "one": "y"}))
    assert [row.id for row in read_rows(run)] == ["two", "one"]


def test_a_row_says_how_it_was_graded(scored: Scored, write: Write) -> None:
    one, two, three, four = read_rows(scored("dataset/small@1.0.0", write()))
    assert (one.score, one.verdict, one.rubric) == (Fraction(2, 3), Verdict.PASS, "rubric/tone@1.0.0")
    assert [(check.id, check.score) for check in one.checks] == [("polite", 1), ("calm", 0), ("short", 1)]
    assert (one.reference, two.reference, three.reference) == (
        ("one",),
        ("two", "zwei"),
        ('{"lang":"php","size":1.5}',),
    )
    assert (one.group, three.group) == ("numbers", None)
    assert (four.score, four.verdict, four.reason) == (None, Verdict.UNSCORED, "no check was scored")
    assert len({row.input_digest for row in (one, two, three, four)}) == 4
    assert one.reference_digest != two.reference_digest


def test_the_numbers_of_a_question_do_not_depend_on_how_they_are_written(
    release: Callable[..., Path], scored: Scored, write: Write
) -> None:
    before = list(read_rows(scored("dataset/many@1.0.0", write({"a": "x", "b": "y"}))))
    release({"datasets/many.yaml": "id: many\nversion: 1.1.0\nrows: many.jsonl\n"}, "1.1.0")
    assert [row.input_digest for row in before] == [
        row.input_digest
        for row in read_rows(scored("dataset/many@git:HEAD", write({"a": "x", "b": "y"}), rubric="rubric/tone@1.0.0"))
    ]


def test_questions_in_a_file_of_rows_are_found_by_id(scored: Scored, write: Write) -> None:
    run = scored("dataset/many@1.0.0", write({"a": "thanks", "b": "!", "c": "stray"}))
    rows = list(read_rows(run))
    assert [(row.id, row.input, row.score) for row in rows] == [("a", "A?", 1), ("b", "B?", Fraction(1, 3))]
    assert rows[1].reference == ("1.1",)
    assert run.without_question == 1


def test_another_rubric_can_be_laid_over_all_questions(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@1.0.0", write(), rubric="rubric/code@1.0.0")
    assert [pinned.ref for pinned in run.rubrics] == ["rubric/code@1.0.0"]
    assert (run.scored, run.pass_rate) == (4, Fraction(1, 4))


def test_scoring_a_stored_run_again_gives_the_same_run_under_another_name(scored: Scored, write: Write) -> None:
    first = scored("dataset/small@1.0.0", write())
    second = scored("dataset/small@1.0.0", first.path)
    third = scored("dataset/small@1.0.0", second.samples)
    assert [run.path.name for run in (first, second, third)] == [
        f"small-1.0.0-model_a{suffix}.json" for suffix in ("", "-2", "-3")
    ]
    assert list(read_rows(first)) == list(read_rows(second)) == list(read_rows(third))
    assert (first.score, first.checks) == (third.score, third.checks)


def test_what_found_no_partner_is_counted_and_said(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@1.0.0", write({"one": "thanks", "x": "?", "y": "?"}))
    assert (run.without_output, run.without_question, run.questions) == (3, 2, 1)
    assert run.notes == (
        "questions of dataset/small without an output: 3 of 4",
        "outputs without a question in dataset/small: 2 (the first is 'x')",
    )


def test_nothing_scored_is_no_number(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@1.0.0", write({"four": "x"}))
    assert (run.score, run.pass_rate, run.scored, run.unscored) == (None, None, 0, 1)
    assert read_run(run.path) == run


def test_a_question_without_a_rubric_is_unscored(release: Callable[..., Path], scored: Scored, write: Write) -> None:
    release({"datasets/bare.yaml": "id: bare\nversion: 1.0.0\nquestions: [{id: one, input: Say one.}]\n"})
    run = scored("dataset/bare@git:HEAD", write({"one": "x"}))
    (row,) = read_rows(run)
    assert (row.verdict, row.reason, row.rubric, row.checks) == (
        Verdict.UNSCORED,
        "the question names no rubric",
        "",
        (),
    )


def test_the_working_tree_is_said_to_be_no_commit(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@worktree", write())
    assert run.dataset is not None
    assert (run.dataset.ref, run.dataset.commit, run.unreleased) == ("dataset/small@worktree", None, True)
    assert read_run(run.path).unreleased


def test_a_revision_is_recorded_as_its_commit(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@git:HEAD", write())
    assert run.dataset is not None
    assert run.dataset.ref == f"dataset/small@git:{run.commit}"


def test_a_run_without_any_score_says_so(scored: Scored, write: Write) -> None:
    run = scored("dataset/small@1.0.0", write(), rubric="rubric/factual@1.0.0")
    assert (run.score, run.scored) == (None, 0)
    assert run.notes == ("4 outputs have no score: the question lists no fact (one, two, three, four)",)


@pytest.mark.parametrize(("dataset", "found"), [("dataset/small", "1.0.0"), ("dataset/small@^1.0", "1.0.0")])
def test_a_floating_reference_is_noted_with_what_it_means_today(
    dataset: str, found: str, scored: Scored, write: Write
) -> None:
    run = scored(dataset, write())
    assert run.notes == (f"{dataset} floats: today it is dataset/small@{found}", NO_FACT)
    assert run.dataset is not None
    assert run.dataset.ref == f"dataset/small@{found}"


@pytest.mark.parametrize(
    ("settings", "answer"), [("unpinned: forbid\n", "floats"), ("strict: true\n", "floats"), ("unpinned: allow\n", "")]
)
def test_the_settings_say_what_floating_means(
    settings: str, answer: str, release: Callable[..., Path], store: ArtifactStore, write: Write, tmp_path: Path
) -> None:
    repo = release({"evalstore.yaml": settings})
    with ArtifactStore.open(repo) as strict:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        if answer:
            with pytest.raises(RefusedError, match=answer):
                score("dataset/small@latest", write(), store=strict, out=tmp_path / "runs", at=at)
        else:
            assert score("dataset/small@latest", write(), store=strict, out=tmp_path / "runs", at=at).notes == (
                NO_FACT,
            )


def test_a_partial_rubric_is_noted(
    release: Callable[..., Path], scored: Scored, write: Write, store: ArtifactStore
) -> None:
    text = (store.root or Path()).joinpath("rubrics/tone.yaml").read_text("utf-8")
    release({"rubrics/partial.yaml": text.replace("tone", "partial") + "x_unmapped: [{kind: telepathy}]\n"})
    store.forget()
    run = scored("dataset/small@1.0.0", write(), rubric="rubric/partial@git:HEAD")
    assert run.notes == (f"rubric/partial@git:{run.commit} is incomplete: it lacks 1 of its source's checks",)


def test_a_reference_is_resolved_once_however_many_questions_name_it(
    store: ArtifactStore, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    resolve = ArtifactStore.resolve
    monkeypatch.setattr(ArtifactStore, "resolve", lambda self, ref: asked.append(str(ref)) or resolve(self, ref))
    run = score("dataset/small@1.0.0", write(), store=store, out=tmp_path, at=datetime.now(UTC))
    assert {pinned.ref for pinned in run.rubrics} < set(asked)
    assert sorted(asked) == ["dataset/small@1.0.0", "rubric/code@1.0.0", "rubric/factual@1.0.0", "rubric/tone@1.0.0"]


def test_a_judge_or_a_dataset_grades_nothing_and_a_rubric_asks_nothing(scored: Scored, write: Write) -> None:
    with pytest.raises(RefusedError, match="is a dataset, not a rubric"):
        scored("dataset/small@1.0.0", write(), rubric="dataset/many@1.0.0")
    with pytest.raises(RefusedError, match="is a rubric, not a dataset"):
        scored("rubric/tone@1.0.0", write())


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("questions: one", "`questions` is not a list"),
        (
            "questions: [{id: one, input: x}, {id: one, input: y}]",
            r"^datasets/small.yaml:3: duplicate question id 'one' \(first on line 3\)$",
        ),
        ("questions: [{id: [one], input: x}]", "no output belongs to a question"),
    ],
)
def test_a_broken_dataset_is_one_sentence(
    broken: str, sentence: str, store: ArtifactStore, scored: Scored, write: Write, tmp_path: Path
) -> None:
    (store.root or Path()).joinpath("datasets/small.yaml").write_text(f"id: small\nversion: 1.0.0\n{broken}\n")
    with pytest.raises(EvalstoreError, match=sentence):
        scored("dataset/small@worktree", write())
    assert_nothing_in(tmp_path / "runs")


def test_a_question_twice_in_a_file_of_rows_is_refused(store: ArtifactStore, scored: Scored, write: Write) -> None:
    row = '{"id": "a", "input": "A?"}\n'
    (store.root or Path()).joinpath("datasets/many.jsonl").write_text(row + row)
    with pytest.raises(RefusedError, match=r"^datasets/many.jsonl:2: duplicate question id 'a'"):
        scored("dataset/many@worktree", write({"a": "x"}))


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("checks: []\nscoring: {}", r"^rubrics/tone\.yaml:3:9: `checks` is empty"),
        ("checks: [{kind: must_contain_any}]\nscoring: {combine: min}", "rubric/tone@worktree: check must_contain_any"),
        ("checks: [{kind: regex, pattern: 7}]\nscoring: {combine: sum}", "sum"),
    ],
)
def test_a_broken_rubric_is_one_sentence_that_names_it(
    broken: str, sentence: str, store: ArtifactStore, scored: Scored, write: Write, tmp_path: Path
) -> None:
    (store.root or Path()).joinpath("rubrics/tone.yaml").write_text(f"id: tone\nversion: 1.0.0\n{broken}\n")
    with pytest.raises(EvalstoreError, match=sentence):
        scored("dataset/small@1.0.0", write({"one": "x"}), rubric="rubric/tone@worktree")
    assert_nothing_in(tmp_path / "runs")


def test_a_rubric_that_is_not_there_leaves_nothing(scored: Scored, write: Write, tmp_path: Path) -> None:
    with pytest.raises(RefError, match="has no version 9"):
        scored("dataset/small@1.0.0", write(), rubric="rubric/tone@9.0.0")
    assert_nothing_in(tmp_path / "runs")


@pytest.mark.parametrize(
    ("lines", "place", "sentence"),
    [
        ([{"id": "one", "output": "x"}, {"id": "one", "output": "x"}], 2, r"duplicate \w+ 'one' \(first on line 1\)"),
        (
            [{"sample_id": "one", "output": {"raw": "x"}, "model_id": m} for m in "ab"],
            None,
            "contains outputs of 2 models, but a run can have only one",
        ),
        ([b""], None, "holds no output"),
        ([{"id": "nobody", "output": "x"}], None, "no output belongs to a question"),
    ],
)
def test_outputs_that_make_no_run_are_refused_and_leave_nothing(
    lines: list[object], place: int | None, sentence: str, scored: Scored, write: Write, tmp_path: Path
) -> None:
    with pytest.raises((LoadError, RefusedError), match=sentence) as raised:
        scored("dataset/small@1.0.0", write(lines))
    assert raised.value.place is not None
    assert raised.value.place.line == place
    assert_nothing_in(tmp_path / "runs")


def test_a_name_for_the_model_stands_above_the_outputs_own(scored: Scored, write: Write) -> None:
    rows = [
        {"sample_id": id_, "output": {"raw": "x"}, "model_id": model} for id_, model in (("one", "a"), ("two", "b"))
    ]
    run = scored("dataset/small@1.0.0", write(rows), model="org/both")
    assert (run.model, run.id, run.path.name) == (
        "org/both",
        "small/org_both/1789401600.000000",
        "small-1.0.0-org-both.json",
    )


def test_recorded_tool_calls_survive_a_run(scored: Scored, write: Write) -> None:
    calls = [{"name": "search", "args": {"n": 1, "deep": {"x": [1, 2]}, "q": "a"}}]
    lines = [{"id": "one", "output": "x", "tool_calls": calls}, {"id": "two", "output": "x", "tool_calls": []}]
    run = scored("dataset/small@1.0.0", write(lines))
    again = scored("dataset/small@1.0.0", run.path)
    assert [row.output.tool_calls for row in read_rows(again)] == [tuple(calls), ()]
    assert list(read_rows(again)) == list(read_rows(run))


def test_what_was_used_is_read_once(store: ArtifactStore) -> None:
    used = ArtifactResolver(store, ask=lambda _: JudgeReply())
    assert used.prepare_rubric("rubric/tone@1.0.0") is used.prepare_rubric("rubric/tone@1.0.0")
    assert used.load("rubric/tone@1.0.0") is used.resolve("rubric/tone@1.0.0").artifact


def assert_nothing_in(folder: Path) -> None:
    assert not folder.exists() or json.dumps([path.name for path in folder.iterdir()]) == "[]"
