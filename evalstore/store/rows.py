"""Streams the rows of large datasets from their files, and lists renamed questions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from evalstore import documents  # its names for rows are imported where a row is read
from evalstore.errors import LoadError, Place
from evalstore.files import iterate_pieces, open_below, read_below
from evalstore.model import Artifact, Kind, Question, find_rows_path
from evalstore.model.artifact import ROWS_KEY
from evalstore.model.question import make_question, read_defaults
from evalstore.model.question_ids import list_noted_renames, read_former_id
from evalstore.model.refs import ArtifactIdentity
from evalstore.store.artifacts import ARTIFACT_LIMIT, require_blob
from evalstore.store.contents import StoreReader
from evalstore.store.file_history import list_file_commits
from evalstore.store.resolve import Resolved

_REQUIRED_KEYS = ("id", "input")
_RUBRIC_REF = b"rubric_ref"
_LINE_DIGEST = 16  # bytes: enough for no two lines to have the same
# A NamedTuple's own constructor is three times slower, and a file has a million lines.
_new_tuple = tuple.__new__


class RowLine(NamedTuple):
    """One non-blank line of a file of rows, with the file's name and its number there."""

    data: bytes
    file: str
    number: int


class RowBlock(NamedTuple):
    """Lines of a file of rows that are not blank, with the file's name and their numbers there."""

    data: list[bytes]
    file: str
    numbers: Sequence[int]

    def split(self, count: int) -> tuple[RowBlock, RowBlock]:
        """Return the first `count` lines, and the others."""
        parts = slice(None, count), slice(count, None)
        first, rest = (RowBlock(self.data[at], self.file, self.numbers[at]) for at in parts)
        return first, rest

    def list_lines(self) -> Iterator[RowLine]:
        """Yield the lines."""
        for data, number in zip(self.data, self.numbers, strict=True):
            yield _new_tuple(RowLine, (data, self.file, number))


BlockReader = Callable[[], Iterable[RowBlock]]
_Waiting = dict[bytes, list[tuple[int, RowLine]]]
_RowsByIndex = Mapping[int, Mapping[str, Any]]


def read_rows(
    store: StoreReader, dataset: Artifact, *, commit: str | None, tag: str | None
) -> Iterator[Mapping[str, Any]]:
    """Yield a dataset's rows at a commit (None: on disk).

    Raises `LoadError` for a row without `id` or `input`.
    """
    return map(parse_row, read_row_lines(store, dataset, commit=commit, tag=tag))


def read_questions(
    store: StoreReader, dataset: Artifact, *, commit: str | None, tag: str | None
) -> Iterator[Question]:
    """Yield the questions of a dataset's rows at a commit (None: on disk).

    A broken row is a question, too.
    """
    defaults = read_defaults(dataset.value)
    for line in read_row_lines(store, dataset, commit=commit, tag=tag):
        yield read_question(line, defaults)


def read_question(line: RowLine, defaults: Mapping[str, Any]) -> Question:
    """Return the question of a row, with its dataset's defaults; also for a broken row."""
    data, file, number = line
    row: Any = None
    broken = ""
    try:
        row = documents.read_row(data, file, number)
    except LoadError as error:
        broken = error.message
        if (id_ := documents.find_plain_id(data)) is not None:
            row = {"id": id_}
    return make_question(row, defaults, find_line=partial(int, number), broken=broken)


def read_row_lines(
    store: StoreReader, dataset: Artifact, *, commit: str | None, tag: str | None
) -> Iterator[RowLine]:
    """Yield the lines of the rows beside a dataset at a commit (None: on disk)."""
    for block in read_row_blocks(store, dataset, commit=commit, tag=tag):
        yield from block.list_lines()


def read_row_blocks(
    store: StoreReader, dataset: Artifact, *, commit: str | None, tag: str | None
) -> Iterator[RowBlock]:
    """Yield the same lines in the blocks in which they are read: most need not be looked at."""
    path = find_rows_path(dataset)
    if path is None:
        return
    file, first = name_rows_file(store, path, commit=commit, tag=tag), 1
    for lines in _split_lines(_read_pieces(store, path, commit), file):
        numbers: Sequence[int] = range(first, first + len(lines))
        first += len(lines)
        filled = list(filter(bytes.strip, lines))
        if len(filled) < len(lines):
            numbers = [number for number, line in zip(numbers, lines, strict=True) if line.strip()]
        if filled:
            yield RowBlock(filled, file, numbers)


def name_rows_file(store: StoreReader, path: str, *, commit: str | None, tag: str | None) -> str:
    """Return the name for messages of the file of rows at `path`: as git names it at a commit."""
    return (
        f"{tag or 'git:' + commit[:12]}:{store.moves.find_prefix(commit)}{path}" if commit else path
    )


