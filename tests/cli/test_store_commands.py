"""The five commands that make and read a store, through the real entry point."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.documents import read_yaml
from evalstore.places import find_resource_folder

Cli = Callable[..., Any]
Git = Callable[..., str]
TEXT = (
    'id: tone\nversion: "{version}"\n# a comment\nchecks:\n  - kind: must_contain_any\n    values: [{word}]\n'
    "scoring:\n  combine: all_pass\n"
)
MESSAGE = (
    "Ask for please\n\nBecause it was rude.\n\nEvalstore-Digest: {0}\nEvalstore-Bump: {1}\nEvalstore-Previous: {2}\n"
)


@pytest.fixture
def repo(git: Git, template: Callable[..., Any], tmp_path: Path) -> Path:
    """Return a repository with rubric/tone 1.0.0 (lightweight), 1.1.0 and 2.0.0, and a changed working file."""
    repo = tmp_path / "repo"
    template("three releases by hand", lambda: release(git, repo))
    return repo


def release(git: Git, repo: Path) -> None:
    git()
    (repo / "rubrics").mkdir()
    for version, word in (("1.0.0", "please"), ("1.1.0", "thanks"), ("2.0.0", "sorry")):
        (repo / "rubrics/tone.yaml").write_text(TEXT.format(version=version, word=word))
        git("add", ".")
        git("commit", "-q", "-m", f"Say {word}")
        if version == "1.0.0":
            git("tag", "rubric/tone@1.0.0")
        else:
            bump, before = ("major", "1.1.0") if version == "2.0.0" else ("minor", "1.0.0")
            git("tag", "-a", f"rubric/tone@{version}", "-F", "-", stdin=MESSAGE.format("f" * 64, bump, before))
    (repo / "rubrics/tone.yaml").write_text(TEXT.format(version="2.1.0", word="bye"))


def valid(ran: Any, command: str) -> Any:
    """Parse stdout as one document and check it against the published schema."""
    document = json.loads(ran.out)
    schema = json.loads((find_resource_folder("schema") / "output" / f"{command}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)
    return document


# list


def test_list_shows_release_file_and_change(cli: Cli, repo: Path) -> None:
    ran = cli("-C", repo, "list")
    assert (ran.code, ran.next_steps) == (0, f"next: evalstore -C {repo} status\n")
    assert [line.split() for line in ran.out.splitlines()] == [
        ["ARTIFACT", "RELEASED", "RELEASES", "FILE"],
        ["rubric/tone", "2.0.0", "3", "2.1.0", "changed"],
    ]


def test_list_tells_unchanged_unreleased_deleted_and_broken_files(cli: Cli, repo: Path, git: Git) -> None:
    git("checkout", "-q", "rubrics/tone.yaml")
    (repo / "judges").mkdir()
    (repo / "judges/exact.yaml").write_text('id: exact\nversion: "0.1.0"\ntemplate: x\nscore_type: binary\n')
    (repo / "rubrics/broken.yaml").write_text("id: [")
    git("tag", "rubric/gone@1.0.0-rc.1")
    document = valid(cli("-C", repo, "list", "--format", "json"), "list")
    rows = {
        one["ref"]: (one["latest"], one["releases"], one["working"], one["changed"]) for one in document["artifacts"]
    }
    assert rows == {
        "judge/exact": (None, 0, "0.1.0", None),
        "rubric/broken": (None, 0, None, None),
        "rubric/gone": ("1.0.0-rc.1", 1, None, None),
        "rubric/tone": ("2.0.0", 3, "2.0.0", False),
    }
    problems = [one["problem"] for one in document["artifacts"] if one["problem"]]
    assert len(problems) == 1
    assert problems[0].startswith("rubrics/broken.yaml:2:1: not YAML")


def test_list_names_tags_that_are_no_versions_on_stderr(cli: Cli, repo: Path, git: Git) -> None:
    git("tag", "rubric/tone@3.0.0\u202e", "HEAD")
    git("tag", "rubric/tone@4.0.0", "HEAD^{tree}")
    ran = cli("-C", repo, "list")
    assert ran.err.splitlines() == [
        r"ignored tag rubric/tone@3.0.0\u202e: its name is not <kind>/<id>@<MAJOR.MINOR.PATCH>",
        "ignored tag rubric/tone@4.0.0: names a tree, not a commit",
    ]


def test_list_of_an_empty_store_says_what_to_do(cli: Cli, git: Git, tmp_path: Path) -> None:
    git()
    assert cli("-C", tmp_path / "repo", "list").out.startswith("no artifacts here: evalstore init makes a store")


def test_list_of_a_bare_repository(cli: Cli, repo: Path, git: Git, tmp_path: Path) -> None:
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare"))
    assert cli("-C", tmp_path / "bare", "list").out.splitlines()[1].split() == ["rubric/tone", "2.0.0", "3", "-"]


# show


def test_show_prints_the_file_as_it_was(cli: Cli, repo: Path, git: Git) -> None:
    ran = cli("-C", repo, "show", "rubric/tone@1.0.0")
    assert (ran.code, ran.out, ran.err) == (0, TEXT.format(version="1.0.0", word="please"), "")
    assert valid(cli("-C", repo, "show", "rubric/tone@1.0.0", "--format", "json"), "show")["text"] == ran.out


def test_show_says_which_version_a_floating_pin_is(cli: Cli, repo: Path) -> None:
    assert cli("-C", repo, "show", "rubric/tone@^1").err == "rubric/tone@^1 is rubric/tone@1.1.0\n"


def test_show_escapes_what_acts_on_a_terminal_and_raw_does_not(cli: Cli, repo: Path) -> None:
    text = "\ufeff" + TEXT.format(version="1.0.0", word="p\u202elease") + "# tab\there\r\n"
    (repo / "rubrics/tone.yaml").write_bytes(text.encode())
    shown = cli("-C", repo, "show", "rubric/tone@worktree").out
    assert r"[p\u202elease]" in shown
    assert "# tab\there\\r\n" in shown
    raw = cli("-C", repo, "show", "rubric/tone@worktree", "--raw").out
    assert raw == text


# resolve


def test_resolve_one_is_an_object_with_the_keys_of_the_contract(cli: Cli, repo: Path, git: Git) -> None:
    document = valid(cli("-C", repo, "resolve", "rubric/tone@1.1", "--format", "json"), "resolve")
    keys = ["ref", "kind", "id", "version", "tag", "commit", "blob", "digest", "scoring_digest", "floating", "locked"]
    assert list(document) == keys
    assert document["commit"] == git("rev-parse", "rubric/tone@1.1.0^{commit}")
    assert document["blob"] == git("rev-parse", "rubric/tone@1.1.0:rubrics/tone.yaml")
    assert (document["ref"], document["version"], document["floating"]) == ("rubric/tone@1.1", "1.1.0", False)


def test_resolve_several_is_a_list_in_order(cli: Cli, repo: Path) -> None:
    ran = cli("-C", repo, "resolve", "rubric/tone@worktree", "rubric/tone@1.0.0", "--format", "json")
    assert [one["version"] for one in valid(ran, "resolve")] == ["2.1.0", "1.0.0"]


def test_resolve_as_text(cli: Cli, repo: Path) -> None:
    lines = cli("-C", repo, "resolve", "rubric/tone@1.0.0").out.splitlines()
    assert lines[0] == "ref             rubric/tone@1.0.0"
    assert lines[-2:] == ["floating        no", "locked          no"]


@pytest.mark.parametrize(
    ("settings", "options", "code", "err"),
    [
        ("", (), 0, "warning: rubric/tone@^1 floats: today it is rubric/tone@1.1.0; pin that to keep it\n"),
        ("", ("--strict",), 1, "error: rubric/tone@^1 floats: today it is rubric/tone@1.1.0; pin that to keep it\n"),
        ("strict: true", (), 1, "error: rubric/tone@^1 floats: today it is rubric/tone@1.1.0; pin that to keep it\n"),
        (
            "unpinned: forbid",
            (),
            1,
            "error: rubric/tone@^1 floats: today it is rubric/tone@1.1.0; pin that to keep it\n",
        ),
        ("unpinned: allow", (), 0, ""),
    ],
)
def test_resolve_floating(cli: Cli, repo: Path, settings: str, options: tuple[str, ...], code: int, err: str) -> None:
    (repo / "evalstore.yaml").write_text(settings + "\n")
    ran = cli("-C", repo, "resolve", "rubric/tone@^1", "--format", "json", *options)
    assert (ran.code, ran.err) == (code, err)
    assert valid(ran, "resolve")["version"] == "1.1.0"


def test_resolve_missing_pin_warns(cli: Cli, repo: Path) -> None:
    ran = cli("-C", repo, "resolve", "rubric/tone")
    assert ran.err == "warning: rubric/tone has no pin: today it is rubric/tone@2.0.0; pin that to keep it\n"


def test_resolve_unknown_version_lists_what_there_is(cli: Cli, repo: Path) -> None:
    ran = cli("-C", repo, "resolve", "rubric/tone@9.0.0", "--format", "json")
    assert ran.code == 3
    assert json.loads(ran.out)["error"]["hint"] == "released: 2.0.0, 1.1.0, 1.0.0; rubrics/tone.yaml has version 2.1.0"
    assert ran.err == (
        "error: rubric/tone has no version 9.0.0\n"
        "hint: released: 2.0.0, 1.1.0, 1.0.0; rubrics/tone.yaml has version 2.1.0\n"
    )


# log


def test_log_lists_releases_newest_first(cli: Cli, repo: Path, git: Git) -> None:
    ran = cli("-C", repo, "log", "rubric/tone", "--short")
    assert ran.code == 0
    assert [line.split(maxsplit=3) for line in ran.out.splitlines()[1:]] == [
        ["2.0.0", "2025-10-09", "major", "released by Ada Tester  Ask for please"],
        ["1.1.0", "2025-10-09", "minor", "released by Ada Tester  Ask for please"],
        ["1.0.0", "2025-10-09", "-", "released by Ada Tester  Say please"],
    ]
    newest, *_, oldest = valid(cli("-C", repo, "log", "rubric/tone", "--format", "json"), "log")["releases"]
    assert (newest["digest"], newest["previous"], newest["bump"]) == ("f" * 64, "1.1.0", "major")
    assert newest["date"].startswith("2025-10-09T")
    assert (oldest["bump"], oldest["digest"], oldest["previous"]) == (None, None, None)
    assert oldest["commit"] == git("rev-parse", "rubric/tone@1.0.0")


@pytest.mark.parametrize(
    ("ref", "versions"), [("@^1", ["1.1.0", "1.0.0"]), ("@1.1", ["1.1.0"]), ("@latest", ["2.0.0", "1.1.0", "1.0.0"])]
)
def test_log_of_a_range(cli: Cli, repo: Path, ref: str, versions: list[str]) -> None:
    ran = cli("-C", repo, "log", f"rubric/tone{ref}", "--format", "json")
    assert [one["version"] for one in valid(ran, "log")["releases"]] == versions


@pytest.mark.heavy
def test_log_calls_the_first_release_first(cli: Cli, repo: Path) -> None:
    (repo / "rubrics/calm.yaml").write_text(TEXT.format(version="1.0.0", word="calm").replace("tone", "calm"))
    assert cli("-C", repo, "bump", "rubric/calm").code == 0
    assert cli("-C", repo, "log", "rubric/calm").out.splitlines()[1].split()[2] == "first"
    assert valid(cli("-C", repo, "log", "rubric/calm", "--format", "json"), "log")["releases"][0]["bump"] == "none"


def test_log_reads_trailers_of_the_last_paragraph_only_and_escapes_the_rest(cli: Cli, repo: Path, git: Git) -> None:
    git("tag", "-a", "rubric/tone@3.0.0", "-F", "-", stdin="Red \x1b[31m\n\nEvalstore-Bump: major\n\nNot the end.\n")
    line = cli("-C", repo, "log", "rubric/tone").out.splitlines()[1]
    assert line.split()[2] == "-"
    assert line.endswith(r"Red \x1b[31m")


@pytest.mark.parametrize("ref", ["rubric/tone@9.0.0", "rubric/tome", "rubric/tone@worktree", "rubric/tone@^7"])
def test_log_of_nothing_is_an_error(cli: Cli, repo: Path, ref: str) -> None:
    ran = cli("-C", repo, "log", ref)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: ")
    assert "hint: " in ran.err


# init


def test_init_makes_a_store_and_a_second_time_nothing(cli: Cli, tmp_path: Path, git: Git) -> None:
    root = tmp_path / "new/store"
    first = valid(cli("init", root, "--format", "json"), "init")
    assert first["repository_made"]
    assert sorted(path.name for path in root.iterdir()) == [
        ".evalstore", ".git", ".vscode", "datasets", "evalstore.yaml", "judges", "rubrics",
    ]  # fmt: skip
    assert git("symbolic-ref", "HEAD", cwd=root) == "refs/heads/main"
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    ran = cli("-C", root, "init")
    assert (ran.out, ran.err) == (f"{root} is a store already; nothing changed\n", "")
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*")} == before


def test_init_maps_every_folder_to_a_schema_that_is_there(cli: Cli, tmp_path: Path) -> None:
    cli("init", tmp_path)
    mapped = json.loads((tmp_path / ".vscode/settings.json").read_text())["yaml.schemas"]
    assert sorted(mapped.values()) == [
        ".evalstore/accepted.yaml",
        "datasets/*.yaml",
        "evalstore.yaml",
        "judges/*.yaml",
        "rubrics/*.yaml",
    ]
    for path in mapped:
        assert (tmp_path / path).read_bytes() == (find_resource_folder("schema") / Path(path).name).read_bytes()
    settings = (tmp_path / "evalstore.yaml").read_text()
    assert settings.startswith("# yaml-language-server: $schema=.evalstore/schema/evalstore.schema.json\n")
    assert read_yaml(settings, "evalstore.yaml").value is None


def test_init_keeps_files_that_differ_and_says_so(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / ".evalstore/schema/rubric.schema.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    ran = cli("-C", tmp_path, "init")
    assert ran.err.startswith("kept .evalstore/schema/rubric.schema.json: it differs")
    assert path.read_text() == "{}\n"


def test_init_in_a_repository_makes_no_other(cli: Cli, repo: Path) -> None:
    document = valid(cli("-C", repo, "init", "evals", "--format", "json"), "init")
    assert not document["repository_made"]
    assert not (repo / "evals/.git").exists()
    (repo / "evals/rubrics/tone.yaml").write_text(TEXT.format(version="1.0.0", word="x"))
    assert cli("-C", repo / "evals/rubrics", "resolve", "rubric/tone@worktree").code == 0


def test_init_writes_through_no_link(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "store").mkdir()
    (tmp_path / "store/.vscode").symlink_to(tmp_path / "outside")
    ran = cli("init", tmp_path / "store")
    assert (ran.code, list((tmp_path / "outside").iterdir())) == (3, [])
    assert "a link or a file is in its path" in ran.err


@pytest.mark.parametrize("where", ["bare", "a file", "read only"])
def test_init_where_it_cannot(cli: Cli, git: Git, tmp_path: Path, where: str) -> None:
    target = tmp_path / where
    if where == "bare":
        git("init", "-q", "--bare", str(target))
    elif where == "a file":
        target.write_text("")
    elif os.getuid() == 0:
        target = Path("/proc/store")
    else:
        target.mkdir(mode=0o500)
    ran = cli("init", target)
    assert ran.code == 3
    assert ran.err.startswith("error: ")


# anywhere


@pytest.mark.parametrize("command", ["list", "log rubric/x", "show rubric/x", "resolve rubric/x"])
def test_outside_a_repository(cli: Cli, tmp_path: Path, command: str) -> None:
    ran = cli(*command.split(), cwd=tmp_path)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == f"error: {tmp_path} is not in a git repository\nhint: evalstore init {tmp_path}\n"


@pytest.mark.parametrize("command", ["list", "log rubric/x", "show rubric/x", "resolve rubric/x"])
def test_without_git(cli_process: Cli, repo: Path, command: str) -> None:
    ran = cli_process("-C", repo, *command.split(), PATH="/nowhere")
    assert ran.code == 3
    assert ran.err.startswith("error: git is not installed\nhint: ")


@pytest.mark.parametrize("command", ["show", "log", "resolve", "show a b", "list x", "init a b", "resolve --no-such"])
def test_wrong_command_line(cli: Cli, repo: Path, command: str) -> None:
    ran = cli("-C", repo, *command.split())
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize("command", ["list", "log rubric/tone", "show rubric/tone@1.0.0", "resolve rubric/tone@1.0.0"])
def test_environment_of_a_hook_changes_nothing(cli: Cli, repo: Path, tmp_path: Path, command: str) -> None:
    argv = ("-C", repo, *command.split())
    elsewhere = {
        name: str(tmp_path / "x") for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_GLOBAL")
    }
    assert cli(*argv, **elsewhere) == cli(*argv)


@pytest.mark.parametrize("command", ["init", "list", "show", "resolve", "log"])
def test_help_has_examples(cli: Cli, command: str) -> None:
    ran = cli(command, "--help")
    assert ran.code == 0
    assert f"Examples:\n    evalstore {command}" in ran.out
