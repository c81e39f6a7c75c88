"""An answer that was kept is that of today: whatever differs, the store is read again."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalstore.cli.main
from evalstore import kept_answers
from evalstore.errors import RefusedError
from evalstore.store.kept_values import KeptValues

TONE = 'id: tone\nversion: "1.0.0"\nchecks:\n  - kind: regex\n    pattern: hello\nscoring:\n  combine: all_pass\n'
ROWS = 'id: small\nversion: "1.0.0"\nrows: small.jsonl\ndefaults:\n  rubric_ref: rubric/tone@1.0.0\n'
LATER = 0.03  # seconds after which a file counts as settled here
COMMANDS = sorted(kept_answers.COMMANDS)
Run = Callable[..., tuple[bool, int, str, str]]


@pytest.fixture
def store(git: Callable[..., str], template: Callable[..., Any], cli: Callable[..., Any], tmp_path: Path) -> Path:
    repo = tmp_path / "repo"

    def make() -> None:
        git("status")
        for path, text in {
            "evalstore.yaml": "strict: false\n",
            "rubrics/tone.yaml": TONE,
            "datasets/small.yaml": ROWS,
            "datasets/small.jsonl": '{"id": "one", "input": "Hello?"}\n',
            "bundles/extra.schema.json": '{"type": "object"}\n',
            "README.md": "What this is.\n",
            "runs/old.jsonl": "{}\n",
            "docs/rubrics/tone.yaml": TONE,
        }.items():
            (repo / path).parent.mkdir(parents=True, exist_ok=True)
            (repo / path).write_text(text)
        assert cli("-C", repo, "bump", "--all").code == 0
        assert cli("-C", repo, "lock").code == 0
        git("add", ".")
        git("commit", "-qm", "all")
        git("branch", "side")

    template("for kept answers", make)
    return repo


@pytest.fixture
def run(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command, and say whether it really ran."""
    ran: list[Any] = []
    main = evalstore.cli.main.main
    monkeypatch.setattr(evalstore.cli.main, "main", lambda *argv, **named: (ran.append(1), main(*argv, **named)))
    monkeypatch.setattr(kept_answers, "SETTLED", int(LATER * 1e9))

    def run_one(folder: Path, *argv: str, **env: str) -> tuple[bool, int, str, str]:
        ran.clear()
        done = cli("-C", folder, *argv, **env)
        return bool(ran), done.code, done.out, done.err

    return run_one


def keep(run: Run, folder: Path, *argv: str) -> tuple[Any, ...]:
    time.sleep(2 * LATER)
    first, again = run(folder, *argv), run(folder, *argv)
    assert first[0]
    assert again == (False, *first[1:])
    return first


def ask(store: Path, command: str = "status") -> str | None:
    question = kept_answers.make_question(["-C", str(store), command])
    return question and question.digest


def replace_in_place(path: Path, old: str, new: str) -> None:
    assert len(old) == len(new)
    status = path.stat()
    with path.open("r+") as file:
        text = file.read().replace(old, new)
        file.seek(0)
        file.write(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)


