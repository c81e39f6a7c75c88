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
from evalstore.scoring import score
from evalstore.store import Store

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
def release(git: Callable[..., str], tmp_path: Path) -> Callable[..., Path]:
    """Commit files and tag every artifact among them at a version; return the repository."""
    repo = tmp_path / "repo"

    def run(files: Mapping[str, str], version: str = "1.0.0") -> Path:
        git("status")
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
def store(release: Callable[..., Path]) -> Iterator[Store]:
    with Store.open(release(FILES)) as opened:
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
def scored(store: Store, tmp_path: Path) -> Callable[..., Run]:
    """Score outputs in the store; a run lands in `tmp_path/runs`."""
    return partial(score, store=store, out=tmp_path / "runs", at=AT)
