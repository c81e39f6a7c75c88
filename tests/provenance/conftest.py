"""A repository of rubrics whose commits have authors, branches and merges; the clock ticks a minute a command."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


def ban(*words: str, name: str = "ban", **more: Any) -> dict[str, Any]:
    return {"id": name, "kind": "must_not_contain", "values": list(words), **more}


def brief(length: int) -> dict[str, Any]:
    return {"id": "brief", "kind": "format", "format": "text", "max_chars": length}


def rubric(version: str, *checks: dict[str, Any], id_: str = "r", **scoring: Any) -> dict[str, Any]:
    return {"id": id_, "version": version, "checks": list(checks), "scoring": {"combine": "weighted_avg", **scoring}}


@dataclass
class Story:
    """A repository; commits return their id."""

    root: Path
    minutes: int = 0

    def git(self, *argv: str, author: str = "Ann", committer: str | None = None) -> str:
        self.minutes += 1
        who = {"AUTHOR": author, "COMMITTER": committer or author}
        env = {f"GIT_{role}_DATE": f"{1_760_000_000 + 60 * self.minutes} +0000" for role in who}
        env |= {f"GIT_{role}_NAME": name for role, name in who.items()}
        env |= {f"GIT_{role}_EMAIL": f"{name.lower()}@example.org" for role, name in who.items()}
        env |= {"PATH": os.environ["PATH"], "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1"}
        env |= {"GIT_TEMPLATE_DIR": "", "GIT_CONFIG_COUNT": "1"}  # no hooks to copy, no process after a commit
        env |= {"GIT_CONFIG_KEY_0": "maintenance.auto", "GIT_CONFIG_VALUE_0": "false"}
        done = subprocess.run(["git", *argv], cwd=self.root, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout.strip()

    def write(self, artifact: dict[str, Any], kind: str = "rubric", note: str = "") -> None:
        path = self.root / f"{kind}s" / f"{artifact['id']}.yaml"
        path.parent.mkdir(exist_ok=True)
        # JSON is YAML; a comment is a change of the file that means nothing.
        path.write_text(f"{note}{json.dumps(artifact, indent=1)}\n")

    def commit(self, author: str = "Ann", message: str = "work", **more: Any) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, author=author, **more)
        return self.git("rev-parse", "HEAD")

    def change(self, artifact: dict[str, Any], author: str = "Ann", kind: str = "rubric", **more: Any) -> str:
        self.write(artifact, kind)
        return self.commit(author, **more)

    def tag(self, name: str, author: str = "Releasebot") -> None:
        self.git("tag", "-a", name, "-m", name, author=author)

    def release(
        self, artifact: dict[str, Any], author: str = "Ann", kind: str = "rubric", by: str | None = None
    ) -> str:
        commit = self.change(artifact, author, kind)
        self.tag(f"{kind}/{artifact['id']}@{artifact['version']}", by or author)
        return commit


@pytest.fixture
def story(tmp_path: Path) -> Story:
    (tmp_path / "store").mkdir()
    made = Story(tmp_path / "store")
    made.git("init", "-q", "-b", "main")
    return made


@pytest.fixture
def blamed(story: Story) -> Callable[..., dict[str, Any]]:
    """Return `pointer -> (author, commit, version)` of a reference's parts."""
    from evalstore.release.history.blame import blame
    from evalstore.report import make_document
    from evalstore.store import ArtifactStore

    def run(ref: str = "rubric/r@git:HEAD", root: Path | None = None) -> dict[str, Any]:
        with ArtifactStore.open(root or story.root) as store:
            parts = make_document(blame(store, ref))["parts"]
        return {part["pointer"]: part for part in parts}

    return run
