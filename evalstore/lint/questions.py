"""Lints questions, in a dataset's YAML or its rows; one broken row never hides another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from evalstore.documents import Pointer, Span, read_json, read_row
from evalstore.errors import LoadError, Place, SchemaError
from evalstore.lint.bundles import note_broken_bundle
from evalstore.lint.context import ValidationContext
from evalstore.lint.fixes import TextFile, find_edit, make_edit
from evalstore.lint.keys import lint_keys
from evalstore.lint.notes import (
    Note,
    describe_value,
    get_list,
    get_mapping,
    list_mappings,
    make_note,
    note_error,
    suggest_name,
)
from evalstore.lint.references import LaggingPins, lint_pin
from evalstore.lint.shapes import QUESTION, lint_shape, load_schema
from evalstore.lint.values import ValueLinter
from evalstore.lint.wording import note_violation
from evalstore.model import Artifact

_At = TypeVar("_At")  # where a question is: its pointer, or its line
# JSON has one other way to write it: with escapes for its letters.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED_LETTER = re.compile(r"\\u00[2-7]")
_TEXT = {str}
# Keys that may be any text; for the id, any but an empty one.
_FREE_KEYS = frozenset({"id", "input", "criteria", "context", "expected", "group"})
_MOST_ALIKE = 100  # sets of keys; a dataset has a few
_RUBRIC_HINT = "write `rubric_ref: rubric/<id>@<version>`, here or under the dataset's `defaults:`"


class RowsPlace(NamedTuple):
    """A file of rows: the folder with its bundles, its path below that, and its name in findings.

    `pins` are those of its dataset, if known.
    """

    root: Path | None
    path: str
    file: str
    pins: LaggingPins | None = None


def lint_questions(
    artifact: Artifact, root: Path | None, context: ValidationContext
) -> Iterator[Note]:
    """Yield the findings about questions in a dataset's YAML; `root` has its bundles."""
    first: dict[str, Pointer] = {}
    value, find_line = artifact.document.value, partial(_find_id_line, artifact.document.locate)
    defaults, unscored = get_mapping(value, "defaults"), []
    values = ValueLinter(context.lookup, defaults, reads_words=not context.streamed)
    yield from _lint_facts(defaults, ("defaults",))
    for index, row in list_mappings(value, "questions"):
        pointer: Pointer = ("questions", index)
        if (before := _note_first(row, pointer, first)) is not None:
            yield _note_duplicate_id(row, find_line(before), pointer)
        yield from values.lint_row(row, pointer)
        yield from _lint_row(
            row, pointer, _find_row_bundle(row, defaults, root), context, values.list_keys(row)
        )
        if "rubric_ref" not in row and "rubric_ref" not in defaults:
            unscored.append(_note_unscored(row, pointer))
    yield from values.report_rest(("questions",))
    yield from _weigh_unscored(unscored, len(get_list(value, "questions")), ("questions",))
    if isinstance(value, dict) and value.get("questions") == []:
        yield make_note("dataset-empty", ("questions",), of_key=True)


def lint_rows(
    lines: Iterable[tuple[int, bytes]],
    at: RowsPlace,
    pointer: Pointer,
    *,
    defaults: Mapping[str, Any] | None,
    context: ValidationContext,
) -> Iterator[Note]:
    """Yield what is wrong with rows, individually and together; notes on all are at `pointer`.

    `lines` are the numbered non-blank lines of their file. In a `streamed` context nothing about a
    row is remembered, so duplicate ids, and a dataset that grades none of its questions, are left
    to whoever reads them.
    """
    first: dict[str, int] = {}
    unscored, count, is_quiet = list[Note](), 0, True
    values = ValueLinter(context.lookup, defaults or {}, reads_words=not context.streamed)
    linter, has_default = (
        _LineLinter(at, context, values),
        defaults is None or "rubric_ref" in defaults,
    )
    for number, line in lines:
        notes, row = linter.lint_line(line, number)
        if isinstance(row, dict):
            count += 1
            if at.pins and isinstance(ref := row.get("rubric_ref"), str):
                notes += _add_columns([*at.pins.lint(ref, ("rubric_ref",))], line, number, at)
            if not context.streamed and (before := _note_first(row, number, first)) is not None:
                notes += _add_columns([_note_duplicate_id(row, before, ())], line, number, at)
            if not has_default and "rubric_ref" not in row:
                unscored.append(_note_unscored(row, ())._replace(place=Place(at.file, number, 1)))
        if context.streamed:
            yield from unscored
            unscored.clear()
        if notes:
            is_quiet = False
            yield from notes
    yield from values.report_rest(pointer)
    yield from _weigh_unscored(unscored, count, pointer)
    if not count and is_quiet:
        yield make_note("dataset-empty", pointer, of_key=True)


