"""One legacy document and its table in, questions and checks out: a pure function that never looks at files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.documents import Pointer, digest, json_pointer
from evalstore.errors import RefusedError
from evalstore.migration.detect import select_variant
from evalstore.migration.fold import same
from evalstore.migration.names import SLUG_LIMIT, UniqueLabels, make_id, make_dataset_id, make_slug
from evalstore.migration.outcome import MigrationOutcome, find_worst_outcome
from evalstore.migration.readers.ai_best_practices.readings import ValueReading
from evalstore.migration.readers.ai_best_practices.readings import read as reading_of
from evalstore.migration.readers.ai_best_practices.restore import back, case_of, check_of, label_of, order, suite_of
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import ArtifactDraft, Extraction, LegacyCase, LegacySource, MigrationNote
from evalstore.migration.words import named, unread
from evalstore.model import Kind

Checks = tuple[dict[str, Any], ...]
_HEX = 8


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the cases of a document that has one of the table's lists at its root."""
    root: Mapping[str, Any] = legacy.document.value
    key = next(key for key in table.lists if key in root)
    own = table.of_dialect(legacy.dialect) if legacy.dialect else select_variant(root, table)
    table = own if key in own.lists else table
    metadata = {name: value for name, value in root.items() if name != key}
    value = {**({"metadata": metadata} if metadata else {}), "x_source": {"pointer": f"/{key}"}}
    usual = list(suite_of(value, [], table)) == list(root)
    source = value["x_source"] | ({} if usual else {"keys": list(root)})
    dataset = ArtifactDraft(Kind.DATASET, make_dataset_id(legacy.file, root, table), value | {"x_source": source}, (key,))
    if not isinstance(root[key], list):
        problem = f"{key} is {named(root[key])} where the list of cases belongs"
        return Extraction(table.lists[key], notes=(MigrationNote((key,), MigrationOutcome.REFUSED, problem),))
    return Extraction(table.lists[key], dataset, tuple(_cases(root[key], key, table)))


def give(main: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]], table: FormatTable) -> Any:
    """Return the suite of a dataset and its rubrics; a check that the format has no words for is a `RefusedError`."""
    table = table.of_dialect(main.get("x_source", {}).get("dialect"))
    cases = [
        (question.get("x_source", {}).get("pointer", ""), _given(question, rubrics, table))
        for question in main["questions"]
    ]
    return suite_of(main, cases, table)


def _given(question: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]], table: FormatTable) -> dict[str, Any]:
    ref = question.get("rubric_ref")
    try:
        return case_of(question, _checks_of(rubrics[ref], table) if ref else [], table)
    except RefusedError as error:
        hint = "export an earlier version of the dataset"
        raise RefusedError(f"{question['id']}, graded by {ref}: {error.message}", hint=hint) from None


def _checks_of(rubric: Mapping[str, Any], table: FormatTable) -> Any:
    if rubric["scoring"] != table.scoring:
        raise RefusedError(f"{table.format} has no words for the scoring")
    return rubric["checks"]


def _cases(raws: list[Any], key: str, table: FormatTable) -> Iterator[LegacyCase]:
    problems = [_unusable(raw, table) for raw in raws]
    labels = [None if problem else label_of(raw[table.id], table) for raw, problem in zip(raws, problems, strict=True)]
    names = UniqueLabels({label for label in labels if label is not None})
    for index, (raw, problem, label) in enumerate(zip(raws, problems, labels, strict=True)):
        pointer = (key, index)
        if label is None:
            yield LegacyCase(pointer, raw, MigrationOutcome.REFUSED, (problem,))
            continue
        own, note = names.claim_for_case(label, pointer)
        yield _read_case(raw, pointer, table, label=own, notes=note)


