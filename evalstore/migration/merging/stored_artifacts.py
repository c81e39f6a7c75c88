"""Reads what a store knows about migrations.

It finds which artifact came from which suite and case, and from which drafts.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any

from evalstore.documents import compute_digest, read_row, read_yaml
from evalstore.errors import LoadError
from evalstore.files import LARGE_FILE, list_below, read_below
from evalstore.model import Artifact, Kind, find_rows_path, is_id
from evalstore.model.artifact import build_rows_name
from evalstore.model.question_ids import read_former_id
from evalstore.runs.run_names import RUNS_FOLDER, STORED_PATH, decode_path

# The whole value of an artifact at its last release; None if it cannot be had.
LoadRelease = Callable[[Kind, str], dict[str, Any] | None]
_BLOCK = re.compile(rb"(?m)^(x_source:\r?\n(?: .*\n|\r?\n)*)")
_MENTION = re.compile(rb"(?m)^[\"']?x_source[\"']?\s*:|^\s*\{")


@dataclass(frozen=True, slots=True)
class ArtifactOrigin:
    """Where an artifact comes from, according to its `x_source`; texts, empty if it does not say.

    `suite` is the id that the suite's first migration chose, `name` and `file` are the suite's own.
    `case` is the id of a question, `part` a pointer within the case. `base` is the digest of what
    was last migrated. `share` says who shares the suite's rubrics: cases, if it says nothing.
    `dialect` is the one under which the suite was read.
    """

    format: str = ""
    suite: str = ""
    name: str = ""
    file: str = ""
    case: str = ""
    part: str = ""
    base: str = ""
    run: str = ""
    share: str = ""
    dialect: str = ""


ORIGIN_KEYS = tuple(item.name for item in fields(ArtifactOrigin))


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An artifact that a migration made: a file, or a release whose file somebody removed."""

    kind: Kind
    id: str
    origin: ArtifactOrigin
    is_removed: bool = False

    @property
    def name(self) -> str:
        """Its name, `<kind>/<id>`."""
        return f"{self.kind}/{self.id}"

    @property
    def path(self) -> str:
        """The path of its file."""
        return f"{self.kind.folder}/{self.id}.yaml"

    @property
    def is_part(self) -> bool:
        """Whether it is one of the rubrics and judges of a suite.

        It does not represent the suite itself.
        """
        return bool(self.origin.suite) and bool(self.origin.case or not self.origin.file)