def list_rows_paths(store: StoreReader, dataset: ArtifactIdentity) -> list[str]:
    """Return every file of rows that a dataset names, on disk or at any branch or tag."""
    commits = list_file_commits(store, [dataset.path])
    blobs = store.moves.find_blobs({commit: (commit, dataset.path) for commit in commits})
    texts = [store.objects.read(blob).data for blob in dict.fromkeys(blobs.values()) if blob]
    with suppress(LoadError):  # there is none on disk, as in a bare repository
        texts += [read_below(store.root, dataset.path, ARTIFACT_LIMIT)] if store.root else []
    found: dict[str, None] = {}
    for text in texts:
        if path := _find_path_in(dataset, text):
            found[path] = None
    return list(found)


def _find_path_in(dataset: ArtifactIdentity, text: bytes) -> str | None:
    # The key is in the text as it is, unless an escape hides it: most datasets need not be parsed.
    if ROWS_KEY.encode() not in text and b"\\" not in text:
        return None
    with suppress(LoadError):  # what cannot be read names no rows
        document = documents.read_yaml(text, dataset.path)
        return find_rows_path(Artifact(dataset.kind, dataset.id, "", document))
    return None


def compute_rows_sha256(store: StoreReader, dataset: Artifact, *, commit: str | None) -> str:
    """Return the SHA-256 of the lines of a dataset's rows, whatever their line endings.

    Blank lines do not count.
    """
    found = hashlib.sha256()
    for line in read_row_lines(store, dataset, commit=commit, tag=None):
        found.update(line.data.strip() + b"\n")
    return found.hexdigest()


