"""What git's merge driver makes of two people's edits: by item where items have ids, else git's own conflict."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalstore.documents import read_yaml
from evalstore.migration.merging.merge_driver import MergeSides, merge_file
from evalstore.model.lock import Lock, LockedLedger, LockEntry, read_lock, write_lock
from tests.rows import each

BASE = """\
id: tone
version: 1.0.0
checks:
  # never say it
  - id: calm
    kind: must_not_contain
    values: [simply]
scoring:
  combine: all_pass   # all of them
"""
LEDGER = "1.0.0 " + 64 * "a" + "\n"


def line(version: str, letter: str) -> str:
    return f"{version} {64 * letter}\n"


def check(id_: str) -> str:
    return f"  - id: {id_}\n    kind: must_contain_any\n    values: [{id_}]\n"


def with_checks(text: str, *ids: str) -> str:
    return text.replace("scoring:", "".join(map(check, ids)) + "scoring:")


class Case(NamedTuple):
    """Two edits of a base, and a text of the merge or a part of it; an empty one is a conflict."""

    ours: str
    theirs: str
    merged: str
    base: str = BASE
    path: str = "evals/rubrics/tone.yaml"


def _row(id_: str, text: str = "Why?") -> str:
    return json.dumps({"id": id_, "input": text}) + "\n"


ROWS = _row("one") + _row("two")
CASES = {
    "each adds a check": Case(
        with_checks(BASE, "mine"), with_checks(BASE, "yours"), with_checks(BASE, "mine", "yours")
    ),
    "each adds a phrase": Case(
        BASE.replace("[simply]", "[simply, just]"),
        BASE.replace("[simply]", "[simply, only]"),
        "    values: [simply, just, only]\n",
    ),
    "each adds the same check": Case(with_checks(BASE, "ours"), with_checks(BASE, "ours"), with_checks(BASE, "ours")),
    "the higher version": Case(BASE.replace("1.0.0", "1.1.0"), BASE.replace("1.0.0", "2.0.0"), "version: 2.0.0\n"),
    "an edit and a release": Case(
        BASE.replace("1.0.0", "1.1.0").replace("never", "do not"),
        with_checks(BASE.replace("1.0.0", "1.1.0"), "yours"),
        with_checks(BASE.replace("1.0.0", "1.1.0").replace("never", "do not"), "yours"),
    ),
    "one value two ways": Case(BASE.replace("all_pass ", "any_pass "), BASE.replace("all_pass ", "min "), ""),
    "one removes what the other edits": Case(
        with_checks(BASE, "mine").replace("[mine]", "[mine, my]"), BASE, "", with_checks(BASE, "mine")
    ),
    "one check with two meanings": Case(
        with_checks(BASE, "new").replace("[new]", "[a]"), with_checks(BASE, "new").replace("[new]", "[b]"), ""
    ),
    "what is not YAML": Case(BASE + "]\n", BASE + "}\n", ""),
    "two paragraphs of a prompt": Case(
        "id: a\nversion: 1.0.0\ntemplate: |\n  One!\n\n  Two\n\n  Three\n",
        "id: a\nversion: 1.0.0\ntemplate: |\n  One\n\n  Two\n\n  Three!\n",
        "  One!\n\n  Two\n\n  Three!\n",
        "id: a\nversion: 1.0.0\ntemplate: |\n  One\n\n  Two\n\n  Three\n",
        "judges/a.yaml",
    ),
    "ledgers keep every line": Case(
        LEDGER + line("1.1.0", "b"),
        LEDGER + line("2.0.0", "c"),
        LEDGER + line("1.1.0", "b") + line("2.0.0", "c"),
        LEDGER,
        ".evalstore/sums/rubric/tone",
    ),
    "a ledger that lost a line gets it back": Case(
        LEDGER + line("1.1.0", "b"), "", LEDGER + line("1.1.0", "b"), LEDGER, ".evalstore/sums/rubric/tone"
    ),
    "one version, two releases": Case(
        LEDGER + line("1.1.0", "b"), LEDGER + line("1.1.0", "c"), "", LEDGER, ".evalstore/sums/rubric/tone"
    ),
    "each adds a row": Case(
        ROWS + _row("mine"), ROWS + _row("yours"), ROWS + _row("mine") + _row("yours"), ROWS, "datasets/web.jsonl"
    ),
    "a row goes, another changes": Case(
        _row("two"), _row("one") + _row("two", "How?"), _row("two", "How?"), ROWS, "datasets/web.jsonl"
    ),
    "one row two ways": Case(
        ROWS.replace("Why", "How", 1), ROWS.replace("Why", "Who", 1), "", ROWS, "datasets/web.jsonl"
    ),
    "any other file": Case("a\nb\n", "a\nc\n", "", "a\n", "README.md"),
}


@each(CASES)
def test_two_edits(name: str) -> None:
    case = CASES[name]
    merged = merge_file(case.path, MergeSides(case.base.encode(), case.ours.encode(), case.theirs.encode()))
    text = merged.data.decode()
    assert (merged.is_clean, "<<<<<<<" in text) == (bool(case.merged), not case.merged)
    assert case.merged in text
    assert bool(merged.notes) == (name == "one version, two releases")
    if merged.is_clean and case.path.endswith(".yaml"):
        assert merged.data.count(b"# never say it") + merged.data.count(b"# do not say it") == case.base.count(
            "# never"
        )
        # Whichever side merges, the ruler is the same.
        other = merge_file(case.path, MergeSides(case.base.encode(), case.theirs.encode(), case.ours.encode()))
        assert _sort(read_yaml(other.data, "x").value) == _sort(read_yaml(merged.data, "x").value)


def _sort(value: Any) -> Any:
    """Return a value whose lists are in one order."""
    if isinstance(value, list):
        return sorted(map(_sort, value), key=repr)
    return {key: _sort(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.process
def test_git_merges_two_branches(cli: Callable[..., Any], git: Callable[..., str], tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    git()
    (repo / "rubrics").mkdir()
    file = repo / "rubrics/tone.yaml"
    file.write_text(BASE)
    ran = cli("-C", repo, "init", "--merge-driver")
    assert "in every clone: evalstore init --merge-driver" in ran.out
    assert git("config", "--local", "merge.evalstore.driver") == "evalstore git-driver merge -- %O %A %B %P"
    git("config", "merge.evalstore.driver", f"{sys.executable} -m evalstore git-driver merge -- %O %A %B %P")
    git("add", ".")
    git("commit", "-q", "-m", "Start")
    git("switch", "-q", "-c", "yours")
    file.write_text(with_checks(BASE, "yours"))
    cli("-C", repo, "bump", "rubric/tone")
    git("switch", "-q", "main")
    file.write_text(with_checks(BASE, "mine"))
    git("commit", "-q", "-am", "Mine")
    git("merge", "-q", "--no-edit", "yours")
    assert file.read_text() == with_checks(BASE, "mine", "yours")
    cli("-C", repo, "bump", "rubric/tone")
    assert cli("-C", repo, "verify").code == 0


def make_entry(version: str) -> LockEntry:
    hex_ = version.replace(".", "").rjust(40, "a")
    return LockEntry(version, hex_, hex_, hex_, hex_.rjust(64, "b"), hex_.rjust(64, "c"))


def test_locks_keep_what_each_side_locked() -> None:
    base = Lock({"rubric/a": make_entry("1.0.0")}, {"rubric/a": LockedLedger(1, "1" * 64)})
    ours = replace(base, refs={**base.refs, "rubric/b": make_entry("1.0.0")})
    theirs = Lock({"rubric/a": make_entry("2.0.0")}, {"rubric/a": LockedLedger(2, "2" * 64)})
    merged = merge_file("evals/evalstore.lock", MergeSides(*map(write_lock, (base, ours, theirs))))
    assert merged.is_clean
    assert read_lock(merged.data) == Lock({**theirs.refs, "rubric/b": make_entry("1.0.0")}, theirs.ledgers)


def test_a_reference_that_both_locked_otherwise_is_in_conflict() -> None:
    sides = [Lock({"rubric/a": make_entry(version)}) for version in ("1.0.0", "2.0.0", "2.0.1")]
    merged = merge_file("evalstore.lock", MergeSides(*map(write_lock, sides)))
    assert (merged.is_clean, b"<<<<<<<" in merged.data) == (False, True)


def test_a_lock_that_cannot_be_read_is_merged_by_lines() -> None:
    merged = merge_file("evalstore.lock", MergeSides(b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n"))
    assert (merged.is_clean, merged.data) == (True, b"A\nb\nC\n")
