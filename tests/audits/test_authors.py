"""Who an audit names: the author of the edit, and beside it the release and its releaser; never one for the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalstore.audits import Audit, Cause
from evalstore.report import render
from tests.audits.conftest import Repo, factor

OUTPUTS = ["simply ok"] * 4 + ["ok " * 12] * 3 + ["ok"] * 3


def rubric(version: str, words: str = "foo", most: int = 50, id_: str = "r") -> str:
    checks = [
        {"id": "ban", "kind": "must_not_contain", "values": words.split()},
        {"id": "brief", "kind": "format", "format": "text", "max_chars": most},
    ]
    return f"id: {id_}\nversion: {version}\nchecks: {json.dumps(checks)}\nscoring: {{combine: weighted_avg}}\n"


def dataset(version: str, rubric_version: str, facts: str = "x") -> str:
    questions = [{"id": f"q{n}", "input": f"x{n}", "expected_facts": [facts]} for n in range(10)]
    pin = f"defaults: {{rubric_ref: rubric/r@{rubric_version}}}"
    return f"id: d\nversion: {version}\n{pin}\nquestions: {json.dumps(questions)}\n"


def edit(repo: Repo, text: str, author: str, path: str = "rubrics/r", message: str = "edit") -> str:
    repo.write(f"{path}.yaml", text)
    repo.git("commit", "-qam", message, author=author)
    return repo.git("rev-parse", "HEAD")


def audit(repo: Repo, tmp_path: Path, old: str = "1.0.0", new: str = "2.0.0") -> Audit:
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{n}", "output": text}) + "\n" for n, text in enumerate(OUTPUTS)))
    a, b = (repo.score(f"dataset/d@{version}", path, f"m{version}") for version in (old, new))
    return repo.audit(a, b)


def people(causes: tuple[Cause, ...]) -> dict[str, tuple[Any, ...]]:
    """Return by part the points, the author, the commit, and the release with who made it."""
    return {
        cause.source.part.partition(":")[0]: (
            cause.share * 100,
            origin.author,
            origin.commit,
            origin.released_in,
            origin.released_by,
        )
        for cause in causes
        if (origin := cause.source.origin) and cause.share
    }


def test_edits_that_a_bot_released_are_their_authors(repo: Repo, tmp_path: Path) -> None:
    repo.release("rubrics/r", rubric("1.0.0"))
    repo.release("datasets/d", dataset("1.0.0", "1.0.0"))
    bob = edit(repo, rubric("1.0.0", "foo simply"), "Bob", message="ban\n\nCo-authored-by: Eve <eve@example.org>")
    cyd = edit(repo, rubric("1.0.0", "foo simply", 20), "Cyd")
    repo.release("rubrics/r", rubric("2.0.0", "foo simply", 20), author="Releasebot")
    repo.release("datasets/d", dataset("2.0.0", "2.0.0"), author="Releasebot")
    found = audit(repo, tmp_path)
    assert people(factor(found, "rubric").causes) == {
        "ban": (-20, "Bob", bob, "2.0.0", "Releasebot"),
        "brief": (-15, "Cyd", cyd, "2.0.0", "Releasebot"),
    }
    text = render(found, "text")
    assert f"Bob and Eve {bob[:7]} 2025-10-09, released in 2.0.0 by Releasebot" in text
    assert f"Cyd {cyd[:7]} 2025-10-09, released in 2.0.0 by Releasebot" in text


def test_a_backport_and_a_merger_get_no_blame(repo: Repo, tmp_path: Path) -> None:
    repo.release("rubrics/r", rubric("1.0.0"))
    repo.release("datasets/d", dataset("1.0.0", "1.0.0"))
    trunk = repo.git("rev-parse", "--abbrev-ref", "HEAD")
    repo.git("checkout", "-qb", "feature")
    bob = edit(repo, rubric("2.0.0", "foo simply"), "Bob")
    repo.git("checkout", "-q", trunk)
    repo.git("branch", "maint")
    repo.git("commit", "-q", "--allow-empty", "-m", "other")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge", "feature", author="Maint")
    repo.git("tag", "-a", "rubric/r@2.0.0", "-m", "r", author="Maint")
    repo.release("datasets/d", dataset("2.0.0", "2.0.0"))
    repo.git("checkout", "-q", "maint")
    repo.release("rubrics/r", rubric("1.0.1", "foo simply"), author="Cyd")
    repo.git("checkout", "-q", trunk)
    found = people(factor(audit(repo, tmp_path), "rubric").causes)
    assert found == {"ban": (-20, "Bob", bob, "2.0.0", "Maint")}


def test_the_edits_inside_a_composite_are_those_of_its_own_file(repo: Repo, tmp_path: Path) -> None:
    def whole(version: str) -> str:
        return (f"id: r\nversion: {version}\nchecks:\n  - {{id: c, kind: composite, rubric_ref: rubric/inner@{version}}}\n"
                "  - {id: p, kind: must_contain_any, values: [ok]}\nscoring: {combine: weighted_avg}\n")  # fmt: skip

    repo.release("rubrics/inner", rubric("1.0.0", id_="inner"))
    bob = edit(repo, rubric("1.0.0", "foo simply", 20, "inner"), "Bob", "rubrics/inner")
    repo.release("rubrics/inner", rubric("2.0.0", "foo simply", 20, "inner"), author="Releasebot")
    for version in ("1.0.0", "2.0.0"):
        repo.release("rubrics/r", whole(version), author="Dan")
        repo.release("datasets/d", dataset(version, version), author="Dan")
    assert people(factor(audit(repo, tmp_path), "rubric").causes) == {
        "ban": (-10, "Bob", bob, "2.0.0", "Releasebot"),
        "brief": (Fraction(-15, 2), "Bob", bob, "2.0.0", "Releasebot"),
    }


def test_a_shallow_clone_names_the_release_and_says_so(repo: Repo, tmp_path: Path, cli: Callable) -> None:
    repo.release("rubrics/r", rubric("1.0.0"))
    repo.release("datasets/d", dataset("1.0.0", "1.0.0"))
    edit(repo, rubric("1.0.0", "foo simply"), "Bob")
    repo.release("rubrics/r", rubric("2.0.0", "foo simply"), author="Releasebot")
    repo.release("datasets/d", dataset("2.0.0", "2.0.0"))
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{n}", "output": text}) + "\n" for n, text in enumerate(OUTPUTS)))
    runs = [str(repo.score(f"dataset/d@{version}", path, f"m{version}").path) for version in ("1.0.0", "2.0.0")]
    # The tags come along, and of each only its own commit.
    clone = tmp_path / "shallow"
    repo.git("clone", "-q", "--depth", "1", "--no-single-branch", f"file://{repo.root}", str(clone))
    for tag in repo.git("tag").split():
        repo.git("-C", str(clone), "fetch", "-q", "--depth", "1", "origin", f"refs/tags/{tag}:refs/tags/{tag}")
    ran = cli("audit", *runs, cwd=clone)
    assert ran.code == 0, ran.err
    words = " ".join(ran.out.split())
    assert "released in 2.0.0 by Releasebot; this shallow clone does not have the commit" in words
    assert "Bob" not in ran.out


def test_the_facts_of_a_question_are_their_authors(repo: Repo, tmp_path: Path) -> None:
    text = "id: r\nversion: 1.0.0\nchecks: [{id: f, kind: fact_match}]\nscoring: {combine: weighted_avg}\n"
    repo.release("rubrics/r", text)
    repo.release("datasets/d", dataset("1.0.0", "1.0.0", "ok"))
    eve = edit(repo, dataset("1.0.0", "1.0.0", "simply"), "Eve", "datasets/d")
    repo.release("datasets/d", dataset("2.0.0", "1.0.0", "simply"), author="Releasebot")
    (cause,) = factor(audit(repo, tmp_path), "dataset").causes
    origin = cause.source.origin
    assert (cause.share, origin.author, origin.commit, origin.released_in) == (Fraction(-6, 10), "Eve", eve, "2.0.0")
