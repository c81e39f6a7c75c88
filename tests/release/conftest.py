"""A store of two rubrics and a judge in a real repository, and the questions that a release must answer."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.release.bump import bump
from evalstore.release.status import read_status
from evalstore.release.step import BumpOptions
from evalstore.release.values import Released, Status
from evalstore.store import ArtifactStore

JUDGE = """\
id: accuracy
version: 1.0.0
template: "Is this right? {{ output }}"
score_type: binary
"""


def rubric(id_: str = "tone", version: str = "1.0.0", *, ban: str = "simply", title: str = "Tone") -> str:
    return (
        f"# How we talk\nid: {id_}\nversion: {version}\ntitle: {title}\nchecks:\n"
        f"  - kind: must_not_contain\n    values: [{ban}]\nscoring:\n  combine: all_pass\n"
    )


def judged(id_: str = "reviewed", version: str = "1.0.0", pin: str = "judge/accuracy@1.0.0") -> str:
    return (
        f"id: {id_}\nversion: {version}\nchecks:\n  - kind: llm_judge\n    judge_prompt_ref: {pin}\n"
        "scoring:\n  combine: all_pass\n"
    )


@dataclass(frozen=True)
class Shop:
    """A repository, and evalstore in it."""

    top: Path
    run: Callable[..., str]
    folder: str = ""

    @property
    def root(self) -> Path:
        return self.top / self.folder

    def git(self, *argv: str) -> str:
        return self.run(*argv, cwd=self.top)

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def bump(self, *refs: str, **options: Any) -> Released:
        with ArtifactStore.open(self.root) as store:
            return bump(store, BumpOptions(refs, all_=not refs, **options))

    def status(self) -> Status:
        with ArtifactStore.open(self.root) as store:
            return read_status(store)

    def tags(self) -> list[str]:
        return self.git("tag", "--list").split()

    def committed(self, revision: str = "HEAD") -> list[str]:
        return self.git("show", "--format=", "--name-only", revision).split()

    def snapshot(self) -> Mapping[str, bytes]:
        return {str(path.relative_to(self.top)): path.read_bytes() for path in self.top.rglob("*") if path.is_file()}


@pytest.fixture
def shop(git: Callable[..., str], tmp_path: Path) -> Shop:
    git("--version")
    shop = Shop(tmp_path / "repo", git)
    shop.write("rubrics/tone.yaml", rubric())
    return shop


@pytest.fixture
def released(shop: Shop, template: Callable[..., Any]) -> Shop:
    """The same with rubric/tone@1.0.0."""
    template("rubric/tone@1.0.0", lambda: shop.bump() and None)
    return shop


HOOKS = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-applypatch",
    "reference-transaction",
    "post-index-change",
    "post-rewrite",
    "pre-push",
    "fsmonitor-watchman",
    "post-checkout",
]


def set_traps(shop: Shop, folder: Path) -> Path:
    """Let every hook, filter and driver of a repository leave a file, which is returned, in a folder outside of it."""
    marker, script = folder / "ran", folder / "script"
    script.write_text(f"#!/bin/sh\necho $0 >> {marker}\ncat\n")
    script.chmod(0o755)
    for name in HOOKS:
        (shop.top / ".git/hooks" / name).write_bytes(script.read_bytes())
        (shop.top / ".git/hooks" / name).chmod(0o755)
    programs = ("core.fsmonitor", "core.editor", "gpg.program", "diff.external", "merge.x.driver")
    for key in ("filter.x.clean", "filter.x.smudge", *programs):
        shop.git("config", key, str(script))
    for key in ("filter.x.required", "commit.gpgSign", "tag.gpgSign"):
        shop.git("config", key, "true")
    marker.unlink(missing_ok=True)
    return marker


def count_killed(died: int) -> int:
    """Print how many bumps of a test were killed, which `pytest -rP` shows; the next bump has finished every one."""
    sys.stdout.write(f"killed: {died}\n")
    return died


def check_sound(shop: Shop) -> None:
    """Whatever happened before: each tag says what its file says, on the branch, and nothing is left over."""
    assert (
        "error"
        not in subprocess.run(
            ["git", "fsck", "--strict"], cwd=shop.top, capture_output=True, text=True, check=True
        ).stderr
    )
    branch = shop.git("rev-list", "HEAD").split()
    lines: dict[str, list[str]] = {}
    for tag in shop.git("for-each-ref", "--sort=creatordate", "--format=%(refname:strip=2) %(*objectname)").split("\n"):
        name, _, commit = tag.partition(" ")
        if not commit:
            continue
        artifact, _, version = name.partition("@")
        kind, _, id_ = artifact.partition("/")
        data = _bytes(shop, f"{commit}:{shop.folder}{kind}s/{id_}.yaml")
        assert (read_yaml(data, name).value["version"], commit in branch) == (version, True)
        lines.setdefault(artifact, []).append(f"{version} {hashlib.sha256(data).hexdigest()}")
    for artifact, expected in lines.items():
        ledger = _bytes(shop, f"HEAD:{shop.folder}.evalstore/sums/{artifact}").decode().splitlines()
        assert sorted(line.removesuffix(" signed") for line in ledger) == sorted(expected)
    left = [path for path in shop.top.rglob("*") if _is_left_over(path)]
    assert left == [path for path in left if path == shop.top / ".git/evalstore/lock"]
    assert not list((shop.top / ".git").glob("index.evalstore*"))


def _is_left_over(path: Path) -> bool:
    return path.name != "evalstore.lock" and (path.suffix in {".lock", ".tmp"} or "journal" in path.name)


def _bytes(shop: Shop, name: str) -> bytes:
    return subprocess.run(["git", "show", name], cwd=shop.top, capture_output=True, check=True).stdout
