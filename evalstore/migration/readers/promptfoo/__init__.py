"""Reads configurations of promptfoo: the tests that it runs, graded as by one of its releases."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from evalstore.documents import Document, Pointer, format_json_pointer
from evalstore.migration.artifact_names import UniqueLabels
from evalstore.migration.case_reading import draft_case_rubric, draft_rubric, refuse_source
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
)
from evalstore.migration.outcome import MigrationOutcome, classify_losses
from evalstore.migration.readers.promptfoo.assertions import (
    AssertionPart,
    ProgramRelease,
    StopError,
)
from evalstore.migration.readers.promptfoo.configuration import (
    RunTest,
    TestFinder,
    TestPlace,
    list_types,
    resolve_refs,
)
from evalstore.migration.readers.promptfoo.grading import (
    PlacedAssertion,
    TestGrading,
    build_value,
    grade_assertions,
    list_transforms,
    read_threshold,
)
from evalstore.migration.readers.promptfoo.prompts import PromptList, find_prompts
from evalstore.migration.readers.promptfoo.templates import (
    UnsayableError,
    fill_environment,
    fill_known,
)
from evalstore.migration.remainder import BESIDE, encode_value
from evalstore.migration.suites.suite_names import find_suite_name
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import describe_unknown_keys
from evalstore.model import Kind
from evalstore.text import SHORT_EXCERPT, make_excerpt

__all__ = ["COMPANIONS", "WHOLE", "read"]

COMPANIONS = True  # configurations name files of tests
WHOLE = True  # one test may give several questions, so the whole file is kept
_STOPS = "the program stops here: {}"
_UNSAYABLE = "it cannot be graded here: {}"
_NONE_SAID = "none of its assertions can be said here, so nothing of it is scored: {}"
_NOTHING = "nothing is graded: every output passes"
_SCORED_BY_CODE = "code of its own makes its score; it is kept as data and never run"
_TWICE = "duplicate key: the program does not read the file"
_DIFFER = (
    "promptfoo {} and {} grade {} of its {} tests differently, the first at {}; --dialect says "
    "which one graded it"
)
_AS_BEFORE = (
    "promptfoo {} and {} grade it differently; it is read as {}, as last time, unless --dialect "
    "says otherwise"
)
_PROMPTS = "the program asks every prompt; the question holds the first"
_ENV = re.compile(r"\{\{[^{}]*\benv\b[^{}]*\}\}")
_UNFILLED = "the environment of the program says what {} is: the question has it unfilled"
_NO_PROMPT = "nothing here says what is asked: the input is its variables"


@dataclass(slots=True)
class _ReleaseSuite:
    """One configuration as one release of promptfoo reads it.

    `companions` are the named files that were loaded so far.
    """

    root: Mapping[str, Any]
    legacy: LegacySource
    table: FormatTable
    release: ProgramRelease
    companions: dict[str, Document] = field(default_factory=dict)
    labels: UniqueLabels = field(default_factory=UniqueLabels)
    tests: list[RunTest] = field(default_factory=list)
    notes: list[MigrationNote] = field(default_factory=list)

    def load(self, path: str) -> Document | None:
        """Return a file that the configuration names."""
        document = self.legacy.read_companion(path)
        if document:
            self.companions[path] = document
        return document

    def draft_judge(self, id_: str) -> ArtifactDraft:
        """Return a judge from the format's table."""
        judge = next(judge for judge in self.table.judges if judge["id"] == id_)
        return self.legacy.prompts.draft_judge(judge)

    @property
    def knows_all_types(self) -> bool:
        """Whether the release knows every type of assertion in the tests that any release knows."""
        types = self.table.form["types"]
        found = {type_ for test in self.tests for part in test.parts for type_ in list_types(part)}
        return all(self.release.has_type(types[type_]) for type_ in found if type_ in types)


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the questions and rubrics of a configuration, or of a list of tests.

    If the user does not name the release, the file is read as by each release. If they grade
    differently, it is read as it was last migrated, and refused if it never was. A type of
    assertion that only one release knows also identifies the release.
    """
    if legacy.document.doubled and legacy.file.endswith((".yaml", ".yml")):
        return refuse_source("", legacy.document.doubled[0].pointer, _TWICE)
    names = [legacy.dialect] if legacy.dialect else list(table.dialects)
    suites = [_open_suite(legacy, table, name) for name in names]
    known = [suite for suite in suites if suite.knows_all_types] or suites[:1]
    first, *others = extractions = [*map(_read_suite, known)]
    last = next((one for one in extractions if one.dialect == legacy.last_dialect), None)
    for other in others:
        if differences := _list_differences(first, other):
            case, counts = differences[0], (len(differences), len(first.cases))
            file = f"{case.document.file} " if case.document else ""
            at = f"{file}{format_json_pointer(case.pointer)}"
            reason = _DIFFER.format(first.dialect, other.dialect, *counts, at)
            if last:
                said = _AS_BEFORE.format(first.dialect, other.dialect, last.dialect)
                return _remark_on(last, {case.pointer for case in differences}, said)
            return refuse_source("", () if file else case.pointer, reason, len(first.cases))
    return first


def _remark_on(extraction: Extraction, pointers: Container[Pointer], said: str) -> Extraction:
    """Return the extraction with a remark on the tests at these places."""
    cases = (
        replace(case, remarks=(*case.remarks, said)) if case.pointer in pointers else case
        for case in extraction.cases
    )
    return replace(extraction, cases=tuple(cases))


def _list_differences(first: Extraction, other: Extraction) -> list[LegacyCase]:
    """Return the tests that two releases grade differently, as the first grades them."""
    pairs = zip(first.cases, other.cases, strict=True)
    return [one for one, two in pairs if _grade_of(one) != _grade_of(two)]


def _grade_of(case: LegacyCase) -> tuple[Any, ...]:
    return case.outcome, case.reasons, case.rubric and case.rubric.value


def _open_suite(legacy: LegacySource, table: FormatTable, name: str) -> _ReleaseSuite:
    """Return a configuration with its tests, and notes on items that are not tests."""
    value = legacy.document.value
    root = resolve_refs(value, value) if isinstance(value, dict) else {"tests": value}
    root = fill_environment(root)
    suite = _ReleaseSuite(root, legacy, table, ProgramRelease(name, **table.form["releases"][name]))
    types, quotes = table.form["types"], suite.release.quotes
    files = legacy.list_companions
    finder = TestFinder(root, legacy.document, suite.load, files, types, quotes)
    suite.tests = list(finder.list_tests())
    suite.notes = finder.notes
    return suite


def _read_suite(suite: _ReleaseSuite) -> Extraction:
    prompts = find_prompts(suite.root.get("prompts"), suite.load, suite.legacy.list_companions)
    found = [_read_test(test, number, suite, prompts) for number, test in enumerate(suite.tests)]
    cases = tuple(one.case for one in found)
    if not isinstance(suite.legacy.document.value, dict):  # a list of tests by itself
        cases = tuple(replace(case, pointer=case.pointer[1:]) for case in cases)
    drafts = {draft.ref: draft for one in found for draft in one.drafts}
    shared = [note for one in found for note in one.notes]
    notes = dict.fromkeys([*suite.notes, *_note_scenarios(suite.root), *shared])
    head = _draft_head(suite) if any(not case.is_set_aside for case in cases) else None
    return Extraction(suite.release.name, head, cases, tuple(drafts.values()), tuple(notes))


def _note_scenarios(root: Mapping[str, Any]) -> list[MigrationNote]:
    if "scenarios" not in root or "tests" not in root:
        return []
    said = "its tests come after those of tests"
    return [MigrationNote(("scenarios",), MigrationOutcome.MIGRATED, said)]


def _draft_head(suite: _ReleaseSuite) -> ArtifactDraft:
    description = suite.root.get("description")
    beside = {path: encode_value(file.value) for path, file in suite.companions.items()}
    source = {
        "measured": suite.release.measured,
        "kept": encode_value(suite.legacy.document.value),
        **({BESIDE: beside} if beside else {}),
    }
    said = {"description": description} if isinstance(description, str) else {}
    name = find_suite_name(suite.root, suite.table)
    return ArtifactDraft(Kind.DATASET, "suite", {**said, "x_source": source}, name=name)


@dataclass(frozen=True, slots=True)
class _TestResult:
    """A test's case, the judges and rubrics that it uses, and notes on parts that tests share."""

    case: LegacyCase
    drafts: Sequence[ArtifactDraft] = ()
    notes: Sequence[MigrationNote] = ()


