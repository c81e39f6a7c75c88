"""A small store on real git, with rubrics whose scores are easy to say by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalstore.runs import Run
from evalstore.store import ArtifactStore
from tests.scoring.jobs import score

FILES = {
    "rubrics/tone.yaml": """\
id: tone
version: 1.0.0
checks:
  - {id: polite, kind: must_contain_any, values: [please, thanks]}
  - {id: calm, kind: must_not_contain, values: ["!"]}
  - {id: short, kind: must_not_contain, values: [moreover]}
scoring: {combine: weighted_avg, threshold: 0.5}
""",
    "rubrics/code.yaml": """\
id: code
version: 1.0.0
checks:
  - {id: polite, kind: must_contain_any, values: ["please"]}
  - {id: fenced, kind: markdown_structure, min_code_blocks: 1}
scoring: {combine: all_pass}
""",
    "rubrics/factual.yaml": """\
id: factual
version: 1.0.0
checks:
  - {id: sound, kind: fact_match}
scoring: {combine: min}
""",
    "datasets/small.yaml": """\
id: small
version: 1.0.0
defaults: {rubric_ref: rubric/tone@1.0.0}
questions:
  - {id: one, input: Say one., expected: one, group: numbers}
  - {id: two, input: Say two., expected: [two, zwei], group: numbers}
  - {id: three, input: Write code., rubric_ref: rubric/code@1.0.0, expected: {lang: php, size: 1.50}}
  - {id: four, input: State it., rubric_ref: rubric/factual@1.0.0}
""",
    "datasets/many.yaml": """\
id: many
version: 1.0.0
defaults: {rubric_ref: rubric/tone@1.0.0}
rows: many.jsonl
""",
    "datasets/many.jsonl": '{"id": "b", "input": "B?", "expected": 1.10}\n{"id": "a", "input": "A?"}\n',
}
OUTPUTS = {"one": "please!", "two": "thanks", "three": "please\n```php\n1;\n```\n", "four": "anything"}
AT = datetime(2026, 9, 14, 16, 0, tzinfo=UTC)


@pytest.fixture
def release(git: Callable[..., str], template: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Commit files and tag every artifact among them at a version; return the repository."""
    repo = tmp_path / "repo"

    def run(files: Mapping[str, str], version: str = "1.0.0") -> Path:
        if repo.exists():
            return commit(files, version)
        return template(json.dumps([files, version]), lambda: commit(files, version)) and repo

    def commit(files: Mapping[str, str], version: str) -> Path:
        git()
        for name, text in files.items():
            (repo / name).parent.mkdir(exist_ok=True)
            (repo / name).write_text(text, encoding="utf-8")
        git("add", "--all")
        git("commit", "-qm", "Release")
        for name in files:
            folder, _, file = name.partition("/")
            if file.endswith(".yaml"):
                git("tag", "-a", "-m", "Release", f"{folder[:-1]}/{file[:-5]}@{version}")
        return repo

    return run


@pytest.fixture
def store(release: Callable[..., Path]) -> Iterator[ArtifactStore]:
    with ArtifactStore.open(release(FILES)) as opened:
        yield opened


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write outputs, a mapping from id to text or lines as they are, into a file and return its path."""

    def run(outputs: Mapping[str, str] | Iterable[Any] = OUTPUTS, name: str = "model_a.jsonl") -> Path:
        rows = [{"id": id_, "output": text} for id_, text in outputs.items()] if isinstance(outputs, dict) else outputs
        lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        (tmp_path / name).write_bytes(b"\n".join(lines) + b"\n")
        return tmp_path / name

    return run


@pytest.fixture
def scored(store: ArtifactStore, tmp_path: Path) -> Callable[..., Run]:
    """Score outputs in the store; a run lands in `tmp_path/runs`."""
    return partial(score, store=store, out=tmp_path / "runs", at=AT)


JUDGED = {
    # Who validated these judges is no matter here.
    "evalstore.yaml": "rules: {judge-unvalidated: off}\n",
    "judges/accuracy.yaml": """\
id: accuracy
version: 1.0.0
template: |
  Is it right? {{ input }}
  {{ output }}
scale: {min: 0, max: 5}
""",
    "judges/own.yaml": """\
id: own
version: 1.0.0
template: "Is it kind? {{ output }}"
model: {id: judges-own, temperature: 0.50}
""",
    "judges/fact.yaml": """\
id: fact
version: 1.0.0
template: "Does it say {{ fact }}? {{ output }}"
variables: [fact]
score_type: binary
""",
    "rubrics/sound.yaml": """\
id: sound
version: 1.0.0
checks:
  - {id: sound, kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0, threshold: 0.7}
  - {id: polite, kind: must_contain_any, values: [please]}
scoring: {combine: weighted_avg, weights: {sound: 3}}
""",
    "rubrics/whole.yaml": """\
id: whole
version: 1.0.0
checks:
  - id: jury
    kind: llm_judge
    samples: 2
    jury:
      aggregate: mean
      members: [{judge_prompt_ref: judge/accuracy@1.0.0, weight: 3}, {judge_prompt_ref: judge/own@1.0.0}]
  - {id: facts, kind: fact_match, judge_prompt_ref: judge/fact@1.0.0}
  - {id: inner, kind: composite, rubric_ref: rubric/sound@1.0.0}
scoring: {combine: weighted_avg}
""",
    "datasets/three.yaml": """\
id: three
version: 1.0.0
defaults: {rubric_ref: rubric/sound@1.0.0}
questions:
  - {id: one, input: Say one., expected_facts: [one, two]}
  - {id: two, input: Say two., expected_facts: [three]}
  - {id: three, input: Say three., rubric_ref: rubric/whole@1.0.0, expected_facts: [one, two]}
""",
}


@pytest.fixture
def judged(release: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose rubrics ask judges; the run's model is `small`."""
    monkeypatch.setenv("EVALSTORE_JUDGE_MODEL", "small")
    return release(JUDGED)


@pytest.fixture
def many(judged: Path) -> Callable[..., Path]:
    """Make a dataset of so many judged questions, `dataset/many@worktree`, and return outputs for it."""

    def run(count: int, length: int = 0) -> Path:
        (judged / "datasets/many.yaml").write_text(FILES["datasets/many.yaml"].replace("tone", "sound"))
        with (judged / "datasets/many.jsonl").open("w") as rows, (judged.parent / "many.jsonl").open("w") as outputs:
            for number in range(count):
                rows.write(json.dumps({"id": f"q{number}", "input": f"Say {number}."}) + "\n")
                outputs.write(json.dumps({"id": f"q{number}", "output": f"please {number}{'.' * length}"}) + "\n")
        return judged.parent / "many.jsonl"

    return run
