"""Audits of questions with several samples: they count as one question, on both sides of every edit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from evalstore.audits import Audit
from evalstore.audits.questions import question_attribution
from evalstore.audits.questions.question_shares import share_question
from evalstore.audits.questions.share_patterns import SharePatterns
from evalstore.report import render
from evalstore.runs import Run
from evalstore.runs.run_view import RowChoice, view_run
from evalstore.store import ArtifactStore
from tests.audits.conftest import Repo

RUBRIC = """id: clean
version: {version}
checks:
  - {{id: ban, kind: must_not_contain, values: [{words}]}}
scoring: {{combine: all_pass}}
"""
DATASET = """id: small
version: {version}
defaults: {{rubric_ref: rubric/clean@{version}}}
questions: [{{id: q0, input: a}}, {{id: q1, input: b}}, {{id: q2, input: c}}, {{id: q3, input: d}}]
"""
Texts = Mapping[str, Sequence[str]]


@pytest.fixture
def store(repo: Repo) -> Repo:
    for version, words in (("1.0.0", "foo"), ("2.0.0", "foo, simply")):
        repo.release("rubrics/clean", RUBRIC.format(version=version, words=words))
        repo.release("datasets/small", DATASET.format(version=version))
    return repo


def score(store: Repo, tmp_path: Path, version: str, model: str, texts: Texts) -> Run:
    path = tmp_path / f"{model}.jsonl"
    # Sample by sample, as runners write them.
    rows = [
        {"id": id_, "sample": number, "output": samples[number]}
        for number in range(max(map(len, texts.values())))
        for id_, samples in texts.items()
        if number < len(samples)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return store.score(f"dataset/small@{version}", path, model)


def passes(*counts: int) -> Texts:
    """Three samples a question, of which so many pass."""
    return {
        f"q{number}": [f"ok {sample}" if sample < count else f"foo {sample}" for sample in range(3)]
        for number, count in enumerate(counts)
    }


def share(found: Audit, name: str) -> Any:
    return next(factor for factor in found.factors if factor.name == name)


def test_the_change_is_that_of_the_question_means(store: Repo, tmp_path: Path) -> None:
    """E12."""
    a = score(store, tmp_path, "1.0.0", "a", passes(3, 2, 1, 0))
    b = score(store, tmp_path, "1.0.0", "b", passes(2, 2, 2, 2))
    found = store.audit(a, b)
    assert (found.a.score, found.b.score, found.delta) == (Fraction(1, 2), Fraction(2, 3), Fraction(1, 6))
    assert (found.common, found.drift) == (4, ())
    outputs = share(found, "outputs")
    assert outputs.share == Fraction(1, 6)
    # Over four questions, not over twelve outputs, of which it would be 16.6667.
    assert round(outputs.standard_error * 100, 4) == 21.5166
    assert (outputs.moved, outputs.p) == (3, 0.5)
    assert outputs.claim.startswith("not resolvable")
    assert (found.flips.pass_to_fail, found.flips.fail_to_pass) == ((), ("q2", "q3"))


def test_a_rubric_and_samples_of_unlike_number_are_shared_out_as_by_hand(
    store: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also, questions whose answers are alike (q0 and q2) have the shares that each would have by itself."""
    old = {"q0": ["ok", "simply"], "q1": ["foo", "ok", "ok"], "q2": ["fine", "simply so"], "q3": ["ok"]}
    new = {"q0": ["simply", "simply", "foo"], "q1": ["ok"], "q2": ["simply", "simply so", "a foo"], "q3": ["ok"]}
    a, b = score(store, tmp_path, "1.0.0", "a", old), score(store, tmp_path, "2.0.0", "b", new)
    found = store.audit(a, b)

    def mean(texts: Texts, *words: str) -> Fraction:
        means = [
            Fraction(sum(not any(word in text for word in words) for text in one), len(one)) for one in texts.values()
        ]
        return sum(means, Fraction(0)) / len(means)

    cells = {
        (side, ruler): mean((old, new)[side], *("foo", "simply")[: 1 + ruler]) for side in (0, 1) for ruler in (0, 1)
    }
    assert found.delta == cells[1, 1] - cells[0, 0]
    rubric = (cells[0, 1] - cells[0, 0] + cells[1, 1] - cells[1, 0]) / 2
    assert (share(found, "rubric").share, share(found, "outputs").share) == (rubric, found.delta - rubric)
    assert found.drift == ()
    computed = Mock(wraps=share_question)
    monkeypatch.setattr(question_attribution, "share_question", computed)
    shared = store.audit(a, b, moved=4)
    assert computed.call_count == 3
    monkeypatch.setattr(SharePatterns, "_grade_to_end", lambda *_: None)
    assert store.audit(a, b, moved=4) == shared
    assert computed.call_count == 3 + 4