Change = Callable[[Path, Callable[..., str]], object]
CHANGES: dict[str, Change] = {
    "a byte, with the same size and time": lambda store, _: replace_in_place(store / "rubrics/tone.yaml", "ll", "lp"),
    "another version": lambda store, _: replace_in_place(store / "rubrics/tone.yaml", "1.0.0", "1.0.1"),
    "a file more": lambda store, _: (store / "rubrics/more.yaml").write_text(TONE.replace("tone", "more")),
    "a file less": lambda store, _: (store / "rubrics/tone.yaml").unlink(),
    "another name": lambda store, _: (store / "rubrics/tone.yaml").rename(store / "rubrics/tune.yaml"),
    "a link": lambda store, _: (store / "rubrics/more.yaml").symlink_to("tone.yaml"),
    "rows": lambda store, _: replace_in_place(store / "datasets/small.jsonl", "one", "ONE"),
    "a bundle": lambda store, _: (store / "bundles/extra.schema.json").write_text("{"),
    "a folder that looks like one": lambda store, _: shutil.copytree(store / "rubrics", store / "rubric"),
    "settings": lambda store, _: (store / "evalstore.yaml").write_text("strict: true\nunpinned: forbid\n"),
    "a prefix of tags": lambda store, _: (store / "evalstore.yaml").write_text('tag_prefix: "x/"\n'),
    "settings that are gone": lambda store, _: (store / "evalstore.yaml").unlink(),
    "an acceptance": lambda store, _: (store / ".evalstore/accepted.yaml").write_text("- nonsense\n"),
    "the lock": lambda store, _: (store / "evalstore.lock").unlink(),
    "a ledger": lambda store, _: (store / ".evalstore/sums/rubric/tone").write_text("odd\n"),
    "a tag that is gone": lambda _, git: git("tag", "-d", "rubric/tone@1.0.0"),
    "a tag that moved": lambda _, git: git("tag", "-fam", "moved", "rubric/tone@1.0.0", "side~1"),
    "a tag that is a symbolic ref": lambda _, git: (
        git("tag", "copy", "rubric/tone@1.0.0^{}"),
        git("tag", "-d", "rubric/tone@1.0.0"),
        git("symbolic-ref", "refs/tags/rubric/tone@1.0.0", "refs/tags/copy"),
    ),
    "a tag more": lambda _, git: git("tag", "rubric/tone@1.1.0"),
    "packed refs": lambda _, git: (git("tag", "-d", "dataset/small@1.0.0"), git("pack-refs", "--all")),
    "a commit": lambda store, git: (
        (store / ".evalstore/sums/rubric/tone").unlink(),
        git("commit", "-qam", "no ledger"),
    ),
    "a shallow clone": lambda store, git: (store / ".git/shallow").write_text(git("rev-parse", "HEAD") + "\n"),
    "a broken config": lambda store, _: (store / ".git/config").write_text("[core\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_another_question(change: str, store: Path, git: Callable[..., str]) -> None:
    before = [ask(store), ask(store)]
    CHANGES[change](store, git)
    assert before[0] == before[1] != ask(store)


def test_list_reads_no_ledger_but_that_of_head(store: Path, run: Run) -> None:
    listed = run(store, "list")
    before = [ask(store, command) for command in COMMANDS]
    for path in (store / ".evalstore/sums").rglob("*"):
        if path.is_file():
            path.write_text("odd\n")
    (store / ".git/evalstore/answer-list").unlink(missing_ok=True)
    assert run(store, "list") == listed
    assert [ask(store, command) == asked for command, asked in zip(COMMANDS, before, strict=True)] == [
        command == "list" for command in COMMANDS
    ]


def test_what_changed_is_read_again(store: Path, git: Callable[..., str], run: Run) -> None:
    for command in COMMANDS:
        keep(run, store, command)
    CHANGES["another version"](store, git)
    answers = [run(store, command) for command in COMMANDS]
    shutil.rmtree(store / ".git/evalstore")
    assert answers == [run(store, command) for command in COMMANDS]
    assert all(answer[0] for answer in answers)


def test_a_bundle_that_lies_elsewhere_is_read_again(store: Path, run: Run) -> None:
    extra = store / "schemas/extra.json"
    extra.parent.mkdir()
    (store / "evalstore.yaml").write_text("bundles: {extra: schemas/extra.json}\n")
    (store / "datasets/small.jsonl").write_text(
        '{"id": "one", "input": "Hello?", "bundle": "extra", "language": "en"}\n'
    )
    extra.write_text('{"properties": {"language": {"type": "string"}}}')
    time.sleep(2 * LATER)
    found = [run(store, "validate")[:2] for _ in range(2)]
    extra.write_text('{"properties": {"language": {"type": "number"}}}')
    ran, _, out, _ = run(store, "validate")
    assert (found, ran) == ([(True, 0)] * 2, True)
    assert "`language` must be a number" in out


def test_what_no_command_reads_changes_no_answer(store: Path, run: Run) -> None:
    before = [run(store, command)[1:] for command in COMMANDS]
    covered = {*kept_answers._STORE_FILES, *kept_answers._STORE_FOLDERS, ".git"}
    others = [path for path in store.rglob("*") if path.is_file() and path.relative_to(store).parts[0] not in covered]
    assert len(others) == 3
    for path in others:
        path.write_text("garbage: [")
    for name in kept_answers._UNREAD_NAMES - {"objects", "evalstore"}:
        shutil.rmtree(store / ".git" / name, ignore_errors=True)
    shutil.rmtree(store / ".git/evalstore")
    (store / ".git/index").write_bytes(b"garbage")
    assert [run(store, command)[1:] for command in COMMANDS] == before


def test_surroundings_are_part_of_the_question(store: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(run, store, "list")
    for argv, env in (
        (("--format", "json"), {}),
        ((), {"FORCE_COLOR": "1", "COLUMNS": "70", "TERM": "xterm"}),
        ((), {"LC_ALL": "C"}),
    ):
        assert run(store, "list", *argv, **env)[0]
        assert not run(store, "list", *argv, **env)[0]
    assert run(store / "rubrics", "list")[0]
    questions = {ask(store)}
    monkeypatch.setattr(kept_answers, "VERSION", "99.0.0")
    questions.add(ask(store))
    monkeypatch.setattr(time, "gmtime", lambda: time.struct_time((2031, 1, 1, 0, 0, 0, 0, 0, 0)))
    questions.add(ask(store))
    monkeypatch.setattr(kept_answers, "_PROGRAMS", ("git", "env"))
    questions.add(ask(store))
    assert len(questions) == 4


def test_other_code_is_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def describe() -> str:
        facts = kept_answers.Facts()
        kept_answers.add_code(facts)
        return facts.digest

    rules, packages = tmp_path / "package/diff/rules.py", tmp_path / "site-packages"
    rules.parent.mkdir(parents=True)
    rules.write_text("RULES = 1\n")
    packages.mkdir()
    monkeypatch.setattr(kept_answers, "__file__", str(tmp_path / "package/kept_answers.py"))
    monkeypatch.setattr(sys, "path", [str(packages)])
    found = [describe(), describe()]
    replace_in_place(rules, "1", "2")
    found.append(describe())
    (packages / "regex-2.dist-info").mkdir()
    found.append(describe())
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_options_that_read_elsewhere_are_not_kept(store: Path, run: Run) -> None:
    time.sleep(2 * LATER)
    for argv in (
        ("validate", "rubrics"),
        ("validate", "--fix"),
        ("validate", "--base", "side"),
        ("status", "--base", "side"),
    ):
        assert run(store, *argv) == run(store, *argv)
    assert not list((store / ".git/evalstore").glob("answer-*"))


def test_what_was_changed_just_now_is_not_trusted(store: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "SETTLED", 3_600_000_000_000)
    assert run(store, "list")[0]
    assert run(store, "list")[0]
    assert not (store / ".git/evalstore/answer-list").exists()


def test_another_clock_is_not_trusted(store: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 5_000_000_000)
    assert run(store, "list")[0]
    assert not (store / ".git/evalstore/answer-list").exists()


def test_damage_is_never_an_answer(store: Path, run: Run, samples: Callable[[int], int]) -> None:
    good = keep(run, store, "status")
    path, dice = store / ".git/evalstore/answer-status", random.Random(8)  # noqa: S311  # the same damage every time
    data = path.read_bytes()
    for number in range(samples(160)):
        damaged = bytearray(data[: dice.randrange(len(data))] if number % 2 else data)
        for _ in range(dice.randint(0 if number % 2 else 1, 3)):
            at = dice.randrange(len(damaged) + 1)
            damaged[at : at + dice.randint(0, 9)] = dice.randbytes(dice.randint(1, 9))
        path.write_bytes(damaged)
        question = kept_answers.make_question(["-C", str(store), "status"])
        assert question is not None
        assert kept_answers.find_answer(question) is None
    assert run(store, "status") == good


def test_what_others_wrote_is_never_an_answer(
    store: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good = keep(run, store, "list")
    path = store / ".git/evalstore/answer-list"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o620)  # others of a group may have written it
    assert run(store, "list") == good
    moved = tmp_path / "moved"
    path.rename(moved)
    path.symlink_to(moved)
    assert run(store, "list") == good
    path.unlink()
    keep(run, store, "list")
    shutil.copytree(store, tmp_path / "copy", copy_function=shutil.copy2)  # as an archive brings it along
    assert run(tmp_path / "copy", "list") == good
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert run(store, "list") == good


def test_what_decides_on_releases_reads_nothing_that_was_kept(
    store: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something that was kept is read")

    monkeypatch.setattr(KeptValues, "open", refuse)
    monkeypatch.setattr("evalstore.__main__.find_answer", refuse)
    for argv in (
        ["verify"],
        ["lock"],
        ["lock", "--check"],
        ["resolve", "rubric/tone@1.0.0"],
        ["bump", "--all", "--dry-run"],
    ):
        assert cli("-C", store, *argv).code in {0, 1}, argv


def test_a_git_directory_that_cannot_be_written(store: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    time.sleep(2 * LATER)

    def refuse(*_: object, **__: object) -> None:
        raise RefusedError("cannot be written: read-only file system")

    monkeypatch.setattr("evalstore.files.write_aside_below", refuse)
    assert run(store, "list") == run(store, "list")
    assert not (store / ".git/evalstore/answer-list").exists()


def test_worktrees_and_bare_repositories_have_their_own(
    store: Path, run: Run, git: Callable[..., str], tmp_path: Path
) -> None:
    git("worktree", "add", "-q", str(tmp_path / "tree"), "side")
    git("clone", "-q", "--bare", str(store), str(tmp_path / "bare.git"), cwd=tmp_path)
    places = [store, tmp_path / "tree", tmp_path / "bare.git"]
    for place in places:
        keep(run, place, "list")
    (tmp_path / "tree/rubrics/tone.yaml").write_text("odd")
    assert not run(store, "list")[0]
    assert run(tmp_path / "tree", "list")[0]
    git("tag", "-d", "rubric/tone@1.0.0")
    assert [run(place, "list")[0] for place in places] == [True, True, False]
    git("tag", "-d", "rubric/tone@1.0.0", cwd=tmp_path / "bare.git")
    assert run(tmp_path / "bare.git", "list")[0]


def test_the_exit_code_and_messages_are_kept(store: Path, run: Run, git: Callable[..., str]) -> None:
    git("tag", "rubric/tone@odd")
    (store / "rubrics/tone.yaml").write_text(TONE.replace("hello", "good bye"))
    assert "ignored tag" in keep(run, store, "list")[3]
    assert keep(run, store, "status", "--check")[1] == 1


@pytest.mark.process
def test_a_kept_answer_loads_nothing_that_takes_time(store: Path) -> None:
    probe = "import sys\nfrom evalstore.__main__ import run\ntry:\n  run()\nfinally:\n  print(*sys.modules, file=sys.stderr)"
    time.sleep(max(0.0, 2.1 - (time.time() - (store / "evalstore.lock").stat().st_ctime)))
    argv = [sys.executable, "-c", probe, "-C", str(store), "list"]
    first, again = (subprocess.run(argv, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout == again.stdout
    assert "click" in first.stderr.split()
    assert not {"click", "re", "typing", "subprocess", "dataclasses", "pathlib"} & set(again.stderr.split())
