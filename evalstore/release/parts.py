"""The files of one release: artifacts, the rows beside them, and their ledgers; reads only."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalstore.errors import AbsentError, Place, RefusedError
from evalstore.files import open_below, pieces, read_below
from evalstore.release.ledger import LIMIT, check_ledger_complete, extend_ledger
from evalstore.release.moves import Moves
from evalstore.release.standing import rows_path
from evalstore.release.step import ReleaseStep
from evalstore.store import ArtifactStore
from evalstore.store.batch import compute_blob_id
from evalstore.store.blobs import hash_working_file
from evalstore.store.ledger import ledger_path
from evalstore.store.line_ends import normalize_line_ends, find_normalized, has_carriage_return
from evalstore.store.objects import find_file


@dataclass(frozen=True, slots=True)
class Part:
    """One file to commit, relative to the store; `content` None is the file on disk, which may be large, `moves` made.

    `before` is the blob of the file on disk, None where there is none. What is `cleaned` git keeps with LF, where the
    working tree has CRLF.
    """

    path: str
    content: bytes | None
    before: str | None
    moves: Moves = field(default_factory=dict)
    cleaned: bool = False


def parts_of(store: ArtifactStore, steps: Sequence[ReleaseStep], tip: str | None, *, tagged: bool) -> Iterator[Part]:
    """Yield what steps commit; refuses what git holds as a link, and a ledger that somebody else has edited."""
    cleaned = _cleaned(store, steps)
    for step in steps:
        _committed(store, tip, step.path)
        part = Part(step.path, step.content, step.found.blob, cleaned=step.path in cleaned)
        yield part
        if (rows := rows_path(step.artifact)) and store.root:
            _committed(store, tip, rows)
            before = hash_working_file(store.root, rows, store.repository.hex_digits)
            yield Part(rows, None, before, step.moves, cleaned=rows in cleaned)
        if tagged:
            yield _ledger(store, step, tip, normalize_line_ends(step.content) if part.cleaned else step.content)


def _cleaned(store: ArtifactStore, steps: Sequence[ReleaseStep]) -> frozenset[str]:
    """Return the files of steps that git keeps with other line ends; most have no CR, and no attribute is asked for."""
    odd = [step.path for step in steps if b"\r\n" in step.content]
    rows = [path for step in steps if (path := rows_path(step.artifact))]
    odd += [path for path in rows if store.root and _has_cr(store.root, path)]
    found = find_normalized(store, [store.prefix + path for path in odd])
    return frozenset(path for path in odd if store.prefix + path in found)


def _has_cr(root: Path, path: str) -> bool:
    with open_below(root, path) as file:
        return has_carriage_return(pieces(file))


def _ledger(store: ArtifactStore, step: ReleaseStep, tip: str | None, content: bytes) -> Part:
    path = ledger_path(step.name)
    blob = _committed(store, tip, path)
    ledger = store.objects.read(blob).data if blob else b""
    versions = [release.version for release in store.list_releases(step.found.kind, step.found.id)]
    check_ledger_complete(step.name, ledger, versions)
    on_disk, name = _on_disk(store, path), shlex.quote(store.prefix + path)
    if on_disk is not None and ledger not in {on_disk, normalize_line_ends(on_disk)}:
        raise RefusedError(
            "the ledger differs from the committed one, and only a bump writes it",
            place=Place(path),
            hint=f"git restore -SW {name}" if blob else f"remove it: git rm -qf --ignore-unmatch {name}; rm -f {name}",
        )
    before = None if on_disk is None else compute_blob_id(on_disk, store.repository.hex_digits)
    return Part(path, extend_ledger(ledger, step.version, content), before)


def _committed(store: ArtifactStore, tip: str | None, path: str) -> str | None:
    return find_file(store.objects, tip, store.prefix + path) if tip else None


def _on_disk(store: ArtifactStore, path: str) -> bytes | None:
    try:
        return read_below(store.root, path, LIMIT) if store.root else None
    except AbsentError:
        return None
