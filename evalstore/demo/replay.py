"""Runs a story in a fresh repository; every command is a process of its own, as a user would start it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from evalstore.demo.story import Step, Story
from evalstore.errors import EvalstoreError, RefusedError


@dataclass(frozen=True, slots=True)
class Ran:
    """One command of a step and what it printed."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Told:
    """A story that was replayed: where, and each step with what its commands printed."""

    folder: Path
    steps: tuple[tuple[Step, tuple[Ran, ...]], ...]


def replay(story: Story, target: Path, env: Mapping[str, str]) -> Iterator[tuple[Step, list[Ran]]]:
    """Yield each step with what its commands printed; `target` must be new or empty."""
    if target.exists() and any(target.iterdir()):
        raise RefusedError(f"{target} is not empty", hint="name a folder that does not exist yet")
    sealed = {key: value for key, value in env.items() if not key.startswith("GIT_")}
    sealed |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    target.mkdir(parents=True, exist_ok=True)
    _git(["init", "--quiet", "--initial-branch=main"], target, sealed)  # before anything that a failure leaves behind
    shutil.copytree(story.folder / "outputs", target / "outputs")
    for step in story.steps:
        yield step, _play(step, story, target, sealed | _identity(step))


def _play(step: Step, story: Story, target: Path, env: Mapping[str, str]) -> list[Ran]:
    if step.folder:
        shutil.copytree(story.folder / step.folder, target, dirs_exist_ok=True)
    if step.message:
        _git(["add", "--all"], target, env)
        _git(["commit", "--quiet", f"--message={step.message}"], target, env)
    ran = [_run(words, target, env) for words in step.run]
    for command, expected in zip(ran, [0] * (len(ran) - 1) + [step.expect_exit], strict=True):
        if command.code != expected:
            said = (command.err or command.out).strip()
            raise EvalstoreError(f"evalstore {' '.join(command.words)} answered {command.code}, not {expected}: {said}")
    return ran


def _run(words: tuple[str, ...], target: Path, env: Mapping[str, str]) -> Ran:
    found = tuple(_one(word, target) if "*" in word else word for word in words)
    done = subprocess.run(  # our own command, words from our own story
        [sys.executable, "-m", "evalstore", *found],
        cwd=target,
        env=env,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Ran(found, done.returncode, done.stdout, done.stderr)


def _one(pattern: str, target: Path) -> str:
    paths = sorted(target.glob(pattern))
    if len(paths) != 1:
        raise EvalstoreError(f"{pattern} stands for {len(paths)} files, not for one")
    return str(paths[0].relative_to(target))


def _identity(step: Step) -> dict[str, str]:
    # Runs and validations are dated by the story, too: a machine that replays it gets the same commits again.
    return {"SOURCE_DATE_EPOCH": str(int(datetime.fromisoformat(step.date).timestamp()))} | {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", step.author), ("EMAIL", step.email), ("DATE", step.date))
    }


def _git(words: list[str], target: Path, env: Mapping[str, str]) -> None:
    try:
        subprocess.run(["git", *words], cwd=target, env=env, check=True, capture_output=True)
    except FileNotFoundError:
        raise EvalstoreError(
            "git is not installed", hint="install git 2.31 or newer, and see that it is on PATH"
        ) from None
    except subprocess.CalledProcessError as error:
        raise EvalstoreError(f"git {words[0]} failed: {error.stderr.decode('utf-8', 'replace').strip()}") from None
