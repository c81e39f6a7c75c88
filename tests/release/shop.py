"""A repository with a store in it, what the tests of releases do with it and ask of it, and the files they write."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError
from evalstore.model import Finding
from evalstore.model.lock import NO_LOCK, Lock
from evalstore.release.changes.status import read_status
from evalstore.release.changes.values import Released, Status
from evalstore.release.integrity.verify import Verification, check_lock, verify
from evalstore.release.publishing.bump import bump
from evalstore.release.publishing.step import BumpOptions
from evalstore.release.records.lock import lock
from evalstore.store import ArtifactStore

FORMATS = ("sha1", "sha256", "reftable")
TONE = "rubric/tone@1.0.0"
DATASET = 'id: answers\nversion: "1.0.0"\ndefaults: {rubric_ref: rubric/tone@^1}\nrows: answers.jsonl\n'
ROWS = '{"id": "a", "input": "Hello?", "rubric_ref": "rubric/tone@1.0.0"}\n{"id": "b", "input": "Bye?"}\n'
HOOKS = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-applypatch",
    "reference-transaction",
    "post-index-change",
    "post-rewrite",
    "pre-push",
    "fsmonitor-watchman",
    "post-checkout",
]


def judge(version: str = "1.0.0", *, ask: str = "Is this right?") -> str:
    return f'id: accuracy\nversion: {version}\ntemplate: "{ask} {{{{ output }}}}"\nscore_type: binary\n'


JUDGE = judge()


def rubric(id_: str = "tone", version: str = "1.0.0", *, ban: str = "simply", title: str = "Tone") -> str:
    return (
        f"# How we talk\nid: {id_}\nversion: {version}\ntitle: {title}\nchecks:\n"
        f"  - kind: must_not_contain\n    values: [{ban}]\nscoring:\n  combine: all_pass\n"
    )


def judged(id_: str = "reviewed", version: str = "1.0.0", pin: str = "judge/accuracy@1.0.0") -> str:
    return (
        f"id: {id_}\nversion: {version}\nchecks:\n  - kind: llm_judge\n    judge_prompt_ref: {pin}\n"
        "scoring:\n  combine: all_pass\n"
    )


def mixed(id_: str = "tone", version: str = "1.0.0", word: str = "please", title: str = "Tone") -> str:
    """Return a rubric of a check of words and one by a judge."""
    return (
        f'id: {id_}\nversion: "{version}"\ntitle: {title}\nchecks:\n  - kind: must_contain_any\n    values: [{word}]\n'
        "  - {kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0}\nscoring:\n  combine: all_pass\n"
    )


@dataclass(frozen=True)
class Shop:
    """A repository, and evalstore in it."""

    top: Path
    run: Callable[..., str]
    folder: str = ""

    @property
    def root(self) -> Path:
        return self.top / self.folder

    def at(self, top: Path) -> Shop:
        """Return the same of another folder."""
        return replace(self, top=top)

    def git(self, *argv: str, stdin: str | None = None, check: bool = True, **env: str) -> str:
        return self.run(*argv, cwd=self.top, stdin=stdin, check=check, **env)

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def bump(self, *refs: str, **options: Any) -> Released:
        return self.ask(lambda store: bump(store, BumpOptions(refs, all_=not refs, **options)))

    def status(self) -> Status:
        return self.ask(read_status)

    def tags(self) -> list[str]:
        return self.git("tag", "--list").split()

    def committed(self, revision: str = "HEAD") -> list[str]:
        return self.git("show", "--format=", "--name-only", revision).split()

    def snapshot(self) -> Mapping[str, bytes]:
        return {str(path.relative_to(self.top)): path.read_bytes() for path in self.top.rglob("*") if path.is_file()}

    def commit(self, *paths: str) -> str:
        self.git("add", "--", *paths)
        self.git("commit", "-q", "-m", "Change the rubric")
        return self.git("rev-parse", "HEAD")

    def release(self, name: str, version: str, text: str, *, beside: dict[str, str] | None = None) -> str:
        """Commit a file with its line in the ledger, and tag it: what a bump does, by hand."""
        kind, id_ = name.split("/")
        files = {f"{kind}s/{id_}.yaml": text, **(beside or {})}
        for path, content in files.items():
            self.write(path, content)
        ledger = self.top / f".evalstore/sums/{name}"
        old = ledger.read_text() if ledger.exists() else ""
        self.write(f".evalstore/sums/{name}", f"{old}{version} {hashlib.sha256(text.encode()).hexdigest()}\n")
        commit = self.commit(*files, f".evalstore/sums/{name}")
        self.git("tag", "-a", "-m", "release", f"{name}@{version}", commit)
        return commit

    def commit_aside(self, **files: str) -> str:
        """Return a commit on top of HEAD, on no branch, in which these files differ (`rubrics__tone` is a path)."""
        index = {"GIT_INDEX_FILE": str(self.top / ".git/aside")}
        self.git("read-tree", "HEAD", **index)
        for name, text in files.items():
            blob = self.git("hash-object", "-w", "--stdin", stdin=text)
            path = f"{name.replace('__', '/')}.{'jsonl' if text.startswith('{') else 'yaml'}"
            self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", **index)
        tree = self.git("write-tree", **index)
        return self.git("commit-tree", "-p", "HEAD", "-m", "Change the rubric", tree)

    def commit_evil(self, version: str = "1.0.0", id_: str = "tone") -> str:
        return self.commit_aside(rubrics__tone=mixed(id_, version, "evil"))

    def find_loose(self, oid: str) -> Path:
        return self.top / ".git/objects" / oid[:2] / oid[2:]

    def forge_blob(self) -> None:
        """Put other bytes into the blob of a released file."""
        path = self.find_loose(self.git("rev-parse", f"{TONE}:rubrics/tone.yaml"))
        path.chmod(0o644)
        path.write_bytes(zlib.compress(zlib.decompress(path.read_bytes()).replace(b"please", b"plaese")))

    def read_ledger(self, name: str) -> list[str]:
        return (self.top / ".evalstore/sums" / name).read_text().splitlines()

    def ask(self, question: Callable[[ArtifactStore], Any]) -> Any:
        with ArtifactStore.open(self.root) as store:
            return question(store)

    def lock(self, *refs: str, update: bool = False) -> Any:
        return self.ask(lambda store: lock(store, refs, update=update))

    def read_lock(self) -> Lock:
        return self.ask(lambda store: store.lock)

    def check_lock(self) -> Verification:
        return self.ask(check_lock)

    def verify(self, *refs: str, held: Lock | None = None) -> Verification:
        return self.ask(lambda store: verify(store, refs, lock=held))

    def verify_without_lock(self) -> Verification:
        return self.verify(held=NO_LOCK)

    def answer(self, ref: str, *, locked: bool = True) -> str:
        """Return the digest that a reference has, or "refused"."""
        return self.answers([ref], locked=locked)[ref]

    def answers(self, refs: Iterable[str], *, locked: bool = True) -> dict[str, str]:
        """Return the digest that each reference has, or "refused"."""
        try:
            return self.ask(
                lambda store: {ref: resolve(store if locked else store.without_lock(), ref) for ref in refs}
            )
        except EvalstoreError:
            return dict.fromkeys(refs, "refused")


def each_in_a_format(names: Iterable[str]) -> list[Any]:
    """Return (name, format) of each name in each format; the short suite has one of sha1 and sha256 for a name."""
    return [
        pytest.param(name, format_, marks=() if format_ == FORMATS[number % 2] else pytest.mark.slow)
        for number, name in enumerate(names)
        for format_ in FORMATS
    ]


def resolve(store: ArtifactStore, ref: str) -> str:
    """Return the digest that a reference has, or "refused"."""
    try:
        return store.resolve(ref).digest
    except EvalstoreError:
        return "refused"


def rules(result: Verification) -> list[str]:
    return sorted({finding.rule for finding in result.findings})


def only(result: Verification) -> Finding:
    assert len(result.findings) == 1, result.findings
    return result.findings[0]


def set_traps(shop: Shop, folder: Path) -> Path:
    """Let every hook, filter and driver of a repository leave a file, which is returned, in a folder outside of it."""
    marker, script = folder / "ran", folder / "script"
    script.write_text(f"#!/bin/sh\necho $0 >> {marker}\ncat\n")
    script.chmod(0o755)
    for name in HOOKS:
        (shop.top / ".git/hooks" / name).write_bytes(script.read_bytes())
        (shop.top / ".git/hooks" / name).chmod(0o755)
    programs = ("core.fsmonitor", "core.editor", "gpg.program", "diff.external", "merge.x.driver")
    for key in ("filter.x.clean", "filter.x.smudge", *programs):
        shop.git("config", key, str(script))
    for key in ("filter.x.required", "commit.gpgSign", "tag.gpgSign"):
        shop.git("config", key, "true")
    marker.unlink(missing_ok=True)
    return marker


def count_killed(died: int) -> int:
    """Print how many bumps of a test were killed, which `pytest -rP` shows; the next bump has finished every one."""
    sys.stdout.write(f"killed: {died}\n")
    return died


def check_sound(shop: Shop) -> None:
    """Whatever happened before: each tag says what its file says, on the branch, and nothing is left over."""
    assert (
        "error"
        not in subprocess.run(
            ["git", "fsck", "--strict"], cwd=shop.top, capture_output=True, text=True, check=True
        ).stderr
    )
    branch = shop.git("rev-list", "HEAD").split()
    lines: dict[str, list[str]] = {}
    for tag in shop.git("for-each-ref", "--sort=creatordate", "--format=%(refname:strip=2) %(*objectname)").split("\n"):
        name, _, commit = tag.partition(" ")
        if not commit:
            continue
        artifact, _, version = name.partition("@")
        kind, _, id_ = artifact.partition("/")
        data = _bytes(shop, f"{commit}:{shop.folder}{kind}s/{id_}.yaml")
        assert (read_yaml(data, name).value["version"], commit in branch) == (version, True)
        lines.setdefault(artifact, []).append(f"{version} {hashlib.sha256(data).hexdigest()}")
    for artifact, expected in lines.items():
        ledger = _bytes(shop, f"HEAD:{shop.folder}.evalstore/sums/{artifact}").decode().splitlines()
        assert sorted(line.removesuffix(" signed") for line in ledger) == sorted(expected)
    left = [path for path in shop.top.rglob("*") if _is_left_over(path)]
    assert left == [path for path in left if path == shop.top / ".git/evalstore/lock"]
    assert not list((shop.top / ".git").glob("index.evalstore*"))


def _is_left_over(path: Path) -> bool:
    return path.name != "evalstore.lock" and (path.suffix in {".lock", ".tmp"} or "journal" in path.name)


def _bytes(shop: Shop, name: str) -> bytes:
    return subprocess.run(["git", "show", name], cwd=shop.top, capture_output=True, check=True).stdout
