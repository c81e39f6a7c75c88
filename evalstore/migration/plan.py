"""From what a reader took to the files of a store, with the proof that the source can be given back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from evalstore.documents import Document, Pointer, json_pointer, read_yaml, write_row, write_yaml
from evalstore.errors import EvalstoreError, LoadError, RefusedError
from evalstore.migration.fold import bare, folded_case, folded_root, same
from evalstore.migration.opened import Broken
from evalstore.migration.outcome import Entry, Outcome
from evalstore.migration.readers import give, give_beside
from evalstore.migration.shelving import Names, Shelf
from evalstore.migration.table import Table
from evalstore.migration.taken import Case, Draft, Legacy, Taken
from evalstore.model import Kind
from evalstore.runs.kept import came_from

# A dataset of a larger source keeps its rows in a file beside it: YAML files end at 1 MiB.
_ROWS_FROM = 256 << 10
_SCHEMA = "# yaml-language-server: $schema=../.evalstore/schema/{}.schema.json\n"


NOTHING_BESIDE: Mapping[str, Document] = MappingProxyType({})
There = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class _Source:
    """Everything that is known of one source."""

    taken: Taken
    legacy: Legacy
    table: Table
    beside: Mapping[str, Document]


@dataclass(frozen=True, slots=True)
class Plan:
    """What one source becomes: texts by path, the path of what stands for the file, and an entry for each case."""

    files: dict[str, str]
    entries: tuple[Entry, ...]
    target: str | None = None


def plan_source(  # noqa: PLR0913  # what a source is, and what it meets
    taken: Taken,
    legacy: Legacy,
    table: Table,
    names: Names,
    *,
    beside: Mapping[str, Document] = NOTHING_BESIDE,
    there: There = lambda _: None,
) -> Plan:
    """Return the artifacts of a source that no earlier one brought; no file if there is nothing but refusals.

    `beside` are the documents that were read with it, by the path that it names them by. `there` is the text that a
    file of the store has: one that says the same already stays as it is, and costs less than to write it again.
    """
    aside = list(_aside(taken, legacy))
    if not taken.run and all(case.refused for case in taken.cases) and (taken.dataset is None or _refused(aside)):
        return Plan({}, tuple(aside))
    source = _Source(taken, legacy, table, beside)
    shelf = Shelf(legacy.file, names.trial())
    try:
        rubrics = _shelved(source, shelf)
        head = taken.dataset and _dataset(source, taken.dataset, rubrics)
        main = shelf.add(head, own=True) if head else next(filter(None, rubrics), None)
        run = shelf.names.run(legacy.file, legacy.sha256) if taken.run else None
        values = {draft.ref: _value(draft, source, run) for draft in shelf.fresh}
        if main and not run:
            _prove(values[main.ref], {draft.ref: draft.value for draft in filter(None, rubrics)}, source)
        split = len(legacy.document.text) + sum(len(document.text) for document in beside.values()) >= _ROWS_FROM
        parts = {path: part for draft in shelf.fresh for path, part in _parts(draft, values[draft.ref], split=split)}
        files = {path: _text(path, part, there(path)) for path, part in parts.items()}
        files |= {run: _as_it_is(legacy)} if run else {}
    except EvalstoreError as error:
        return Plan({}, (entry(legacy.document, (), Outcome.REFUSED, f"cannot be kept: {error.message}"),))
    names.keep(shelf.names)
    target = _path(main) if main and (taken.dataset or not run) else run
    made = zip(_made(taken), rubrics, strict=True)
    done = (_done(case, rubric, target, source, shelf.notes) for case, rubric in made)
    return Plan(files, tuple(sorted([*_aside(taken, legacy, target, run), *done], key=_place)), target)


def entry(document: Document, pointer: Pointer, outcome: Outcome, reason: str) -> Entry:
    """Return an entry about a place that nothing was made of."""
    return Entry(document.file, json_pointer(pointer), document.place(pointer).line, outcome, reason=reason)


def _aside(taken: Taken, legacy: Legacy, target: str | None = None, run: str | None = None) -> Iterator[Entry]:
    for broken in legacy.broken:
        line = broken.problem.place.line if broken.problem.place else None
        yield Entry(legacy.file, "", line, Outcome.REFUSED, reason=broken.problem.message)
    for note in taken.notes:
        said = entry(legacy.document, note.pointer, note.outcome, note.reason)
        stands = f"{target}#{note.question}" if note.question else f"{run}#{said.pointer}" if note.kept else None
        yield replace(said, target=stands)
    for case in taken.cases:
        document = case.document or legacy.document
        yield from (entry(document, note.pointer, note.outcome, note.reason) for note in case.notes)
        if case.refused:
            yield entry(document, case.pointer, case.outcome, "; ".join(case.reasons))


def _refused(entries: Iterable[Entry]) -> bool:
    return any(said.outcome is Outcome.REFUSED for said in entries)


def _done(case: Case, rubric: Draft | None, target: str | None, source: _Source, notes: list[str]) -> Entry:
    document = case.document or source.legacy.document
    return Entry(
        file=document.file,
        pointer=json_pointer(case.pointer),
        line=document.place(case.pointer).line,
        outcome=case.outcome,
        target=f"{target}#{case.question['id']}" if case.question else _path(rubric) if rubric else target,
        rubric=rubric.ref if rubric else case.question.get("rubric_ref"),
        reason="; ".join([*notes, *case.reasons]),
    )


def _place(said: Entry) -> tuple[str, int]:
    return said.file, said.line or 0


def _made(taken: Taken) -> list[Case]:
    return [case for case in taken.cases if not case.refused]


def _placed(case: Case) -> Draft | None:
    rubric = case.rubric
    return rubric if rubric is None or rubric.pointer else replace(rubric, pointer=case.pointer)


def _shelved(source: _Source, shelf: Shelf) -> list[Draft | None]:
    """Shelve judges and inner rubrics, then the rubric of each case; without a dataset the first keeps the file."""
    for draft in source.taken.drafts:
        shelf.add(draft)
    rubrics = [_placed(case) for case in _made(source.taken)]
    if source.taken.dataset or source.taken.run:
        return [draft and shelf.add(draft) for draft in rubrics]
    if source.legacy.broken:
        raise source.legacy.broken[0].problem
    kept = {"x_source": {"kept": bare(source.legacy.document.value), **_kept_beside(source)}}
    keepers = [draft and replace(draft, value=draft.value | kept) for draft in rubrics[:1]]
    return [draft and shelf.add(draft, own=draft in keepers) for draft in [*keepers, *rubrics[1:]]]


def _dataset(source: _Source, head: Draft, rubrics: list[Draft | None]) -> Draft:
    """Return the dataset: its head, its questions with their rubrics, and what they do not say of the file."""
    cases, document = source.taken.cases, source.legacy.document
    own = [case.pointer for case in cases if not case.document]
    kept = (
        {}
        if source.taken.run
        else head.value.get("x_source") or {"kept": folded_root(document.value, own), **_kept_beside(source)}
    )
    questions = ((case, rubric) for case, rubric in zip(_made(source.taken), rubrics, strict=True) if case.question)
    unmapped = [_unmapped(case, source) for case in cases if case.refused]
    unmapped += [_unread(broken) for broken in source.legacy.broken]
    value = {
        **{key: item for key, item in head.value.items() if key != "x_source"},
        "questions": [_question(case, rubric, source) for case, rubric in questions],
        "x_source": kept,
        **({"x_unmapped": unmapped} if unmapped else {}),
    }
    return replace(head, value=value)


def _kept_beside(source: _Source) -> dict[str, Any]:
    kept = {
        path: folded_root(document.value, [case.pointer for case in source.taken.cases if case.document is document])
        for path, document in source.beside.items()
    }
    return {"beside": kept} if kept else {}


def _question(case: Case, rubric: Draft | None, source: _Source) -> dict[str, Any]:
    said = {key: item for key, item in case.question.items() if key != "x_source"}
    first = {"id": said["id"], "input": said["input"], **({"rubric_ref": rubric.ref} if rubric else {})}
    own = case.question.get("x_source")
    if own is None:
        own = _where(case, source) | folded_case(case.raw, said, source.table.mirrors)
    return first | said | {"x_source": own}


def _unmapped(case: Case, source: _Source) -> dict[str, Any]:
    return _where(case, source) | {"reason": "; ".join(case.reasons), "value": bare(case.raw)}


def _where(case: Case, source: _Source) -> dict[str, Any]:
    beside = [path for path, document in source.beside.items() if document is case.document]
    return {**({"beside": beside[0]} if beside else {}), "pointer": json_pointer(case.pointer)}


def _unread(broken: Broken) -> dict[str, Any]:
    line = broken.problem.place.line if broken.problem.place else None
    return {"line": line, "reason": broken.problem.message, "value": broken.text}


def _value(draft: Draft, source: _Source, run: str | None) -> dict[str, Any]:
    """Return an artifact's whole mapping, with the place that it comes from, and the run that keeps that."""
    legacy = source.legacy
    file = came_from(run) if run == legacy.file else legacy.file  # one that is kept already
    where = {"file": file, "sha256": legacy.sha256, "pointer": json_pointer(draft.pointer)}
    where |= {"run": run} if run else {}
    own = {"format": source.table.format, "dialect": source.taken.dialect, **where, **draft.value.get("x_source", {})}
    return {"id": draft.id, "version": draft.version} | draft.value | {"x_source": own}


