"""What a store holds: every artifact with its releases and whether its file has changed since, told by blob ids."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from evalstore.documents import encode_document
from evalstore.errors import EvalstoreError, GitError, RefError
from evalstore.files import read_below
from evalstore.model import Kind, Ref
from evalstore.model.refs import ArtifactIdentity
from evalstore.store.artifacts import ARTIFACT_LIMIT, read_artifact
from evalstore.store.object_reader import find_committed_blobs
from evalstore.store.resolve import Resolved, build_unknown_error
from evalstore.store.store import ArtifactStore
from evalstore.store.tags import TAG_FIELDS, TAG_REFS, GitTag, Release, list_patterns
from evalstore.store.working_files import is_blob
from evalstore.versions import Version


@dataclass(frozen=True, slots=True)
class ArtifactSummary(ArtifactIdentity):
    """One artifact; `changed` is None without a file or a release to compare, `problem` says why a file is unread."""

    kind: Kind
    id: str
    latest: str | None
    releases: int
    working: str | None
    changed: bool | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class StoreListing:
    """All artifacts, and the tags that stand among theirs and are no versions (name, why)."""

    artifacts: tuple[ArtifactSummary, ...]
    ignored: tuple[tuple[str, str], ...]


def list_artifacts(store: ArtifactStore) -> StoreListing:
    """List a store with one question about tags and one about blobs; a file is parsed only when it has changed."""
    released = {
        key: list(group)
        for key, group in groupby(store.list_releases(), key=lambda release: (release.kind, release.id))
    }
    files = {(ref.kind, ref.id): ref for ref in store.list_working_refs()}
    blobs = _find_released_blobs(store, {key: group[-1] for key, group in released.items() if key in files})
    artifacts = (
        _summarize_artifact(store, key, released.get(key, []), ref=files.get(key), blob=blobs.get(key))
        for key in sorted(released.keys() | files.keys())
    )
    return StoreListing(tuple(artifacts), tuple(store.tags.list_ignored()))


_Key = tuple[Kind, str]


def _find_released_blobs(store: ArtifactStore, newest: Mapping[_Key, Release]) -> dict[_Key, str | None]:
    """Return the blob of each artifact at its newest release, by one call to git."""
    files = ((one.commit, store.prefix + one.path) for one in newest.values())
    return dict(zip(newest, find_committed_blobs(store.git, files), strict=True))


def _summarize_artifact(
    store: ArtifactStore, key: _Key, releases: Sequence[Release], *, ref: Ref | None, blob: str | None
) -> ArtifactSummary:
    finals = [release for release in releases if not release.version.prerelease] or releases
    latest = str(finals[-1].version) if finals else None
    working, changed, problem = None, None, None
    if ref is not None and store.root is not None:
        try:
            same = blob is not None and is_blob(store.root, ref.path, blob, limit=ARTIFACT_LIMIT)
            changed = not same if releases else None
            working = str(releases[-1].version) if same else _read_version(store.root, ref)
        except EvalstoreError as error:
            changed, problem = (True if releases else None), str(error)
    return ArtifactSummary(*key, latest, len(releases), working, changed, problem)


def _read_version(root: Path, ref: Ref) -> str:
    return read_artifact(ref, read_below(root, ref.path, ARTIFACT_LIMIT), ref.path).version


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """What a reference means, its path in the repository, and its bytes."""

    resolved: Resolved
    path: str
    data: bytes


def read_artifact_file(store: ArtifactStore, ref: str) -> ArtifactFile:
    """Return the file that a reference means."""
    resolved = store.resolve(ref)
    return ArtifactFile(resolved, store.prefix + resolved.path, encode_document(resolved.artifact.document))


_LOG_FIELDS = (
    "taggername",
    "taggerdate:iso-strict",
    "authorname",
    "committerdate:iso-strict",
    "contents:subject",
    "contents:body",
)
# Each field ends with a NUL, because a message has line feeds of its own.
_FORMAT = "--format=" + "".join(f"%({field})%00" for field in (*TAG_FIELDS, *_LOG_FIELDS))
_TRAILER = re.compile(r"Evalstore-(Digest|Bump|Previous): *(\S+)")


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """One release; `bump`, `digest` and `previous` are as the tag's trailers say, None where it has none."""

    version: Version
    tag: str
    commit: str
    date: str
    author: str
    bump: str | None
    digest: str | None
    previous: str | None
    summary: str


@dataclass(frozen=True, slots=True)
class ReleaseHistory:
    """The releases of one artifact, newest first."""

    name: str
    releases: tuple[ReleaseRecord, ...]


def read_history(store: ArtifactStore, ref: Ref) -> ReleaseHistory:
    """Return the releases that a version or a range covers (no pin, latest: all); `RefError` when there are none."""
    if not ref.names_release:
        raise RefError(f"{ref} names no releases", hint=f"evalstore log {ref.name}")
    listed = store.git.run("for-each-ref", _FORMAT, "--", *list_patterns(store.tags.grammar, ref.kind, ref.id))
    logged = [one for one in _parse_records(store, listed) if _is_covered(ref, one.version)]
    if not logged:
        raise build_unknown_error(store, ref)
    return ReleaseHistory(ref.name, tuple(sorted(logged, key=lambda one: one.version, reverse=True)))


def _is_covered(ref: Ref, version: Version) -> bool:
    if ref.version is not None:
        return version == ref.version
    return ref.range is None or version in ref.range


def _parse_records(store: ArtifactStore, listed: bytes) -> list[ReleaseRecord]:
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    width = len(TAG_FIELDS) + len(_LOG_FIELDS)
    if len(fields) % width != 1:
        raise GitError("git listed a tag in a form that cannot be read")
    records = [fields[start : start + width] for start in range(0, len(fields) - 1, width)]
    return [one for record in records if (one := _parse_record(store, record)) is not None]


def _parse_record(store: ArtifactStore, record: list[str]) -> ReleaseRecord | None:
    tag = GitTag(record[0].lstrip("\n").removeprefix(TAG_REFS), *record[1 : len(TAG_FIELDS)])
    release = store.tags.grammar.read_release(tag)
    if release is None:
        return None
    tagger, tagged, author, committed, subject, body = record[len(TAG_FIELDS) :]
    trailers = dict(_TRAILER.findall(body.strip().rpartition("\n\n")[2]))
    return ReleaseRecord(
        version=release.version,
        tag=release.tag,
        commit=release.commit,
        date=tagged or committed,
        author=tagger or author,
        bump=trailers.get("Bump"),
        digest=trailers.get("Digest"),
        previous=None if trailers.get("Previous") == "none" else trailers.get("Previous"),
        summary=subject,
    )


def group_releases(store: ArtifactStore) -> dict[str, tuple[Release, ...]]:
    """Return all releases by `<kind>/<id>`, each ascending, from one listing."""
    grouped = groupby(store.list_releases(), key=attrgetter("name"))
    return {name: tuple(group) for name, group in grouped}
