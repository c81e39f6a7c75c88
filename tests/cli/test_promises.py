"""What SECURITY.md promises of all commands together: where they write, that they ask no network, that bytes repeat."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.rows import mark_slow

Cli = Callable[..., Any]
REMOTE = "https://evil.example/schema.json"
FILES = {
    "rubrics/tone.yaml": "id: tone\nversion: 1.0.0\nchecks:\n  - {kind: must_not_contain, values: [simply]}\n"
    "  - {kind: json_schema, schema: {type: object, properties: {a: {$ref: '#/$defs/a'}}, $defs: {a: {type: string}}}}\n"
    "scoring: {combine: weighted_avg}\n",
    "rubrics/remote.yaml": "id: remote\nversion: 1.0.0\nchecks:\n"
    f"  - {{kind: json_schema, schema: {{$ref: '{REMOTE}'}}}}\nscoring: {{combine: all_pass}}\n",
    "judges/accuracy.yaml": 'id: accuracy\nversion: 1.0.0\ntemplate: "Right? {{ output }} {{> ../../etc/passwd}}"\nscore_type: binary\n',
    "datasets/web.yaml": "id: web\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/tone@1.0.0}\n"
    "questions:\n  - {id: a, input: Why?}\n  - {id: b, input: How?}\n",
    "out.jsonl": '{"id": "a", "output": "simply so"}\n{"id": "b", "output": "{\\"a\\": \\"x\\"}"}\n',
}
# Every command that reads a store, and then those that write into it.
READS = [
    ["list"], ["show", "rubric/tone"], ["show", "rubrics/evil.yaml"], ["resolve", "rubric/tone@1.0.0", "rubric/tone@worktree"],
    ["log", "rubric/tone"], ["blame", "rubric/tone"], ["diff"], ["diff", "rubric/tone"], ["impact", "rubric/tone"],
    ["status", "--check"], ["validate", "--strict"], ["verify"], ["lock", "--check"], ["explain", "--rules"], ["explain", "check-added"],
    ["history", "runs/web-1.0.0-out.json", "--rubric", "rubric/tone@worktree"],
    ["history", "rubric/tone", "--run", "runs/web-1.0.0-out.json"], ["audit", "runs/web-1.0.0-out.json", "runs/web-1.0.0-out.json"],
    ["show", "runs/web-1.0.0-out.json"], ["score", "dataset/web@1.0.0", "out.jsonl", "--dry-run"], ["bump", "--all", "--dry-run"],
    ["gate", "--base", "HEAD"], ["comparable", "runs/web-1.0.0-out.json", "runs/web-1.0.0-out.json"],
]  # fmt: skip
WRITES = [
    ["score", "dataset/web@1.0.0", "out.jsonl", "--out", "more"], ["lock"], ["validate", "--fix"],
    ["bump", "rubric/tone"], ["init", "--ci", "gitlab", "--pre-commit", "--merge-driver"],
    ["new", "rubric", "fresh"], ["new", "rubric", "evil"], ["bump", "--again"],
]  # fmt: skip
# Runs many command lines in one process, and prints what each answered.
DRIVER = """
import contextlib, io, json, sys
from evalstore.cli.main import main
for argv in json.loads(sys.argv[1]):
    try:
        main(argv)
    except SystemExit as end:
        print("==", argv, end.code, flush=True)
    sys.stdout.flush()
