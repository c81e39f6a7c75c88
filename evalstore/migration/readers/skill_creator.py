"""Reads skill-creator suites: a judge is asked about each statement.

The score is the share of statements that hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evalstore.documents import Pointer
from evalstore.errors import LoadError
from evalstore.lint.notes import list_names
from evalstore.migration.artifact_names import make_check_id, make_slug, take_first_words
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
from evalstore.migration.outcome import MigrationOutcome, classify_losses
from evalstore.migration.remainder import encode_value, is_same_data
from evalstore.migration.suites.suite_names import find_suite_name
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import (
    describe_misfits,
    describe_type,
    describe_unknown_keys,
    is_number,
    is_question_value,
)
from evalstore.model import Kind
from evalstore.text import make_excerpt

_RUN_FILES = "the files of a run"
_OWN = "no program reads scoring: its threshold and its weights are taken as evalstore has them"
_NO_WEIGHT = "the weights add up to 0: each statement counts as one"
_NOTHING = "nothing in it is graded: any answer that is not empty passes"
_TOLD = "no program reads {}: a judge is asked about each part of it"
_PROSE = "no program reads llm_rubric: a judge is asked whether the answer meets it"
_TEXT = "{} is a text where a list belongs: it is taken for one statement"
_TWICE = "graders differ in which of assertions and expectations they read: both are asked here"
_ELSEWHERE = "{}: graded from the record of a run, which no check here does; kept as data"
_STARTS = "{} says when the skill starts, which no check kind can say"
_FILES = "a statement of {} is about a file that a run leaves, which no check kind can say"
_NO_WORDS = "there is nothing to ask"
_ODD = "no program reads it, and it is {}: kept as data"
_TYPE = "no program says what the type {!r} means: a judge is asked about its words"
_PHRASE = (
    "no program says what {} means without a path: here the answer must have its value, letter by "
    "letter"
)


@dataclass(frozen=True, slots=True)
class _Suite:
    """What all cases of a file share: their pointer, the table, and how their checks combine."""

    at: Pointer
    table: FormatTable
    scoring: Mapping[str, Any]
    weights: Mapping[str, Any]
    scoring_note: str

    @property
    def share_note(self) -> str:
        """What the program does with the share of statements that hold.

        It also says what is done with it here.
        """
        return str(self.table.form["note"])


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the cases of a suite as questions, and their statements as judge checks."""
    found = find_cases(legacy, table)
    if isinstance(found, Extraction):
        return found
    root, at, rows = legacy.document.value, found.at, found.rows
    head: Mapping[str, Any] = root if isinstance(root, dict) else {}
    suite = _read_suite(head.get("scoring"), at, found.table)
    cases = read_rows(rows, at, _label_row, partial(_read_case, suite=suite))
    drafts = tuple(map(make_judge_draft, suite.table.judges))
    dataset = ArtifactDraft(Kind.DATASET, "suite", {}, at, name=find_suite_name(head, table))
    parts = _find_unreadable_parts(head, rows, suite)
    notes = tuple(
        MigrationNote(where, MigrationOutcome.UNMAPPED, reason) for where, reason in parts
    )
    return Extraction(found.dialect, dataset, cases, drafts, notes)


def _read_suite(scoring: Any, at: Pointer, table: FormatTable) -> _Suite:
    """Return how the cases are scored.

    The file's own threshold and weights count if they are valid.
    """
    settings: Mapping[str, Any] = scoring if isinstance(scoring, dict) else {}
    threshold, weights = settings.get("pass_threshold"), settings.get("weights")
    own_threshold = {"threshold": threshold} if _is_number_up_to(threshold, 1) else {}
    pairs = weights.items() if isinstance(weights, dict) else ()
    own_weights = {key: item for key, item in pairs if _is_number_up_to(item)}
    note = _OWN if own_threshold or own_weights else str(table.form["note"])
    return _Suite(at, table, {**table.scoring, **own_threshold}, own_weights, note)


