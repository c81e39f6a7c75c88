"""Lints values that checks take from questions: types, misspelt keys, what siblings have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalstore.checks import KINDS, find_check_kind, find_inner_ref
from evalstore.checks.question_values import fill_values, find_value_problems, locate_in_value
from evalstore.documents import Pointer
from evalstore.errors import Place
from evalstore.lint.notes import Fix, Note, describe_value, list_mappings, make_note
from evalstore.lint.reference_lookup import ReferenceLookup
from evalstore.lint.references import find_referenced
from evalstore.lint.shapes import is_valid_by_schema
from evalstore.lint.words.phrases import (
    lint_phrase_of_question,
    lint_short_phrase,
    list_phrases,
)
from evalstore.model import Artifact, Kind, list_check_ids
from evalstore.model.check_schemas import list_check_kinds
from evalstore.model.question import find_slip
from evalstore.model.question_params import QuestionValue, is_empty, list_question_values

# For questions that lack one value, before any question is known to have it.
_HELD_NOTES = 1000
_DEFAULTS: Pointer = ("defaults",)
_WORDS = frozenset({"each", "variables"})  # parameters whose texts are meant for judges


class ReadCheck(NamedTuple):
    """A check that takes values from questions: its rubric as named, id, mapping, and the places.

    `unasked` are the places of what its kind reads from a question's reference by itself.
    """

    rubric: str
    id: str
    params: Mapping[str, Any]
    values: tuple[QuestionValue, ...]
    unasked: tuple[QuestionValue, ...] = ()


def list_read_checks(ref: Any, lookup: ReferenceLookup) -> tuple[ReadCheck, ...]:
    """Return the checks that take values from questions, in a rubric and those within it."""
    rubric = find_referenced(ref, lookup)
    return tuple(_find_read_checks(rubric, str(ref), lookup, deep=False)) if rubric else ()


def _find_read_checks(
    rubric: Artifact, ref: str, lookup: ReferenceLookup, *, deep: bool
) -> Iterator[ReadCheck]:
    checks: list[Mapping[str, Any]] = [
        check for _, check in list_mappings(rubric.document.value, "checks")
    ]
    if rubric.kind is not Kind.RUBRIC or not all(
        isinstance(check.get("kind"), str) for check in checks
    ):
        return
    for id_, check in zip(list_check_ids(checks), checks, strict=True):
        inner = None if deep else find_inner_ref(check)
        if found := find_referenced(inner, lookup):
            yield from _find_read_checks(found, str(inner), lookup, deep=True)
        # What its own schema refuses is a finding about the rubric.
        elif (read := _read_check(ref, str(id_), check)) and is_valid_by_schema(
            f"checks/{check['kind']}", check
        ):
            yield read


def _read_check(ref: str, id_: str, check: Mapping[str, Any]) -> ReadCheck | None:
    """Return a check with what it reads from questions; None if it reads nothing."""
    keys = find_check_kind(check["kind"]).reference_keys
    unasked = tuple(QuestionValue((name,), key) for name, key in keys.items() if name not in check)
    values = list_question_values(check)
    return ReadCheck(ref, id_, check, values, unasked) if values or unasked else None


@dataclass(slots=True)
class ValueLinter:
    """The values of a dataset's questions.

    A question that lacks a value is reported if another has it. With `reads_words`, the words that
    judges are asked are checked, too: each text once.
    """

    lookup: ReferenceLookup
    defaults: Mapping[str, Any]
    reads_words: bool = True
    _checks: dict[Any, tuple[ReadCheck, ...]] = field(default_factory=dict)
    _present: set[tuple[str, str]] = field(default_factory=set)
    _absent: dict[tuple[str, str], list[Note]] = field(default_factory=dict)
    _seen_defaults: set[tuple[str, str, str]] = field(default_factory=set)
    _of_defaults: list[Note] = field(default_factory=list)
    _read_words: set[int] = field(default_factory=set)

    def list_keys(self, row: Mapping[str, Any]) -> frozenset[str]:
        """Return the keys that the rubric of a question reads."""
        return frozenset(value.key for check in self._find_checks(row) for value in check.values)

    def lint_row(
        self, row: Mapping[str, Any], pointer: Pointer, place: Place | None = None
    ) -> Iterator[Note]:
        """Yield what is wrong with the values of a question.

        `place` is its line in a file of rows.
        """
        filled = {**self.defaults, **row}
        for check in self._find_checks(row):
            absent = [value for value in check.values if is_empty(filled.get(value.key))]
            for value in check.values:
                if value in absent:
                    yield from self._note_absent(row, (pointer, place), check, value.key)
                else:
                    yield from self._note_present(check, value.key)
            places = {
                value.pointer: self._place(row, pointer, check, value.key) for value in check.values
            }
            for note in () if absent else self._lint_filled(check, filled, places):
                # The defaults are in the dataset's own file, whichever file has the rows.
                if note.pointer[:1] == _DEFAULTS:
                    self._of_defaults.append(note)
                else:
                    yield note
            if not absent:
                yield from self._lint_unasked(check, filled, pointer)

    def report_rest(self, pointer: Pointer) -> Iterator[Note]:
        """Yield what is wrong with the defaults, and values that no question of the dataset has."""
        yield from self._of_defaults
        for (rubric, key), notes in self._absent.items():
            if (rubric, key) not in self._present and notes:
                yield make_note(
                    "question-value-absent", pointer, of_key=True, found=key, rubric=rubric
                )

    def _lint_filled(
        self,
        check: ReadCheck,
        filled: Mapping[str, Any],
        places: Mapping[Pointer, Pointer | None],
    ) -> Iterator[Note]:
        yield from _lint_values(check, filled, places)
        for value in check.values if self.reads_words else ():
            if (at := places[value.pointer]) is not None:
                yield from self._lint_words(value.pointer[0], filled[value.key], at)
                yield from self._lint_phrases(check, value, filled, at)

    def _lint_unasked(
        self, check: ReadCheck, filled: Mapping[str, Any], pointer: Pointer
    ) -> Iterator[Note]:
        """Yield the phrases in a question's own reference that outputs contain by chance."""
        for value in check.unasked if self.reads_words else ():
            if not is_empty(filled.get(value.key)):
                params = {**check.params, str(value.pointer[0]): {"from": value.key}}
                asked = check._replace(params=params)
                yield from self._lint_phrases(asked, value, filled, (*pointer, value.key))

    def _lint_phrases(
        self, check: ReadCheck, value: QuestionValue, filled: Mapping[str, Any], at: Pointer
    ) -> Iterator[Note]:
        """Yield a question's phrases that outputs contain by chance.

        A short one is examined once.
        """
        kind, name = str(check.params["kind"]), str(value.pointer[0])
        written = fill_values(kind, check.params, filled)
        for (_, *place), phrase in list_phrases(written, name):
            pointer = (*at, *locate_in_value(filled[value.key], tuple(place)))
            if hash(phrase) not in self._read_words:
                self._read_words.add(hash(phrase))
                yield from lint_short_phrase(phrase, pointer)
            if find_check_kind(kind).idle_score == 0 and not check.params.get("negate"):
                yield from lint_phrase_of_question(phrase, filled.get("input"), pointer)

    def _lint_words(self, param: Any, value: Any, at: Pointer) -> Iterator[Note]:
        """Yield what the words of statements or a variable leave open.

        Equal words are read once.
        """
        if param not in _WORDS:
            return
        from evalstore.lint.prompts import lint_criterion, lint_statements

        if param == "each":
            listed = [value] if isinstance(value, str) else value
            yield from lint_statements(listed, at, self._read_words)
        elif isinstance(value, str) and hash(value) not in self._read_words:
            self._read_words.add(hash(value))
            yield from lint_criterion(value, at)

    def _find_checks(self, row: Mapping[str, Any]) -> tuple[ReadCheck, ...]:
        ref = row.get("rubric_ref", self.defaults.get("rubric_ref"))
        if not isinstance(ref, str):
            return ()
        if ref not in self._checks:
            self._checks[ref] = list_read_checks(ref, self.lookup)
        return self._checks[ref]

    def _note_absent(
        self,
        row: Mapping[str, Any],
        where: tuple[Pointer, Place | None],
        check: ReadCheck,
        key: str,
    ) -> Iterator[Note]:
        pointer, place = where
        if key in row:  # left empty on purpose
            return
        if slip := find_slip(row, key, {}):
            yield make_note(
                "key-misspelt", (*pointer, slip), of_key=True, fix=Fix(key), found=slip, guess=key
            )
            return
        # The line of a row is gone when the note is reported.
        note = make_note(
            "question-value-missing",
            pointer,
            place=place,
            found=key,
            question=f"the question {describe_value(row['id'])}" if "id" in row else "the question",
            rubric=check.rubric,
            check=check.id,
        )
        if (check.rubric, key) in self._present:
            yield note
        elif len(held := self._absent.setdefault((check.rubric, key), [])) < _HELD_NOTES:
            held.append(note)

    def _note_present(self, check: ReadCheck, key: str) -> Iterator[Note]:
        if (check.rubric, key) not in self._present:
            self._present.add((check.rubric, key))
            yield from self._absent.pop((check.rubric, key), ())

    def _place(
        self, row: Mapping[str, Any], pointer: Pointer, check: ReadCheck, key: str
    ) -> Pointer | None:
        """Return where a question has a value.

        Returns None for the dataset's default, which has been checked.
        """
        if key in row:
            return (*pointer, key)
        name = (check.rubric, check.id, key)
        if name in self._seen_defaults:
            return None
        self._seen_defaults.add(name)
        return (*_DEFAULTS, key)


