"""A history is replayed: sources are edited, and the store by hand in between; nothing is stale, blocked or lost."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.migrate.legacy_grader import run_case
from tests.shared_data import SHARED, WHERE

SAMPLES = SHARED / "samples"
FORMATS = ("ai_best_practices", "skill_creator")
Case = dict[str, Any]
Edit = Callable[["World"], None]


@dataclass
class World:
    """A repository with sources and their store: what the sources are, and what an export has to give.

    `wanted` are the sources with the edits that were made here. `kept` are lines that somebody wrote into files.
    """

    root: Path
    cli: Any
    git: Any
    sources: dict[str, Any] = field(default_factory=dict)
    wanted: dict[str, Any] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, path: str, format_: str, value: Any) -> None:
        self.sources[path], self.wanted[path], self.formats[path] = value, deepcopy(value), format_

    def edit(self, path: str, change: Callable[[list[Case]], None]) -> None:
        """Make one edit of a source, and of what is wanted of it."""
        for side in (self.sources, self.wanted):
            change(side[path]["evals"])

    def edit_here(self, path: str, old: str, new: str, *, is_list: bool) -> None:
        """Make one edit of the dataset of a source by hand: another text, or one more behind it in its list."""
        file = self.find_dataset(path)
        pattern = re.compile(rf'^( *)(- |text: )"?{re.escape(old)}"?$', re.MULTILINE)
        line = (r"\g<0>\n\1- " if is_list else r"\1\2") + new
        text, count = pattern.subn(line, file.read_text("utf-8"), count=1)
        assert count == 1, (path, old)
        file.write_text(text, "utf-8")
        before = json.dumps(self.wanted[path], ensure_ascii=False)
        quoted = json.dumps(old, ensure_ascii=False)
        after = f"{quoted}, {json.dumps(new)}" if is_list else json.dumps(new)
        self.wanted[path] = json.loads(before.replace(quoted, after, 1))

    def find_dataset(self, path: str) -> Path:
        found = (file for file in (self.root / "datasets").glob("*.yaml") if f"file: {path}\n" in file.read_text())
        return next(found)

    def step(self) -> None:
        """Commit what was edited here, write the sources, migrate, release, score and export."""
        self.commit("Edits here")
        for file in (self.root / "legacy").rglob("*.json"):
            file.unlink()
        for path, value in self.sources.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(json.dumps(value, indent=1, ensure_ascii=False), "utf-8")
        said = self.cli("-C", self.root, "migrate", self.root / "legacy", "--merge", "--format", "json")
        files = json.loads(said.out)["files"]
        self.counts["conflicts"] += sum(file["state"] == "conflict" for file in files)
        assert self.counts["conflicts"] == 0, [file for file in files if file["state"] == "conflict"]
        for file in files:
            if file["state"] == "orphan":
                (self.root / file["path"]).unlink()
        self.commit("Migrate")
        assert self.cli("-C", self.root, "bump", "--all", "--dependents").code == 0
        self.counts["steps"] += 1
        for path, format_ in self.formats.items():
            if path in self.sources and format_ == "ai_best_practices":
                self.score(path)
        for format_ in FORMATS:
            self.export(format_)
        for name, lines in self.kept.items():
            self.counts["lost"] += sum(line not in (self.root / name).read_text("utf-8") for line in lines)

    def commit(self, subject: str) -> None:
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def score(self, path: str) -> None:
        """Grade one answer to every question: as the legacy grader does by what is wanted now."""
        dataset = self.find_dataset(path)
        ids = re.findall(r"^  - id: \"?([^\"\n]+)", dataset.read_text("utf-8"), re.MULTILINE)
        cases = self.wanted[path]["evals"]
        answers = [" ".join(case.get("must_contain_any", [])[-1:]) or "x" for case in cases]
        outputs = self.root / ".git/outputs.jsonl"
        rows = zip(ids, answers, strict=True)
        outputs.write_text("".join(json.dumps({"id": id_, "output": text}) + "\n" for id_, text in rows), "utf-8")
        ref, out = f"dataset/{dataset.stem}", self.root / f".git/runs{self.counts['scored']}"
        said = self.cli("-C", self.root, "score", ref, outputs, "--out", out, "--format", "json")
        passed = sum(run_case(text, case) for text, case in zip(answers, cases, strict=True))
        self.counts["scored"] += 1
        is_stale = "pin-behind" in said.err or round(json.loads(said.out)["pass_rate"] * len(cases)) != passed
        self.counts["stale scores"] += is_stale

    def export(self, format_: str) -> None:
        said = self.cli("-C", self.root, "export", "--to", format_, "--format", "json")
        assert "files" in json.loads(said.out), said.out + said.err
        found = {file["file"]: json.loads(file["text"]) for file in json.loads(said.out)["files"]}
        wanted = {path: value for path, value in self.wanted.items() if self.formats[path] == format_}
        self.counts["exports"] += len(wanted)
        self.counts["blocked"] += len(wanted.keys() - found.keys())
        self.counts["stale"] += sum(found[path] != wanted[path] for path in wanted.keys() & found.keys())


def make_case(number: int, **keys: Any) -> Case:
    return {"id": number, "prompt": f"What is number {number}?", **keys}


def list_edits(practice: str, skill: str) -> Iterator[Edit]:
    """Yield edits of two sources of the formats, and of their datasets, that each leave the other's alone."""
    key = "must_contain_any"
    yield lambda world: world.edit(practice, lambda cases: cases[0][key].append("a phrase more"))
    yield lambda world: world.edit_here(practice, world.wanted[practice]["evals"][1][key][0], "here", is_list=True)
    yield lambda world: world.edit(practice, lambda cases: cases[1].update({"prompt": "Asked in other words?"}))
    yield lambda world: world.edit(practice, lambda cases: cases[0].update({"id": 70}))
    yield lambda world: world.edit(skill, lambda cases: cases[0].update({"prompt": "And how is that?"}))
    yield lambda world: world.edit_here(
        skill, find_statement(world, skill), "It is put in other words here, by hand", is_list=False
    )
    yield lambda world: world.edit(skill, lambda cases: cases[1].update({"id": 71}))
    yield lambda world: world.edit(practice, lambda cases: cases.append(make_case(80, must_contain_any=["new"])))
    yield lambda world: world.edit(practice, lambda cases: cases[0][key].pop(0))


