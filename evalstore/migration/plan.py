"""From what a reader took to the files of a store, with the proof that the source can be given back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstore.documents import Document, Pointer, json_pointer, write_row, write_yaml
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.migration.fold import bare, folded_case, folded_root, same
from evalstore.migration.outcome import Entry, Outcome
from evalstore.migration.readers import give
from evalstore.migration.shelving import Names, Shelf
from evalstore.migration.table import Table
from evalstore.migration.taken import Case, Draft, Legacy, Taken
from evalstore.model import Kind

# A dataset of a larger source keeps its rows in a file beside it: YAML files end at 1 MiB.
_ROWS_FROM = 256 << 10
_SCHEMA = "# yaml-language-server: $schema=../.evalstore/schema/{}.schema.json\n"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one source becomes: texts by path, the path of what stands for the file, and an entry for each case."""

    files: dict[str, str]
    entries: tuple[Entry, ...]
    target: str | None = None


def plan_source(taken: Taken, legacy: Legacy, table: Table, names: Names) -> Plan:
    """Return the artifacts of a source that no earlier one brought; no file if there is nothing but refusals."""
    document, aside = legacy.document, list(_aside(taken, legacy.document))
    given = {case.pointer: _placed(case.rubric, case) for case in taken.cases if case.rubric}
    if not given and (taken.dataset is None or any(said.outcome is Outcome.REFUSED for said in aside)):
        return Plan({}, tuple(aside))
    shelf = Shelf(legacy.file, names.trial())
    try:
        rubrics = _shelved(taken, given, legacy, shelf)
        head = taken.dataset and _dataset(taken.dataset, taken.cases, rubrics, legacy, table)
        main = shelf.add(head, own=True) if head else next(iter(rubrics.values()))
        values = {draft.ref: _value(draft, taken.dialect, legacy, table) for draft in shelf.fresh}
        _prove(values[main.ref], {draft.ref: draft.value for draft in rubrics.values()}, document, table)
        split = len(document.text) >= _ROWS_FROM
        files = {path: text for draft in shelf.fresh for path, text in _texts(draft, values[draft.ref], split=split)}
    except EvalstoreError as error:
        return Plan({}, (entry(document, (), Outcome.REFUSED, f"cannot be kept: {error.message}"),))
    names.keep(shelf.names)
    done = [_done(case, rubrics[case.pointer], main, document, shelf.notes) for case in taken.cases if case.rubric]
    return Plan(files, tuple(sorted([*aside, *done], key=lambda item: item.line or 0)), _path(main))


def entry(document: Document, pointer: Pointer, outcome: Outcome, reason: str) -> Entry:
    """Return an entry about a place that nothing was made of."""
    return Entry(document.file, json_pointer(pointer), document.place(pointer).line, outcome, reason=reason)


def _aside(taken: Taken, document: Document) -> Iterator[Entry]:
    for note in [*taken.notes, *(note for case in taken.cases for note in case.notes)]:
        yield entry(document, note.pointer, note.outcome, note.reason)
    for case in taken.cases:
        if not case.rubric:
            yield entry(document, case.pointer, case.outcome, "; ".join(case.reasons))


def _done(case: Case, rubric: Draft, main: Draft, document: Document, notes: list[str]) -> Entry:
    return Entry(
        file=document.file,
        pointer=json_pointer(case.pointer),
        line=document.place(case.pointer).line,
        outcome=case.outcome,
        target=f"{_path(main)}#{case.question['id']}" if case.question else _path(rubric),
        rubric=rubric.ref,
        reason="; ".join([*notes, *case.reasons]),
    )


def _placed(rubric: Draft, case: Case) -> Draft:
    return rubric if rubric.pointer else replace(rubric, pointer=case.pointer)


def _shelved(taken: Taken, given: Mapping[Pointer, Draft], legacy: Legacy, shelf: Shelf) -> dict[Pointer, Draft]:
    """Shelve judges and inner rubrics, then the rubric of each case; without a dataset the first keeps the file."""
    for draft in taken.drafts:
        shelf.add(draft)
    if taken.dataset or not given:
        return {pointer: shelf.add(draft) for pointer, draft in given.items()}
    (first, keeper), *others = given.items()
    kept = {"x_source": {"kept": bare(legacy.document.value)}}
    main = shelf.add(replace(keeper, value=keeper.value | kept), own=True)
    return {first: main} | {pointer: shelf.add(draft) for pointer, draft in others}


def _dataset(
    head: Draft, cases: tuple[Case, ...], rubrics: Mapping[Pointer, Draft], legacy: Legacy, table: Table
) -> Draft:
    """Return the dataset: its head, its questions with their rubrics, and what they do not say of the file."""
    refused = [case for case in cases if not case.rubric]
    kept = head.value.get("x_source") or {"kept": folded_root(legacy.document.value, [case.pointer for case in cases])}
    value = {
        **{key: item for key, item in head.value.items() if key != "x_source"},
        "questions": [_question(case, rubrics[case.pointer], table) for case in cases if case.rubric],
        "x_source": kept,
        **({"x_unmapped": [_unmapped(case) for case in refused]} if refused else {}),
    }
    return replace(head, value=value)


def _question(case: Case, rubric: Draft, table: Table) -> dict[str, Any]:
    said = {key: item for key, item in case.question.items() if key != "x_source"}
    first = {"id": said["id"], "input": said["input"], "rubric_ref": rubric.ref}
    source = case.question.get("x_source")
    if source is None:
        source = {"pointer": json_pointer(case.pointer), **folded_case(case.raw, said, table.mirrors)}
    return first | said | {"x_source": source}


def _unmapped(case: Case) -> dict[str, Any]:
    return {"pointer": json_pointer(case.pointer), "reason": "; ".join(case.reasons), "value": bare(case.raw)}


def _value(draft: Draft, dialect: str, legacy: Legacy, table: Table) -> dict[str, Any]:
    """Return an artifact's whole mapping, with the place that it comes from."""
    where = {"file": legacy.file, "sha256": legacy.sha256, "pointer": json_pointer(draft.pointer)}
    source = {"format": table.format, "dialect": dialect, **where, **draft.value.get("x_source", {})}
    return {"id": draft.id, "version": draft.version} | draft.value | {"x_source": source}


def _prove(main: dict[str, Any], rubrics: Mapping[str, Any], document: Document, table: Table) -> None:
    """Give the source back before anything is written: the proof that nothing is lost."""
    if not same(give(main, rubrics, table), document.value):
        raise RefusedError("evalstore could not give it back as it is; that is a fault of evalstore, please report it")


def _path(draft: Draft) -> str:
    return f"{draft.kind}s/{draft.id}.yaml"


def _texts(draft: Draft, value: dict[str, Any], *, split: bool) -> Iterator[tuple[str, str]]:
    if draft.kind is not Kind.DATASET or not split:
        yield _path(draft), _yaml(draft.kind, value)
        return
    head = {("rows" if key == "questions" else key): item for key, item in value.items()}
    yield f"datasets/{draft.id}.jsonl", "".join(map(write_row, value["questions"]))
    yield _path(draft), _yaml(draft.kind, head | {"rows": f"{draft.id}.jsonl"})


def _yaml(kind: Kind, value: dict[str, Any]) -> str:
    return write_yaml(value, header=_SCHEMA.format(kind))
