"""Questions, in a dataset's YAML or in its rows, one line each: every broken one is a finding of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from evalstore.documents import LINE_LIMIT, Pointer, read_json, read_row
from evalstore.errors import LoadError, Place, SchemaError
from evalstore.files import open_below
from evalstore.model import Artifact
from evalstore.validation.bundles import broken
from evalstore.validation.context import Context
from evalstore.validation.keys import misspelt
from evalstore.validation.notes import Note, failure, guessed, note, shown
from evalstore.validation.parts import mapping, mappings
from evalstore.validation.references import pin_notes
from evalstore.validation.shape import QUESTION, schema, shape_notes
from evalstore.validation.wording import worded


def question_notes(artifact: Artifact, root: Path | None, context: Context) -> Iterator[Note]:
    """Yield the findings of the questions in a dataset's YAML; `root` is the folder that holds its bundles."""
    first: dict[str, int | None] = {}
    default = mapping(artifact.document.value, "defaults").get("bundle")
    for index, row in mappings(artifact.document.value, "questions"):
        pointer: Pointer = ("questions", index)
        yield from _taken(row, artifact.document.locate((*pointer, "id")).line, first, pointer)
        yield from _row_notes(row, pointer, _bundled(row, default, root), context)


def rows_notes(root: Path, path: str, file: str, *, default: Any, context: Context) -> Iterator[Note]:
    """Yield the findings of the rows in `root/path`, shown as `file`; `default` is the bundle of rows without one."""
    first: dict[str, int | None] = {}
    with open_below(root, path) as stream:
        for number, line in _lines(stream):
            try:
                row = read_row(line, file, number)
            except LoadError as error:
                yield failure("row-malformed", error, place=Place(file, number, _column(line, error)))
                continue
            if not isinstance(row, dict):
                message = f"a row is a mapping, not {shown(row)}"
                yield note("row-malformed", place=Place(file, number, 1), message=message, hint="")
                continue
            found = [*shape_notes(QUESTION, row), *_taken(row, number, first, ())]
            found += _row_notes(row, (), _bundled(row, default, root), context)
            if isinstance(ref := row.get("rubric_ref"), str):
                found += pin_notes(("rubric_ref",), ref, context.lookup)
            yield from _placed(found, line, file, number)


class _Bundled(NamedTuple):
    """The bundle of one row, and the folder of the store that may have its schema."""

    root: Path
    name: str


def _bundled(row: dict[str, Any], default: Any, root: Path | None) -> _Bundled | None:
    name = row.get("bundle", default)
    return _Bundled(root, name) if root and isinstance(name, str) else None


def _row_notes(row: dict[str, Any], pointer: Pointer, bundled: _Bundled | None, context: Context) -> Iterator[Note]:
    bundle = context.bundles.find(*bundled) if bundled else None
    yield from misspelt(QUESTION, row, pointer, declared=bundle.fields if bundle else ())
    if bundled and bundle is None and (hint := guessed(bundled.name, context.bundles.names(bundled.root))):
        yield note("bundle-unknown", (*pointer, "bundle"), found=bundled.name, hint=hint)
    if bundled and bundle and bundle.broken:
        yield bundle.broken
    if bundled and bundle and bundle.schema:
        extra = {key: item for key, item in row.items() if key not in schema(QUESTION)["properties"]}
        try:
            for violation in bundle.schema.find_violations(extra):
                yield from worded(violation, pointer)
        except SchemaError as error:
            yield broken(bundled.name, error, None)


def _taken(row: dict[str, Any], line: int | None, first: dict[str, int | None], pointer: Pointer) -> Iterator[Note]:
    id_ = row.get("id")
    if not isinstance(id_, str):
        return
    if id_ in first:
        yield note("question-id-duplicate", (*pointer, "id"), found=id_, line=first[id_])
    first.setdefault(id_, line)


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) for every line that is not blank; of one beyond the limit, its beginning."""
    number = 0
    while line := stream.readline(LINE_LIMIT + 2):
        number += 1
        rest = line
        while len(rest) > LINE_LIMIT and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_LIMIT + 2)
        if not line.isspace():
            yield number, line.removesuffix(b"\n")


def _column(line: bytes, error: LoadError) -> int | None:
    """Return where in its line an error is: the reader of rows is fast and does not always know."""
    try:
        read_json(line, "")
    except LoadError as exact:
        error = exact
    return error.place.column if error.place else None


def _placed(notes: Iterable[Note], line: bytes, file: str, number: int) -> Iterator[Note]:
    """Yield the notes of one line with their columns; a line is read for positions only when it has notes."""
    document = None
    for found in notes:
        document = document or read_json(line, file)
        column = document.locate(found.pointer, of_key=found.of_key).column
        yield found if found.place else replace(found, place=Place(file, number, column))
