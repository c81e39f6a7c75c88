"""The releases of one artifact as their tags tell them: when, by whom, which bump, in which words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evalstore.errors import GitError, RefError
from evalstore.model import Ref
from evalstore.store.resolve import build_unknown_error
from evalstore.store.store import ArtifactStore
from evalstore.store.tags import TAG_FIELDS, TAG_REFS, TagRef, list_patterns
from evalstore.versions import Version

_TOLD = (
    "taggername",
    "taggerdate:iso-strict",
    "authorname",
    "committerdate:iso-strict",
    "contents:subject",
    "contents:body",
)
# Each field ends with a NUL, because a message has line feeds of its own.
_FORMAT = "--format=" + "".join(f"%({field})%00" for field in (*TAG_FIELDS, *_TOLD))
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
    logged = [one for one in _logged(store, listed) if _covers(ref, one.version)]
    if not logged:
        raise build_unknown_error(store, ref)
    return ReleaseHistory(ref.name, tuple(sorted(logged, key=lambda one: one.version, reverse=True)))


def _covers(ref: Ref, version: Version) -> bool:
    if ref.version is not None:
        return version == ref.version
    return ref.range is None or version in ref.range


def _logged(store: ArtifactStore, listed: bytes) -> list[ReleaseRecord]:
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    width = len(TAG_FIELDS) + len(_TOLD)
    if len(fields) % width != 1:
        raise GitError("git listed a tag in a form that cannot be read")
    records = [fields[start : start + width] for start in range(0, len(fields) - 1, width)]
    return [one for record in records if (one := _read(store, record)) is not None]


def _read(store: ArtifactStore, record: list[str]) -> ReleaseRecord | None:
    tag = TagRef(record[0].lstrip("\n").removeprefix(TAG_REFS), *record[1 : len(TAG_FIELDS)])
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
