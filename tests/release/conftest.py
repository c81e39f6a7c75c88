"""The stores that the tests of releases begin with, each made once and copied for every test."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.release.shop import DATASET, ROWS, Shop, judge, mixed, rubric

_RELEASES = (("1.0.0", "please", "Tone"), ("1.1.0", "please", "Tones"), ("2.0.0", "kindly", "Tones"))


@pytest.fixture
def shop(git: Callable[..., str], tmp_path: Path) -> Shop:
    git()
    shop = Shop(tmp_path / "repo", git)
    shop.write("rubrics/tone.yaml", rubric())
    return shop


@pytest.fixture
def released(shop: Shop, template: Callable[..., Any]) -> Shop:
    """The same with rubric/tone@1.0.0."""
    template("rubric/tone@1.0.0", lambda: shop.bump() and None)
    return shop


@pytest.fixture
def of_format(git: Callable[..., str], template: Callable[..., Any], tmp_path: Path) -> Callable[[str], Shop]:
    """Return a store of six releases with a lock, in a repository of a format; no bump has made it, only git."""
    stocked = Shop(tmp_path / "repo", git)

    def copy(format_: str) -> Shop:
        template(f"six releases and a lock in {format_}", lambda: _release_by_hand(stocked, format_))
        return stocked

    return copy


@pytest.fixture
def stocked(of_format: Callable[[str], Shop]) -> Shop:
    """The store of six releases with a lock."""
    return of_format("sha1")


@pytest.fixture
def clone(tmp_path: Path) -> Callable[..., Shop]:
    """Clone a store through a real transport."""

    def run(shop: Shop, *options: str) -> Shop:
        shop.git("clone", "-q", *options, f"file://{shop.top}", str(tmp_path / "clone"))
        return shop.at(tmp_path / "clone")

    return run


def _release_by_hand(shop: Shop, format_: str) -> None:
    options = {"reftable": ["--ref-format=reftable"], "sha256": ["--object-format=sha256"]}
    argv = ["git", "init", "-q", *options.get(format_, []), str(shop.top)]
    if subprocess.run(argv, capture_output=True, check=False).returncode:
        pytest.skip(f"this git makes no {format_} repositories")
    for key, value in (("core.logAllRefUpdates", "false"), ("gc.auto", "0"), ("advice.nestedTag", "false")):
        shop.git("config", key, value)
    shop.release("judge/accuracy", "1.0.0", judge())
    for version, word, title in _RELEASES:
        shop.release("rubric/tone", version, mixed(version=version, word=word, title=title))
    shop.release("rubric/other", "1.0.0", mixed("other"))
    shop.release("dataset/answers", "1.0.0", DATASET, beside={"datasets/answers.jsonl": ROWS})
    shop.lock()
    shop.commit("evalstore.lock")
