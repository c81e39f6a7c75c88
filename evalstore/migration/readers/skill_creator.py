"""skill-creator: statements about an answer, each of them asked of a judge; the score is the share that holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from evalstore.documents import Pointer, digest
from evalstore.errors import LoadError
from evalstore.migration.fold import bare, same
from evalstore.migration.names import UniqueLabels, make_id, make_dataset_id, make_slug
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import ArtifactDraft, Extraction, LegacyCase, LegacySource, MigrationNote, judge_draft
from evalstore.migration.words import misfits, named, unread
from evalstore.model import Kind
from evalstore.text import excerpt

_SHARE = (
    "the grader gives a share and no verdict, and sees the files of a run; "
    "here a judge sees the answer, and a pass is all of them"
)
_OWN = "no program reads scoring: its threshold and its weights are taken as evalstore has them"
_NO_WEIGHT = "the weights add up to 0: each statement counts as one"
_NOTHING = "nothing in it is graded: any answer that is not empty passes"
_TOLD = "no program reads {}: a judge is asked about each part of it"
_PROSE = "no program reads llm_rubric: a judge is asked whether the answer meets it"
_TEXT = "{} is a text where a list belongs: it is taken for one statement"
_TWICE = "graders differ in which of assertions and expectations they read: both are asked here"
_STARTS = "{} says when the skill starts, which no check kind can say"
_FILES = "a statement of {} is about a file that a run leaves, which no check kind can say"
_ODD = "no program reads it, and it is {}: kept as data"
_TYPE = "no program says what the type {!r} means: a judge is asked about its words"
_WORDS = 40  # of a rubric's id, before its digest


@dataclass(slots=True)
class _Asked:
    """What a case comes to: checks by id, what is left over, and what must be said of it; `extra` moves no score."""

    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    weights: dict[str, Any] = field(default_factory=dict)
    left: list[dict[str, Any]] = field(default_factory=list)
    notes: list[MigrationNote] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    names: UniqueLabels = field(default_factory=UniqueLabels)

    def leave(self, value: Any, at: Pointer, reason: str) -> None:
        """Set a part aside that no check can say."""
        self.left.append({"value": bare(value), "reason": reason})
        self.notes.append(MigrationNote(at, MigrationOutcome.UNMAPPED, reason))


@dataclass(frozen=True, slots=True)
class _Suite:
    """What all cases of a file share: where they stand, and how their checks combine."""

    at: Pointer
    table: FormatTable
    scoring: Mapping[str, Any]
    weights: Mapping[str, Any]
    said: str


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the cases of a suite as questions, and their statements as checks of a judge."""
    root: Any = legacy.document.value
    head: Mapping[str, Any] = root if isinstance(root, dict) else {}
    key = next((key for key in table.lists if key in head), "")
    at: Pointer = (key,) if head else ()
    rows = head[key] if head else root
    dialect = table.lists[key]
    if not isinstance(rows, list):
        problem = f"{key} is {named(rows)} where the list of cases belongs"
        return Extraction(dialect, notes=(MigrationNote(at, MigrationOutcome.REFUSED, problem),))
    suite = _suite(head.get("scoring"), at, table)
    cases = tuple(_cases(rows, suite))
    asked = {check.get("judge_prompt_ref") for case in cases if case.rubric for check in case.rubric.value["checks"]}
    drafts = tuple(judge for judge in map(judge_draft, table.judges) if judge.ref in asked)
    dataset = ArtifactDraft(Kind.DATASET, make_dataset_id(legacy.file, head, table), {}, at)
    aside = tuple(MigrationNote(where, MigrationOutcome.UNMAPPED, reason) for where, reason in _aside(head, rows, suite))
    return Extraction(dialect, dataset, cases, drafts, aside)


def _suite(given: Any, at: Pointer, table: FormatTable) -> _Suite:
    """Return how the cases are scored: by a threshold and weights of the file's own, as far as they are that."""
    said: Mapping[str, Any] = given if isinstance(given, dict) else {}
    threshold, weights = said.get("pass_threshold"), said.get("weights")
    own = {"threshold": threshold} if _is_number(threshold, 1) else {}
    counted = {key: item for key, item in weights.items() if _is_number(item)} if isinstance(weights, dict) else {}
    return _Suite(at, table, {**table.scoring, **own}, counted, _OWN if own or counted else _SHARE)