def _read_test(
    test: RunTest, number: int, suite: _ReleaseSuite, prompts: PromptList
) -> _TestResult:
    place = test.place
    document = None if place.document is suite.legacy.document else place.document
    case = LegacyCase(place.pointer, place.raw, document=document)
    try:
        grading = _grade_test(test, suite, prompts)
    except StopError as stop:
        reasons = (_STOPS.format(stop),)
        return _TestResult(replace(case, outcome=MigrationOutcome.REFUSED, reasons=reasons))
    except UnsayableError as unsayable:
        return _TestResult(_set_aside(case, _UNSAYABLE, str(unsayable)))
    if grading.is_unsaid:
        why = "; ".join(dict.fromkeys(item["reason"] for item in grading.leftovers))
        return _TestResult(_set_aside(case, _NONE_SAID, why))
    rubric = _draft_rubric(grading, test, suite)
    question, remarks = _build_question(test, number, suite, prompts)
    losses = tuple(dict.fromkeys(grading.losses))
    unknown = describe_unknown_keys(
        (key for key in place.raw if key not in suite.table.form["test"]), suite.table.form["test"]
    )
    said = (*grading.remarks, *unknown, *remarks, *([] if grading.checks else [_NOTHING]))
    own = [note for note in grading.notes if _is_within(note.pointer, place.pointer)]
    read = replace(
        case,
        outcome=classify_losses(losses),
        reasons=losses,
        question=question,
        rubric=rubric,
        notes=tuple(own),
        remarks=tuple(dict.fromkeys(said)),
    )
    return _TestResult(read, grading.drafts, [note for note in grading.notes if note not in own])