def find_statement(world: World, path: str) -> str:
    case = world.wanted[path]["evals"][0]
    statements = case.get("assertions") or case["expectations"]
    return str(statements[0])


def add_notes(world: World) -> None:
    """Write a title into a rubric and a comment into a dataset, which are to stay."""
    for folder, line in (("rubrics", "title: Ours\n"), ("datasets", "# ours\n")):
        path = min((world.root / folder).glob("*.yaml"))
        path.write_text(path.read_text("utf-8").replace("version:", f"{line}version:", 1), "utf-8")
        world.kept[f"{folder}/{path.name}"] = [line]


def hold(world: World) -> None:
    assert {name: count for name, count in world.counts.items() if name in _ZERO and count} == {}


_ZERO = frozenset({"conflicts", "stale", "blocked", "lost", "stale scores"})


def test_nothing_is_stale_blocked_or_lost_over_a_history(git: Any, cli: Any, tmp_path: Path) -> None:
    git()
    world = World(tmp_path / "repo", cli, git)
    cases = [make_case(n, must_contain_any=[f"first {n}", f"second {n}"], must_not_contain=[]) for n in (1, 2)]
    world.add("legacy/a/evals.json", "ai_best_practices", {"skill_name": "alpha", "evals": cases})
    cases = [
        make_case(
            n,
            expected_output="x",
            assertions=[f"It says {verb} what number {n} is in this release" for verb in ("first", "then")],
        )
        for n in (1, 2)
    ]
    world.add("legacy/s/evals.json", "skill_creator", {"skill_name": "sigma", "evals": cases})
    world.step()
    add_notes(world)
    edits = list(list_edits("legacy/a/evals.json", "legacy/s/evals.json"))
    # Edits of one step meet in one merge: those of the source, and those that were made here before.
    for place in range(0, len(edits), 3):
        for edit in edits[place : place + 3]:
            edit(world)
        world.step()
    hold(world)


@pytest.mark.slow
@pytest.mark.skipif(not all((SAMPLES / name).is_dir() for name in FORMATS), reason=f"there are no samples {WHERE}")
def test_nothing_is_stale_blocked_or_lost_over_a_long_history(git: Any, cli: Any, tmp_path: Path) -> None:
    git()
    world = World(tmp_path / "repo", cli, git)
    for format_ in FORMATS:
        for file in sorted(set((SAMPLES / format_).glob("*.evals.json")) - set((SAMPLES / format_).glob("*broken*"))):
            value = json.loads(file.read_text("utf-8"))
            if isinstance(value, dict) and len(value.get("evals", ())) > 1:
                world.add(f"legacy/{file.name.split('.')[-3]}/evals.json", format_, value)
    world.step()
    add_notes(world)
    pairs = [("drupal-caching", "ab-testing"), ("drupal-entity-api", "loop-builder")]
    for practice, skill in pairs:
        for edit in list_edits(f"legacy/{practice}/evals.json", f"legacy/{skill}/evals.json"):
            edit(world)
            world.step()
    copied = deepcopy(world.sources["legacy/drupal-caching/evals.json"]) | {"skill_name": "copied"}
    world.add("legacy/copied/evals.json", "ai_best_practices", copied)
    world.step()
    for side in (world.sources, world.wanted):
        del side["legacy/drupal-hook-patterns/evals.json"]
    world.step()
    hold(world)
    print(dict(world.counts))  # noqa: T201  # the figures of the replay