def _find_unreadable_parts(
    head: Mapping[str, Any], rows: Sequence[Any], suite: _Suite
) -> Iterator[tuple[Pointer, str]]:
    """Yield the parts of a file besides its cases that no check can express, each with a reason."""
    form, scoring = suite.table.form, head.get("scoring")
    for key, value in head.items():
        items = _select_objects(value) if isinstance(value, list) and value is not rows else []
        if any(form["starts"] in item for item in items):
            yield (key,), _STARTS.format(form["starts"])
    kept = [key for key in form["elsewhere"] if any(row.get(key) for row in _select_objects(rows))]
    if kept:
        yield suite.at, _ELSEWHERE.format(list_names(kept))
    if not isinstance(scoring, dict):
        yield from [(("scoring",), _ODD.format(describe_type(scoring)))] if scoring else []
        return
    threshold, weights = scoring.get("pass_threshold"), scoring.get("weights")
    if threshold is not None and not _is_number_up_to(threshold, 1):
        yield ("scoring", "pass_threshold"), _ODD.format("not a share from 0 to 1")
    if weights and not isinstance(weights, dict):
        yield ("scoring", "weights"), _ODD.format(describe_type(weights))
    mappings = (row.get(key) for row in _select_objects(rows) for key in form["told"])
    criteria = {str(name) for names in mappings if isinstance(names, dict) for name in names}
    for key in weights if isinstance(weights, dict) else ():
        if key not in suite.weights or key not in criteria:
            yield ("scoring", "weights", key), _ODD.format("not a weight of a criterion")


def _select_objects(items: Sequence[Any]) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)]


def _is_number_up_to(value: Any, most: float = math.inf) -> bool:
    return is_number(value) and 0 <= value <= most


def _label_row(row: Any, place: int) -> RowLabel:
    """Return the label of a case; without a usable id, it is its position (from 1)."""
    id_ = row.get("id") if isinstance(row, dict) else None
    if isinstance(id_, str | int) and id_ != "" and not isinstance(id_, bool):
        return RowLabel(str(id_))
    problem = f"its id is {describe_type(id_)}"
    if id_ is None:
        problem = "it has no id"
    elif id_ == "":
        problem = "its id is empty"
    return RowLabel(str(place), remarks=(f"{problem}: it is called {place}, by its place",))


def _read_case(case: CaseRow, suite: _Suite) -> LegacyCase:
    row, at = case.raw, case.pointer
    if not isinstance(row, dict):
        raise LoadError(f"the case is {describe_type(row)} where an object belongs")
    table, form = suite.table, suite.table.form
    prompt = next(
        (row[key] for key in form["prompts"] if isinstance(row.get(key), str) and row[key]), None
    )
    if prompt is None:
        raise LoadError("the case has no prompt, so nothing can be asked")
    checks = _collect_checks(row, at, suite)
    known = [
        *table.mirrors,
        *form["graded"],
        *form["told"],
        form["prose"],
        form["starts"],
        *table.data,
    ]
    extra = describe_unknown_keys((key for key in row if key not in known), known)
    scoring_note = suite.scoring_note if checks.by_id else _NOTHING
    # A dict keeps the order and drops repeated sentences. Parts that are set aside have separate
    # entries.
    losses = dict.fromkeys(checks.losses) | ({APART: None} if checks.notes else {})
    # Only a plain share of statements gives the grader's result.
    losses |= {} if scoring_note == suite.share_note else {scoring_note: None}
    question = _build_question(row, case.label, prompt, table)
    remarks = (
        *([scoring_note] if scoring_note == suite.share_note else []),
        *dict.fromkeys(checks.remarks),
        *describe_misfits(row, question, table.mirrors),
        *extra,
        *case.remarks,
    )
    return LegacyCase(
        at,
        row,
        classify_losses(losses),
        tuple(losses),
        question,
        _draft_rubric(checks, suite),
        tuple(checks.notes),
        remarks=remarks,
        unseen=(_RUN_FILES,),
        why_unscored="" if checks.by_id else next((note.reason for note in checks.notes), ""),
    )


