"""What a store holds: every artifact with its releases and whether its file has changed since, told by blob ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from evalstore.errors import EvalstoreError
from evalstore.files import read_below
from evalstore.model import Kind, Ref
from evalstore.store.artifacts import LIMIT, read_artifact
from evalstore.store.batch import blob_id
from evalstore.store.store import Store
from evalstore.store.tags import Release


@dataclass(frozen=True, slots=True)
class Listed:
    """One artifact; `changed` is None without a file or a release to compare, `problem` says why a file is unread."""

    kind: Kind
    id: str
    latest: str | None
    releases: int
    working: str | None
    changed: bool | None
    problem: str | None = None

    @property
    def name(self) -> str:
        """`<kind>/<id>`."""
        return f"{self.kind}/{self.id}"


@dataclass(frozen=True, slots=True)
class Listing:
    """All artifacts, and the tags that stand among theirs and are no versions (name, why)."""

    artifacts: tuple[Listed, ...]
    ignored: tuple[tuple[str, str], ...]


def read_listing(store: Store) -> Listing:
    """List a store with one question about tags and one about blobs; a file is parsed only when it has changed."""
    released = {
        key: list(group) for key, group in groupby(store.releases(), key=lambda release: (release.kind, release.id))
    }
    files = {(ref.kind, ref.id): ref for ref in store.working()}
    blobs = _blobs(store, {key: group[-1] for key, group in released.items() if key in files})
    artifacts = (
        _listed(store, key, released.get(key, []), ref=files.get(key), blob=blobs.get(key))
        for key in sorted(released.keys() | files.keys())
    )
    return Listing(tuple(artifacts), tuple(store.tags.ignored()))


_Key = tuple[Kind, str]


def _blobs(store: Store, newest: Mapping[_Key, Release]) -> dict[_Key, str]:
    """Return the blob of each artifact at its newest release, by one call to git."""
    if not newest:
        return {}
    lines = (f"{one.commit}:{store.prefix}{one.kind.folder}/{one.id}.yaml\n" for one in newest.values())
    answers = store.git.run("cat-file", "--batch-check=%(objectname)", stdin="".join(lines).encode("utf-8"))
    return dict(zip(newest, answers.decode("utf-8", "replace").split("\n"), strict=False))


def _listed(store: Store, key: _Key, releases: Sequence[Release], *, ref: Ref | None, blob: str | None) -> Listed:
    finals = [release for release in releases if not release.version.prerelease] or releases
    latest = str(finals[-1].version) if finals else None
    working, changed, problem = None, None, None
    if ref is not None and store.root is not None:
        try:
            data = read_below(store.root, ref.path, LIMIT)
            changed = blob_id(data, store.repository.hex_digits) != blob if releases else None
            working = read_artifact(ref, data, ref.path).version if changed is not False else str(releases[-1].version)
        except EvalstoreError as error:
            changed, problem = (True if releases else None), str(error)
    return Listed(*key, latest, len(releases), working, changed, problem)
