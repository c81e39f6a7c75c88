"""What the noise of judges does to a change: as much as their weight in the rubric lets through."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.runs import Run
from evalstore.scoring.judging import Endpoint, Judges
from evalstore.store import ArtifactStore
from tests.audits.conftest import AT, JUDGE, Repo
from tests.scoring.jobs import score

RUBRIC = """id: answer
version: {version}
checks:
  - {{id: kind, kind: llm_judge, judge_prompt_ref: judge/tone@1.0.0, samples: {samples}}}
  - {{id: brief, kind: format, format: text, max_chars: 400}}
scoring: {{combine: weighted_avg, weights: {{kind: {weight}}}}}
"""
SIZE = 30
_Z = 1.959964


@pytest.fixture
def scored(repo: Repo, judge_server: Any, tmp_path: Path) -> Callable[..., Run]:
    judge_server.text = lambda prompt: json.dumps({"score": (len(prompt) % 5) / 4})
    repo.release("judges/tone", JUDGE.format(version="1.0.0", words="How kind?"))
    questions = "".join(f"  - {{id: q{number}, input: a}}\n" for number in range(SIZE))
    for version, weight, samples in (("1.0.0", 1, 1), ("2.0.0", 3, 4)):
        repo.release("rubrics/answer", RUBRIC.format(version=version, weight=weight, samples=samples))
        head = f"id: small\nversion: {version}\ndefaults: {{rubric_ref: rubric/answer@{version}}}\nquestions:\n"
        repo.release("datasets/small", head + questions)

    def run(version: str, word: str, same: int = 0) -> Run:
        path = tmp_path / f"{word}.jsonl"
        lines = [
            {"id": f"q{number}", "output": f"{'same' if number < same else word} {number}"} for number in range(SIZE)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        judges = Judges(Endpoint(judge_server.url))
        with ArtifactStore.open(repo.root) as opened:
            return score(f"dataset/small@{version}", path, store=opened, out=tmp_path / "runs", at=AT, judges=judges)

    return run


def measure(repo: Repo) -> None:
    """Write a measured noise into the working file, whose judge is still the released one."""
    path = repo.root / "judges/tone.yaml"
    path.write_text(path.read_text() + "validation: {noise_sd: 0.08, noise_flip_rate: 0.1}\n")


def reach(found: Audit) -> float:
    assert found.judge_noise
    return found.judge_noise.reach * 100


def test_half_the_weight_lets_half_the_noise_through(repo: Repo, scored: Callable[..., Run]) -> None:
    """E17."""
    a, b = scored("1.0.0", "short"), scored("1.0.0", "longer")
    measure(repo)
    found = repo.audit(a, b)
    assert round(reach(found), 4) == 2.0242
    assert found.judge_noise
    assert found.judge_noise.measured == {"judge/tone@1.0.0": 0.08}
    assert (
        "judges alone move this change by up to 2.02 (95 %): judge/tone@1.0.0 has a standard deviation of 8.0 points"
        in (found.notes)
    )


@pytest.mark.parametrize(
    ("combine", "expected"), [("weighted_avg", 2.0242 / 3), ("median", 2.0242), ("all_pass", None)]
)
def test_noise_reaches_a_score_through_a_composite(
    repo: Repo, scored: Callable[..., Run], combine: str, expected: float | None
) -> None:
    """The composite has half the weight, and the judge in it a third."""
    inner = RUBRIC.replace("id: answer", "id: inner").replace("weighted_avg, weights: {{kind: {weight}}}", combine)
    inner = inner.replace(
        "  - {{id: brief", "  - {{id: short, kind: format, format: text, max_chars: 300}}\n  - {{id: brief"
    )
    repo.release("rubrics/inner", inner.format(version="1.0.0", samples=1))
    outer = (
        "id: answer\nversion: 3.0.0\nchecks: [{id: c, kind: composite, rubric_ref: rubric/inner@1.0.0}, "
        "{id: brief, kind: format, format: text, max_chars: 400}]\nscoring: {combine: weighted_avg}\n"
    )
    repo.release("rubrics/answer", outer)
    questions = "".join(f"  - {{id: q{number}, input: a}}\n" for number in range(SIZE))
    head = "id: small\nversion: 3.0.0\ndefaults: {rubric_ref: rubric/answer@3.0.0}\nquestions:\n"
    repo.release("datasets/small", head + questions)
    a, b = scored("3.0.0", "short"), scored("3.0.0", "longer")
    measure(repo)
    found = repo.audit(a, b)
    if expected is None:
        assert found.judge_noise is None or found.judge_noise.reach == 0
    else:
        assert reach(found) == pytest.approx(expected, abs=1e-3)


def test_a_reply_that_both_runs_rest_on_is_no_noise(repo: Repo, scored: Callable[..., Run]) -> None:
    a, b = scored("1.0.0", "short", 10), scored("1.0.0", "longer", 10)
    measure(repo)
    assert reach(repo.audit(a, b)) == pytest.approx(_Z * 4 * sqrt(2 * 20) / SIZE, abs=1e-4)


def test_samples_of_a_judge_and_its_weight_in_each_rubric_count(repo: Repo, scored: Callable[..., Run]) -> None:
    a, b = scored("1.0.0", "short"), scored("2.0.0", "longer")
    measure(repo)
    # Half of .08 in A; three quarters of .08, of a mean of four judgements, in B.
    expected = _Z * sqrt(SIZE * (4.0**2 + 3.0**2)) / SIZE
    with ArtifactStore.open(repo.root):
        assert reach(repo.audit(a, b)) == pytest.approx(expected, abs=1e-4)


def test_without_a_measurement_nothing_is_said(repo: Repo, scored: Callable[..., Run]) -> None:
    found = repo.audit(scored("1.0.0", "short"), scored("1.0.0", "longer"))
    assert found.judge_noise is None
    # A measurement of another judge than the one that was pinned says nothing of it.
    measure(repo)
    path = repo.root / "judges/tone.yaml"
    path.write_text(path.read_text().replace("How kind?", "How very kind?"))
    assert repo.audit(scored("1.0.0", "short"), scored("1.0.0", "longer")).judge_noise is None