def _read_case(raw: Any, pointer: Pointer, table: FormatTable, *, label: str, notes: tuple[str, ...]) -> LegacyCase:
    script = _script(raw, table)
    if script and raw.get(script["key"]):
        return LegacyCase(pointer, raw, MigrationOutcome.UNMAPPED, (script["decides"],))
    readings = {row.key: reading_of(raw[row.key], row) for row in table.checks if row.key in raw}
    outcome = find_worst_outcome(reading.outcome for reading in readings.values())
    reasons = tuple(reason for reading in readings.values() for reason in reading.reasons)
    if outcome is MigrationOutcome.REFUSED:
        return LegacyCase(pointer, raw, outcome, reasons)
    checks = _checks(readings, table)
    none, plain = ((), MigrationOutcome.MIGRATED) if checks else _no_check(table)
    known = order(table)
    extra = unread((key for key in raw if key not in known), known)
    question = _question(raw, label, readings, table)
    keys = {} if list(raw) == list(case_of(question, checks, table)) else {"keys": list(raw)}
    source = {"pointer": json_pointer(pointer), **question["x_source"], **keys}
    apart = (script["absent"],) if script else ()
    said = (*notes, *apart, *reasons, *none, *extra)
    return LegacyCase(pointer, raw, find_worst_outcome([outcome, plain]), said, question | {"x_source": source}, _rubric(checks, table))


def _script(raw: Mapping[str, Any], table: FormatTable) -> Mapping[str, Any]:
    """Return what is said of cases that a script may decide, if this is one."""
    script: Mapping[str, Any] = table.form.get("script", {})
    return script if script and all(raw.get(name) == value for name, value in script["where"].items()) else {}


def _no_check(table: FormatTable) -> tuple[tuple[str], MigrationOutcome]:
    if said := table.form.get("no_check"):
        return (said,), MigrationOutcome.LOSSY
    return ("no check: any answer that is not empty passes, as the runner had it",), MigrationOutcome.MIGRATED


def _rubric(checks: Checks, table: FormatTable) -> ArtifactDraft:
    head = {} if checks else {"title": table.no_check["title"]}
    value = head | {"checks": list(checks or table.no_check["checks"]), "scoring": dict(table.scoring)}
    return ArtifactDraft(Kind.RUBRIC, _rubric_id(checks, table) if checks else table.no_check["id"], value)


def _rubric_id(checks: Checks, table: FormatTable) -> str:
    """Return the id for a set of checks: its first word and the start of its digest, the same wherever it is met."""
    kind = checks[0]["kind"]
    row = next(row for row in table.checks if row.kind == kind)
    texts = checks[0][row.into] if row.called and row.into else [""]
    word = make_slug(texts[0])
    name = row.called.format(word) if row.called and word else kind
    return f"{make_id(name)[:SLUG_LIMIT]}_{digest([*checks, dict(table.scoring)])[:_HEX]}"


def _unusable(raw: Any, table: FormatTable) -> str:
    if not isinstance(raw, dict):
        return f"the case is {named(raw)} where an object belongs"
    for key in (table.id, table.input):
        if key not in raw:
            return f"{key} is missing, without which the legacy runner crashes"
    if not isinstance(raw[table.id], int | str):
        return f"{table.id} is {named(raw[table.id])}, of which the legacy runner makes no label"
    if raw[table.id] == "":
        return f"{table.id} is empty, so nothing can name the question"
    return "" if isinstance(raw[table.input], str) else f"{table.input} is {named(raw[table.input])}, not a text"


def _checks(readings: Mapping[str, ValueReading], table: FormatTable) -> Checks:
    rows = [(row, readings[row.key].value) for row in table.checks if row.key in readings]
    return tuple(check for row, value in rows if (check := check_of(row, value)))


def _question(raw: Mapping[str, Any], label: str, readings: Mapping[str, ValueReading], table: FormatTable) -> dict[str, Any]:
    """Return the question; what the mapped fields alone would not give back is kept in `x_source`."""
    mapped = {table.id, table.input, *readings}
    metadata = {key: value for key, value in raw.items() if key not in mapped}
    source: dict[str, Any] = {} if same(label, raw[table.id]) else {"id": raw[table.id]}
    checks = {row.key: (row, check_of(row, readings[row.key].value)) for row in table.checks if row.key in readings}
    kept = {key: raw[key] for key, (row, check) in checks.items() if not check or not same(back(check, row), raw[key])}
    return {
        "id": label,
        "input": raw[table.input],
        **({"metadata": metadata} if metadata else {}),
        "x_source": source | ({"kept": kept} if kept else {}),
    }
