"""Reads suites by a table of the user's own: which key is what, and which check each of the others becomes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from evalstore.checks import KINDS
from evalstore.documents import Pointer
from evalstore.errors import LoadError
from evalstore.lint.wording import is_valid_by_schema, load_schema
from evalstore.migration.artifact_names import make_id, make_slug
from evalstore.migration.case_reading import (
    APART,
    CaseChecks,
    CaseRow,
    RowLabel,
    find_cases,
    make_judge_ref,
    read_rows,
)
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
    make_judge_draft,
)
from evalstore.migration.outcome import JudgeFacts, MigrationOutcome, classify_losses
from evalstore.migration.remainder import encode_value, is_same_data
from evalstore.migration.suite_names import find_suite_name
from evalstore.migration.table import CheckRow, FormatTable, get_path, has_path, split_path
from evalstore.migration.value_readings import (
    describe_type,
    is_plain,
    is_question_value,
    note_unknown_key,
    read_messages,
    read_value,
    render_input,
)
from evalstore.model import Kind
from evalstore.text import make_excerpt

_NO_SORT = "no row of the table is for items whose {} is {}"


def collect_checks(case: Mapping[str, Any], at: Pointer, table: FormatTable) -> CaseChecks:
    """Return the checks that a case asks for. Raises `LoadError` for a value that the table does not foresee."""
    checks = CaseChecks()
    for row in table.checks:
        if has_path(case, row.key):
            value, pointer = get_path(case, row.key), (*at, *split_path(case, row.key))
            for one, part in _list_parts(row, value, pointer, checks):
                _add_checks(one, part, checks)
    return checks


def _list_parts(row: CheckRow, value: Any, at: Pointer, checks: CaseChecks) -> Iterator[tuple[CheckRow, Any]]:
    """Yield the row itself with the value; of a list whose items name their sort, the row of each item's sort."""
    if not row.by:
        yield row, value
        return
    if not isinstance(value, list | None):
        raise LoadError(f"{row.key} is {describe_type(value)} where the table wants a list")
    options = {option.key: option for option in row.options}
    for index, item in enumerate(value or ()):
        sort = item.get(row.by) if isinstance(item, dict) else None
        option = options.get(sort) if isinstance(sort, str) else None
        place = (*at, index)
        if option is None:
            name = repr(make_excerpt(sort)) if isinstance(sort, str) else describe_type(sort)
            checks.set_aside(item, place, _NO_SORT.format(row.by, name))
            continue
        known = (row.by, row.value)
        for key in (key for key in item if key not in known):
            checks.notes.append(note_unknown_key((*place, key), known))
        yield option, item.get(row.value)


def _add_checks(row: CheckRow, raw: Any, checks: CaseChecks) -> None:
    reading = read_value(raw, row)
    if reading.outcome is MigrationOutcome.REFUSED:
        raise LoadError("; ".join(reading.reasons))
    (checks.losses if reading.outcome is MigrationOutcome.LOSSY else checks.remarks).extend(reading.reasons)
    built = list(build_checks(row, reading.value))
    checks.losses += [f"{row.key}: {row.lossy}"] if built and row.lossy else []
    name = make_id(make_slug(row.id or row.key) or row.kind)
    for number, check in enumerate(built, start=1):
        if problem := _find_problem(check):
            raise LoadError(f"{row.key} makes no check: {problem}")
        id_ = checks.names.claim(name if len(built) == 1 else f"{name}_{number}")
        checks.by_id[id_] = check
        checks.weights |= {} if row.weight is None else {id_: row.weight}


def build_checks(row: CheckRow, value: Any) -> Iterator[dict[str, Any]]:
    """Yield the checks that a value asks for: one, or where the row says so one for each item; none for nothing."""
    if value is None or value is False or value in ([], {}):
        return
    head = {"kind": row.kind, **({"judge_prompt_ref": make_judge_ref(row.judge)} if row.judge else {})}
    if row.options:
        yield {**head, **value, **row.parameters}
        return
    for part in value if row.is_each and isinstance(value, list) else [value]:
        check = {**head, **row.parameters}
        yield _set_path(check, row.into, _spell_part(row, part)) if row.into else check


def _spell_part(row: CheckRow, part: Any) -> Any:
    """Return the value of a parameter: texts are escaped where the row says so, and several patterns become one."""
    if row.escaped and isinstance(part, str | list):
        texts = [row.escaped.replace("{}", re.escape(text)) for text in ([part] if isinstance(part, str) else part)]
        part = texts if isinstance(part, list) else texts[0]
    # A parameter that is a list takes a text as its only item; a pattern is one text.
    if isinstance(part, str) and "items" in load_schema(f"checks/{row.kind}")["properties"].get(row.into, {}):
        return [part]
    if row.kind == "regex" and isinstance(part, list):
        return part[0] if len(part) == 1 else "|".join(f"(?:{pattern})" for pattern in part)
    return part


def _set_path(value: Mapping[str, Any], path: str, part: Any) -> dict[str, Any]:
    key, _, rest = path.partition("/")
    return {**value, key: _set_path(value.get(key) or {}, rest, part) if rest else part}


def _find_problem(check: Mapping[str, Any]) -> str:
    """Return why a check cannot be graded; empty where it can."""
    kind = check["kind"]
    if not is_valid_by_schema(f"checks/{kind}", check):
        return f"{kind} does not take its value"
    return next((problem.message for problem in KINDS[kind].find_problems(check) if problem.blocks), "")


