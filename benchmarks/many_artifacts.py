"""A store of thousands of suites and rubrics, as a migration makes it and one bump releases it, byte for byte."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evalstore.model import Kind, Ref
from evalstore.store.artifacts import read_artifact

PERSON = "Bench <bench@example.org>"
SIGNATURE = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "Bench"), ("EMAIL", "bench@example.org"), ("DATE", "1760000000 +0000"))
}
_STAMP = "1760000000 +0000"
_WORDS = ("access", "cache", "entity", "filter", "hook", "index", "migrate", "node", "render", "route", "schema")


@dataclass(frozen=True, slots=True)
class File:
    """One artifact of the store: its name, `<kind>/<id>`, its path and its text."""

    name: str
    path: str
    text: str

    @property
    def ref(self) -> str:
        """The reference to its first release."""
        return f"{self.name}@1.0.0"

    @property
    def digest(self) -> str:
        """What its tag records."""
        kind, _, id_ = self.name.partition("/")
        return read_artifact(Ref(Kind(kind), id_), self.text.encode(), self.path).digest

    @property
    def ledger(self) -> str:
        """Its ledger after the first release."""
        return f"1.0.0 {hashlib.sha256(self.text.encode()).hexdigest()}\n"


def make_files(suites: int, rubrics: int) -> list[File]:
    """Return the artifacts in the order in which a bump releases them; each suite pins its share of the rubrics."""
    names = [f"suite_{number % suites:04}_case_{number // suites:02}" for number in range(rubrics)]
    judged = [File("judge/review", "judges/review.yaml", _JUDGE)]
    graded = [File(f"rubric/{name}", f"rubrics/{name}.yaml", _write_rubric(name)) for name in sorted(names)]
    by_suite: dict[str, list[str]] = {f"suite_{number:04}": [] for number in range(suites)}
    for name in sorted(names):
        by_suite[name[:10]].append(name)
    sets = [File(f"dataset/{id_}", f"datasets/{id_}.yaml", _write_suite(id_, pins)) for id_, pins in by_suite.items()]
    return [*graded, *judged, *sets]


_JUDGE = 'id: review\nversion: "1.0.0"\ntemplate: "Is this right? {{ output }}"\nscore_type: binary\n'


def _write_rubric(name: str) -> str:
    number = int(hashlib.sha256(name.encode()).hexdigest()[:6], 16)
    first, second = _WORDS[number % len(_WORDS)], _WORDS[number // 11 % len(_WORDS)]
    judge = "  - kind: llm_judge\n    judge_prompt_ref: judge/review@1.0.0\n" if number % 5 == 0 else ""
    return (
        f'id: {name}\nversion: "1.0.0"\ntitle: "{first} and {second}"\nchecks:\n'
        f"  - kind: must_contain_any\n    values:\n      - {first}_{number % 97}\n      - the {second}\n"
        f"  - kind: must_not_contain\n    values: [deprecated_{first}]\n{judge}"
        f"scoring:\n  combine: all_pass\nx_source:\n  format: drupal\n  suite: {name[:10]}\n  case: case {number}\n"
    )


def _write_suite(id_: str, pins: Iterable[str]) -> str:
    questions = "".join(
        f'  - id: {pin[11:]}\n    input: "How do I use {pin[11:]} of {id_}?"\n    rubric_ref: rubric/{pin}@1.0.0\n'
        for pin in pins
    )
    return f'id: {id_}\nversion: "1.0.0"\nquestions:{chr(10) if questions else " []"}{questions or chr(10)}'


def write_files(folder: Path, files: Iterable[File]) -> None:
    """Make a repository of one empty commit, and the artifacts as files that nobody has added."""
    run_git(folder, "init", "-q", "-b", "main", ".")
    stream = f"commit refs/heads/main\ncommitter {PERSON} {_STAMP}\ndata 5\nempty\ndone\n"
    run_git(folder, "fast-import", "--quiet", "--done", stdin=stream)
    for file in files:
        path = folder / file.path
        path.parent.mkdir(exist_ok=True)
        path.write_text(file.text, encoding="utf-8")


def release_files(folder: Path, files: list[File]) -> None:
    """Release the files of such a repository as `evalstore bump --all` does, by one fast-import."""
    run_git(folder, "fast-import", "--quiet", "--done", stdin="".join((*stream_commit(files), *stream_tags(files))))
    run_git(folder, "pack-refs", "--all")
    run_git(folder, "reset", "-q", "--hard")


def stream_commit(files: list[File]) -> Iterator[str]:
    """Yield the commit of a bump for fast-import, without its end."""
    lines = "".join(f"\n- {file.ref} (first release)" for file in files)
    message = f"Release {len(files)} artifacts\n{lines}\n"
    yield f"commit refs/heads/main\ncommitter {PERSON} {_STAMP}\ndata {len(message)}\n{message}\n"
    yield "from refs/heads/main^0\n"
    for file in files:
        yield f"M 100644 inline {file.path}\ndata {len(file.text.encode())}\n{file.text}\n"
        yield f"M 100644 inline .evalstore/sums/{file.name}\ndata {len(file.ledger)}\n{file.ledger}\n"


def stream_tags(files: list[File]) -> Iterator[str]:
    """Yield the tags of a bump for fast-import, and its end."""
    for file in files:
        message = (
            f"{file.ref} (first release)\n\nEvalstore-Digest: {file.digest}\nEvalstore-Bump: none\n"
            "Evalstore-Previous: none\n"
        )
        yield f"tag {file.ref}\nfrom refs/heads/main\ntagger {PERSON} {_STAMP}\ndata {len(message)}\n{message}\n"
    yield "done\n"


def run_git(folder: Path, *argv: str, stdin: str = "") -> str:
    """Run git in a folder and return its stdout."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["git", "-C", str(folder), *argv], input=stdin.encode(), check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()
