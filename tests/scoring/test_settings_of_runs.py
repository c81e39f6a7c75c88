"""Settings that move scores belong to the ruler: a run records them, replay goes by the record, and a diff names them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstore.checks import php
from evalstore.runs import read_run

PHP = "id: code\nversion: 1.0.0\nchecks: [{kind: php_lint}]\nscoring: {combine: all_pass}\n"
OUTER = (
    "id: outer\nversion: 1.0.0\nchecks: [{kind: composite, rubric_ref: rubric/code@1.0.0}]\nscoring: {combine: min}\n"
)
TEXT = "id: words\nversion: 1.0.0\nchecks: [{kind: must_contain_any, values: [a]}]\nscoring: {combine: all_pass}\n"
DATASET = "id: asked\nversion: 1.0.0\nquestions:\n- {id: a, input: Code?, rubric_ref: rubric/code@1.0.0}\n"
OUTPUT = {"id": "a", "output": "```php\necho 1;\n```\n"}

Git = Callable[..., str]
Cli = Callable[..., Any]


@pytest.fixture
def store(git: Git, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store at two commits, `lax` and `strict`, which differ in that setting alone; PHP is not installed."""
    git()
    root = tmp_path / "repo"
    for folder in ("rubrics", "datasets"):
        (root / folder).mkdir()
    for path, text in (("code", PHP), ("outer", OUTER), ("words", TEXT)):
        (root / f"rubrics/{path}.yaml").write_text(text)
    (root / "datasets/asked.yaml").write_text(DATASET)
    (root / "evalstore.yaml").write_text("unpinned: warn\n")
    assert cli("bump", "--all", cwd=root).code == 0
    git("branch", "lax")
    (root / "evalstore.yaml").write_text("unpinned: warn\nstrict: true\n")
    git("commit", "-q", "-a", "-m", "Take no approximation")
    git("branch", "strict")
    (root / "outputs.jsonl").write_text(json.dumps(OUTPUT) + "\n")
    git_folder = tmp_path / "bin"
    git_folder.mkdir()
    (git_folder / "git").symlink_to(shutil.which("git") or "git")
    monkeypatch.setenv("PATH", str(git_folder))
    # What earlier tests of this process found.
    php.find_php_engine.cache_clear()
    yield root
    php.find_php_engine.cache_clear()


def score(cli: Cli, store: Path, setting: str, name: str) -> Any:
    (store / "evalstore.yaml").write_text(setting)
    argv = ("score", "dataset/asked@1.0.0", "outputs.jsonl", "--out", name, "--format", "json", "--offline")
    ran = cli(*argv, cwd=store)
    return read_run(store / json.loads(ran.out)["run"])


def test_a_run_records_the_setting_and_is_replayed_by_it(store: Path, cli: Cli) -> None:
    lax = score(cli, store, "", "lax")
    strict = score(cli, store, "strict: true\n", "strict")
    assert (lax.harness["strict"], strict.harness["strict"]) == ("false", "true")
    assert (lax.scored, strict.scored) == (1, 0)
    # The store is strict now; what was not is graded again as it was.
    ran = cli("diff", "rubric/code@1.0.0", "--run", lax.path, "--format", "json", cwd=store)
    assert json.loads(ran.out)["measured"][0]["unscored"] == 0


def test_a_diff_between_two_commits_names_the_setting_with_its_level(store: Path, cli: Cli) -> None:
    for ref in ("rubric/code", "rubric/outer", "dataset/asked"):
        pair = (f"{ref}@git:lax", f"{ref}@git:strict")
        (change,) = json.loads(cli("diff", *pair, "--format", "json", cwd=store).out)["settings"]
        assert (change["setting"], change["old"], change["new"]) == ("strict", "false", "true")
        assert (change["level"], change["direction"]) == ("major", "either")
        assert cli("diff", *pair, "--exit-code", cwd=store).code == 1
        assert cli("diff", pair[0], pair[0], "--exit-code", cwd=store).code == 0
    ran = cli("diff", "rubric/code@git:strict", "rubric/code@git:lax", cwd=store)
    assert "evalstore.yaml changes strict from true to false (major, either)" in " ".join(ran.out.split())


@pytest.mark.parametrize("format_", ["github", "gitlab", "html", "junit", "markdown", "sarif"])
def test_every_format_has_it_too(store: Path, cli: Cli, format_: str) -> None:
    ran = cli("diff", "rubric/code", "--format", format_, cwd=store)
    assert "changes strict from false to true" in ran.out.replace("\\", "")
    assert "Measured" not in ran.out


def test_what_changed_in_a_store_has_it_once(store: Path, cli: Cli) -> None:
    for name in ("code", "outer"):
        path = store / f"rubrics/{name}.yaml"
        path.write_text(path.read_text() + "title: Shown\n")
    issues = json.loads(cli("diff", "--format", "gitlab", cwd=store).out)
    (setting,) = (issue for issue in issues if issue["check_name"] == "setting-changed")
    assert (setting["location"]["path"], setting["severity"], len(issues)) == ("evalstore.yaml", "major", 3)
    # The two titles need a patch only, and the setting would be a major change of both.
    assert cli("diff", "--exit-code", cwd=store).code == 1


def test_what_has_no_such_check_is_left_alone(store: Path, cli: Cli) -> None:
    pair = ("rubric/words@git:lax", "rubric/words@git:strict")
    assert json.loads(cli("diff", *pair, "--format", "json", cwd=store).out)["settings"] == []