def _set_aside(case: LegacyCase, said: str, why: str) -> LegacyCase:
    """Return a case that is not scored; `said` is a sentence with a placeholder for `why`."""
    reasons = (said.format(why),)
    return replace(case, outcome=MigrationOutcome.UNMAPPED, reasons=reasons, why_unscored=why)


def _is_within(pointer: Pointer, place: Pointer) -> bool:
    return pointer[: len(place)] == place


def _grade_test(test: RunTest, suite: _ReleaseSuite, prompts: PromptList) -> TestGrading:
    if test.find("assertScoringFunction") is not None:
        raise UnsayableError(_SCORED_BY_CODE)
    options = test.merge("options")
    if options.get("transformVars"):
        raise UnsayableError("its variables are made by transformVars when the program runs")
    asks_nothing = bool(prompts.first) and not _fill_prompt(test, prompts)
    placed = _place_assertions(test, options, suite, asks_nothing=asks_nothing)
    return grade_assertions(placed, suite.table.form, list(list_transforms(options)))


def _place_assertions(
    test: RunTest, options: Mapping[str, Any], suite: _ReleaseSuite, *, asks_nothing: bool
) -> list[PlacedAssertion]:
    """Return the assertions of a test, each with the parts of the test that affect its grading."""
    own = test.parts[-1:]
    drops = suite.release.may_drop_defaults and any(map(_drops_defaults, own))
    places = chain.from_iterable(map(_list_assertions, own if drops else test.parts))

    def place(one: TestPlace) -> PlacedAssertion:
        part = AssertionPart(
            {},
            one.pointer,
            one.document,
            test.variables,
            suite.release,
            suite.load,
            suite.draft_judge,
            rubric_prompt=options.get("rubricPrompt"),
            scores_categories=bool(options.get("factuality")),
            asks_nothing=asks_nothing,
            score_counts=read_threshold(test.find("threshold"), suite.release) is not None,
        )
        return PlacedAssertion(one.raw, part)

    return list(map(place, places))


def _drops_defaults(part: TestPlace) -> bool:
    options = part.raw.get("options")
    return isinstance(options, dict) and options.get("disableDefaultAsserts") is True


def _list_assertions(part: TestPlace) -> list[TestPlace]:
    items = part.raw.get("assert") if isinstance(part.raw, dict) else None
    if items is not None and not isinstance(items, list):
        raise StopError("assert is not a list")
    return list(part.enter("assert"))


def _draft_rubric(grading: TestGrading, test: RunTest, suite: _ReleaseSuite) -> ArtifactDraft:
    if not grading.checks:
        return draft_case_rubric([], suite.table.scoring, suite.table, "")
    value, _ = build_value(grading, test.find("threshold"), suite.release)
    return draft_rubric(value, str(value["checks"][0]["id"]), test.place.pointer)


def _build_question(
    test: RunTest, number: int, suite: _ReleaseSuite, prompts: PromptList
) -> tuple[dict[str, Any], tuple[str, ...]]:
    metadata, variables = test.merge("metadata"), test.variables
    named = next(
        (one for one in (metadata.get("id"), variables.get("id")) if _is_name(one)), number
    )
    pointer: Pointer = test.place.pointer
    label, remarks = suite.labels.claim_for_case(str(named), (*pointer, number))
    asked = _fill_prompt(test, prompts)
    paths = [path for path, file in suite.companions.items() if file is test.place.document]
    description = test.find("description")
    question = {
        "id": label,
        "input": asked or _write_variables(variables),
        **({"title": description} if isinstance(description, str) and description else {}),
        "metadata": {**metadata, **({"vars": dict(variables)} if variables else {})},
        "x_source": {
            **({BESIDE: paths[0]} if paths else {}),
            "pointer": format_json_pointer(pointer),
        },
    }
    said = [*([_PROMPTS] if prompts.has_more else []), *([] if asked else [_NO_PROMPT])]
    if "env" not in variables and (place := _ENV.search(asked)):
        said.append(_UNFILLED.format(make_excerpt(place[0], SHORT_EXCERPT)))
    return {key: encode_value(item) for key, item in question.items() if item != {}}, (
        *remarks,
        *said,
    )


def _fill_prompt(test: RunTest, prompts: PromptList) -> str:
    """Return what a test asks, with the variables that are sure; empty where nothing says it."""
    if not prompts.first:
        return ""
    prefix, suffix = (str(test.merge("options").get(key) or "") for key in ("prefix", "suffix"))
    return fill_known(f"{prefix}{prompts.first}{suffix}", test.variables)


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and str(value) != ""


def _write_variables(variables: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {fill_known(f'{{{{ {name} }}}}', variables)}" for name in variables)
