"""What `list`, `show` and `log` read: a store's artifacts, a file, and its releases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from evalstore.documents import encode_document
from evalstore.errors import EvalstoreError, GitError, RefError
from evalstore.files import FolderReader
from evalstore.model import Kind, Ref, parse_ref
from evalstore.model.refs import ArtifactIdentity
from evalstore.progress import Watch
from evalstore.store.artifacts import ARTIFACT_LIMIT, list_committed_artifacts, read_artifact
from evalstore.store.resolve import Resolved, build_unknown_error, describe_missing_tags, is_covered
from evalstore.store.revisions import resolve_revision
from evalstore.store.store import ArtifactStore
from evalstore.store.tags import TAG_FIELDS, TAG_REFS, GitTag, Release, list_patterns
from evalstore.store.working_files import is_release
from evalstore.versions import Version

_Key = tuple[Kind, str]

_LOG_FIELDS = (
    "taggername",
    "taggerdate:iso-strict",
    "authorname",
    "committerdate:iso-strict",
    "contents:subject",
    "contents:body",
)
# Each field ends with a NUL, because a message may contain line feeds.
_FORMAT = "--format=" + "".join(f"%({field})%00" for field in (*TAG_FIELDS, *_LOG_FIELDS))
_TRAILER = re.compile(r"^Evalstore-(Digest|Bump|Previous|Asked): *(\S.*?) *$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ArtifactSummary(ArtifactIdentity):
    """One artifact.

    `changed` is None if there is no file or release to compare; `problem` is why a file cannot be
    read.
    """

    kind: Kind
    id: str
    latest: str | None
    releases: int
    working: str | None
    changed: bool | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class StoreListing:
    """All artifacts of a store, and ignored tags that are not releases (name, reason)."""

    artifacts: tuple[ArtifactSummary, ...]
    ignored: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """The file of a resolved reference: its path in the repository, and its bytes."""

    resolved: Resolved
    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """One release of `name` with its tag's data.

    `bump`, `digest`, `previous` and `asked` are its trailers.
    """

    name: str
    version: Version
    tag: str
    commit: str
    date: str
    author: str
    bump: str | None
    digest: str | None
    previous: str | None
    summary: str
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class ReleaseHistory:
    """The releases of one artifact, newest first.

    `untagged` are the versions that its ledger lists and no tag of this clone has, oldest first.
    """

    name: str
    releases: tuple[ReleaseSummary, ...]
    untagged: tuple[Version, ...] = ()

    def describe_untagged(self) -> str:
        """Say which releases are left out, as their tags are not here; "" where none is."""
        if not self.untagged:
            return ""
        several = len(self.untagged) > 1
        versions = ", ".join(map(str, self.untagged))
        return (
            f"{self.name}@{versions} {'were' if several else 'was'} released, but "
            f"{'their tags are' if several else 'its tag is'} not in this clone: "
            f"{'they are' if several else 'it is'} left out, and a later release is compared with "
            f"an earlier one (evalstore verify {self.name})"
        )


def list_artifacts(store: ArtifactStore, *, watch: Watch[Any] = iter) -> StoreListing:
    """List a store with one call to git for tags and one for blobs.

    `watch` wraps the iteration over the artifacts.
    """
    # Files are compared by blob id: only changed ones are parsed.
    groups = groupby(store.releases(), key=lambda release: (release.kind, release.id))
    released = {key: list(group) for key, group in groups}
    files = {(ref.kind, ref.id): ref for ref in store.working()}
    # A ledger line without a tag is a release that this clone lacks.
    recorded = set(store.ledgers.list_names()) if files.keys() - released.keys() else set()
    tagless = _describe_tagless(store) if recorded.difference(map("/".join, released)) else None
    newest = {key: group[-1] for key, group in released.items() if key in files}
    blobs = store.moves.find_blobs(
        {key: (release.commit, release.path) for key, release in newest.items()}
    )
    keys = watch(sorted(released.keys() | files.keys()))
    with FolderReader() as reader:
        read = partial(reader.read, store.root) if store.root else None

        def summarize(key: _Key) -> ArtifactSummary:
            return _summarize_artifact(
                read,
                key,
                released.get(key, []),
                ref=files.get(key),
                blob=blobs.get(key),
                tagless=tagless if "/".join(key) in recorded else None,
            )

        artifacts = tuple(map(summarize, keys))
    return StoreListing(artifacts, tuple(store.tags.list_ignored()))


def read_artifact_file(store: ArtifactStore, ref: str) -> ArtifactFile:
    """Return the file that a reference means."""
    resolved = store.resolve(ref)
    return ArtifactFile(
        resolved, store.prefix + resolved.path, encode_document(resolved.artifact.document)
    )


def read_history(store: ArtifactStore, ref: Ref) -> ReleaseHistory:
    """Return the releases in a version or range, newest first; raises `RefError` if there are none.

    No pin, or latest, means all.
    """
    if not ref.names_release:
        raise RefError(f"{ref} does not name releases", hint=f"evalstore log {ref.name}")
    listed = _list_records(store, list_patterns(store.tags.grammar, ref.kind, ref.id))
    records = [record for _, record in listed if is_covered(ref, record.version)]
    if not records:
        raise build_unknown_error(store, ref)
    records.sort(key=lambda record: record.version, reverse=True)
    untagged = list_untagged(store, ref.name)
    return ReleaseHistory(
        ref.name,
        tuple(records),
        tuple(version for version in untagged if is_covered(ref, version)),
    )


def list_untagged(store: ArtifactStore, name: str) -> list[Version]:
    """Return the versions that the ledger of an artifact lists and no tag of this clone has."""
    ref = parse_ref(name)
    tagged = {release.version for release in store.releases(ref.kind, ref.id)}
    try:
        lines = store.ledgers.read(name).lines
    except EvalstoreError:  # `verify` says what is wrong with it
        return []
    return sorted({line.version for line in lines} - tagged)


def _describe_tagless(store: ArtifactStore) -> str:
    how = "; ".join(
        step for step in (describe_missing_tags(store), "who can push it: evalstore verify") if step
    )
    return f"released, but this clone has no tag of it: {how}"


def _summarize_artifact(  # noqa: PLR0913  # an artifact's releases, and its file
    read: Callable[[str, int], bytes] | None,
    key: _Key,
    releases: Sequence[Release],
    *,
    ref: Ref | None,
    blob: str | None,
    tagless: str | None,
) -> ArtifactSummary:
    # A pre-release is the latest only if there is no final release.
    finals = [release for release in releases if not release.version.prerelease] or releases
    latest = str(finals[-1].version) if finals else None
    working, changed = None, None
    problem = tagless if not releases else None
    if ref is not None and read is not None:
        try:
            data = read(ref.path, ARTIFACT_LIMIT)
            same = blob is not None and is_release(ref, data, blob, releases[-1].version)
            changed = not same if releases else None
            working = (
                str(releases[-1].version) if same else read_artifact(ref, data, ref.path).version
            )
        except EvalstoreError as error:
            changed, problem = (True if releases else None), str(error)
    return ArtifactSummary(*key, latest, len(releases), working, changed, problem)


def _list_records(
    store: ArtifactStore, patterns: Iterable[str]
) -> list[tuple[Release, ReleaseSummary]]:
    out = store.git.run("for-each-ref", _FORMAT, "--", *patterns)
    fields = out.decode("utf-8", "surrogateescape").split("\0")
    width = len(TAG_FIELDS) + len(_LOG_FIELDS)
    if len(fields) % width != 1:
        raise GitError("git listed a tag in a form that cannot be read")
    rows = [fields[start : start + width] for start in range(0, len(fields) - 1, width)]
    return [record for row in rows if (record := _parse_record(store, row)) is not None]


def _parse_record(store: ArtifactStore, row: list[str]) -> tuple[Release, ReleaseSummary] | None:
    tag = GitTag(row[0].lstrip("\n").removeprefix(TAG_REFS), *row[1 : len(TAG_FIELDS)])
    release = store.tags.grammar.read_release(tag)
    if release is None:
        return None
    tagger, tag_date, author, commit_date, subject, body = row[len(TAG_FIELDS) :]
    # A lightweight tag has no tagger, so the commit says who and when.
    trailers = dict(_TRAILER.findall(body.strip().rpartition("\n\n")[2]))
    return release, ReleaseSummary(
        name=release.name,
        version=release.version,
        tag=release.tag,
        commit=release.commit,
        date=tag_date or commit_date,
        author=tagger or author,
        bump=trailers.get("Bump"),
        digest=trailers.get("Digest"),
        previous=None if trailers.get("Previous") == "none" else trailers.get("Previous"),
        summary=subject,
        asked=trailers.get("Asked"),
    )


def list_committed(store: ArtifactStore, revision: str) -> dict[str, str]:
    """Return the blob of every artifact's file at a revision, by name (`<kind>/<id>`)."""
    commit = resolve_revision(store.git, store.objects, revision)
    return {"/".join(key): blob for key, blob in list_committed_artifacts(store, commit).items()}