def test_the_flip_table_of_a_run_counts_questions(store: Repo, tmp_path: Path) -> None:
    from evalstore.audits.score_history import replay_run

    run = score(store, tmp_path, "1.0.0", "a", {"q0": ["ok", "simply"], "q1": ["foo", "ok"], "q2": ["simply"]})
    with ArtifactStore.open(store.root) as opened:
        found = replay_run(run.path, "rubric/clean@2.0.0", opened)
    # q0 falls from 1 to 1/2, q1 stays at 1/2, q2 falls from 1 to 0.
    assert (found.old.score, found.new.score) == (Fraction(5, 6), Fraction(1, 3))
    assert [(one.id, one.old.score, one.new.score) for one in found.moved] == [
        ("q0", 1, Fraction(1, 2)),
        ("q2", 1, 0),
    ]


def test_passes_of_a_run_are_shares_of_samples(store: Repo, tmp_path: Path) -> None:
    from evalstore.audits.score_history import build_history, replay_run

    run = score(store, tmp_path, "1.0.0", "a", {"q0": ["ok", "simply"], "q1": ["foo", "ok"], "q2": ["simply"]})
    assert run.pass_rate == Fraction(5, 6)
    with ArtifactStore.open(store.root) as opened:
        found = replay_run(run.path, "rubric/clean@2.0.0", opened)
        history = build_history("rubric/clean", [run.path], opened)
    assert (found.old.pass_rate, found.new.pass_rate) == (Fraction(5, 6), Fraction(1, 3))
    (scored,) = history.runs
    assert [cell.pass_rate for cell in scored.cells] == [Fraction(5, 6), Fraction(1, 3)]
    assert scored.recorded_totals.pass_rate == Fraction(5, 6)


def test_one_question_has_the_mean_of_its_samples_in_every_cell(store: Repo, tmp_path: Path) -> None:
    from evalstore.audits.question_view import list_checks, view_question

    old, new = {"q0": ["ok", "simply", "ok"]}, {"q0": ["simply", "foo"]}
    a, b = score(store, tmp_path, "1.0.0", "a", old), score(store, tmp_path, "2.0.0", "b", new)
    with ArtifactStore.open(store.root) as opened:
        found = view_question(a.path, b.path, "q0", opened)
    assert [(cell.output, cell.under, cell.score) for cell in found.cells] == [
        ("A", "A", 1), ("A", "B", Fraction(2, 3)), ("B", "A", Fraction(1, 2)), ("B", "B", 0),
    ]  # fmt: skip
    assert [str(cell.verdict) for cell in found.cells] == ["pass", "pass", "fail", "fail"]
    checks = dict(list_checks(found.cells))
    assert [*checks] == ["ban (sample 1)", "ban (sample 2)", "ban (sample 3)"]
    assert [result and result.score for result in checks["ban (sample 2)"]] == [1, 0, 0, 0]
    from evalstore.report import audit_question

    document = audit_question.document(found)
    assert document["outputs"]["b"] == "sample 1:\nsimply\n\nsample 2:\nfoo"


def test_one_sample_fewer_that_passes_is_no_flip(store: Repo, tmp_path: Path) -> None:
    """E18."""
    texts = {f"q{number}": ["ok"] * 10 for number in range(4)}
    a = score(store, tmp_path, "1.0.0", "a", texts)
    b = score(store, tmp_path, "1.0.0", "b", {id_: [*samples[:9], "foo"] for id_, samples in texts.items()})
    found = store.audit(a, b)
    assert (found.delta, found.passes_delta) == (Fraction(-1, 10), Fraction(-1, 10))
    assert (found.flips.pass_to_fail, found.flips.fail_to_pass, share(found, "outputs").flipped) == ((), (), 0)
    assert "over 4 questions, and the pass rate is 90.00 %." in render(view_run(b.path, RowChoice()), "text")
    most_fail = score(
        store, tmp_path, "1.0.0", "c", {id_: [*samples[:5], *["foo"] * 5] for id_, samples in texts.items()}
    )
    assert len(store.audit(a, most_fail).flips.pass_to_fail) == 4
