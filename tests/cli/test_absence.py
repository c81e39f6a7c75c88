"""Never green by absence: a command that judges and saw nothing says so and answers 3, or 1 where it is a finding."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.rows import thin

RUBRIC = (
    "id: tone\nversion: 1.0.0\nchecks: [{kind: must_not_contain, values: [simply]}]\nscoring: {combine: all_pass}\n"
)
FILES = {
    "rubrics/tone.yaml": RUBRIC,
    "judges/right.yaml": "id: right\nversion: 1.0.0\ntemplate: 'Right? {{ output }}'\nscore_type: binary\n",
    "datasets/asked.yaml": (
        "id: asked\nversion: 1.0.0\nquestions:\n- {id: a, input: Why?, rubric_ref: rubric/tone@1.0.0}\n"
    ),
    "evalstore.yaml": "rules: {judge-unvalidated: off}\n",
}
# What lies beside a store, and is brought wherever a gate runs.
BESIDE = {
    "outputs.jsonl": '{"id": "a", "output": "It is so."}\n',
    "labels.jsonl": "".join(
        f'{{"id": "{word}{number}", "output": "{word}", "label": "{word}", "verdict": "{word}"}}\n'
        for number in range(6)
        for word in ("pass", "fail")
    ),
}
RUNS = ("asked-1.0.0-a", "asked-1.0.0-b")
# Every command that judges, as it is called in CI, and what it answers where all is well.
GATES = {
    ("status", "--check"): 0,
    ("status", "--check", "--base", "HEAD"): 0,
    ("status",): 0,
    ("validate", "--strict"): 0,
    ("verify",): 0,
    ("gate", "--base", "HEAD"): 0,
    ("lock",): 0,
    ("lock", "--check"): 0,
    ("bump", "--all"): 0,
    ("bump", "rubric/tone"): 0,
    ("diff", "--exit-code"): 0,
    ("diff", "rubric/tone", "--exit-code"): 0,
    ("score", "dataset/asked@1.0.0", "outputs.jsonl", "--fail-under", "0"): 0,
    ("score", "dataset/asked@1.0.0", "outputs.jsonl", "--min-scored", "0"): 0,
    ("audit", f"{RUNS[0]}.json", f"{RUNS[1]}.json", "--fail-on", "delta<-1"): 0,
    ("history", "rubric/tone", "--run", f"{RUNS[0]}.json"): 0,
    ("history", f"{RUNS[0]}.json", "--rubric", "rubric/tone@1.0.0"): 0,
    ("judge", "validate", "judge/right", "--labels", "labels.jsonl", "--check", "--no-write"): 0,
}
gates = pytest.mark.parametrize("gate", GATES, ids=" ".join)

Git = Callable[..., str]
Run = Callable[..., Any]


@pytest.fixture
def repo(git: Git, tmp_path: Path) -> Path:
    git()
    return tmp_path / "repo"


def released(repo: Path, git: Git, cli: Run, folder: str = "evals") -> Path:
    """Make a store in a folder of the repository, and a release in it."""
    root = repo / folder
    (root / "rubrics").mkdir(parents=True)
    (root / "rubrics/tone.yaml").write_text(RUBRIC)
    (root / "evalstore.yaml").write_text("")
    assert cli("bump", "rubric/tone", cwd=root).code == 0
    return root


@dataclass(frozen=True)
class Place:
    """A repository with a store in `evals`, everything in it released and scored twice, and what runs git and evalstore."""

    top: Path
    git: Git
    cli: Run

    @property
    def root(self) -> Path:
        return self.top / "evals"

    def bring(self, folder: Path) -> Path:
        """Bring outputs, labels and runs to a folder."""
        for name in (*BESIDE, *(f"{run}{end}" for run in RUNS for end in (".json", "_samples.jsonl"))):
            if not (folder / name).exists():
                shutil.copyfile(self.root / name, folder / name)
        return folder

    def clone(self, *options: str) -> Path:
        self.git("clone", "-q", *options, f"file://{self.top}", str(self.top.parent / "clone"))
        return self.top.parent / "clone"


@pytest.fixture
def place(repo: Path, git: Git, cli: Run, template: Callable[..., Any]) -> Place:
    place = Place(repo, git, cli)
    template("a store with two runs", lambda: build(place))
    return place


def build(place: Place) -> None:
    for name, text in (FILES | BESIDE).items():
        (place.root / name).parent.mkdir(parents=True, exist_ok=True)
        (place.root / name).write_text(text)
    assert place.cli("bump", "--all", cwd=place.root).code == 0
    assert place.cli("lock", cwd=place.root).code == 0
    place.git("add", "evals/evalstore.lock")
    place.git("commit", "-q", "-m", "Lock")
    for run in RUNS:
        argv = ("score", "dataset/asked@1.0.0", "outputs.jsonl", "--model", run[-1], "--out", ".")
        assert place.cli(*argv, cwd=place.root).code == 0


def leave_no_store(place: Place) -> Path:
    folder = place.top.parent / "other"
    folder.mkdir()
    place.git("init", "-q", cwd=folder)
    place.git("commit", "-q", "--allow-empty", "-m", "x", cwd=folder)
    return place.bring(folder)


def stand_beside_the_store(place: Place) -> Path:
    return place.bring(place.top)


def remove_artifacts(place: Place) -> Path:
    for folder in ("rubrics", "judges", "datasets"):
        shutil.rmtree(place.root / folder)
    return place.root


def clone_without_tags(place: Place) -> Path:
    return place.bring(place.clone("--no-tags") / "evals")


def clone_without_marker(place: Place) -> Path:
    place.git("rm", "-q", "-r", "evals/evalstore.yaml", "evals/.evalstore", "evals/evalstore.lock")
    place.git("commit", "-q", "-m", "No mark")
    return place.bring(place.clone())


ABSENCES = (leave_no_store, stand_beside_the_store, remove_artifacts, clone_without_tags, clone_without_marker)


@gates
def test_where_all_is_there_every_gate_answers_what_it_should(gate: tuple[str, ...], place: Place) -> None:
    ran = place.cli(*gate, cwd=place.root)
    assert ran.code == GATES[gate], ran.out + ran.err


# What is judged there is there: releases by their tags or, with a note, by the commits that a run names, and a working
# judge by its labels; `status` alone is not a gate.
_PRESENT = {
    *((command, remove_artifacts) for command in ("score", "audit", "history")),
    ("audit", clone_without_tags),
    ("judge", clone_without_tags),
    ("status", clone_without_tags),
}


def name_part(part: Any) -> str:
    return " ".join(part) if isinstance(part, tuple) else str(part.__name__)


# The short suite has every gate with one or two of the ways, and every way with a third of the gates.
@pytest.mark.parametrize(("gate", "leave"), thin(product(GATES, ABSENCES), 3), ids=name_part)
def test_no_gate_is_green_by_absence(gate: tuple[str, ...], place: Place, leave: Callable[[Place], Path]) -> None:
    folder = leave(place)
    before = sorted(path.name for path in folder.iterdir())
    ran = place.cli(*gate, cwd=folder)
    if (gate[0], leave) in _PRESENT and "--check" not in gate[:2]:
        assert ran.code == 0, ran.err
        assert gate != ("status",) or ran.out.count("\nNO ") == len(FILES) - 1
        return
    assert ran.code in {1, 3}, ran.out
    assert ran.err or ran.out
    assert sorted(path.name for path in folder.iterdir()) in (before, sorted([*before, "runs"]))


def test_a_remote_without_tags_is_never_green(place: Place, cli: Run) -> None:
    place.git("init", "-q", "--bare", str(place.top.parent / "far"), cwd=place.top.parent)
    place.git("remote", "add", "origin", str(place.top.parent / "far"))
    place.git("push", "-q", "--set-upstream", "origin", "main")
    ran = cli("verify", "--remote", cwd=place.root)
    assert (ran.code, ran.out.count("release-unpushed")) == (1, 3)
    for argv in (("verify",), ("status", "--check")):
        assert cli(*argv, cwd=place.root).code == 0
    place.git("push", "-q", "origin", "--tags")
    assert cli("verify", "--remote", cwd=place.root).code == 0


def test_where_nothing_is_scored_no_gate_is_green(place: Place, cli: Run) -> None:
    """Nobody answers for the judge: its rubric scores nothing, whatever is asked of the score."""
    text = RUBRIC.replace(
        "kind: must_not_contain, values: [simply]", "kind: llm_judge, judge_prompt_ref: judge/right@1.0.0"
    )
    (place.root / "rubrics/judged.yaml").write_text(text.replace("id: tone", "id: judged"))
    question = "{id: a, input: Why?, rubric_ref: rubric/judged@1.0.0}"
    (place.root / "datasets/judged.yaml").write_text(f"id: judged\nversion: 1.0.0\nquestions:\n- {question}\n")
    assert cli("bump", "--all", cwd=place.root).code == 0
    for gate in ((), ("--fail-under", "0"), ("--min-scored", "0")):
        ran = cli("score", "dataset/judged@1.0.0", "outputs.jsonl", "--out", "none", *gate, cwd=place.root)
        assert ran.code == 3, ran.out
        ran = cli("score", "dataset/judged@1.0.0", "outputs.jsonl", "--out", "none", "--offline", *gate, cwd=place.root)
        assert ran.code == 1, ran.out
    runs = sorted(path for path in (place.root / "none").iterdir() if path.suffix == ".json")
    for condition in ("delta<-1", "own<-1", "flips>100"):
        ran = cli("audit", *runs[:2], "--fail-on", condition, cwd=place.root)
        assert (ran.code, "Not comparable: A has no score" in ran.err) == (1, True)
    ran = cli("judge", "validate", "judge/right", "--labels", "bare.jsonl", "--check", "--no-write", cwd=place.root)
    assert ran.code == 3
    (place.root / "bare.jsonl").write_text('{"id": "a", "output": "x", "label": "pass"}\n')
    ran = cli("judge", "validate", "judge/right", "--labels", "bare.jsonl", "--check", "--no-write", cwd=place.root)
    assert ran.code == 3


def test_where_all_of_it_is_overridden_no_gate_is_green(place: Place, cli: Run) -> None:
    rules = ", ".join(f"{rule}: patch" for rule in ("phrase-reworded", "ban-phrase-added", "ban-phrase-removed"))
    (place.root / "evalstore.yaml").write_text(f"rules: {{judge-unvalidated: off, {rules}}}\n")
    (place.root / "rubrics/tone.yaml").write_text(RUBRIC.replace("1.0.0", "1.0.1").replace("simply", "just"))
    for gate in (("status", "--check"), ("status", "--check", "--base", "HEAD"), ("diff", "--exit-code")):
        ran = cli(*gate, cwd=place.root)
        assert (ran.code, "override" in ran.out) == (1, True)
    # What is released all the same says so wherever it is looked at.
    assert "override: phrase-reworded from major" in cli("bump", "rubric/tone", cwd=place.root).out
    assert "(override)" in cli("verify", cwd=place.root).out
    assert cli("status", "--check", "--base", "HEAD~1", cwd=place.root).code == 1


def test_artifacts_in_an_unmarked_folder_are_named_with_the_way_to_mark_it(repo: Path, cli: Run) -> None:
    (repo / "evals/rubrics").mkdir(parents=True)
    (repo / "evals/rubrics/tone.yaml").write_text(RUBRIC)
    assert "evalstore init evals" in cli("status", cwd=repo).err


@pytest.mark.parametrize("format_", ["text", "json", "github", "junit", "markdown"])
def test_findings_that_are_switched_off_are_counted_in_every_format(place: Place, cli: Run, format_: str) -> None:
    ran = cli("validate", "--strict", "--format", format_, cwd=place.root)
    assert (ran.code, "judge-unvalidated" in ran.out.replace("\\", "")) == (0, True)


def test_an_empty_list_names_the_store_that_the_repository_has_elsewhere(git: Git, cli: Run, tmp_path: Path) -> None:
    git()
    (tmp_path / "repo/evals/rubrics").mkdir(parents=True)
    (tmp_path / "repo/evals/evalstore.yaml").touch()
    ran = cli("-C", tmp_path / "repo", "list")
    assert (ran.code, ran.err) == (0, "this repository has its store elsewhere: evalstore -C evals status\n")


def test_a_bump_commits_the_settings_that_it_judged_by(repo: Path, git: Git, cli: Run, tmp_path: Path) -> None:
    root = released(repo, git, cli)
    (root / "evalstore.yaml").write_text("unpinned: allow\n")
    (root / "rubrics/tone.yaml").write_text(RUBRIC.replace("simply", "just"))
    assert cli("bump", "rubric/tone", cwd=root).code == 0
    git("clone", "-q", str(repo), str(tmp_path / "clone"))
    assert (tmp_path / "clone/evals/evalstore.yaml").read_text() == "unpinned: allow\n"
    assert git("status", "--porcelain") == ""


def test_the_ledgers_mark_a_store_whose_settings_are_gone(repo: Path, git: Git, cli: Run) -> None:
    root = released(repo, git, cli)
    (root / "evalstore.yaml").unlink()
    assert cli("status", "--check", cwd=root / "rubrics").code == 0


def test_a_second_store_of_a_repository_gets_a_prefix_of_its_own(repo: Path, git: Git, cli: Run) -> None:
    released(repo, git, cli)
    ran = cli("init", "more evals", cwd=repo)
    assert 'tag_prefix: "more-evals/"' in (repo / "more evals/evalstore.yaml").read_text()
    assert "next: git -C" in ran.next_steps
    (repo / "more evals/rubrics/tone.yaml").write_text(RUBRIC)
    assert cli("bump", "rubric/tone", cwd=repo / "more evals").code == 0
    assert git("tag", "--list").split() == ["more-evals/rubric/tone@1.0.0", "rubric/tone@1.0.0"]
    for folder in ("evals", "more evals"):
        assert cli("verify", cwd=repo / folder).code == 0
