"""`git diff` and `git log -p` with evalstore inside: real git, and files of every sort; git never stops."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rows import mark_slow

pytestmark = pytest.mark.process  # git starts evalstore

Git = Callable[..., str]
RUBRIC = """\
# The first words
id: tone
version: "1.0.0"
checks:
  - id: calm
    kind: must_not_contain
    values: ["!!", "??"]
  - {kind: must_contain_any, values: [please], id: polite}
scoring: {combine: all_pass}
"""
# The same ruler: other layout, order and comments, a default that is written out.
RESPELLED = """\
version: 1.0.0
id: tone
scoring:
  combine: all_pass   # all of them
  threshold: 0.70
checks:
  - {id: polite, values: [please], kind: must_contain_any}
  - kind: must_not_contain
    id: calm
    values: ["??", "!!"]
    case_sensitive: false
"""
EVALSTORE = f"{sys.executable} -m evalstore git-driver"


@pytest.fixture
def repo(git: Git, tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    git("config", "diff.evalstore.textconv", f"{EVALSTORE} textconv --")
    (repo / "rubrics").mkdir()
    (repo / ".gitattributes").write_text("*.yaml diff=evalstore\n")
    (repo / "rubrics/tone.yaml").write_text(RUBRIC)
    git("add", ".")
    git("commit", "-q", "-m", "Start")
    return repo


@pytest.fixture
def driven(git: Git, repo: Path) -> Path:
    git("config", "diff.evalstore.command", f"{EVALSTORE} diff --")
    return repo


def test_another_spelling_of_one_ruler_is_no_difference(git: Git, repo: Path) -> None:
    (repo / "rubrics/tone.yaml").write_text(RESPELLED)
    assert git("diff").splitlines()[2:] == []
    assert git("diff", "--no-textconv") != ""


def test_a_change_is_one_line_and_a_default_is_said(git: Git, repo: Path) -> None:
    (repo / "rubrics/tone.yaml").write_text(RESPELLED.replace("[please]", "[please, thanks]").replace("0.70", "0.5"))
    lines = git("diff", "-U99").splitlines()
    assert [line for line in lines[4:] if line[0] in "+-"] == [
        "+      - thanks",
        "-  threshold: 0.7",
        "+  threshold: 0.5",
    ]
    assert "     case_sensitive: false" in lines


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"- a\\n- b"', "[a, b]"),
        ('"a\\nb"', '"a\\nb\\n"'),
        ('"true"', "true"),
        ('"1"', "1"),
        ("[[a]]", "[a]"),
        ("{}", "[]"),
        ('""', "null"),
    ],
)
def test_two_values_never_read_the_same(cli: Callable[..., Any], tmp_path: Path, old: str, new: str) -> None:
    told = []
    for value in (old, new):
        (tmp_path / "a.yaml").write_text(f"{RUBRIC}x_note: {value}\n")
        told.append(cli("git-driver", "textconv", "a.yaml", cwd=tmp_path).out)
    assert told[0] != told[1]


def test_the_log_reads_as_the_diff(git: Git, repo: Path) -> None:
    (repo / "rubrics/tone.yaml").write_text(RUBRIC.replace("please", "thanks"))
    git("commit", "-q", "-a", "-m", "Thank them")
    assert "+      - thanks" in git("log", "-p", "-1")


# What a file may hold that is not an artifact, and a word that must come through.
ODD = {
    "broken": (b"id: [\nHELLO\n", "HELLO"),
    "no artifact": (b"HELLO: 1\n", "HELLO"),
    "bytes": (b"id: \xff\xfe HELLO\n", "HELLO"),
    "nul": (b"id: a\0HELLO\n", ""),
    "escapes": (b"id: \x1b]0;HELLO\x07\n", "HELLO"),
    "a bomb": (b"a: &a [x, x]\nb: &b [*a, *a]\nHELLO: *b\n", "HELLO"),
    "deep": (b"HELLO: " + b"[" * 5000, "HELLO"),
    "two of a key": (b"id: tone\nid: HELLO\n", "HELLO"),
    "no newline": (b"HELLO", "HELLO"),
    "CRLF": (RUBRIC.replace("please", "HELLO").replace("\n", "\r\n").encode(), "HELLO"),
    "wrong shapes": (b"id: HELLO\nchecks: 7\nscoring: []\n", "HELLO"),
    "a judge": (b'id: HELLO\nversion: "1.0.0"\ntemplate: "{{ output }}"\nscore_type: binary\n', "HELLO"),
    "empty": (b"", ""),
}


def test_a_file_that_is_no_artifact_is_given_to_git_as_it_is(cli: Callable[..., Any], tmp_path: Path) -> None:
    for data, word in ODD.values():
        (tmp_path / "odd.yaml").write_bytes(data)
        ran = cli("git-driver", "textconv", "--", "odd.yaml", cwd=tmp_path)
        assert (ran.code, word in ran.out) == (0, True)
        assert not {"\x1b", "\x07", "\0"} & set(ran.out)


@pytest.mark.parametrize("driver", [mark_slow(False), True])
@pytest.mark.parametrize("names", [("escapes", "a judge"), pytest.param(tuple(ODD), marks=pytest.mark.slow)])
def test_a_file_that_is_no_artifact_is_shown_as_it_is(
    git: Git, repo: Path, names: tuple[str, ...], *, driver: bool
) -> None:
    if driver:
        git("config", "diff.evalstore.command", f"{EVALSTORE} diff --")
    paths = {name: repo / f"rubrics/odd{number}.yaml" for number, name in enumerate(names)}
    for path in paths.values():
        path.write_text(RUBRIC)
    git("add", ".")
    for name, path in paths.items():
        path.write_bytes(ODD[name][0].replace(b"HELLO", f"HELLO-{path.stem}".encode()))
    told = git("diff")
    for name, path in paths.items():
        word = ODD[name][1].replace("HELLO", f"HELLO-{path.stem}")
        assert word in told, name
        assert path.name in told, name  # what comes after one is shown, too
    assert not {"\x1b", "\x07", "\0"} & set(told)


def test_the_driver_tells_findings(git: Git, driven: Path) -> None:
    (driven / "rubrics/tone.yaml").write_text(RUBRIC.replace("[please]", "[please, thanks]"))
    told = git("diff")
    assert told.splitlines()[:4] == [
        "evalstore diff rubrics/tone.yaml",
        "rubric/tone 1.0.0 → rubric/tone 1.0.0",
        "",
        "MAJOR  polite also accepts 'thanks'",
    ]
    assert "contain-phrase-added, rubrics/tone.yaml:8 (new)" in told
    assert told.endswith("1 major. This needs a major bump: the next version is 2.0.0")


def test_the_driver_tells_that_nothing_moves(git: Git, driven: Path) -> None:
    (driven / "rubrics/tone.yaml").write_text(RUBRIC.replace("first", "last"))
    assert git("diff").endswith("no noticeable change: no bump is needed")


def test_the_driver_follows_overrides_of_the_store(git: Git, driven: Path) -> None:
    (driven / "evalstore.yaml").write_text("rules: {contain-phrase-added: minor}\n")
    (driven / "rubrics/tone.yaml").write_text(RUBRIC.replace("[please]", "[please, thanks]"))
    assert "minor  polite also accepts 'thanks'" in git("diff", "--", "rubrics")


def test_the_driver_knows_new_deleted_and_renamed_files(git: Git, driven: Path) -> None:
    (driven / "rubrics/-new.yaml").write_text("HELLO\n")
    (driven / "rubrics/tone.yaml").rename(driven / "rubrics/manner.yaml")
    (driven / "rubrics/manner.yaml").write_text(RUBRIC.replace("id: tone", "id: manner"))
    git("add", ".")
    told = git("diff", "--cached", "-M50%")
    assert "evalstore diff rubrics/manner.yaml" in told
    assert "the id changes from tone to manner" in told
    assert "rename from rubrics/tone.yaml" in told
    assert "+++ b/rubrics/-new.yaml" in told
    gone = git("diff", "--cached", "--no-renames")
    assert "--- a/rubrics/tone.yaml\n+++ /dev/null" in gone


def test_a_file_at_the_root_may_begin_with_a_dash(git: Git, driven: Path) -> None:
    (driven / "--help.yaml").write_text(RUBRIC)
    git("add", ".")
    assert "+++ b/--help.yaml" in git("diff", "--cached")


def test_the_driver_knows_modes_links_and_conflicts(git: Git, driven: Path) -> None:
    (driven / "rubrics/tone.yaml").chmod(0o755)
    assert "mode 100644 → 100755" in git("diff")
    (driven / "rubrics/tone.yaml").unlink()
    (driven / "rubrics/tone.yaml").symlink_to("/etc/passwd")
    told = git("diff")
    assert "+/etc/passwd" in told
    assert "root:" not in told
    (driven / "rubrics/tone.yaml").unlink()
    git("checkout", "-q", "-f", "-b", "other")
    for branch, word in (("other", "one"), ("main", "two")):
        git("checkout", "-q", branch)
        (driven / "rubrics/tone.yaml").write_text(RUBRIC.replace("please", word))
        git("commit", "-q", "-a", "-m", word)
    subprocess.run(["git", "merge", "-q", "other"], cwd=driven, capture_output=True, check=False)
    assert "* Unmerged path rubrics/tone.yaml" in git("diff", "--cached")
    assert "<<<<<<<" in git("diff")


def test_a_bug_or_a_store_that_cannot_be_read_hides_nothing(git: Git, driven: Path) -> None:
    (driven / "evalstore.yaml").write_text("rules: 7\n")
    (driven / "rubrics/tone.yaml").write_text(RUBRIC.replace("please", "HELLO"))
    told = git("diff", "--", "rubrics")
    assert "HELLO" in told


def test_the_pager_of_git_gets_colours(git: Git, driven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (driven / "rubrics/tone.yaml").write_text(RUBRIC.replace("please", "thanks"))
    for env, coloured in (({"GIT_PAGER_IN_USE": "true", "TERM": "xterm"}, True), ({"TERM": "xterm"}, False)):
        done = subprocess.run(["git", "diff"], cwd=driven, env={**os.environ, **env}, capture_output=True, check=True)
        assert (b"\x1b[1;31mMAJOR" in done.stdout) is coloured


@pytest.mark.parametrize(
    "words", [["git-driver", "textconv", "a", "b"], ["git-driver", "diff", "a", "b"], ["diff", "a", "b", "c"]]
)
def test_another_number_of_words_is_a_wrong_command_line(cli: Callable[..., Any], words: list[str]) -> None:
    ran = cli(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "hint: " in ran.err


def test_a_file_that_is_not_there_is_said(cli: Callable[..., Any], tmp_path: Path) -> None:
    ran = cli("git-driver", "textconv", "none.yaml", cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (3, "", "error: none.yaml: cannot be read\n")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert cli("git-driver", "textconv", "pipe.yaml", cwd=tmp_path).code == 3
