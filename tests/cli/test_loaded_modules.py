"""The modules that a command loads: what it does not need is not imported, which is most of its time in a small store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

WRITERS = {"git", "evalstore.release.publishing.bump", "ruamel.yaml", "urllib3", "importlib.metadata"}
COMPARISON = {
    "deepdiff",
    "evalstore.diff.comparison",
    "evalstore.diff.rules",
    "evalstore.migration",
    "evalstore.audits",
}
GRADING = {
    "regex",
    "markdown_it",
    "tree_sitter",
    "evalstore.checks",
    "evalstore.languages.schemas",
    "evalstore.scoring.judging",
}
EDITING = {
    "evalstore.store.repository.writing",
    "evalstore.documents.edit",
    "evalstore.documents.edit_entries",
    "evalstore.documents.json_stream",
    "ctypes",
}
# Each takes a hundredth of the time before `resolve` answers, and none is needed for that.
RARE = {
    *("shutil", "textwrap", "tempfile"),
    *("evalstore.documents.document_builder", "evalstore.documents.json_reader"),
    *("evalstore.model.findings", "evalstore.store.rows"),
}
# What looks for outputs that move, or asks judges: no part of an edit that scoring does not read.
SEARCHING = {
    *("evalstore.diff.witness", "evalstore.diff.effects.edits", "evalstore.diff.answers.joint"),
    *("evalstore.diff.changes.rubric", "evalstore.diff.changes.dataset", "evalstore.checks.reply"),
    *("evalstore.lint.bundles", "deepdiff", "git"),
}
READING = WRITERS | COMPARISON | {"jsonschema"}
UNNEEDED = {
    ("--version",): READING | GRADING | EDITING | {"yaml", "subprocess", "evalstore.model", "evalstore.store"},
    ("list",): READING | GRADING | EDITING | {"evalstore.lint", "evalstore.release"},
    ("resolve", "rubric/tone@1.0.0"): READING | GRADING | EDITING | RARE | {"evalstore.lint", "evalstore.release"},
    # Settings are held against their schema before anything is judged by them.
    ("status",): (READING | GRADING | EDITING | {"evalstore.lint.run"}) - {"evalstore.languages.schemas"},
    ("verify",): READING | GRADING,
}
PROBE = (
    "import sys\nfrom evalstore.__main__ import run\ntry:\n  run()\nfinally:\n  print(*sys.modules, file=sys.stderr)"
)
TEXT = 'id: tone\nversion: "1.0.0"\nchecks:\n  - kind: regex\n    pattern: hello\nscoring:\n  combine: all_pass\n'


@pytest.fixture
def store(git: Callable[..., str], template: Callable[..., object], cli: Callable[..., object], tmp_path: Path) -> Path:
    """Return a store with one released rubric, of which nothing has changed since."""

    def make() -> None:
        git()
        (repo / "rubrics").mkdir()
        (repo / "rubrics" / "tone.yaml").write_text(TEXT)
        (repo / "evalstore.yaml").write_text("strict: false\n")
        cli("-C", str(repo), "bump", "--all")

    repo = tmp_path / "repo"
    template("one release", make)
    return repo


@pytest.mark.process
@pytest.mark.parametrize("argv", UNNEEDED, ids=" ".join)
def test_a_command_loads_what_it_needs(argv: tuple[str, ...], store: Path) -> None:
    assert not list_loaded(store, *argv) & UNNEEDED[argv]


@pytest.mark.process
def test_another_title_is_compared_without_what_searches_outputs(store: Path) -> None:
    rubric = store / "rubrics/tone.yaml"
    rubric.write_text(f"title: another\n{rubric.read_text()}")
    assert not list_loaded(store, "diff") & SEARCHING


def list_loaded(store: Path, *argv: str) -> set[str]:
    command = [sys.executable, "-c", PROBE, "-C", str(store), *argv]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr.splitlines()[0]
    return {*ran.stderr.split()}


@pytest.mark.process
def test_the_pages_of_runs_load_no_audit() -> None:
    code = (
        "import sys\nimport evalstore.report.pages.run, evalstore.report.pages.pairs, evalstore.audits.records.pairs\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"evalstore.audits.explain", "evalstore.audits.edits.rubric_plan"} & {*loaded}
