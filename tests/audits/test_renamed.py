"""Runs under an artifact's old and new id are paired: who brought what is told across the rename."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.scoring.judging import Endpoint, Judges
from tests.audits.conftest import JUDGE, factor
from tests.audits.test_edit_history import questions, tone
from tests.audits.test_judges import DATASET, RUBRIC

Answers = Callable[..., Path]


def rename(text: str, old: str, new: str) -> str:
    return text.replace(f"id: {old}\n", f"id: {new}\nrenamed_from: {old}\n", 1)


@pytest.fixture
def steps(repo: Any) -> tuple[str, str]:
    """Ines edits rubric/tone, and Paul edits it, under the name rubric/manner; dataset/small becomes dataset/tiny."""
    repo.release("rubrics/tone", tone("1.0.0", "!"))
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    first = repo.release("rubrics/tone", tone("2.0.0", "!", "well"), author="Ines")
    repo.git("rm", "-q", "rubrics/tone.yaml")
    second = repo.release("rubrics/manner", rename(tone("3.0.0", "!", "well", "so"), "tone", "manner"), author="Paul")
    repo.git("rm", "-q", "datasets/small.yaml")
    repo.release("datasets/tiny", rename(questions("2.0.0", "manner@3.0.0"), "small", "tiny"))
    return first, second


def list_causes(found: Any) -> list[tuple[Any, ...]]:
    return [
        (one.source.rule, one.source.part, one.source.origin.commit, one.source.origin.author, one.share)
        for one in factor(found, "rubric").causes
        if one.share
    ]


def test_each_edit_has_its_author_across_the_rename(repo: Any, answers: Answers, steps: tuple[str, str]) -> None:
    outputs = answers("a", one="well, please", two="so, please")
    runs = repo.score("dataset/small@1.0.0", outputs), repo.score("dataset/tiny@2.0.0", outputs)
    found = repo.audit(*runs)
    assert list_causes(found) == [
        ("ban-phrase-added", "calm: 'so'", steps[1], "Paul", Fraction(-1, 4)),
        ("ban-phrase-added", "calm: 'well'", steps[0], "Ines", Fraction(-1, 4)),
    ]
    assert found.sentence == "The score fell by 50.00 points: the rubric took 50.00 (edits by Paul and Ines)."
    back = repo.audit(*reversed(runs))
    assert {(part, author, share) for _, part, _, author, share in list_causes(back)} == {
        ("calm: 'so'", "Paul", Fraction(1, 4)),
        ("calm: 'well'", "Ines", Fraction(1, 4)),
    }


def test_a_rename_alone_moves_nothing(repo: Any, answers: Answers) -> None:
    repo.release("rubrics/tone", tone("1.0.0", "!"))
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    repo.git("rm", "-q", "rubrics/tone.yaml")
    repo.release("rubrics/manner", rename(tone("1.0.1", "!"), "tone", "manner"))
    repo.release("datasets/small", questions("1.0.1", "manner@1.0.1"))
    outputs = answers("a", one="well, please", two="so, please")
    found = repo.audit(repo.score("dataset/small@1.0.0", outputs), repo.score("dataset/small@1.0.1", outputs))
    assert [(one.source.rule, one.share) for one in factor(found, "rubric").causes] == [("rubric-id-changed", 0)]
    assert found.sentence.startswith("The score did not move")


def test_a_judge_that_was_renamed_is_the_factor_that_it_was(
    repo: Any, answers: Answers, judge_server: Any, tmp_path: Path
) -> None:
    judge_server.text = lambda prompt: json.dumps({"score": (len(prompt) % 4) / 4})
    repo.release("judges/tone", JUDGE.format(version="1.0.0", words="How kind?"))
    repo.release("rubrics/answer", RUBRIC.format(version="1.0.0", pin="1.0.0", most=40))
    repo.release("datasets/small", DATASET.format(version="1.0.0"))
    repo.release("judges/tone", JUDGE.format(version="2.0.0", words="How kind is it?"), author="Ines")
    repo.git("rm", "-q", "judges/tone.yaml")
    text = rename(JUDGE.format(version="3.0.0", words="How kind is it really?"), "tone", "warmth")
    repo.release("judges/warmth", text, author="Jonas Brandt")
    repinned = RUBRIC.replace("judge/tone", "judge/warmth")
    repo.release("rubrics/answer", repinned.format(version="2.0.0", pin="3.0.0", most=40))
    repo.release("datasets/small", DATASET.format(version="2.0.0"))
    outputs, judges = answers("a", one="thank you", two="no"), Judges(Endpoint(judge_server.url))
    runs = [repo.score(f"dataset/small@{version}", outputs, judges=judges) for version in ("1.0.0", "2.0.0")]
    found = repo.audit(*runs, judges=judges)
    judge = factor(found, "judge")
    assert judge.share == found.delta != 0
    steps = [(one.source.rule, one.source.origin.new, one.source.origin.author) for one in judge.causes]
    assert sorted(steps) == [("judge-released", "2.0.0", "Ines"), ("judge-released", "3.0.0", "Jonas Brandt")]
