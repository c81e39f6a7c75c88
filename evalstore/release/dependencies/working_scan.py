"""Finds the working files that are not, byte for byte, their last release.

Nothing is parsed or compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstore.errors import LoadError
from evalstore.model import Kind, Ref
from evalstore.progress import Watch
from evalstore.release.dependencies.mentions import Mentions, scan_working_file
from evalstore.release.dependencies.references import find_working_rows
from evalstore.store import ArtifactStore, Release
from evalstore.store.resolve import expect_releases
from evalstore.store.working_files import is_blob, is_release, read_working_files


@dataclass(frozen=True, slots=True)
class WorkingScan:
    """The working files that are not, byte for byte, their last release.

    It also has what every working file mentions.
    """

    changed: tuple[Ref, ...]
    mentions: Mapping[str, Mentions]


def scan_working_files(
    store: ArtifactStore,
    refs: Sequence[Ref],
    last: Mapping[str, Release],
    *,
    watch: Watch[Any] = iter,
) -> WorkingScan:
    """Read every working file once, without parsing it.

    `watch` wraps the iteration (a progress bar).
    """
    mentions: dict[str, Mentions] = {}
    rows: dict[str, tuple[str, str]] = {}
    same: set[str] = set()
    released = {ref.name: (last[ref.name].commit, ref.path) for ref in refs if ref.name in last}
    blobs = store.moves.find_blobs(released)
    for ref, data in read_working_files(store, watch(refs)):
        mentions[str(ref)] = scan_working_file(store, ref, data)
        blob = blobs.get(ref.name)
        if (
            data is not None
            and blob is not None
            and is_release(ref, data, blob, last[ref.name].version)
        ):
            with suppress(LoadError):  # its rows are unknown: it is compared, which says why
                path = find_working_rows(store, ref, data) if ref.kind is Kind.DATASET else None
                rows |= {ref.name: (last[ref.name].commit, path)} if path else {}
                same.add(ref.name)
    # A dataset is unchanged only if its rows are, too.
    rows_blobs = store.moves.find_blobs(rows)
    for name, (_, path) in rows.items():
        if not _has_blob(store.root, path, rows_blobs[name]):
            same.discard(name)
    changed = tuple(ref for ref in refs if ref.name not in same)
    # Each is compared with its last release, which git reads ahead.
    expect_releases(store, [last[ref.name].ref for ref in changed if ref.name in last])
    return WorkingScan(changed, mentions)


def _has_blob(root: Path | None, path: str, blob: str | None) -> bool:
    with suppress(LoadError):
        return root is not None and blob is not None and is_blob(root, path, blob)
    return False
