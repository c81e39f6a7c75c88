from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.errors import GitError
from evalstore.store.repository import git as git_module
from evalstore.store.repository.git import CommandError, Git


@pytest.fixture
def here(git: Callable[..., str], repo: Path) -> Git:
    git()
    return Git(repo / ".git", repo / ".git")


def test_run_takes_and_returns_bytes_as_they_are(here: Git) -> None:
    oid = here.run("hash-object", "-w", "--stdin", stdin=b"x\n\n").decode().strip()
    assert here.run("cat-file", "blob", oid) == b"x\n\n"


def test_failure_carries_status_and_words(here: Git) -> None:
    with pytest.raises(CommandError, match=r"git cat-file failed: ") as caught:
        here.run("cat-file", "blob", "0" * 40)
    assert caught.value.status == 128
    assert "bad file" in caught.value.stderr


def test_a_failure_names_the_command_and_not_where_it_ran(here: Git) -> None:
    with pytest.raises(CommandError, match=r"^git cat-file failed: "):
        here.run("-C", "/", "-c", "core.pager=cat", "cat-file", "blob", "0" * 40)


def test_ask_takes_exit_code_one_for_no(here: Git) -> None:
    assert here.run_or_none("cat-file", "-e", "0" * 40) is None
    with pytest.raises(CommandError):
        here.run_or_none("cat-file", "blob", "0" * 40)


def test_not_a_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not a git repository") as caught:
        Git(tmp_path, tmp_path).run("for-each-ref")
    assert caught.value.hint == "create one: evalstore init"


def test_environment_of_a_surrounding_hook_does_not_reach_git(
    here: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_CONFIG_PARAMETERS"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    oid = here.run("hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    assert (here.directory / "objects" / oid[:2] / oid[2:]).is_file()
    assert not (tmp_path / "elsewhere").exists()


def test_named_variables_can_be_added_and_taken_out(here: Git, tmp_path: Path) -> None:
    index = tmp_path / "index"
    here.run("read-tree", "--empty", env={"GIT_INDEX_FILE": str(index)})
    assert index.is_file()
    hidden = here.run("config", "--default", "nobody", "--get", "user.name").decode().strip()
    shown = here.run("config", "--global", "--get", "user.name", env={"GIT_CONFIG_GLOBAL": None}).decode().strip()
    assert (hidden, shown) == ("nobody", "Ada Tester")


def test_slow_git_is_ended_and_said(here: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_module, "TIMEOUT", 0.3)
    os.mkfifo(here.directory / "refs/heads/pipe")
    with pytest.raises(GitError, match=r"did not answer within 0\.3 seconds"):
        here.run("for-each-ref")


def test_missing_git_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"bin:.:{tmp_path}")
    with pytest.raises(GitError, match="git is not installed"):
        git_module.find_executable.__wrapped__()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("fatal: detected dubious ownership in repository at '/x'", "belongs to another user"),
        ("fatal: Unable to create '/x/.git/HEAD.lock': File exists.", "another git process has a lock"),
        ("fatal: bad config line 1 in file .git/config", "configuration cannot be read"),
        ("error: first\nfatal: last \x1b[31m words", r"git gc failed: last \\x1b\[31m words"),
        ("", "git gc failed: exit code 7"),
        ("fatal: cannot update ref 'refs/a': couldn't write '/x/a.lock'", "git cannot write to the disk, which may be"),
        ("fatal: Unable to create '/x/index.lock': No space left on device", "the disk is full"),
    ],
)
def test_words_of_git_become_one_sentence(said: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        raise CommandError("gc", 7, said)


@pytest.mark.process
def test_gitpython_is_imported_only_when_git_is_asked() -> None:
    code = "import sys, evalstore.store; sys.exit('git' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.process
def test_reading_imports_no_gitpython_and_writing_does(here: Git) -> None:
    code = (
        "import pathlib, sys; from evalstore.store.repository.git import Git; git = Git(*map(pathlib.Path, sys.argv[1:])); "
        "git.run('for-each-ref'); before = 'git' in sys.modules; git.run('pack-refs'); print(before, 'git' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *here[:2]], check=True, capture_output=True, text=True)
    assert ran.stdout == "False True\n"


def test_an_interrupt_leaves_no_process(here: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def interrupted(process: subprocess.Popen[bytes], **_: object) -> None:
        started.append(process)
        raise KeyboardInterrupt

    here.run("for-each-ref")
    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    os.mkfifo(here.directory / "refs/heads/pipe")
    with pytest.raises(KeyboardInterrupt):
        here.run("for-each-ref")
    gc.collect(1)
    assert started[0].wait(timeout=20)


def test_a_folder_of_the_path_that_cannot_be_searched_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    found = git_module.find_executable()

    def refused(path: Path) -> bool:
        if path.parent == Path("/closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return True

    monkeypatch.setattr(Path, "is_file", refused)
    monkeypatch.setenv("PATH", f"/closed:{Path(found).parent}")
    assert git_module.find_executable.__wrapped__() == found