@dataclass(frozen=True, slots=True)
class StoredArtifacts:
    """The artifacts of a store: those that came from suites, and the `<kind>/<id>` of all.

    `removed` has the last released value of those whose file was removed, by name; `runs` are the
    paths of stored runs by the names of their source files.
    """

    root: Path
    by_suite: Mapping[tuple[str, str], list[StoredArtifact]] = field(default_factory=dict)
    by_content: Mapping[tuple[Kind, str], list[StoredArtifact]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    removed: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    runs: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, load_release: LoadRelease) -> StoredArtifacts:
        """Read the headers of all artifacts of a store; of deleted ones, the last release."""
        by_suite: dict[tuple[str, str], list[StoredArtifact]] = {}
        by_content: dict[tuple[Kind, str], list[StoredArtifact]] = {}
        names = set[str]()
        removed: dict[str, dict[str, Any]] = {}
        for kind in Kind:
            found = list(_read_working(root, kind))
            # An id with a ledger has been released, although its file may be gone: its versions are
            # not used again.
            ledgers = list_below(root, f".evalstore/sums/{kind}")
            gone = {*ledgers} - {artifact.id for artifact in found}
            for id_ in sorted(gone):
                if value := load_release(kind, id_):
                    removed[f"{kind}/{id_}"] = value
                    source = _read_source(value.get("x_source"))
                    found.append(StoredArtifact(kind, id_, source, is_removed=True))
            names |= {f"{kind}/{id_}" for id_ in gone} | {artifact.name for artifact in found}
            for artifact in found:
                if artifact.origin.format:
                    key = (artifact.origin.format, artifact.origin.suite)
                    by_suite.setdefault(key, []).append(artifact)
                    by_content.setdefault((kind, artifact.origin.base), []).append(artifact)
        runs: dict[str, list[str]] = {}
        for path in list_runs(root):
            runs.setdefault(PurePosixPath(decode_path(path)).name, []).append(path)
        return cls(root, by_suite, by_content, frozenset(names), removed, runs)

    @property
    def suites(self) -> list[StoredArtifact]:
        """The artifacts that represent a source, and say which suite it is.

        A source has at most one of each kind. A dataset, a rubric and a judge from different files
        may have the same name.
        """
        firsts: list[StoredArtifact] = []
        for artifacts in self.by_suite.values():
            mains = {one.kind: one for one in reversed(artifacts) if not one.is_part}
            firsts += mains.values() or artifacts[:1]
        return [artifact for artifact in firsts if artifact.origin.file]

    # `format` is the word of the command line.
    def list_parts(self, format: str, suite: str) -> list[StoredArtifact]:  # noqa: A002
        """Return the rubrics and judges of a suite, without what represents the suite itself."""
        return [artifact for artifact in self.by_suite.get((format, suite), ()) if artifact.is_part]

    def find_run(self, file: str, sha256: str) -> str:
        """Return the path of the stored run that is a source with another folder in front.

        It is empty if there is none, or if several are possible.
        """
        found: list[str] = []
        for path in self.runs.get(PurePosixPath(file).name, ()):
            known = f"/{decode_path(path)}"
            is_near = known.endswith(f"/{file}") or f"/{file}".endswith(known)
            found += [path] if is_near and hash_file(self.root, path) == sha256 else []
        return found[0] if len(found) == 1 else ""

    def read_value(self, artifact: StoredArtifact) -> dict[str, Any] | None:
        """Return the whole value of an artifact, a dataset with its rows.

        Returns None if it cannot be read.
        """
        return (
            self.removed[artifact.name]
            if artifact.is_removed
            else read_stored_value(self.root, artifact.path)
        )


def read_stored_value(root: Path, path: str) -> dict[str, Any] | None:
    """Return an artifact's value, with questions for its `rows`; None if it cannot be read."""
    with suppress(LoadError):
        document = read_yaml(read_below(root, path, LARGE_FILE), path)
        if not isinstance(document.value, dict):
            return None
        kind = Kind(PurePosixPath(path).parent.name.removesuffix("s"))
        rows = find_rows_path(Artifact(kind, PurePosixPath(path).stem, "", document))
        value: dict[str, Any] = document.value
        return put_rows(value, list(read_stored_rows(root, rows))) if rows else value
    return None


def locate_rows(path: str) -> str:
    """Return the path of the rows that a migration writes next to the file of a dataset."""
    file = PurePosixPath(path)
    return str(file.with_name(build_rows_name(file.stem)))