def pair_row_lines(
    old: BlockReader, new: BlockReader, *, keeps_whole: bool
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the rows of two files that differ, leaving out lines that both have.

    Every row is kept if `keeps_whole`, if rows changed their order, or if an id occurs twice: then
    a line in both files is one object on both sides, with only its ids unless everything is read.
    """
    lines = _find_changed_lines(old, new)
    if not keeps_whole and lines.in_order:
        changed = [{at: parse_row(line) for at, line in side.items()} for side in lines.changed]
        if _are_ids_in_order(*changed) and not _stands_twice(changed, new):
            return [*changed[0].values()], [*changed[1].values()]
    after: list[Mapping[str, Any]] = []
    shared: dict[bytes, Mapping[str, Any]] = {}
    for at, line in enumerate(_list_lines(new())):
        row = parse_row(line)
        if at not in lines.changed[1]:
            row = shared.setdefault(_digest_line(line), row if keeps_whole else _cut_to_ids(row))
        after.append(row)
    before = [shared.get(_digest_line(line)) or parse_row(line) for line in _list_lines(old())]
    return before, after


class _ChangedLines(NamedTuple):
    """The lines that two files do not share, old and new, by index.

    `in_order`: all others kept their order.
    """

    changed: tuple[dict[int, RowLine], dict[int, RowLine]]
    in_order: bool


def _list_lines(blocks: Iterable[RowBlock]) -> Iterator[RowLine]:
    return chain.from_iterable(block.list_lines() for block in blocks)


def _read_in_step(old: BlockReader, new: BlockReader) -> Iterator[tuple[RowBlock, RowBlock]]:
    """Yield as many lines of one file as of the other, and then what only the longer one has."""
    files, end = (iter(old()), iter(new())), RowBlock([], "", ())
    left = [end, end]
    while True:
        # A block whose lines all had a counterpart is followed by the next one.
        for side, file in enumerate(files):
            left[side] = left[side] if left[side].data else next(file, end)
        sizes = [len(block.data) for block in left]
        if not any(sizes):
            return
        count = min(sizes) or max(sizes)
        (before, left[0]), (after, left[1]) = (block.split(count) for block in left)
        yield before, after


def _find_changed_lines(old: BlockReader, new: BlockReader) -> _ChangedLines:
    """Read both files in step; keep only the lines of each that the other has not had so far."""
    waiting: tuple[_Waiting, _Waiting] = ({}, {})
    latest, in_order, at = (-1, -1), True, -1
    for blocks in _read_in_step(old, new):
        if blocks[0].data == blocks[1].data:
            at += len(blocks[0].data)
            latest = (at, at)  # behind all that came before
            continue
        for lines in zip_longest(*(block.list_lines() for block in blocks)):
            at += 1
            if lines[0] and lines[1] and lines[0].data == lines[1].data:
                latest = (at, at)
                continue
            for side, line in enumerate(lines):
                if line is None:
                    continue
                others = waiting[1 - side].get(line.data)
                if not others:
                    waiting[side].setdefault(line.data, []).append((at, line))
                    continue
                there = others.pop(0)[0]
                pair = (at, there) if side == 0 else (there, at)
                in_order = in_order and latest[0] < pair[0] and latest[1] < pair[1]
                latest = pair
    left = [sorted(chain.from_iterable(side.values())) for side in waiting]
    return _ChangedLines((dict(left[0]), dict(left[1])), in_order)


def _are_ids_in_order(old: _RowsByIndex, new: _RowsByIndex) -> bool:
    """Whether the changed rows of both sides are in one order, between the same unchanged rows."""
    before, after = ({row["id"] for row in side.values()} for side in (old, new))
    common = before & after
    return _list_places(old, common) == _list_places(new, common)


def _list_places(side: _RowsByIndex, ids: Container[str]) -> list[tuple[str, int]]:
    """Return these changed rows in order, each with the number of unchanged rows before it."""
    places = [(row["id"], index - changed) for changed, (index, row) in enumerate(side.items())]
    return [place for place in places if place[0] in ids]


def _stands_twice(changed: Sequence[_RowsByIndex], new: BlockReader) -> bool:
    """Whether an id of a changed row is that of another row, changed or not."""
    ids = [[row["id"] for row in side.values()] for side in changed]
    if any(len({*side}) < len(side) for side in ids):
        return True
    # A row that exists on both sides took no id from another one.
    lone = {*ids[0]} ^ {*ids[1]}
    return bool(lone) and any(
        _read_id(line) in lone for at, line in enumerate(_list_lines(new())) if at not in changed[1]
    )


def may_name_rubric(data: bytes) -> bool:
    """Whether rows may name a rubric: the key stands there as it is, unless an escape hides it."""
    return _RUBRIC_REF in data or b"\\u" in data


def _read_id(line: RowLine) -> str:
    return documents.find_plain_id(line.data) or str(parse_row(line)["id"])


def _digest_line(line: RowLine) -> bytes:
    return hashlib.blake2b(line.data, digest_size=_LINE_DIGEST).digest()


def _cut_to_ids(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with only its id and its former id."""
    former = read_former_id(row)
    noted = {} if former is None else {"x_source": {"renamed_from": former}}
    return {"id": row["id"], **noted}


def _read_pieces(store: StoreReader, path: str, commit: str | None) -> Iterator[bytes]:
    if commit is None:
        if store.root is None:
            return
        with open_below(store.root, path) as file:
            yield from iterate_pieces(file)
        return
    yield from store.objects.stream(require_blob(store, commit, path))


def _split_lines(pieces: Iterable[bytes], file: str) -> Iterator[list[bytes]]:
    # A piece may end within a line: the tail waits for the next piece.
    tail, number = b"", 0
    for piece in pieces:
        *whole, tail = (tail + piece).split(b"\n")
        number += len(whole)
        yield whole
        if len(tail) > documents.LINE_LIMIT:
            raise LoadError(
                f"a line is longer than {documents.LINE_LIMIT:,} bytes",
                place=Place(file, number + 1),
            )
    if tail:
        yield [tail]


def parse_row(line: RowLine) -> Mapping[str, Any]:
    """Return the row in a line; raises `LoadError` for one without `id` or `input`."""
    data, file, number = line
    row = documents.read_row(data, file, number)
    if not isinstance(row, dict):
        raise LoadError(
            "a row must be an object", place=Place(file, number), hint='{"id": "…", "input": "…"}'
        )
    for key in _REQUIRED_KEYS:
        if not isinstance(row.get(key), str):
            raise LoadError(
                f"the row has no {key}",
                place=Place(file, number),
                hint=f"every row needs a string {key!r}",
            )
    return row


def list_renames(store: StoreReader, dataset: Resolved) -> dict[str, str]:
    """Return the new ids of questions by the old ones; a declared rename overrides a noted one."""
    if dataset.kind is not Kind.DATASET:
        return {}
    declared = store.settings.get("renames", {})
    own = declared.get(dataset.name, {}) if isinstance(declared, dict) else {}
    return {
        **list_noted_renames(_list_noted_rows(store, dataset)),
        **(own if isinstance(own, dict) else {}),
    }


def _list_noted_rows(store: StoreReader, dataset: Resolved) -> Iterator[Any]:
    questions = dataset.artifact.value.get("questions")
    yield from questions if isinstance(questions, list) else ()
    if "x_source" not in dataset.artifact.value:
        return
    # Only what a migration noted is parsed, because there may be many other rows.
    with suppress(LoadError):  # a finding for whoever reads the questions
        for line in read_row_lines(store, dataset.artifact, commit=dataset.commit, tag=dataset.tag):
            if b'"renamed_from"' in line.data:
                yield documents.read_row(line.data, line.file, line.number)
