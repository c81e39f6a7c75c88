"""Replays the sample story: lays folders over a repository, commits, runs the real commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.files import SMALL_FILE, read_user_file, write_below
from evalstore.places import find_resource_folder

DATASET, OUTPUTS = "dataset/help_desk", "outputs/model_a.jsonl"


def write_first_store(root: Path) -> tuple[str, ...]:
    """Write the files of the first store below `root`; return their paths.

    Raises `RefusedError` if one of them exists with other content; then nothing is written.
    """
    source = find_resource_folder("sample_repo") / "first_store"
    paths = filter(Path.is_file, sorted(source.rglob("*")))
    files = {path.relative_to(source).as_posix(): path for path in paths}
    data = {name: read_user_file(path, 1 << 16) for name, path in files.items()}
    new = [name for name in data if not ((root / name).exists() or (root / name).is_symlink())]
    for name in data.keys() - set(new):
        if not (root / name).is_file() or (root / name).read_bytes() != data[name]:
            raise RefusedError(f"{name} already exists", hint="make the example in an empty folder")
    for name in new:
        write_below(root, name, data[name])
    return tuple(new)


@dataclass(frozen=True, slots=True)
class CommandResult:
    """One command of a step and what it printed."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class ReplayedStory:
    """A replayed story: its folder, and each step with the output of its commands."""

    folder: Path
    steps: tuple[tuple[StoryStep, tuple[CommandResult, ...]], ...]


def replay_story(
    story: Story, target: Path, env: Mapping[str, str]
) -> Iterator[tuple[StoryStep, list[CommandResult]]]:
    """Yield each step with what its commands printed; `target` must be new or empty."""
    if target.exists() and any(target.iterdir()):
        raise RefusedError(f"{target} is not empty", hint="name a folder that does not exist yet")
    sealed = {key: value for key, value in env.items() if not key.startswith("GIT_")}
    sealed |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    target.mkdir(parents=True, exist_ok=True)
    # Before anything that a failure would leave behind.
    _run_git(["init", "--quiet", "--initial-branch=main"], target, sealed)
    shutil.copytree(story.folder / "outputs", target / "outputs")
    for step in story.steps:
        yield step, _play_step(step, story, target, sealed | _step_environment(step))


def _play_step(
    step: StoryStep, story: Story, target: Path, env: Mapping[str, str]
) -> list[CommandResult]:
    if step.folder:
        shutil.copytree(story.folder / step.folder, target, dirs_exist_ok=True)
    if step.message:
        _run_git(["add", "--all"], target, env)
        _run_git(["commit", "--quiet", f"--message={step.message}"], target, env)
    results = [_run_command(words, target, env) for words in step.run]
    for command, expected in zip(
        results, [0] * (len(results) - 1) + [step.expect_exit], strict=True
    ):
        if command.code != expected:
            output = (command.err or command.out).strip()
            raise EvalstoreError(
                f"evalstore {' '.join(command.words)} answered {command.code}, not "
                f"{expected}: {output}"
            )
    return results


def _run_command(words: tuple[str, ...], target: Path, env: Mapping[str, str]) -> CommandResult:
    found = tuple(_match_single_path(word, target) if "*" in word else word for word in words)
    done = subprocess.run(  # our own command, words from our own story
        [sys.executable, "-m", "evalstore", *found],
        cwd=target,
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return CommandResult(found, done.returncode, done.stdout, done.stderr)


def _match_single_path(pattern: str, target: Path) -> str:
    paths = sorted(target.glob(pattern))
    if len(paths) != 1:
        raise EvalstoreError(f"{pattern} matches {len(paths)} files instead of one")
    return str(paths[0].relative_to(target))


def _step_environment(step: StoryStep) -> dict[str, str]:
    # The story dates runs and validations, too, so every machine that replays it gets the same
    # commits.
    variables = {"SOURCE_DATE_EPOCH": str(int(datetime.fromisoformat(step.date).timestamp()))}
    for role in ("GIT_AUTHOR", "GIT_COMMITTER"):
        variables[f"{role}_NAME"] = step.author
        variables[f"{role}_EMAIL"] = step.email
        variables[f"{role}_DATE"] = step.date
    return variables


def _run_git(words: list[str], target: Path, env: Mapping[str, str]) -> None:
    try:
        subprocess.run(["git", *words], cwd=target, env=env, check=True, capture_output=True)
    except FileNotFoundError:
        raise EvalstoreError(
            "git is not installed", hint="install git 2.31 or newer, and put it on PATH"
        ) from None
    except subprocess.CalledProcessError as error:
        raise EvalstoreError(
            f"git {words[0]} failed: {error.stderr.decode('utf-8', 'replace').strip()}"
        ) from None


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One step: `folder` is laid over the repository and committed, then the commands run."""

    title: str
    say: str
    author: str
    email: str
    date: str
    run: tuple[tuple[str, ...], ...]
    folder: str | None = None
    message: str | None = None
    show: bool = True
    expect_exit: int = 0


@dataclass(frozen=True, slots=True)
class Story:
    """A title and its steps, and the folder whose paths they name."""

    title: str
    folder: Path
    steps: tuple[StoryStep, ...]


def read_story(folder: Path) -> Story:
    """Read `story.yaml` of a sample folder."""
    path = folder / "story.yaml"
    value = read_yaml(read_user_file(path, SMALL_FILE), str(path)).value
    return Story(value["title"], folder, tuple(_read_step(step) for step in value["steps"]))


def _read_step(value: dict[str, Any]) -> StoryStep:
    return StoryStep(
        title=value["title"],
        say=value["say"],
        author=value["author"]["name"],
        email=value["author"]["email"],
        date=value["date"],
        run=tuple(tuple(words) for words in value["run"]),
        folder=value.get("folder"),
        message=value.get("message"),
        show=value.get("show", True),
        expect_exit=value.get("expect_exit", 0),
    )
