"""What names content, computed a second time with plain `json` and `hashlib`: digests, trailers, the ledger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore import Store

RUBRIC = """# a comment
id: style
version: 1.0.0
title: Cachés “x”
checks:
  - {id: reason, kind: must_contain_any, values: [because, "ä/\\u0007"], title: Why}
  - {kind: regex, pattern: 'a+', flags: i}
scoring: {combine: weighted_avg, weights: {reason: 2.50, regex: 1}, threshold: 0.70}
"""
VALUE = {
    "id": "style",
    "title": "Cachés “x”",
    "checks": [
        {"id": "reason", "kind": "must_contain_any", "values": ["because", "ä/\u0007"], "title": "Why"},
        {"kind": "regex", "pattern": "a+", "flags": "i"},
    ],
    "scoring": {"combine": "weighted_avg", "weights": {"reason": 2.5, "regex": 1}, "threshold": 0.7},
}
PATH = "rubrics/style.yaml"


@pytest.fixture
def resolve(git: Callable, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that writes the rubric, changed, and returns its two digests."""
    repo = tmp_path / "repo"
    git("commit", "--quiet", "--allow-empty", "--message=begin")
    (repo / "rubrics").mkdir()

    def run(old: str = "", new: str = "") -> Any:
        (repo / PATH).write_text(RUBRIC.replace(old, new, 1) if old else RUBRIC)
        with Store.open(repo) as store:
            found = store.resolve("rubric/style@worktree")
        return {"digest": found.digest, "scoring_digest": found.scoring_digest}

    return run


def test_the_digest_is_that_of_the_canonical_json_without_the_version(resolve: Callable[..., Any]) -> None:
    text = json.dumps(VALUE, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert resolve()["digest"] == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment\n", ""),
        ("version: 1.0.0", "version: 3.2.1"),
        ("2.50", "2.5"),
        ("2.50", "25e-1"),
        ("kind: regex, pattern: 'a+'", 'pattern: "a+", kind: regex'),
    ],
)
def test_layout_spelling_and_version_change_no_digest(resolve: Callable[..., Any], old: str, new: str) -> None:
    before, after = resolve(), resolve(old, new)
    assert (after["digest"], after["scoring_digest"]) == (before["digest"], before["scoring_digest"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: Cachés", "title: Other"),
        ("title: Why", "title: Because"),
        ("scoring:", "description: d\nmetadata: {a: 1}\ntags: [b]\nowner: us\nx_source: {file: f}\nscoring:"),
        ("title: Why", "description: d, metadata: {a: 1}, tags: [b], owner: us, x_note: 1"),
    ],
)
def test_what_no_executor_reads_changes_the_digest_alone(resolve: Callable[..., Any], old: str, new: str) -> None:
    before, after = resolve(), resolve(old, new)
    assert after["digest"] != before["digest"]
    assert after["scoring_digest"] == before["scoring_digest"]


@pytest.mark.parametrize(("old", "new"), [("because", "since"), ("2.50", "2.51"), ("id: reason", "id: reasons")])
def test_what_can_move_a_score_changes_both(resolve: Callable[..., Any], old: str, new: str) -> None:
    before, after = resolve(), resolve(old, new)
    assert after["digest"] != before["digest"]
    assert after["scoring_digest"] != before["scoring_digest"]


@pytest.mark.heavy
def test_trailers_and_ledger_say_what_was_released(
    resolve: Callable[..., Any], cli: Callable, git: Callable, tmp_path: Path
) -> None:
    repo = tmp_path / "repo"
    resolve()
    for bump, previous in (("none", "none"), ("major", "1.0.0")):
        ran = cli("bump", "rubric/style", "--format", "json", cwd=repo)
        (released,) = json.loads(ran.out)["released"]
        resolved = json.loads(cli("resolve", released["ref"], "--format", "json", cwd=repo).out)
        trailers = git("for-each-ref", "--format=%(contents:body)", f"refs/tags/{released['tag']}").splitlines()
        assert trailers == [
            f"Evalstore-Digest: {resolved['digest']}",
            f"Evalstore-Bump: {bump}",
            f"Evalstore-Previous: {previous}",
        ]
        assert released["bump"] == bump
        *_, line = git("show", f"{released['commit']}:.evalstore/sums/rubric/style").splitlines()
        assert line == f"{resolved['version']} {hashlib.sha256((repo / PATH).read_bytes()).hexdigest()}"
        (repo / PATH).write_text((repo / PATH).read_text().replace("because", "since"))