def _aside(head: Mapping[str, Any], rows: Sequence[Any], suite: _Suite) -> Iterator[tuple[Pointer, str]]:
    """Yield the parts of a file beside its cases that ask for what cannot be said."""
    form, scoring = suite.table.form, head.get("scoring")
    for key, value in head.items():
        if value is not rows and isinstance(value, list) and any(form["starts"] in item for item in _objects(value)):
            yield (key,), _STARTS.format(form["starts"])
    if not isinstance(scoring, dict):
        yield from [(("scoring",), _ODD.format(named(scoring)))] if scoring else []
        return
    threshold, weights = scoring.get("pass_threshold"), scoring.get("weights")
    if threshold is not None and not _is_number(threshold, 1):
        yield ("scoring", "pass_threshold"), _ODD.format("no share from 0 to 1")
    if weights and not isinstance(weights, dict):
        yield ("scoring", "weights"), _ODD.format(named(weights))
    told = [row[key] for row in _objects(rows) for key in form["told"] if isinstance(row.get(key), dict)]
    criteria = {str(name) for names in told for name in names}
    for key in weights if isinstance(weights, dict) else ():
        if key not in suite.weights or key not in criteria:
            yield ("scoring", "weights", key), _ODD.format("no weight of a criterion")


def _objects(items: Sequence[Any]) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)]


def _is_number(value: Any, most: float = math.inf) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool) and 0 <= value <= most


def _cases(rows: Sequence[Any], suite: _Suite) -> Iterator[LegacyCase]:
    labels = [_label(row, place) for place, row in enumerate(rows, start=1)]
    names = UniqueLabels({label for label, _ in labels})
    for index, (row, (label, odd)) in enumerate(zip(rows, labels, strict=True)):
        pointer = (*suite.at, index)
        name, twin = names.claim_for_case(label, pointer)
        try:
            case = _case(row, pointer, name, suite)
        except LoadError as error:
            case = LegacyCase(pointer, row, MigrationOutcome.REFUSED, (error.message,))
        yield case if case.refused else replace(case, reasons=(*odd, *twin, *case.reasons))


def _label(row: Any, place: int) -> tuple[str, list[str]]:
    """Return what a case is called, and what is odd about it; without an id it is called by its place."""
    given = row.get("id") if isinstance(row, dict) else None
    if isinstance(given, str | int) and given != "" and not isinstance(given, bool):
        return str(given), []
    what = "it has no id" if given is None else f"its id is {named(given)}" if given != "" else "its id is empty"
    return str(place), [f"{what}: it is called {place}, by its place"]


def _case(row: Any, at: Pointer, name: str, suite: _Suite) -> LegacyCase:
    if not isinstance(row, dict):
        raise LoadError(f"the case is {named(row)} where an object belongs")
    table, form = suite.table, suite.table.form
    prompt = next((row[key] for key in form["prompts"] if isinstance(row.get(key), str) and row[key]), None)
    if prompt is None:
        raise LoadError("the case has no prompt, so nothing can be asked")
    asked = _asked(row, at, suite)
    known = [*table.mirrors, *form["graded"], *form["told"], form["prose"], form["starts"], *table.data]
    extra = unread((key for key in row if key not in known), known)
    scored = suite.said if asked.checks else _NOTHING
    lost = dict.fromkeys([*asked.reasons, *(note.reason for note in asked.notes)])
    question = _question(row, name, prompt, table)
    reasons = (*lost, scored, *dict.fromkeys(asked.extra), *misfits(row, question, table.mirrors), *extra)
    whole = scored == _SHARE and not lost
    outcome = MigrationOutcome.MIGRATED if whole else MigrationOutcome.LOSSY
    return LegacyCase(at, row, outcome, reasons, question, _rubric(asked, suite), tuple(asked.notes))


def _question(row: Mapping[str, Any], name: str, prompt: str, table: FormatTable) -> dict[str, Any]:
    """Return the question; what nobody reads is its metadata, as far as that can hold it."""
    form = table.form
    expected = next((row[key] for key in form["expected"] if isinstance(row.get(key), str)), None)
    tags = row.get("tags")
    read = {*table.mirrors, *form["graded"], *form["told"], form["prose"]}
    metadata = {key: item for key, item in row.items() if key not in read and isinstance(key, str)}
    metadata = {key: item for key, item in metadata.items() if same(bare(item), item)}
    return {
        "id": name,
        "input": prompt,
        **({"expected": expected} if expected is not None else {}),
        **({"tags": tags} if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) else {}),
        **({"metadata": metadata} if metadata else {}),
    }


