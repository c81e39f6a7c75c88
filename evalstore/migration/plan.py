"""From what a reader took to the files of a store, with the proof that the source can be given back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstore.documents import Document, Pointer, json_pointer
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.migration.drafting import Known, dataset_of, made, shelved, value_of
from evalstore.migration.fold import same
from evalstore.migration.outcome import Entry, Outcome
from evalstore.migration.readers import give, give_beside
from evalstore.migration.shelving import Batch, Names
from evalstore.migration.table import Table
from evalstore.migration.taken import Case, Draft, Legacy, Taken
from evalstore.migration.texts import Text, There, as_it_is, parts_of, path_of, text_of


@dataclass(frozen=True, slots=True)
class Plan:
    """What one source becomes: texts by path, the path of what stands for the file, and an entry for each case."""

    files: dict[str, Text]
    entries: tuple[Entry, ...]
    target: str | None = None


def plan_source(  # noqa: PLR0913  # what a source is, and what it meets
    taken: Taken,
    legacy: Legacy,
    table: Table,
    names: Names,
    *,
    beside: Mapping[str, Document],
    there: There,
) -> Plan:
    """Return the artifacts of a source that no earlier one brought; no file if there is nothing but refusals.

    `beside` are the documents that were read with it, by the path that it names them by. `there` is the text that a
    file of the store has: one that says the same already stays as it is, and costs less than to write it again.
    """
    if not taken.run and not made(taken):
        aside = tuple(_aside(taken, legacy))
        if taken.dataset is None or any(said.outcome is Outcome.REFUSED for said in aside):
            return Plan({}, aside)
    known = Known(taken, legacy, table, beside)
    batch = Batch(legacy.file, names.trial())
    try:
        rubrics = shelved(known, batch)
        head = taken.dataset and dataset_of(known, taken.dataset, rubrics)
        main = batch.add(head, own=True) if head else next(filter(None, rubrics), None)
        run = batch.names.run(legacy.file, legacy.sha256) if taken.run else None
        values = {draft.ref: value_of(draft, known, run) for draft in batch.fresh}
        if main and not run:
            _prove(values[main.ref], {draft.ref: draft.value for draft in filter(None, rubrics)}, known)
        size = sum(len(document.text) for document in (legacy.document, *beside.values()))
        parts = {path: part for draft in batch.fresh for path, part in parts_of(draft, values[draft.ref], size)}
        files = {path: text_of(path, part, there(path)) for path, part in parts.items()}
        files |= {run: as_it_is(legacy, there(run))} if run else {}
    except EvalstoreError as error:
        return Plan({}, (entry(legacy.document, (), Outcome.REFUSED, f"cannot be kept: {error.message}"),))
    names.keep(batch.names)
    target = path_of(main) if main and (taken.dataset or not run) else run
    pairs = zip(made(taken), rubrics, strict=True)
    done = (_done(case, rubric, target, known, batch.notes) for case, rubric in pairs)
    return Plan(files, tuple(sorted([*_aside(taken, legacy, target, run), *done], key=_place)), target)


def entry(document: Document, pointer: Pointer, outcome: Outcome, *reasons: str) -> Entry:
    """Return an entry about a place that nothing was made of."""
    return Entry(document.file, json_pointer(pointer), document.place(pointer).line, outcome, reasons=reasons)


def _aside(taken: Taken, legacy: Legacy, target: str | None = None, run: str | None = None) -> Iterator[Entry]:
    for broken in legacy.broken:
        line = broken.problem.place.line if broken.problem.place else None
        yield Entry(legacy.file, "", line, Outcome.REFUSED, reasons=(broken.problem.message,))
    for note in taken.notes:
        said = entry(note.document or legacy.document, note.pointer, note.outcome, note.reason)
        stands = f"{target}#{note.question}" if note.question else f"{run}#{said.pointer}" if note.kept else None
        yield replace(said, target=stands)
    for case in taken.cases:
        document = case.document or legacy.document
        yield from (entry(document, note.pointer, note.outcome, note.reason) for note in case.notes)
        if case.refused:
            yield entry(document, case.pointer, case.outcome, *case.reasons)


def _done(case: Case, rubric: Draft | None, target: str | None, known: Known, notes: list[str]) -> Entry:
    document = case.document or known.legacy.document
    return Entry(
        file=document.file,
        pointer=json_pointer(case.pointer),
        line=document.place(case.pointer).line,
        outcome=case.outcome,
        target=f"{target}#{case.question['id']}" if case.question else path_of(rubric) if rubric else target,
        rubric=rubric.ref if rubric else case.question.get("rubric_ref"),
        reasons=(*notes, *case.reasons),
    )


def _place(said: Entry) -> tuple[str, int]:
    return said.file, said.line or 0


def _prove(main: dict[str, Any], rubrics: Mapping[str, Any], known: Known) -> None:
    """Give the source back before anything is written: the proof that nothing is lost."""
    given = {"": give(main, rubrics, known.table), **give_beside(main, known.table)}
    files = {"": known.legacy.document, **known.beside}
    if not all(same(given[path], document.value) for path, document in files.items()):
        raise RefusedError("evalstore could not give it back as it is; that is a fault of evalstore, please report it")