def _build_question(
    row: Mapping[str, Any], name: str, prompt: str, table: FormatTable
) -> dict[str, Any]:
    """Return the question.

    Keys that no grader reads are its metadata, as far as YAML can hold them.
    """
    form = table.form
    expected = next((row[key] for key in form["expected"] if isinstance(row.get(key), str)), None)
    tags = row.get("tags")
    read_keys = {*table.mirrors, *form["graded"], *form["told"], form["prose"]}
    metadata = {
        key: item for key, item in row.items() if key not in read_keys and isinstance(key, str)
    }
    metadata = {
        key: item for key, item in metadata.items() if is_same_data(encode_value(item), item)
    }
    return {
        "id": name,
        "input": prompt,
        **({"expected": expected} if expected is not None else {}),
        **({"tags": tags} if is_question_value("tags", tags) else {}),
        **({"metadata": metadata} if metadata else {}),
    }


def _collect_checks(row: Mapping[str, Any], at: Pointer, suite: _Suite) -> CaseChecks:
    checks, form = CaseChecks(), suite.table.form
    read_keys = [key for key in form["graded"] if key in row]
    # The loader of SkillEvaluator takes the first that exists, empty or not.
    graded_keys = [key for key in (read_keys[:1] if form["first"] else read_keys) if row[key]]
    # Suites write the same list under both keys for graders that read only one of them.
    same_twice = len(graded_keys) > 1 and is_same_data(row[graded_keys[0]], row[graded_keys[1]])
    for key in graded_keys[:1] if same_twice else graded_keys:
        for pointer, _, value in _list_statements(row[key], (*at, key), checks):
            _add_statement(value, pointer, checks, form)
    checks.losses += [_TWICE] if len(graded_keys) > 1 and not same_twice else []
    for key in [key for key in form["told"] if row.get(key)]:
        checks.losses.append(_TOLD.format(key))
        for pointer, name, value in _list_statements(row[key], (*at, key), None):
            id_ = _add_statement(value, pointer, checks, form, name=name)
            checks.weights |= {id_: suite.weights[name]} if id_ and name in suite.weights else {}
    _add_goal(row, checks, form)
    if prose := row.get(form["prose"]):
        _add_prose(prose, (*at, form["prose"]), checks)
    if form["starts"] in row:
        starts = _STARTS.format(form["starts"])
        checks.notes.append(MigrationNote((*at, form["starts"]), MigrationOutcome.UNMAPPED, starts))
    # With a total weight of 0 there would be no score at all.
    if checks.weights and not any(checks.weights.get(id_, 1) for id_ in checks.by_id):
        checks.weights.clear()
        checks.losses.append(_NO_WEIGHT)
    return checks


def _add_goal(row: Mapping[str, Any], checks: CaseChecks, form: Mapping[str, Any]) -> None:
    """Add the expected outcome as a statement, if the program grades it.

    It weighs as much as all others together.
    """
    outcome = next((row[key] for key in form["expected"] if isinstance(row.get(key), str)), "")
    if not form["goal"] or not outcome:
        return
    others = len(checks.by_id)
    id_ = checks.names.claim("goal")
    statement = form["goal"].format(outcome)
    checks.by_id[id_] = _build_judge_check("skill_creator_statement", {"statement": statement})
    if others > 1:
        checks.weights[id_] = others


def _list_statements(
    value: Any, at: Pointer, checks: CaseChecks | None
) -> Iterator[tuple[Pointer, str, Any]]:
    """Yield the statements in a list, in a mapping, or of one text.

    Those in a mapping have names, and are yielded only without `checks`.
    """
    if isinstance(value, list):
        yield from (((*at, index), "", item) for index, item in enumerate(value))
    elif isinstance(value, dict) and checks is None:
        yield from (((*at, key), str(key), item) for key, item in value.items())
    elif isinstance(value, str):
        if checks:
            checks.losses.append(_TEXT.format(at[-1]))
        yield at, "", value
    else:
        raise LoadError(f"{at[-1]} is {describe_type(value)} where a list of statements belongs")