def _lint_values(
    check: ReadCheck, filled: Mapping[str, Any], places: Mapping[Pointer, Pointer | None]
) -> Iterator[Note]:
    kind, is_plain = str(check.params["kind"]), True
    for value in check.values:
        for problem in find_value_problems(kind, value.pointer, filled[value.key]):
            is_plain = False
            if (at := places[value.pointer]) is not None:
                yield make_note(
                    "question-value-misfit",
                    (*at, *problem.pointer),
                    found=value.key,
                    message=problem.message,
                    rubric=check.rubric,
                    check=check.id,
                )._replace(soft=True)
    if not is_plain or kind not in list_check_kinds():
        return
    keys = {value.pointer: value.key for value in check.values}
    for found in KINDS[kind].find_problems(fill_values(kind, check.params, filled)):
        own = next((own for own in places if found.pointer[: len(own)] == own), None)
        # Whatever else is wrong with the check is the rubric's fault.
        if own is not None and (at := places[own]) is not None:
            rule = "check-broken" if found.blocks else "check-problem"
            pointer = (*at, *locate_in_value(filled[keys[own]], found.pointer[len(own) :]))
            # What cannot be graded is an error wherever it is written; the rows next to it are
            # graded all the same.
            yield make_note(rule, pointer, message=found.message, hint=found.hint)._replace(
                soft=not found.blocks
            )


def has_own_lists(check: Mapping[str, Any]) -> bool:
    """Whether no list, pattern or number of a check comes from a question.

    What only judges read may.
    """
    return all(value.pointer[0] in {"variables", "each"} for value in list_question_values(check))