_NOTHING = "no key of the table asks for anything: any answer that is not empty passes"
_NO_FIELD = "{}: not what the field {} of a question takes, kept as data"
_ONE_TEXT = "its judge reads the messages as one text"
_SAME = "same_as_grader"


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the questions and rubrics of a suite that has one of the table's lists."""
    found = find_cases(legacy, table)
    if isinstance(found, Extraction):
        return found
    table, root = found.table, legacy.document.value
    head = root if isinstance(root, dict) else {}
    dataset = ArtifactDraft(Kind.DATASET, "suite", {}, found.at, name=find_suite_name(head, table))
    cases = read_rows(found.rows, found.at, partial(_label_row, table=table), partial(_read_case, table=table))
    return Extraction(found.dialect, dataset, cases, tuple(map(_draft_judge, table.judges)))


def _draft_judge(judge: Mapping[str, Any]) -> ArtifactDraft:
    draft = make_judge_draft({key: item for key, item in judge.items() if key != _SAME})
    return replace(draft, facts=JudgeFacts("")) if judge.get(_SAME) else draft


def _label_row(row: Any, place: int, table: FormatTable) -> RowLabel:
    """Return the label of a case; without a usable id, it is its place in the list."""
    id_ = get_path(row, table.id)
    if isinstance(id_, str | int) and id_ != "" and not isinstance(id_, bool):
        return RowLabel(id_ if isinstance(id_, str) else table.number_format.format(id_))
    problem = f"it has no {table.id}" if id_ is None else f"{table.id} is {describe_type(id_) if id_ else 'empty'}"
    return RowLabel(str(place), remarks=(f"{problem}: it is called {place}, by its place",))


def _read_case(case: CaseRow, table: FormatTable) -> LegacyCase:
    row, at = case.raw, case.pointer
    if not isinstance(row, dict):
        raise LoadError(f"the case is {describe_type(row)} where an object belongs")
    input_ = get_path(row, table.input)
    messages = read_messages(input_)
    if not (isinstance(input_, str) and input_) and not messages:
        odd = f"{describe_type(input_)}, not a text or messages"
        problem = "missing" if input_ is None else "empty" if input_ == "" else odd
        raise LoadError(f"{table.input} is {problem}, so nothing can be asked")
    checks = collect_checks(row, at, table)
    is_judged = any("judge_prompt_ref" in check for check in checks.by_id.values())
    losses = dict.fromkeys(
        [
            *checks.losses,
            *([APART] if checks.leftovers else []),
            *([_ONE_TEXT] if is_judged and messages and not is_plain(messages) else []),
        ]
    )
    fields, misfits = _read_fields(row, table)
    metadata = _select_metadata(row, fields, table)
    return LegacyCase(
        at,
        row,
        classify_losses(losses),
        tuple(losses),
        {
            "id": case.label,
            "input": render_input(input_),
            **({"messages": messages} if messages else {}),
            **fields,
            **({"metadata": metadata} if metadata else {}),
        },
        checks.draft_rubric(table.scoring, table, _name_checks(checks, table.checks)),
        (*checks.notes, *_note_unknown_keys(row, at, table)),
        remarks=(*case.remarks, *checks.remarks, *misfits, *(() if checks.by_id else (_NOTHING,))),
    )


def _read_fields(row: Mapping[str, Any], table: FormatTable) -> tuple[dict[str, Any], list[str]]:
    """Return the further fields of a question, and remarks on values that such a field does not take."""
    found = {field: get_path(row, path) for field, path in table.fields.items() if has_path(row, path)}
    taken = {
        field: value
        for field, value in found.items()
        if value is not None and is_same_data(encode_value(value), value) and is_question_value(field, value)
    }
    odd = [field for field, value in found.items() if value is not None and field not in taken]
    return taken, [_NO_FIELD.format(table.fields[field], field) for field in odd]


def _select_metadata(row: Mapping[str, Any], fields: Mapping[str, Any], table: FormatTable) -> dict[str, Any]:
    """Return what the question has no field for and no check reads, as far as YAML can hold it."""
    read_keys = {split_path(row, path)[0] for path in _list_read_paths(table, fields)}
    rest = {key: item for key, item in row.items() if key not in read_keys and isinstance(key, str)}
    return {key: item for key, item in rest.items() if is_same_data(encode_value(item), item)}


def _list_read_paths(table: FormatTable, fields: Mapping[str, Any]) -> list[str]:
    return [table.id, table.input, *(table.fields[field] for field in fields), *(row.key for row in table.checks)]


def _note_unknown_keys(row: Mapping[str, Any], at: Pointer, table: FormatTable) -> Iterator[MigrationNote]:
    """Yield a note on each key of a case, and of the mappings that the table's paths lead through, that it lacks."""
    known = [*_list_read_paths(table, table.fields), *table.data]
    tree: dict[Pointer, set[Any]] = {(): set()}
    for path in known:
        steps: Pointer = split_path(row, path)
        for size, step in enumerate(steps):
            tree.setdefault(steps[:size], set()).add(step)
    for place, names in tree.items():
        holder: Any = row
        for step in place:
            holder = holder.get(step) if isinstance(holder, dict) else None
        for key in holder if isinstance(holder, dict) else ():
            if key not in names:
                yield note_unknown_key((*at, *place, key), names)


def _name_checks(checks: CaseChecks, rows: Sequence[CheckRow]) -> str:
    """Return the first words of the first thing that the checks ask for; empty where they ask for nothing."""
    first = next(iter(checks.by_id.values()), None)
    if first is None:
        return ""
    intos = [row.into for row in rows if row.into and row.kind == first["kind"]]
    part = next((item for item in (get_path(first, into) for into in intos) if item), "")
    words = make_slug(str(part[0] if isinstance(part, list) else part)) or str(first["kind"])
    return "_".join(words.split("_")[:4])
