"""A small store in a real repository, and ways to make it odd."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evalstore.store import ArtifactStore

Git = Callable[..., str]
Save = Callable[..., str]


def rubric(id_: str = "tone", version: str = "1.0.0", word: str = "please") -> str:
    return (
        f'id: {id_}\nversion: "{version}"\nchecks:\n  - kind: must_contain_any\n    values: [{word}]\n'
        "scoring:\n  combine: all_pass\n"
    )


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return tmp_path / "repo"


@pytest.fixture
def save(git: Git, repo: Path) -> Save:
    """Write a file and commit it; with `tag`, also an annotated tag of that name."""

    def run(path: str, text: str, tag: str | None = None, message: str = "Change the ruler") -> str:
        git()
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
        git("add", path)
        git("commit", "-q", "-m", message)
        if tag:
            git("tag", "-a", "-m", message, tag)
        return git("rev-parse", "HEAD")

    return run


@pytest.fixture
def commits(save: Save, template: Callable[..., dict[str, str]]) -> dict[str, str]:
    """Release rubric/tone as 1.0.0, 1.2.0, 2.0.0 and 2.1.0-rc.1; return the commits by version."""
    versions = ("1.0.0", "1.2.0", "2.0.0", "2.1.0-rc.1")

    def release() -> dict[str, str]:
        return {
            v: save("rubrics/tone.yaml", rubric(version=v, word=f"w{i}"), f"rubric/tone@{v}")
            for i, v in enumerate(versions)
        }

    return dict(template("four releases of rubric/tone", release))


@pytest.fixture
def store(commits: dict[str, str], repo: Path) -> Iterator[ArtifactStore]:
    with ArtifactStore.open(repo) as store:
        yield store