@dataclass(slots=True)
class _LineLinter:
    """Lints the rows of one file, each by itself.

    `_alike` has the notes on rows of texts by keys.
    """

    at: RowsPlace
    context: ValidationContext
    values: ValueLinter
    _alike: dict[tuple[str, ...], list[Note]] = field(default_factory=dict)

    def lint_line(self, line: bytes, number: int) -> tuple[list[Note], Any]:
        """Return what is wrong with one row, and the row; None if it cannot be read."""
        at = self.at
        try:
            row = read_row(line, at.file, number)
        except LoadError as error:
            return [
                note_error(
                    "row-malformed", error, place=Place(at.file, number, _find_column(line, error))
                )
            ], None
        if not isinstance(row, dict):
            message = f"a row must be a mapping, not {describe_value(row)}"
            return [
                make_note(
                    "row-malformed", place=Place(at.file, number, 1), message=message, hint=""
                )
            ], None
        # Most rows have familiar keys with texts under them, which nothing looks into.
        found = self._alike.get((*row,))
        if found is None or {*map(type, row.values())} != _TEXT or not row["id"]:
            found = self._look_into(row, number)
            if len(self._alike) < _MOST_ALIKE and self._is_told_by_keys(row):
                self._alike[(*row,)] = found
        return list(_add_columns(found, line, number, at)) if found else [], row

    def _look_into(self, row: dict[str, Any], number: int) -> list[Note]:
        at, values = self.at, self.values
        # A broken row keeps no other row from being scored.
        found = [note._replace(soft=True) for note in lint_shape(QUESTION, row)]
        found += values.lint_row(row, (), Place(at.file, number, 1))
        bundled = _find_row_bundle(row, values.defaults, at.root)
        found += _lint_row(row, (), bundled, self.context, values.list_keys(row))
        if isinstance(ref := row.get("rubric_ref"), str):
            found += lint_pin(("rubric_ref",), ref, self.context.lookup)
        return found

    def _is_told_by_keys(self, row: dict[str, Any]) -> bool:
        """Whether all rows of texts with these keys have the same notes.

        They do if neither rubric nor schema reads a text.
        """
        read = load_schema(QUESTION)["properties"].keys() - _FREE_KEYS
        return (
            bool(row.get("id"))
            and {*map(type, row.values())} == _TEXT
            and not any(key in read or key.startswith("x_") for key in row)
            and not self.values.list_keys(row)
            and _find_row_bundle(row, self.values.defaults, self.at.root) is None
        )


def _note_unscored(row: Mapping[str, Any], pointer: Pointer) -> Note:
    found = f"the question {describe_value(row['id'])}" if "id" in row else "the question"
    return make_note("question-unscored", pointer, found=found, hint=_RUBRIC_HINT)


def _weigh_unscored(unscored: list[Note], count: int, pointer: Pointer) -> Iterator[Note]:
    """Yield the notes on questions without a rubric, or a single one if there are no others."""
    if unscored and len(unscored) == count:
        yield make_note(
            "dataset-unscored", pointer, of_key=True, hint=f"{_RUBRIC_HINT}, or score with --rubric"
        )
    else:
        yield from unscored


class _RowBundle(NamedTuple):
    """The bundle of one row, and the folder of the store that may have its schema."""

    root: Path
    name: str


def _find_row_bundle(
    row: dict[str, Any], defaults: Mapping[str, Any], root: Path | None
) -> _RowBundle | None:
    name = row.get("bundle", defaults.get("bundle"))
    return _RowBundle(root, name) if root and isinstance(name, str) else None


