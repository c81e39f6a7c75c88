"""Loads tables of the user's own: the shape of `migrations/*.yaml`, checked in full before a file is read by them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.checks import KINDS
from evalstore.documents import Document, Pointer, compute_digest, read_yaml
from evalstore.errors import LoadError, UsageError
from evalstore.files import LARGE_FILE, SMALL_FILE, read_user_file
from evalstore.languages.schemas import Schema, compile_schema
from evalstore.lint.notes import Note, suggest_name
from evalstore.lint.rules import VALIDATION_RULES
from evalstore.lint.wording import lint_artifact_shape, lint_shape, list_check_kinds, load_schema, note_violation
from evalstore.migration.detect import MARGIN, OWN_MATCH, FormatMatch, detect_format
from evalstore.migration.extraction import parse_legacy
from evalstore.migration.readers.own_format import build_checks
from evalstore.migration.table import FormatTable, list_formats, load_tables, parse_row, parse_table, read_names
from evalstore.migration.table_draft import draft_table
from evalstore.migration.value_readings import select_same_side
from evalstore.model import Kind

_SCHEMA = "migration"
_HEAD = 100  # rows that tell the format of a file of rows, however many follow
_DEFAULTS: Mapping[str, Any] = {
    "scoring": {"combine": "all_pass"},
    "no_check": {
        "id": "any_answer",
        "title": "Any answer that is not empty",
        "checks": [{"kind": "format", "format": "text"}],
    },
}
# What each reading gives, as an example.
_SAMPLES: Mapping[str, Any] = {
    "texts": ["x"],
    "texts_or_off": ["x"],
    "texts_or_text": ["x"],
    "text": "x",
    "number": 1,
    "at_least": 1,
    "at_most": 1,
    "truth": True,
    "options": {},
    "value": "x",
}


class TableProblem(NamedTuple):
    """What is wrong with a table: where, in words, and what to do next; `of_key` if it is about the key itself."""

    pointer: Pointer
    message: str
    hint: str = ""
    of_key: bool = False


def load_own_tables(paths: Iterable[Path]) -> list[FormatTable]:
    """Return the tables at `paths`; raises `LoadError` with the place of what is wrong first."""
    tables: list[FormatTable] = []
    for path in paths:
        table = _load_own_table(path)
        if table.format in {other.format for other in tables}:
            raise LoadError(f"{path}: another --table is called {table.format}, too", hint="give one another `format`")
        tables.append(table)
    return tables


def _load_own_table(path: Path) -> FormatTable:
    document = read_yaml(read_user_file(path, SMALL_FILE), str(path))
    problems = list(_find_problems(document))
    if problems:
        first = min(problems, key=lambda problem: document.locate(problem.pointer, of_key=problem.of_key).line or 0)
        more = f" (and {len(problems) - 1:,} more)" if problems[1:] else ""
        place = document.locate(first.pointer, of_key=first.of_key)
        raise LoadError(f"{first.message}{more}", place=place, hint=first.hint or None)
    value = {**_DEFAULTS, **document.value}
    value = {"signs": [_make_sign(value)], **value, "root": _know_lists(value)}
    value["case"] = {**value["case"], "mirrors": _mirror_keys(value["case"])}
    return parse_table(value, own_digest=compute_digest({key: value[key] for key in ("lists", "case")}))


def _make_sign(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sign of a table that names none: what is asked, and some key that is graded."""
    steps = dict.fromkeys(row["key"].partition("/")[0] for row in value.get("checks", ()))
    keys = {"keys": [*steps]} if steps else {}
    key = value["case"].get("input", "input").partition("/")[0]
    graded = " and a key that the table grades" if keys else ""
    return {"at": "case", "all": [key], **keys, "confidence": 0.9, "because": f"its cases have {key}{graded}"}