"""


@pytest.fixture
def store(git: Callable[..., str], cli: Cli, tmp_path: Path) -> Path:
    """A store with a release, a run, a changed ruler, and traps: links to outside, a remote schema, a partial."""
    git()
    root, outside = tmp_path / "repo", tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.yaml").write_text(FILES["rubrics/tone.yaml"])
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert cli("-C", root, "bump", "rubric/tone", "dataset/web").code == 0
    assert cli("-C", root, "score", "dataset/web@1.0.0", root / "out.jsonl").code == 0
    (root / "rubrics/tone.yaml").write_text(FILES["rubrics/tone.yaml"].replace("simply", "just"))
    (root / "rubrics/evil.yaml").symlink_to(outside / "secret.yaml")
    (root / "bundles").symlink_to(outside)
    return root


def drive(store: Path, commands: list[list[str]], *prefix: str, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [*prefix, sys.executable, "-c", DRIVER, json.dumps([["-C", str(store), *words] for words in commands])]
    known = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env}
    return subprocess.run(argv, cwd=store, env=known, capture_output=True, text=True, check=False)


CALL = re.compile(r"(?P<call>\w+)\((?P<words>.*)\) = (?P<result>.*)")
FOLDER = re.compile(r"(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, \"(?P<path>(?:[^\"\\]|\\.)*)\"")
CHANGES = {
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "symlink",
    "link",
    "linkat",
    "chmod",
}


def list_changes(log: Path) -> list[str]:
    """Return every path that a traced process opened for writing, or changed in another way, where it succeeded."""
    found = []
    for line in log.read_text("utf-8", "replace").splitlines():
        call = CALL.search(line)
        if call is None or call["result"].startswith("-1"):
            continue
        if call["call"] == "openat" and re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", call["words"]):
            found += re.findall(r"<([^>]*)>", call["result"])
        elif call["call"] in CHANGES:
            pairs = [(pair["folder"], pair["path"]) for pair in FOLDER.finditer(call["words"])]
            found += [os.path.normpath(Path(*pair)) for pair in pairs] or re.findall(r'"(/[^"]*)"', call["words"])
    return found


@pytest.mark.process
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_nothing_outside_is_written_and_no_network_is_asked(store: Path, tmp_path: Path) -> None:
    log = tmp_path / "strace.log"
    trace = f"openat,socket,connect,{','.join(sorted(CHANGES - {'link'}))},link"
    strace = ("strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "300", "-o", str(log), "-e", f"trace={trace}")
    (tmp_path / "temporary").mkdir()
    ran = drive(store, READS + WRITES, *strace, TMPDIR=str(tmp_path / "temporary"))
    assert ran.stdout.count("==") == len(READS + WRITES), ran.stderr
    assert "Traceback" not in ran.stderr
    changed = list_changes(log)
    inside = [path for path in changed if Path(path).is_relative_to(store)]
    assert len(inside) > 20  # it wrote: else nothing was seen
    own = (str(tmp_path / "temporary"), "/dev/null", "/dev/tty", "/proc/self")
    assert [path for path in changed if path not in inside and not path.startswith(own)] == []
    assert "AF_INET" not in log.read_text("utf-8", "replace")
    assert list((tmp_path / "outside").iterdir()) == [tmp_path / "outside/secret.yaml"]


@pytest.mark.process
@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONHASHSEED": "4242", "LC_ALL": "de_DE.UTF-8", "TZ": "America/St_Johns", "HOME": ".."},
        mark_slow({"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu", "PYTHONUTF8": "1"}),
    ],
    ids=lambda env: env["LC_ALL"],
)
def test_the_same_bytes_whatever_the_surroundings(store: Path, cli: Cli, surroundings: dict[str, str]) -> None:
    if "HOME" in surroundings:
        surroundings = {**surroundings, "HOME": str(store.parent)}
    plain = ""
    for argv in READS:  # within this process, whose own surroundings are as others have them
        words = ["-C", str(store), *argv]
        ran = cli(*words, cwd=store)
        plain += f"{ran.out}== {words} {ran.code}\n"
    assert drive(store, READS, **surroundings).stdout == plain


def snapshot(store: Path) -> dict[str, tuple[int, int, int]]:
    found = {str(path): path.lstat() for path in sorted(store.rglob("*"))}
    return {
        path: (s.st_mtime_ns, s.st_size, s.st_ino) if stat.S_ISREG(s.st_mode) else (0, 0, s.st_ino)
        for path, s in found.items()
    }


def test_commands_that_read_write_nothing(store: Path, cli: Cli) -> None:
    # As in a clone in which nothing was written yet: no lock, no journal.
    shutil.rmtree(store / ".git/evalstore")
    before = snapshot(store)
    codes = {" ".join(argv): cli("-C", store, *argv, cwd=store).code for argv in READS}
    assert snapshot(store) == before
    assert set(codes.values()) <= {0, 1, 3}