def _as_it_is(legacy: Legacy) -> str:
    """Return the text of the source, which has its very bytes."""
    text = f"{chr(0xFEFF) if legacy.document.bom else ''}{legacy.document.text}"
    if hashlib.sha256(text.encode()).hexdigest() != legacy.sha256:
        raise RefusedError("it is not UTF-8 from end to end, so it cannot stay as it is", hint="save it as UTF-8")
    return text


def _prove(main: dict[str, Any], rubrics: Mapping[str, Any], source: _Source) -> None:
    """Give the source back before anything is written: the proof that nothing is lost."""
    given = {"": give(main, rubrics, source.table), **give_beside(main, source.table)}
    files = {"": source.legacy.document, **source.beside}
    if not all(same(given[path], document.value) for path, document in files.items()):
        raise RefusedError("evalstore could not give it back as it is; that is a fault of evalstore, please report it")


def _path(draft: Draft) -> str:
    return f"{draft.kind}s/{draft.id}.yaml"


def _parts(draft: Draft, value: dict[str, Any], *, split: bool) -> Iterator[tuple[str, Any]]:
    """Yield the files of an artifact, each with its value; of rows the list."""
    if draft.kind is not Kind.DATASET or not split:
        yield _path(draft), value
        return
    head = {("rows" if key == "questions" else key): item for key, item in value.items()}
    yield f"datasets/{draft.id}.jsonl", value["questions"]
    yield _path(draft), head | {"rows": f"{draft.id}.jsonl"}


def _text(path: str, value: Any, there: str | None) -> str:
    if path.endswith(".jsonl"):
        return "".join(map(write_row, value))
    kind = path.partition("s/")[0]
    return there if there and _says(there, value) else write_yaml(value, header=_SCHEMA.format(kind))


def _says(text: str, value: Any) -> bool:
    with suppress(LoadError):
        return same(read_yaml(text, "").value, value)
    return False