def _mirror_keys(case: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the keys of a case whose values the question holds as they are."""
    paths = {"id": case.get("id", "id"), "input": case.get("input", "input")}
    paths |= {key: path for key, path in case.items() if key not in {*paths, "data", "order", "number", "mirrors"}}
    # An input of chat messages is a text as well: the messages are what the case says.
    fields = {"input": "input" if "messages" in case else "messages|input"}
    return {path: fields.get(field, field) for field, path in paths.items() if "/" not in path}


def _know_lists(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the root, with the mappings that lead to its lists."""
    root = value.get("root", {})
    parts = {path: list(keys) for path, keys in root.get("parts", {}).items()}
    data = [*root.get("data", ()), *(key for keys in read_names(value) for key in keys)]
    for item in value["lists"]:
        *parents, last = item["key"].split("/")
        for size, step in enumerate([*parents[1:], last] if parents else ()):
            parts.setdefault("/".join(parents[: size + 1]), []).append(step)
        data += parents[:1]
    return {"data": data, "parts": parts}


def _find_problems(document: Document) -> Iterator[TableProblem]:
    value = document.value
    notes = (note for violation in _compile_closed().find_violations(value) for note in note_violation(violation, ()))
    shape = [_word_note(note) for note in notes]
    if shape:
        yield from shape
        return
    if value["format"] in list_formats():
        hint = "give the table a name of its own"
        yield TableProblem(("format",), f"{value['format']} is a format of evalstore itself", hint)
    if "form" in value:
        hint = "take it out; what a table can say is in schema/migration.schema.json"
        yield TableProblem(("form",), "`form` is for formats with a reader of their own", hint, of_key=True)
    for key in ("lists", "case"):
        if key not in value:
            yield TableProblem((), f"`{key}` is missing", "it says where the cases are, and which keys they have")
    judges = {judge["id"]: judge for judge in value.get("judges", ())}
    for index, judge in enumerate(value.get("judges", ())):
        for note in lint_artifact_shape(Kind.JUDGE, {"version": "1.0.0", **judge}):
            yield _word_note(note, ("judges", index))
    for index, row in enumerate(value.get("checks", ())):
        yield from _find_row_problems(row, ("checks", index), value, judges)
    scoring, no_check = ({**_DEFAULTS, **value}[key] for key in ("scoring", "no_check"))
    rubric = {"id": "x", "version": "1.0.0", "checks": no_check["checks"], "scoring": scoring}
    for note in lint_artifact_shape(Kind.RUBRIC, rubric):
        at: Pointer = () if note.pointer[:1] == ("scoring",) else ("no_check",)
        yield _word_note(note, at)


def _find_row_problems(
    row: Mapping[str, Any], at: Pointer, value: Mapping[str, Any], judges: Mapping[str, Any]
) -> Iterator[TableProblem]:
    if row["read"] == "items":
        for index, option in enumerate(row.get("options", ())):
            yield from _find_row_problems(option, (*at, "options", index), value, judges)
        for key in ("by", "value", "options"):
            if key not in row:
                yield TableProblem(at, f"`{key}` is missing", "a row that reads items says how these name their sort")
        return
    kind, parameter = row.get("kind"), row.get("into")
    kinds = list_check_kinds()
    if kind not in kinds:
        hint = suggest_name(kind, select_same_side(str(kind), kinds), f"the kinds are {', '.join(kinds)}")
        message = f"unknown check kind {kind!r}" if kind else "`kind` is missing"
        yield TableProblem((*at, "kind") if kind else at, message, hint)
    elif parameter is None and row["read"] not in {"truth", "options", "value"}:
        yield TableProblem(at, "`into` is missing", f"it names the parameter of {kind} that takes the value")
    elif parameter and parameter.partition("/")[0] not in load_schema(f"checks/{kind}")["properties"]:
        names = load_schema(f"checks/{kind}")["properties"]
        hint = suggest_name(parameter, names, f"the parameters are {', '.join(names)}")
        yield TableProblem((*at, "into"), f"{kind} has no parameter {parameter!r}", hint)
    else:
        yield from _find_check_problems(row, at)
    if "judge" in row and row["judge"] not in judges:
        hint = suggest_name(row["judge"], judges, "the table's `judges` have it by its id")
        yield TableProblem((*at, "judge"), f"the table has no judge {row['judge']!r}", hint)
    if "weight" in row and value.get("scoring", {}).get("combine") != "weighted_avg":
        hint = "take it out, or say `combine: weighted_avg` in `scoring`"
        yield TableProblem((*at, "weight"), "weights count with `combine: weighted_avg` only", hint, of_key=True)
    if "escaped" in row and "{}" not in row["escaped"]:
        yield TableProblem((*at, "escaped"), "`escaped` has no {} in which the text would go", r"as in '\A\s*{}\s*\Z'")


def _find_check_problems(row: Mapping[str, Any], at: Pointer) -> Iterator[TableProblem]:
    """Yield what the kind has against the check that a row makes of a value as its reading gives one."""
    into, fixed = row.get("into", "").partition("/")[0], row.get("with", {})
    samples = {option["key"]: _SAMPLES.get(option["read"]) for option in row.get("options", ())}
    check = next(build_checks(parse_row(row), samples or _SAMPLES[row["read"]]), {"kind": row["kind"]})
    # What may be anything is known only when a file is read; so are the options that a file has.
    unknown = {into} if row["read"] == "value" else {*samples, ""} if samples else set()
    found = [(next(iter(note.pointer), ""), note) for note in lint_shape(f"checks/{row['kind']}", check)]
    notes = [(key, note) for key, note in found if str(key) not in unknown]
    for key, note in notes:
        place = (*at, "with") if key in fixed else (*at, "into") if key == into else at
        yield _word_note(note, place, whole=key in fixed)
    if not notes and not unknown:
        for problem in KINDS[row["kind"]].find_problems(check):
            steps: Pointer = ("with", *problem.pointer) if {*problem.pointer[:1]} & {*fixed} else ()
            if problem.blocks:
                yield TableProblem((*at, *steps), problem.message, problem.hint)


@cache
def _compile_closed() -> Schema:
    """Return the published schema without room for further keys: a misspelt one would ask for nothing."""
    return compile_schema(_close_objects(load_schema(_SCHEMA)))


def _close_objects(node: Any) -> Any:
    if isinstance(node, list):
        return [_close_objects(item) for item in node]
    if not isinstance(node, dict):
        return node
    # A judge has keys of its own, which the schema of judges knows.
    closed = {key: item if key == "judges" else _close_objects(item) for key, item in node.items()}
    return closed | ({"additionalProperties": False} if "properties" in node and node.get("type") == "object" else {})


def _word_note(note: Note, at: Pointer = (), *, whole: bool = True) -> TableProblem:
    rule = VALIDATION_RULES[note.rule]
    message, hint = (text.format_map(note.facts) for text in (rule.message, rule.hint))
    return TableProblem((*at, *(note.pointer if whole else ())), message, hint, note.of_key and whole)


@dataclass(frozen=True, slots=True)
class FormatExplanation:
    """What was found of one file; where no format takes it, the `draft` of a table, or that it `has_no_cases`."""

    file: str
    sha256: str
    match: FormatMatch
    draft: str = ""
    has_no_cases: bool = False

    @property
    def needed_margin(self) -> Fraction:
        """The margin up to which a format is not taken without --from."""
        return MARGIN

    @property
    def decision(self) -> str:
        """What a migration does with the file, and why, in one sentence."""
        match = self.match
        if match.table is None:
            return match.reason
        name = match.table.format
        if not match.is_sure:
            return f"hardly {name}: {match.reason}; --from {name} takes it all the same"
        return f"{name}, {match.confidence:.0%} sure: {match.reason}"


def detect_file(path: Path) -> FormatMatch:
    """Return the format of a file, of rows by the first of them. Raises `LoadError` where it cannot be read."""
    data = read_user_file(path, LARGE_FILE)
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        data = b"\n".join(data.split(b"\n", _HEAD)[:_HEAD])
    return detect_format(parse_legacy(data, path.name)[0].value, load_tables(None))


def explain_format(path: Path | str, *, tables: Iterable[Path | str] = ()) -> FormatExplanation:
    """Return how the format of a file is found; writes nothing. `tables` are paths of tables of one's own.

    Raises `UsageError` for a folder, `LoadError` for a file or a table that cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="--explain takes one file of it")
    known_tables = load_tables(None, load_own_tables(map(Path, tables)))
    data = read_user_file(path, LARGE_FILE)
    document, _ = parse_legacy(data, path.name)
    match = detect_format(document.value, known_tables)
    sha256 = hashlib.sha256(data).hexdigest()
    if match.is_tie or match.is_sure or match is OWN_MATCH:
        return FormatExplanation(str(path), sha256, match)
    draft = draft_table(document.value, path.name)
    return FormatExplanation(str(path), sha256, match, draft, has_no_cases=not draft)
