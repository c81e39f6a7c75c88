"""A store in a real repository in which a judge reaches questions by several ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalstore.release.history.impact import Impact, find_impact
from evalstore.store import ArtifactStore


@dataclass(frozen=True)
class World:
    top: Path
    git: Callable[..., str]

    def write(self, path: str, text: str) -> None:
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def judge(self, version: str = "1.0.0", tail: str = "") -> None:
        self.write(
            "judges/accuracy.yaml",
            f'id: accuracy\nversion: {version}\ntemplate: "Right? {{{{ output }}}}"\nscore_type: binary\n{tail}',
        )

    def rubric(self, id_: str, *refs: str, version: str = "1.0.0") -> None:
        keys = {"judge": "llm_judge, judge_prompt_ref", "rubric": "composite, rubric_ref"}
        checks = "".join(f"  - {{kind: {keys[ref.partition('/')[0]]}: '{ref}'}}\n" for ref in refs)
        checks = checks or "  - {kind: must_not_contain, values: [simply]}\n"
        self.write(
            f"rubrics/{id_}.yaml", f"id: {id_}\nversion: {version}\nchecks:\n{checks}scoring: {{combine: all_pass}}\n"
        )

    def release(self, *names: str) -> None:
        """Commit everything, and tag each `<kind>/<id>@<version>`."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Release")
        for name in names:
            self.git("tag", "-a", "-m", "by hand", name)

    def impact(self, ref: str) -> Impact:
        with ArtifactStore.open(self.top) as store:
            return find_impact(store, ref)


@pytest.fixture
def world(git: Callable[..., str], tmp_path: Path) -> World:
    git()
    world = World(tmp_path / "repo", git)
    world.judge()
    world.rubric("tone")
    world.rubric("exact", "judge/accuracy@1.0.0", "judge/accuracy@1.0.0")
    world.rubric("range", "judge/accuracy@^1")
    world.rubric("loose", "judge/accuracy")
    world.rubric("whole", "rubric/exact@1.0.0")
    world.write(
        "datasets/web.yaml",
        "id: web\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/whole@1.0.0}\nquestions:\n"
        "  - {id: a, input: '?'}\n  - {id: b, input: '?'}\n"
        "  - {id: c, input: '?', rubric_ref: rubric/tone@1.0.0}\n"
        '  - {id: d, input: "?", rubric_ref: "\\x72ubric\\/range@1.0.0"}\n',
    )
    world.write("datasets/big.yaml", "id: big\nversion: 1.0.0\nrows: big.jsonl\n")
    world.write(
        "datasets/big.jsonl",
        '{"id": "a", "input": "?", "rubric_ref": "rubric\\/exact@1.0.0"}\n{"id": "b", "input": "?"}\n',
    )
    rubrics = (f"rubric/{id_}@1.0.0" for id_ in ("tone", "exact", "range", "loose", "whole"))
    world.release("judge/accuracy@1.0.0", "dataset/web@1.0.0", "dataset/big@1.0.0", *rubrics)
    return world
