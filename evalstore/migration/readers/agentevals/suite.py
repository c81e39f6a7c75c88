"""One suite or file of raw cases: its dialect, the defaults of its cases, and each case with its rubric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Document, Pointer, json_pointer
from evalstore.migration.artifact_names import UniqueLabels, make_dataset_id
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.agentevals.asking import build_question, find_input
from evalstore.migration.readers.agentevals.dialects import ORDER, DialectEvidence, find_dialects, load_dialect
from evalstore.migration.readers.agentevals.inherited import SuiteContext, grade_case, build_scope
from evalstore.migration.readers.agentevals.rubric import compile_rubric
from evalstore.migration.readers.agentevals.said import CrashError
from evalstore.migration.table import FormatTable
from evalstore.model import Kind
from evalstore.text import find_nearest, make_excerpt

Raw = Mapping[str, Any]
_SCENARIOS = "scenarios"
_PARTIAL = "some of its checks cannot be said here, so its rubric is partial"
_TURNS = "the runner grades turn by turn; here one output is graded"
_NO_INPUT = "nothing here says what is asked, so the input is empty"
_PROMPTS = "the runner asks every prompt of the suite; the question holds the first"
_UNSCORED = "none of its checks can be said here, so nothing of it is scored"
_BORDERLINE = "a score from 0.6 up to 0.8, which the runner called borderline, does not pass"
_NOTHING = "no check: any answer that is not empty passes"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a case stands: in the suite, or in a file that the suite names."""

    raw: Any
    pointer: Pointer
    document: Document | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """One case, the artifacts that it needs, and notes on what it shares with others."""

    case: LegacyCase
    drafts: tuple[ArtifactDraft, ...] = ()
    notes: tuple[MigrationNote, ...] = ()


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the questions and rubrics of a suite, or of a list of raw cases with the suite that lies beside it."""
    value = legacy.document.value
    key = next((key for key in table.lists if isinstance(value, dict) and key in value), "")
    at: Pointer = (key,) if key else ()
    beside = None if isinstance(value, dict) else _sidecar(legacy)
    root = value if isinstance(value, dict) else beside.value if beside else {}
    given = value if not isinstance(value, dict) else None if key == _SCENARIOS else value.get(key)
    places, aside = _places(given, at, legacy)
    told = find_dialects(root, [place.raw for place in places], table)
    name = legacy.dialect or (told[0].dialect if told else table.lists.get(key, ORDER[-1]))
    if name not in ORDER:
        guess = find_nearest(name, ORDER)
        hint = f"did you mean {guess}?" if guess else f"they are {', '.join(ORDER)}"
        return Extraction(
            name,
            notes=(MigrationNote((), MigrationOutcome.REFUSED, f"there is no dialect {make_excerpt(name)}: {hint}"),),
        )
    suite = SuiteContext(root, load_dialect(name, table), legacy, table)
    reads = list(_read_cases(places, suite))
    shared = [replace(note, document=beside) for one in reads for note in one.notes]
    notes = dict.fromkeys([*_conflicts(told, name), *_root_notes(value, key, table), *aside, *shared])
    drafts = {draft.ref: draft for one in reads for draft in one.drafts}
    cases = tuple(one.case for one in reads)
    return Extraction(name, _head(legacy, suite, at), cases, tuple(drafts.values()), tuple(notes))


def _places(given: Any, at: Pointer, legacy: LegacySource) -> tuple[list[_Place], list[MigrationNote]]:
    """Return the cases in order, those of named files in their place, and notes on names that lead nowhere."""
    places: list[_Place] = []
    notes: list[MigrationNote] = []
    seen: list[Document] = []
    items = (
        [(at, given)] if isinstance(given, str) else [((*at, index), raw) for index, raw in enumerate(_listed(given))]
    )
    for pointer, raw in items:
        path = _path(raw)
        if path is None:
            places.append(_Place(raw, pointer))
            continue
        document = legacy.read_companion(path)
        if document is None or not isinstance(document.value, list) or document in seen:
            again = "is named before" if document in seen else "is no list of cases that can be read from here"
            notes.append(MigrationNote(pointer, MigrationOutcome.UNMAPPED, f"{make_excerpt(path)} {again}"))
            continue
        seen.append(document)
        places += [_Place(item, (index,), document) for index, item in enumerate(document.value)]
    return places, notes


def _path(raw: Any) -> str | None:
    """Return the path of the file with cases that an item names, whole; None where it is a case itself."""
    includes = isinstance(raw, dict) and raw.get("type") == "tests" and not raw.get("select")
    path = raw.get("include") if includes else raw
    return path if isinstance(path, str) else None


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []


def _sidecar(legacy: LegacySource) -> Document | None:
    """Return the suite that lies beside a file of rows under the same name."""
    path = PurePosixPath(legacy.file)
    document = legacy.read_companion(f"{path.stem}.yaml") if path.suffix == ".jsonl" else None
    return document if document and isinstance(document.value, dict) else None


def _head(legacy: LegacySource, suite: SuiteContext, at: Pointer) -> ArtifactDraft:
    root = suite.root
    named = root.get("name", root.get("dataset"))
    value = {
        **({"title": named} if isinstance(named, str) else {}),
        **({"description": root["description"]} if isinstance(root.get("description"), str) else {}),
        **({} if suite.dialect.limits else {"x_migration": {"notes": [_BORDERLINE]}}),
    }
    return ArtifactDraft(Kind.DATASET, make_dataset_id(legacy.file, {"name": named}, suite.table), value, at)


def _conflicts(told: list[DialectEvidence], name: str) -> Iterator[MigrationNote]:
    for other in told:
        if name not in {other.dialect, *other.also}:
            why = f"it is read as {name}, but {other.because} speaks for {other.dialect}; --dialect decides"
            yield MigrationNote((), MigrationOutcome.UNMAPPED, why)


def _root_notes(value: Any, key: str, table: FormatTable) -> Iterator[MigrationNote]:
    for other in table.lists if isinstance(value, dict) else ():
        if other and other in value and other not in {key, _SCENARIOS}:
            yield MigrationNote((other,), MigrationOutcome.UNMAPPED, f"the runner never reads it: {key} comes first")
    if isinstance(value, dict) and _SCENARIOS in value:
        yield MigrationNote(
            (_SCENARIOS,),
            MigrationOutcome.UNMAPPED,
            "scenarios multiply tests by variables, and are not read; write their tests out",
        )
    if key and not isinstance(value[key], str | list):
        yield MigrationNote((key,), MigrationOutcome.UNMAPPED, "it is no list of cases")


def _read_cases(places: list[_Place], suite: SuiteContext) -> Iterator[_Read]:
    ids = [place.raw.get("id") for place in places if isinstance(place.raw, dict)]
    names = UniqueLabels({id_ for id_ in ids if isinstance(id_, str)})
    first: dict[str, Pointer] = {}
    for place in places:
        raw, pointer = place.raw, place.pointer
        if why := _unasked(raw, suite):
            yield _Read(LegacyCase(pointer, raw, MigrationOutcome.UNMAPPED, (why,), document=place.document))
            continue
        label = own = raw["id"] if isinstance(raw.get("id"), str) and raw["id"] else f"test_{len(first) + 1}"
        said: tuple[str, ...] = ()
        if label in first:
            own = names.claim(label)
            said = (f"{label} is also the case at {json_pointer(first[label])}; here it is {own}",)
        names.used.add(own)
        first.setdefault(own, pointer)
        try:
            yield _read_case(place, suite, label=own, said=said)
        except CrashError as crash:
            yield _Read(
                LegacyCase(
                    pointer,
                    raw,
                    MigrationOutcome.REFUSED,
                    (f"the runner stops here: {crash}",),
                    document=place.document,
                )
            )


def _unasked(raw: Any, suite: SuiteContext) -> str:
    """Return why a case is never asked; empty when it is."""
    if not isinstance(raw, dict):
        return "the runner skips it: it is no mapping"
    if suite.dialect.name == "D4":
        return "it includes another file, which is not read" if "include" in raw else ""
    if not isinstance(raw.get("id"), str) or not raw["id"]:
        return "the runner skips it: its id is no text"
    return "" if find_input(raw, suite.root) is not None or "turns" in raw else "the runner skips it: it has no input"


def _read_case(place: _Place, suite: SuiteContext, *, label: str, said: tuple[str, ...]) -> _Read:
    raw, pointer = place.raw, place.pointer
    scope = build_scope(raw, suite)
    graded = grade_case(raw, pointer, suite, scope)
    compiled = compile_rubric(graded.terms, graded.unmapped, scope.passes, pointer)
    used = {judge.ref: judge for judge in graded.judges}
    asked = find_input(raw, suite.root)
    question, lost = build_question(raw, scope, asked, reads=_read_names(used.values()))
    partial = any("x_unmapped" in draft.value for draft in (compiled.rubric, *compiled.inner))
    lossy = [
        *graded.lossy,
        *lost,
        *([_PARTIAL] if partial and graded.terms else []),
        *([_NO_INPUT] if asked is None else []),
        *([_TURNS] if "turns" in raw else []),
        *([_PROMPTS] if len(_listed(suite.root.get("prompts"))) > 1 else []),
        *([] if graded.terms else [_UNSCORED if graded.unmapped else _NOTHING]),
    ]
    notes = [*graded.notes, *compiled.notes]
    own = tuple(note for note in notes if note.pointer[: len(pointer)] == pointer)
    shared = tuple(note for note in notes if note.pointer[: len(pointer)] != pointer)
    case = LegacyCase(
        pointer,
        raw,
        MigrationOutcome.LOSSY if lossy else MigrationOutcome.MIGRATED,
        (*said, *lossy),
        {"id": label} | question,
        compiled.rubric,
        own,
        place.document,
    )
    return _Read(case, (*used.values(), *compiled.inner), shared)


def _read_names(judges: Iterable[ArtifactDraft]) -> set[str]:
    """Return what these judges read of a question."""
    templates = "".join(str(judge.value["template"]) for judge in judges)
    return {name for name in ("input", "expected", "context") if f"{{{{ {name} }}}}" in templates}