def read_stored_rows(root: Path, path: str) -> Iterator[Any]:
    """Return the rows in a file next to a dataset. Raises `LoadError` for what cannot be read."""
    lines = read_below(root, path, LARGE_FILE).split(b"\n")
    return (
        read_row(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()
    )


def put_rows(value: Mapping[str, Any], rows: list[Any]) -> dict[str, Any]:
    """Return the whole value of a dataset.

    The questions take the place of the name of their file.
    """
    whole: dict[str, Any] = {}
    for key, item in value.items():
        if key == "rows":
            whole["questions"] = rows
        else:
            whole[key] = item
    return whole


def index_rows(questions: Any) -> dict[str, dict[str, Any]]:
    """Return the questions of a stored dataset by id, if they are mappings and have one."""
    rows = questions if isinstance(questions, list) else ()
    return {
        row["id"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)
    }


def find_former_ids(
    rows: Mapping[str, Mapping[str, Any]], questions: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Return questions' former ids by their present ones; a lost id is recognised by its input."""
    ids = {question["id"] for question in questions}
    kept = {id_: former for id_ in ids & rows.keys() if (former := read_former_id(rows[id_]))}
    gone = [(compute_digest(row.get("input")), id_) for id_, row in rows.items() if id_ not in ids]
    asked = [question for question in questions if gone and question["id"] not in rows]
    new = [(compute_digest(question.get("input")), question["id"]) for question in asked]
    # If several are possible, none is chosen.
    counts = Counter(digest for digest, _ in gone), Counter(digest for digest, _ in new)
    renamed = {digest: id_ for digest, id_ in gone if counts[0][digest] == counts[1][digest] == 1}
    return kept | {id_: renamed[digest] for digest, id_ in new if digest in renamed}


def find_row_pins(
    rows: Mapping[str, Mapping[str, Any]], former: Mapping[str, str]
) -> dict[str, str]:
    """Return what the stored dataset pins, by present ids."""
    refs = {id_: row.get("rubric_ref") for id_, row in rows.items()}
    pins = {id_: ref for id_, ref in refs.items() if isinstance(ref, str)}
    return pins | {id_: pins[old] for id_, old in former.items() if id_ not in pins and old in pins}


def list_inputs(rows: Iterable[Any]) -> frozenset[int]:
    """Return the hashes of questions' inputs.

    They identify a suite within this process.
    """
    inputs = (row.get("input") for row in rows if isinstance(row, dict))
    return frozenset(hash(text) for text in inputs if isinstance(text, str))


def list_words(rows: Iterable[Any]) -> frozenset[int]:
    """Return the hashes of the words of the only question.

    It is empty if there are several questions, or none.
    """
    inputs = [row.get("input") for row in rows if isinstance(row, dict)]
    if len(inputs) != 1 or not isinstance(inputs[0], str):
        return frozenset()
    return frozenset(map(hash, inputs[0].casefold().split()))


def hash_file(root: Path, path: str) -> str:
    """Return the SHA-256 of a file; empty if it cannot be read."""
    with suppress(LoadError):
        return hashlib.sha256(read_below(root, path, LARGE_FILE)).hexdigest()
    return ""


def list_runs(root: Path) -> Iterator[str]:
    """Yield the paths of the stored runs.

    Links are not followed, and a folder that cannot be listed has none.
    """
    for folder, folders, files in os.walk(root / RUNS_FOLDER):
        folders.sort()
        paths = (Path(folder, name) for name in sorted(files))
        names = (path.relative_to(root).as_posix() for path in paths if not path.is_symlink())
        yield from filter(STORED_PATH.fullmatch, names)


def _read_working(root: Path, kind: Kind) -> Iterator[StoredArtifact]:
    """Yield the header of each artifact of a kind that the store has as a file."""
    for name in list_below(root, kind.folder):
        id_, _, suffix = name.partition(".")
        if suffix == "yaml" and is_id(id_):
            yield StoredArtifact(kind, id_, _read_origin(root, f"{kind.folder}/{name}"))


def _read_origin(root: Path, path: str) -> ArtifactOrigin:
    """Return a file's origin; only its `x_source` is read, because the rest may be long."""
    with suppress(LoadError):
        data = read_below(root, path, LARGE_FILE)
        if block := _BLOCK.search(data):
            with suppress(LoadError):  # an alias of something elsewhere in the file
                return _read_source(read_yaml(block[1], path).value["x_source"])
        value = read_yaml(data, path).value if _MENTION.search(data) else None
        return _read_source(value.get("x_source") if isinstance(value, dict) else None)
    return ArtifactOrigin()


def _read_source(source: Any) -> ArtifactOrigin:
    """Return what the value of an `x_source` says."""
    if not isinstance(source, dict):
        return ArtifactOrigin()
    return ArtifactOrigin(
        **{key: source[key] for key in ORIGIN_KEYS if isinstance(source.get(key), str)}
    )
