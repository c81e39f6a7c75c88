"""Suites and their store are edited at random on both sides; whatever the order, a migration loses nothing."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evalstore.migration import FileState, MigrationReport, migrate
from tests.rows import thin

LOAD = YAML(typ="safe").load
WORDS = ["cache", "node", "form", "entity", "hook", "route", "block", "field"]
Case = dict[str, Any]


@dataclass
class Suite:
    format: str
    folder: str
    name: str
    cases: dict[int, Case]
    next_id: int = 10


def write_best_practices(suite: Suite) -> dict[str, str]:
    cases = [
        {"id": id_, "prompt": case["prompt"], "must_contain_any": case["words"]} for id_, case in list_cases(suite)
    ]
    return {"evals.json": json.dumps({"skill_name": suite.name, "evals": cases}, indent=1)}


def write_agentv(suite: Suite) -> dict[str, str]:
    tests = [
        {"id": f"t-{id_}", "input": case["prompt"], "assert": [{"type": "contains-any", "value": case["words"]}]}
        for id_, case in list_cases(suite)
    ]
    root = {"name": suite.name, "execution": {"target": "default"}, "tests": tests}
    return {"suite.eval.yaml": json.dumps(root, indent=1)}


def write_ai_eval(suite: Suite) -> dict[str, str]:
    rows, files = [], {}
    for id_, case in list_cases(suite):
        name = f"{suite.name}_{id_}"
        rows.append({"id": f"q{id_}", "bundle": "b", "input": case["prompt"], "rubric_ref": f"rubric/{name}@1.0"})
        check = {"id": "one", "kind": "must_contain_any", "case_sensitive": False, "values": case["words"]}
        scoring = {"combine": "weighted_avg", "weights": {"one": 1.0}, "threshold": 0.6}
        rubric = {"id": name, "version": "1.0", "applicable_bundles": ["b"], "checks": [check], "scoring": scoring}
        files[f"rubrics/{id_}.yaml"] = json.dumps(rubric, indent=1)
    return {"dataset.yaml": json.dumps({"questions": rows}, indent=1), **files}


def write_legal(suite: Suite) -> dict[str, str]:
    fixed = {"schema_version": "legal_eval_v1", "dataset": suite.name, "task_type": "rubric_qa"}
    rows = [
        {
            **fixed,
            "id": f"r{id_}",
            "prompt": case["prompt"],
            "rubric": [{"id": w, "title": w, "description": w, "weight": 1} for w in case["words"]],
        }
        for id_, case in list_cases(suite)
    ]
    return {"rows.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows)}


def list_cases(suite: Suite) -> list[tuple[int, Case]]:
    return list(suite.cases.items())


FORMATS: dict[str, Callable[[Suite], dict[str, str]]] = {
    "ai_best_practices": write_best_practices,
    "agentevals": write_agentv,
    "ai_eval": write_ai_eval,
    "legal_eval_v1": write_legal,
}


@dataclass
class World:
    """Suites below `legacy/` and the store beside them; `mine` are marks that somebody left in files of the store."""

    root: Path
    random: random.Random
    suites: list[Suite] = field(default_factory=list)
    mine: dict[str, str] = field(default_factory=dict)
    theirs: set[str] = field(default_factory=set)

    def draw_mark(self) -> str:
        return f"mark{self.random.randrange(10**9)}"

    def draw_case(self) -> Case:
        return {
            "prompt": f"Where is {self.draw_mark()}?",
            "words": self.random.sample(WORDS, self.random.randint(1, 3)),
        }

    def add_suite(self) -> None:
        folder = f"{self.random.choice('amz')}/{self.random.choice(WORDS)}{len(self.suites)}"
        name = self.random.choice([Path(folder).name, "same"])
        cases = {id_: self.draw_case() for id_ in range(1, self.random.randint(2, 5))}
        self.suites.append(Suite(self.random.choice(sorted(FORMATS)), folder, name, cases))

    def render(self) -> None:
        shutil.rmtree(self.root / "legacy", ignore_errors=True)
        for suite in self.suites:
            for name, text in FORMATS[suite.format](suite).items():
                path = self.root / "legacy" / suite.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")

    def read_store(self) -> dict[str, bytes]:
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in self.root.glob("[rdj]*s/*.yaml")}

    def migrate(self, **options: Any) -> MigrationReport:
        return migrate(Path("legacy"), into=Path(), **options)

    def edit(self) -> None:
        """Make one change at a source or in the store."""
        suite = self.random.choice(self.suites)
        edits: list[Callable[[Suite], None]] = [
            self.add_word,
            self.add_case,
            self.add_first_case,
            self.number_anew,
            self.drop_case,
            self.edit_prompt,
            self.move_suite,
            self.rename_suite,
            lambda _: self.add_suite(),
            self.comment_file,
            self.edit_file,
        ]
        self.random.choice(edits)(suite)

    def add_word(self, suite: Suite) -> None:
        mark = self.draw_mark()
        self.random.choice(list(suite.cases.values()))["words"].append(mark)
        self.theirs.add(mark)

    def add_case(self, suite: Suite) -> None:
        suite.cases[suite.next_id] = self.draw_case()
        suite.next_id += 1

    def add_first_case(self, suite: Suite) -> None:
        suite.cases = {suite.next_id: self.draw_case()} | suite.cases
        suite.next_id += 1

    def number_anew(self, suite: Suite) -> None:
        suite.cases = {id_ + 100: case for id_, case in suite.cases.items()}
        suite.next_id += 100

    def drop_case(self, suite: Suite) -> None:
        if len(suite.cases) > 1:
            suite.cases.pop(self.random.choice(list(suite.cases)))

    def edit_prompt(self, suite: Suite) -> None:
        self.random.choice(list(suite.cases.values()))["prompt"] += f" {self.draw_mark()}"

    def move_suite(self, suite: Suite) -> None:
        suite.folder = f"b/{self.draw_mark()}"

    def rename_suite(self, suite: Suite) -> None:
        suite.name = self.draw_mark()

    def comment_file(self, _: Suite) -> None:
        """Leave a comment at the end of some line where YAML takes one."""
        path, mark = self._choose_file(), f"# {self.draw_mark()}"
        lines = path.read_text("utf-8").splitlines()
        number = self.random.randrange(1, len(lines))
        lines[number] += f"  {mark}"
        text = path.read_text("utf-8")
        path.write_text("\n".join(lines) + "\n", "utf-8")
        if LOAD(path.read_text("utf-8")) == LOAD(text):
            self._note(path, mark)
        else:
            path.write_text(text, "utf-8")

    def edit_file(self, _: Suite) -> None:
        path, mark = self._choose_file(), self.draw_mark()
        if "\nmetadata:" not in path.read_text("utf-8"):
            path.write_text(f"{path.read_text('utf-8')}metadata:\n  mine: {mark}\n", "utf-8")
            self._note(path, mark)

    def _choose_file(self) -> Path:
        return self.root / self.random.choice(sorted(self.read_store()))

    def _note(self, path: Path, mark: str) -> None:
        self.mine[mark] = path.relative_to(self.root).as_posix()


def list_states(report: MigrationReport) -> dict[str, FileState]:
    return {file.path: file.state for file in report.files if file.state is not FileState.UNCHANGED}


@pytest.mark.parametrize("seed", thin(range(24), 12))
def test_a_migration_loses_nothing_of_either_side(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path, random.Random(seed))  # noqa: S311  # seeds, no secrets
    for _ in range(world.random.randint(1, 4)):
        world.add_suite()
    world.render()
    assert not world.migrate().skipped
    for _ in range(4):
        world.theirs.clear()
        for _ in range(world.random.randint(1, 4)):
            world.edit()
        before = world.read_store()
        world.render()
        planned = list_states(world.migrate(dry_run=True))
        assert world.read_store() == before
        states = list_states(world.migrate())
        assert states == planned
        after = world.read_store()
        assert before.keys() <= after.keys()
        for path, text in before.items():
            assert tuple(map(int, LOAD(after[path])["version"].split("."))) >= tuple(
                map(int, LOAD(text)["version"].split("."))
            )
            assert after[path] == text or path in states, path
        for mark, path in world.mine.items():
            assert mark in after[path].decode(), (path, states.get(path))
        everything = b"".join(after.values()).decode()
        if FileState.CONFLICT not in states.values():
            legacy = "".join(path.read_text("utf-8") for path in (tmp_path / "legacy").rglob("*.*"))
            assert all(mark in everything for mark in world.theirs if mark in legacy)
            assert all(
                case["prompt"].split()[2] in everything for suite in world.suites for case in suite.cases.values()
            )
        # The next run has nothing left to do; conflicts are settled by either side.
        again = list_states(world.migrate())
        assert world.read_store() == after
        assert not {FileState.NEW, FileState.UPDATED, FileState.RENAMED} & set(again.values())
        if FileState.CONFLICT in again.values():
            takes_source = world.random.random() < 1 / 2
            world.migrate(force=takes_source, keep=not takes_source)
            settled = world.read_store()
            for mark, path in list(world.mine.items()):
                assert takes_source or mark in settled[path].decode()
                if mark not in settled[path].decode():
                    assert again[path] is FileState.CONFLICT
                    del world.mine[mark]
            assert FileState.CONFLICT not in list_states(world.migrate()).values()
            assert world.read_store() == settled
            return
