"""A released store in a real repository, built by git's plumbing once for each object format and copied for each test."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import EvalstoreError
from evalstore.model import Finding
from evalstore.model.lock import NO_LOCK, Lock
from evalstore.release.lock import lock
from evalstore.release.verify import Verification, check_lock, verify
from evalstore.store import ArtifactStore

FORMATS = ("sha1", "sha256", "reftable")
TONE = "rubric/tone@1.0.0"


def each_in_a_format(names: Iterable[str]) -> list[Any]:
    """Return (name, format) of each name in each format; the short suite has one of sha1 and sha256 for a name."""
    return [
        pytest.param(name, format_, marks=() if format_ == FORMATS[number % 2] else pytest.mark.slow)
        for number, name in enumerate(names)
        for format_ in FORMATS
    ]


_ENV = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", "1760000000 +0000"))},
}  # fmt: skip

JUDGE = 'id: accuracy\nversion: "{version}"\ntemplate: "Right? {{{{ output }}}} {word}"\nscore_type: binary\n'
DATASET = 'id: answers\nversion: "1.0.0"\ndefaults: {rubric_ref: rubric/tone@^1}\nrows: answers.jsonl\n'
ROWS = '{"id": "a", "input": "Hello?", "rubric_ref": "rubric/tone@1.0.0"}\n{"id": "b", "input": "Bye?"}\n'


def rubric(id_: str = "tone", version: str = "1.0.0", word: str = "please", title: str = "Tone") -> str:
    return (
        f'id: {id_}\nversion: "{version}"\ntitle: {title}\nchecks:\n  - kind: must_contain_any\n    values: [{word}]\n'
        "  - {kind: llm_judge, judge_prompt_ref: judge/accuracy@1.0.0}\nscoring:\n  combine: all_pass\n"
    )


@dataclass(frozen=True)
class World:
    """One repository, and evalstore in it."""

    path: Path

    def git(self, *argv: str, stdin: str | bytes = "", check: bool = True, **more: str) -> str:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | _ENV | more
        done = subprocess.run(["git", *argv], cwd=self.path, env=env, input=data, capture_output=True, check=False)
        assert done.returncode == 0 or not check, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, path: str, text: str | bytes) -> None:
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, *paths: str) -> str:
        self.git("add", "--", *paths)
        self.git("commit", "-q", "-m", "Change the ruler")
        return self.git("rev-parse", "HEAD")

    def release(self, name: str, version: str, text: str, *, beside: dict[str, str] | None = None) -> str:
        """Commit a file with its line in the ledger, and tag it: what a bump does, by hand."""
        kind, id_ = name.split("/")
        files = {f"{kind}s/{id_}.yaml": text, **(beside or {})}
        for path, content in files.items():
            self.write(path, content)
        ledger = self.path / f".evalstore/sums/{name}"
        old = ledger.read_text() if ledger.exists() else ""
        self.write(f".evalstore/sums/{name}", f"{old}{version} {hashlib.sha256(text.encode()).hexdigest()}\n")
        commit = self.commit(*files, f".evalstore/sums/{name}")
        self.git("tag", "-a", "-m", "release", f"{name}@{version}", commit)
        return commit

    def aside(self, **files: str) -> str:
        """Return a commit on top of HEAD, on no branch, in which these files differ (`rubrics__tone` is a path)."""
        index = {"GIT_INDEX_FILE": str(self.path / ".git/aside")}
        self.git("read-tree", "HEAD", **index)
        for name, text in files.items():
            blob = self.git("hash-object", "-w", "--stdin", stdin=text)
            path = f"{name.replace('__', '/')}.{'jsonl' if text.startswith('{') else 'yaml'}"
            self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", **index)
        return self.git("commit-tree", "-p", "HEAD", "-m", "Change the ruler", self.git("write-tree", **index))

    def evil(self, version: str = "1.0.0", id_: str = "tone") -> str:
        return self.aside(rubrics__tone=rubric(id_, version, "evil"))

    def loose(self, oid: str) -> Path:
        return self.path / ".git/objects" / oid[:2] / oid[2:]

    def forge(self) -> None:
        """Put other bytes into the blob of a released file."""
        path = self.loose(self.git("rev-parse", f"{TONE}:rubrics/tone.yaml"))
        path.chmod(0o644)
        path.write_bytes(zlib.compress(zlib.decompress(path.read_bytes()).replace(b"please", b"plaese")))

    def lines(self, name: str) -> list[str]:
        return (self.path / ".evalstore/sums" / name).read_text().splitlines()

    def ask(self, question: Callable[[ArtifactStore], Any]) -> Any:
        with ArtifactStore.open(self.path) as store:
            return question(store)

    def lock(self, *refs: str, update: bool = False) -> Any:
        return self.ask(lambda store: lock(store, refs, update=update))

    def verify(self, *refs: str, held: Lock | None = None) -> Verification:
        return self.ask(lambda store: verify(store, refs, lock=held))

    def alone(self) -> Verification:
        """Verify as if there were no lock."""
        return self.verify(held=NO_LOCK)

    def check(self) -> Verification:
        return self.ask(check_lock)

    def held(self) -> Lock:
        return self.ask(lambda store: store.lock)

    def answer(self, ref: str, *, locked: bool = True) -> str:
        """Return the digest that a reference has, or "refused"."""
        return self.answers([ref], locked=locked)[ref]

    def answers(self, refs: Iterable[str], *, locked: bool = True) -> dict[str, str]:
        """Return the digest that each reference has, or "refused"."""

        def resolve(store: ArtifactStore, ref: str) -> str:
            try:
                return store.resolve(ref).digest
            except EvalstoreError:
                return "refused"

        try:
            return self.ask(
                lambda store: {ref: resolve(store if locked else store.without_lock(), ref) for ref in refs}
            )
        except EvalstoreError:
            return dict.fromkeys(refs, "refused")


def rules(result: Verification) -> list[str]:
    return sorted({finding.rule for finding in result.findings})


def only(result: Verification) -> Finding:
    assert len(result.findings) == 1, result.findings
    return result.findings[0]


def build(path: Path, format_: str) -> World:
    options = {"reftable": ["--ref-format=reftable"], "sha256": ["--object-format=sha256"]}
    made = subprocess.run(
        ["git", "init", "-q", "-b", "main", *options.get(format_, []), str(path)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"this git makes no {format_} repositories")
    world = World(path)
    for key, value in (("core.logAllRefUpdates", "false"), ("gc.auto", "0"), ("advice.nestedTag", "false")):
        world.git("config", key, value)
    world.release("judge/accuracy", "1.0.0", JUDGE.format(version="1.0.0", word="now"))
    for version, word, title in (
        ("1.0.0", "please", "Tone"),
        ("1.1.0", "please", "Tones"),
        ("2.0.0", "kindly", "Tones"),
    ):
        world.release("rubric/tone", version, rubric(version=version, word=word, title=title))
    world.release("rubric/other", "1.0.0", rubric("other"))
    world.release("dataset/answers", "1.0.0", DATASET, beside={"datasets/answers.jsonl": ROWS})
    world.lock()
    world.commit("evalstore.lock")
    return world


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a released store of a format, built when it is first asked for."""
    made: dict[str, Path] = {}

    def template(format_: str) -> Path:
        if format_ not in made:
            made[format_] = build(tmp_path_factory.mktemp(format_) / "store", format_).path
        return made[format_]

    return template


@pytest.fixture
def of_format(templates: Callable[[str], Path], tmp_path: Path) -> Callable[[str], World]:
    """Return a copy of the released store of one format."""

    def copied(format_: str) -> World:
        shutil.copytree(templates(format_), tmp_path / "store", symlinks=True)
        return World(tmp_path / "store")

    return copied


@pytest.fixture
def world(of_format: Callable[[str], World]) -> World:
    return of_format("sha1")


@pytest.fixture
def clone(tmp_path: Path) -> Callable[..., World]:
    """Clone a world through a real transport."""

    def run(world: World, *options: str) -> World:
        world.git("clone", "-q", *options, f"file://{world.path}", str(tmp_path / "clone"))
        return World(tmp_path / "clone")

    return run