def _lint_row(
    row: dict[str, Any],
    pointer: Pointer,
    bundled: _RowBundle | None,
    context: ValidationContext,
    read: frozenset[str],
) -> Iterator[Note]:
    bundle = context.bundles.find_bundle(*bundled) if bundled else None
    declared = context.cosmetic.union(bundle.fields if bundle else (), read)
    yield from lint_keys(QUESTION, row, pointer, declared=declared)
    yield from _lint_facts(row, pointer)
    if (
        bundled
        and bundle is None
        and (hint := suggest_name(bundled.name, context.bundles.list_names(bundled.root)))
    ):
        yield make_note("bundle-unknown", (*pointer, "bundle"), found=bundled.name, hint=hint)
    if bundled and bundle and bundle.broken:
        yield bundle.broken
    if bundled and bundle and bundle.schema:
        extra = {
            key: item for key, item in row.items() if key not in load_schema(QUESTION)["properties"]
        }
        try:
            for violation in bundle.schema.find_violations(extra):
                yield from (note._replace(soft=True) for note in note_violation(violation, pointer))
        except SchemaError as error:
            yield note_broken_bundle(bundled.name, error, None)


def _lint_facts(row: Mapping[str, Any], pointer: Pointer) -> Iterator[Note]:
    """Yield the expected facts that are only white space, which leave a question unscored."""
    for index, fact in enumerate(get_list(row, "expected_facts")):
        text = fact.get("value") if isinstance(fact, dict) else fact
        if isinstance(text, str) and text and not text.strip():
            message = "this fact is only white space, so the question cannot be graded by its facts"
            yield make_note(
                "check-broken",
                (*pointer, "expected_facts", index),
                message=message,
                hint="write the fact, or remove it",
            )


def _note_first(row: dict[str, Any], here: _At, first: dict[str, _At]) -> _At | None:
    """Return where the id of a row first occurred, if that was before `here`; else note it."""
    id_ = row.get("id")
    before = first.setdefault(id_, here) if isinstance(id_, str) else here
    return None if before is here else before


def _note_duplicate_id(row: dict[str, Any], line: int | None, pointer: Pointer) -> Note:
    return make_note("question-id-duplicate", (*pointer, "id"), found=row["id"], line=line)


def _find_id_line(locate: Callable[[Pointer], Place], pointer: Pointer) -> int | None:
    return locate((*pointer, "id")).line


def _find_column(line: bytes, error: LoadError) -> int | None:
    """Return where in its line an error is: the reader of rows is fast and does not always know."""
    try:
        read_json(line, "")
    except LoadError as exact:
        error = exact
    return error.place.column if error.place else None


def _add_columns(notes: Iterable[Note], line: bytes, number: int, at: RowsPlace) -> Iterator[Note]:
    """Yield the notes on one line with their columns; it is parsed only if a search finds none."""
    text, document = line.decode("utf-8").removeprefix("\ufeff"), None
    file = TextFile(at.root, at.path, number)
    for note in notes:
        if note.place:
            yield note
            continue
        if span := _find_key(text, note):
            edit = make_edit(text, span, note, file)
            yield note._replace(place=Place(at.file, number, span.column), edit=edit)
        else:
            document = document or read_json(line, at.file)
            column = document.locate(note.pointer, of_key=note.of_key).column
            yield note._replace(
                place=Place(at.file, number, column), edit=find_edit(document, note, file)
            )


def _find_key(text: str, note: Note) -> Span | None:
    """Return where the key of a note is in a line of JSON; None if only a parser can tell."""
    name = note.pointer[0] if len(note.pointer) == 1 and note.of_key else None
    if not isinstance(name, str) or not _PLAIN_NAME.fullmatch(name) or _ESCAPED_LETTER.search(text):
        return None
    quoted = f'"{name}"'
    if text.count(quoted) != 1:  # if there are several, one may be a value, or nested
        return None
    start = text.index(quoted)
    return Span(1, start + 1, start, start + len(quoted))