def _add_statement(
    value: Any, at: Pointer, checks: CaseChecks, form: Mapping[str, Any], *, name: str = ""
) -> str:
    """Add one statement's check and return its id.

    A statement without words, or about files, is a leftover.
    """
    source: Mapping[str, Any] = value if isinstance(value, dict) else {}
    # A statement is a text, or an object with its text under one of several keys.
    words = (value, *map(source.get, form["texts"]))
    text = next((word for word in words if isinstance(word, str) and word), None)
    type_ = source.get("type")
    if (
        type_ == form["contains"]
        and not source.get("path")
        and isinstance(source.get("value"), str)
    ):
        return _add_phrase(source, checks, form)
    if isinstance(type_, str) and type_ in form["of_files"]:
        checks.set_aside(value, at, _FILES.format(type_))
    elif text is None:
        kind = "an empty text" if value == "" else describe_type(value)
        checks.set_aside(
            value, at, f"a statement is {kind}{' without words' if source else ''}: {_NO_WORDS}"
        )
    else:
        checks.losses += [_TYPE.format(make_excerpt(str(type_)))] if type_ is not None else []
        read_keys = (
            *form["statement"],
            next((key for key in form["texts"] if source.get(key) is text), ""),
        )
        checks.remarks += describe_unknown_keys((key for key in source if key not in read_keys), ())
        candidates = [name, *(source.get(key) for key in ("id", "name"))]
        id_ = _claim_id(checks, _find_name(candidates), text)
        statement = f"{name}: {text}" if name else text
        checks.by_id[id_] = _build_judge_check("skill_creator_statement", {"statement": statement})
        return id_
    return ""


def _add_phrase(source: Mapping[str, Any], checks: CaseChecks, form: Mapping[str, Any]) -> str:
    """Add the check for a phrase that the answer itself must contain, and return its id."""
    checks.losses.append(_PHRASE.format(form["contains"]))
    read_keys = (*form["statement"], *form["texts"], "path", "value")
    checks.remarks += describe_unknown_keys((key for key in source if key not in read_keys), ())
    candidates = (source.get(key) for key in ("id", "name"))
    words = next(
        (source[key] for key in form["texts"] if isinstance(source.get(key), str) and source[key]),
        None,
    )
    id_ = _claim_id(checks, _find_name(candidates), words or source["value"])
    checks.by_id[id_] = {
        "kind": "must_contain_any",
        **({"description": words} if words else {}),
        "values": [source["value"]],
        "case_sensitive": True,
    }
    return id_


def _add_prose(value: Any, at: Pointer, checks: CaseChecks) -> None:
    if not isinstance(value, str):
        checks.set_aside(value, at, f"llm_rubric is {describe_type(value)} where a text belongs")
        return
    checks.losses.append(_PROSE)
    checks.by_id[_claim_id(checks, "rubric", value)] = _build_judge_check(
        "skill_creator_prose", {"rubric": value}
    )


def _build_judge_check(judge: str, variables: dict[str, str]) -> dict[str, Any]:
    return {"kind": "llm_judge", "judge_prompt_ref": make_judge_ref(judge), "variables": variables}


def _claim_id(checks: CaseChecks, word: str, text: str) -> str:
    """Return a check id that is unique in the rubric.

    It is made from the name of a statement, else from its first words.
    """
    number = f"statement_{len(checks.by_id) + 1}"
    return checks.names.claim(make_check_id([word, take_first_words(text), number]))


def _find_name(candidates: Iterable[Any]) -> str:
    return next((word for word in candidates if isinstance(word, str) and make_slug(word)), "")


def _draft_rubric(checks: CaseChecks, suite: _Suite) -> ArtifactDraft:
    if not checks.by_id:
        return checks.draft_rubric({"combine": "all_pass"}, suite.table, "")
    return checks.draft_rubric(
        suite.scoring, suite.table, _name_check(next(iter(checks.by_id.values())))
    )


def _name_check(check: Mapping[str, Any]) -> str:
    """Return the first words of what a check asks."""
    words = next(iter(check.get("variables", {"value": check.get("values", [""])[0]}).values()))
    return "_".join(make_slug(str(words)).split("_")[:4])