def _asked(row: Mapping[str, Any], at: Pointer, suite: _Suite) -> _Asked:
    asked, form = _Asked(), suite.table.form
    graded = [key for key in form["graded"] if row.get(key)]
    same_twice = len(graded) > 1 and same(row[graded[0]], row[graded[1]])
    for key in graded[:1] if same_twice else graded:
        for pointer, _, value in _statements(row[key], (*at, key), asked):
            _ask(value, pointer, asked, form)
    asked.reasons += [_TWICE] if len(graded) > 1 and not same_twice else []
    for key in [key for key in form["told"] if row.get(key)]:
        asked.reasons.append(_TOLD.format(key))
        for pointer, name, value in _statements(row[key], (*at, key), None):
            id_ = _ask(value, pointer, asked, form, name=name)
            asked.weights |= {id_: suite.weights[name]} if id_ and name in suite.weights else {}
    if prose := row.get(form["prose"]):
        _ask_prose(prose, (*at, form["prose"]), asked)
    if form["starts"] in row:
        asked.notes.append(MigrationNote((*at, form["starts"]), MigrationOutcome.UNMAPPED, _STARTS.format(form["starts"])))
    if asked.weights and not any(asked.weights.get(id_, 1) for id_ in asked.checks):
        asked.weights.clear()
        asked.reasons.append(_NO_WEIGHT)
    return asked


def _statements(value: Any, at: Pointer, asked: _Asked | None) -> Iterator[tuple[Pointer, str, Any]]:
    """Yield the statements of a list, or of an object by name; one text is one statement."""
    if isinstance(value, list):
        yield from (((*at, index), "", item) for index, item in enumerate(value))
    elif isinstance(value, dict) and asked is None:
        yield from (((*at, key), str(key), item) for key, item in value.items())
    elif isinstance(value, str):
        if asked:
            asked.reasons.append(_TEXT.format(at[-1]))
        yield at, "", value
    else:
        raise LoadError(f"{at[-1]} is {named(value)} where a list of statements belongs")


def _ask(value: Any, at: Pointer, asked: _Asked, form: Mapping[str, Any], *, name: str = "") -> str:
    """Add the check of one statement and return its id; what has no words, or speaks of files, is left."""
    given: Mapping[str, Any] = value if isinstance(value, dict) else {}
    words = (value, *map(given.get, form["texts"]))
    text = next((word for word in words if isinstance(word, str) and word), None)
    type_ = given.get("type")
    if isinstance(type_, str) and type_ in form["of_files"]:
        asked.leave(value, at, _FILES.format(type_))
    elif text is None:
        what = "an empty text" if value == "" else f"{named(value)} without words" if given else named(value)
        asked.leave(value, at, f"a statement is {what}: there is nothing to ask")
    else:
        asked.reasons += [_TYPE.format(excerpt(str(type_)))] if type_ is not None else []
        read = (*form["statement"], next((key for key in form["texts"] if given.get(key) is text), ""))
        asked.extra += unread((key for key in given if key not in read), ())
        told = [name, *(given.get(key) for key in ("id", "name"))]
        id_ = _check_id(next((word for word in told if isinstance(word, str) and make_slug(word)), ""), asked)
        asked.checks[id_] = _check("skill_creator_statement", {"statement": f"{name}: {text}" if name else text})
        return id_
    return ""


def _ask_prose(value: Any, at: Pointer, asked: _Asked) -> None:
    if not isinstance(value, str):
        asked.leave(value, at, f"llm_rubric is {named(value)} where a text belongs")
        return
    asked.reasons.append(_PROSE)
    asked.checks[_check_id("rubric", asked)] = _check("skill_creator_prose", {"rubric": value})


def _check(judge: str, variables: dict[str, str]) -> dict[str, Any]:
    ref = ArtifactDraft(Kind.JUDGE, judge, {}).ref
    return {"kind": "llm_judge", "judge_prompt_ref": ref, "variables": variables}


def _check_id(word: str, asked: _Asked) -> str:
    """Return an id that the rubric has not yet: the statement's own, else its number."""
    given = make_slug(word) or f"statement_{len(asked.checks) + 1}"
    return asked.names.claim(make_id(given))


def _rubric(asked: _Asked, suite: _Suite) -> ArtifactDraft:
    table, left = suite.table, {"x_unmapped": asked.left} if asked.left else {}
    if not asked.checks:
        none = {key: item for key, item in table.no_check.items() if key != "id"}
        value = none | {"scoring": {"combine": "all_pass"}} | left
        return ArtifactDraft(Kind.RUBRIC, f"left_{digest(value)[:8]}" if left else table.no_check["id"], value)
    checks = [{"id": id_, **check} for id_, check in asked.checks.items()]
    weights = {"weights": asked.weights} if asked.weights else {}
    value = {"checks": checks, "scoring": {**suite.scoring, **weights}, **left}
    words = make_slug(next(iter(checks[0]["variables"].values())))
    name = make_id(words).rstrip("_")
    return ArtifactDraft(Kind.RUBRIC, f"{name[:_WORDS].rstrip('_')}_{digest(value)[:8]}", value)
