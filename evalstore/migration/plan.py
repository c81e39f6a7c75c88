"""From suites to the files of a store, with the proof that each suite can be given back; pure but for its ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from evalstore.documents import Document, Pointer, json_pointer, write_row, write_yaml
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.migration.engine import Case, Suite
from evalstore.migration.names import dataset_id, numbered, rubric_id
from evalstore.migration.outcome import Entry, Outcome
from evalstore.migration.restore import case_of, same, suite_of
from evalstore.migration.table import Table

_VERSION = "1.0.0"
# A dataset of a larger source keeps its rows in a file beside it: YAML files end at 1 MiB.
_ROWS_FROM = 256 << 10
_SCHEMA = "# yaml-language-server: $schema=../.evalstore/schema/{}.schema.json\n"

Graded = list[tuple[Case, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a suite comes from; `file` is relative and the same on every machine."""

    file: str
    sha256: str


@dataclass(slots=True)
class Names:
    """The ids that one migration has given so far: datasets with their source, and rubrics."""

    datasets: dict[str, str] = field(default_factory=dict)
    rubrics: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one source becomes: texts by path, the dataset's path, and an entry for each case."""

    files: dict[str, str]
    entries: tuple[Entry, ...]
    target: str | None = None


def plan_suite(suite: Suite, document: Document, table: Table, *, origin: Origin, names: Names) -> Plan:
    """Return the dataset of a suite and the rubrics that no earlier suite brought; no file if all cases are refused."""
    aside = list(_aside(suite, document))
    taken = [case for case in suite.cases if case.question]
    if not taken and any(entry.outcome is Outcome.REFUSED for entry in aside):
        return Plan({}, tuple(aside))
    natural = dataset_id(origin.file, document.value, table)
    id_ = next(name for name in numbered(natural) if name not in names.datasets)
    graded = [(case, _rubric(case, table, _source(table, suite, origin, case.pointer))) for case in taken]
    fresh = {rubric["id"]: rubric for _, rubric in reversed(graded) if rubric["id"] not in names.rubrics}
    try:
        dataset = _proved(
            _dataset(suite, graded, id_, _source(table, suite, origin, (suite.key,))), graded, document, table
        )
        files = _texts(dataset, [fresh[name] for name in sorted(fresh)], split=len(document.text) >= _ROWS_FROM)
    except EvalstoreError as error:
        return Plan({}, (entry(document, (), Outcome.REFUSED, f"cannot be kept: {error.message}"),))
    note = [] if id_ == natural else [f"{natural} is the dataset of {names.datasets[natural]}, this one is {id_}"]
    names.datasets[id_] = origin.file
    names.rubrics |= fresh.keys()
    path = f"datasets/{id_}.yaml"
    done = [_done(case, rubric["id"], document, path=path, note=note) for case, rubric in graded]
    return Plan(files, tuple(sorted([*aside, *done], key=lambda item: item.line or 0)), path)


def entry(document: Document, pointer: Pointer, outcome: Outcome, reason: str) -> Entry:
    """Return an entry about a place that nothing was made of."""
    return Entry(document.file, json_pointer(pointer), document.place(pointer).line, outcome, reason=reason)


def _aside(suite: Suite, document: Document) -> Iterator[Entry]:
    if suite.problem:
        yield entry(document, (suite.key,), Outcome.REFUSED, suite.problem)
    for key in suite.hidden:
        yield entry(document, (key,), Outcome.UNMAPPED, f"{suite.key} hides it: the legacy runner never asks it")
    for case in suite.cases:
        if not case.question:
            yield entry(document, case.pointer, case.outcome, "; ".join(case.reasons))


def _done(case: Case, rubric: str, document: Document, *, path: str, note: list[str]) -> Entry:
    return Entry(
        file=document.file,
        pointer=json_pointer(case.pointer),
        line=document.place(case.pointer).line,
        outcome=case.outcome,
        target=f"{path}#{case.question['id']}",
        rubric=f"rubric/{rubric}@{_VERSION}",
        reason="; ".join([*note, *case.reasons]),
    )


def _rubric(case: Case, table: Table, source: dict[str, Any]) -> dict[str, Any]:
    name = {"id": rubric_id(case.checks, table)} if case.checks else table.no_check
    return {
        "id": name["id"],
        "version": _VERSION,
        **({"title": name["title"]} if "title" in name else {}),
        "checks": list(case.checks or table.no_check["checks"]),
        "scoring": dict(table.scoring),
        "x_source": source,
    }


def _dataset(suite: Suite, graded: Graded, id_: str, source: dict[str, Any]) -> dict[str, Any]:
    refused = [case for case in suite.cases if not case.question]
    return {
        "id": id_,
        "version": _VERSION,
        **({"metadata": suite.metadata} if suite.metadata else {}),
        "questions": [_question(case, rubric) for case, rubric in graded],
        "x_source": source,
        **({"x_unmapped": [_unmapped(case) for case in refused]} if refused else {}),
    }


def _question(case: Case, rubric: dict[str, Any]) -> dict[str, Any]:
    first = {"id": case.question["id"], "input": case.question["input"]}
    return first | {"rubric_ref": f"rubric/{rubric['id']}@{_VERSION}"} | case.question


def _unmapped(case: Case) -> dict[str, Any]:
    return {"pointer": json_pointer(case.pointer), "reason": "; ".join(case.reasons), "value": case.raw}


def _source(table: Table, suite: Suite, origin: Origin, pointer: Pointer) -> dict[str, Any]:
    where = {"file": origin.file, "sha256": origin.sha256, "pointer": json_pointer(pointer)}
    return {"format": table.format, "dialect": suite.dialect, **where}


def _proved(dataset: dict[str, Any], graded: Graded, document: Document, table: Table) -> dict[str, Any]:
    """Give the suite back before anything is written: the proof that nothing is lost. Note an unusual order of keys."""
    cases = [(json_pointer(case.pointer), case_of(case.question, rubric["checks"], table)) for case, rubric in graded]
    given = suite_of(dataset, cases, table)
    if not same(given, document.value):
        raise RefusedError("evalstore could not give it back as it is; that is a fault of evalstore, please report it")
    usual = list(given) == list(document.value)
    return dataset if usual else dataset | {"x_source": {**dataset["x_source"], "keys": list(document.value)}}


def _texts(dataset: dict[str, Any], rubrics: list[dict[str, Any]], *, split: bool) -> dict[str, str]:
    name = f"datasets/{dataset['id']}"
    files = {f"rubrics/{rubric['id']}.yaml": _yaml("rubric", rubric) for rubric in rubrics}
    if not split:
        return files | {f"{name}.yaml": _yaml("dataset", dataset)}
    head = {("rows" if key == "questions" else key): value for key, value in dataset.items()}
    head["rows"] = f"{dataset['id']}.jsonl"
    rows = "".join(map(write_row, dataset["questions"]))
    return files | {f"{name}.jsonl": rows, f"{name}.yaml": _yaml("dataset", head)}


def _yaml(schema: str, value: dict[str, Any]) -> str:
    return write_yaml(value, header=_SCHEMA.format(schema))
