"""Follows a changed reference answer of a question to the checks that read it: what no check reads moves no score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.checks.question_values import fill_from_question
from evalstore.diff.change import Change, Proof
from evalstore.diff.deciders.judges import find_template_names
from evalstore.diff.findings import Detail, Diff
from evalstore.diff.kinds import (
    KINDS,
    Params,
    Row,
    UnreadableError,
    find_compared_kind,
    read_params,
)
from evalstore.diff.limits import COMPARED
from evalstore.diff.plain_data import is_same, make_plain
from evalstore.diff.references import ArtifactLoader, is_pinned
from evalstore.diff.rubric_state import CheckState, read_rubric_state
from evalstore.documents import Pointer
from evalstore.errors import EvalstoreError
from evalstore.model import Grade, Kind, Question, is_cosmetic, parse_ref, select_scoring_part
from evalstore.model.judge import BUILTIN_VARIABLES
from evalstore.model.question_params import list_question_values
from evalstore.versions import Bump

RULE = "question-reference-changed"
VALUE_RULE = "question-value-changed"
_EXTRA_KEY = "extension-field-changed"
_REF_RULE = "question-rubric-ref-changed"
RowPair = tuple[Row, Row]  # a question just before an edit, and just after it


@dataclass(frozen=True, slots=True)
class RubricReads:
    """The parts of a question that a rubric reads, each with the judge or rubric that does, "" for its own checks.

    `value_keys` are the keys that checks take values from.
    """

    ref: str
    value: Mapping[str, Any]
    parts: Mapping[Pointer, str]
    value_keys: frozenset[str]


@dataclass(slots=True)
class ReferenceReaders:
    """The rubrics of a dataset's questions, each read once.

    `compare` compares two rubrics in as much detail as its third argument says.
    """

    load: ArtifactLoader | None
    compare: Callable[[Params, Params, Detail], Diff]
    _readers: dict[str, RubricReads | str] = field(default_factory=dict)
    _comparisons: int = 0

    def trace_change(self, change: Change) -> Change:
        """Return the change with the diff of the checks that read the reference, or the reason why it is unknown."""
        if change.rule == _REF_RULE and change.whole_question:
            graders = [self._find_reader(row.get("rubric_ref")) for row in change.whole_question]
            return _prove_same_rubric(graders, change) or change
        if change.rule not in {RULE, _EXTRA_KEY} or change.question is None:
            return change
        # Of a default, each question that has it is graded by its own rubric: those that may read
        # it count.
        graded = [
            (pair, self._find_readers(pair)) for pair in (change.question, *change.other_questions)
        ]
        is_extra = change.rule == _EXTRA_KEY
        reading = [
            (pair, readers)
            for pair, readers in graded
            if _may_read(pair, readers, is_extra=is_extra)
        ]
        if not reading:
            return (
                change
                if is_extra
                else _prove_unread(change, [reader for _, readers in graded for reader in readers])
            )
        readers = [reader for _, both in reading for reader in both]
        known = [reader for reader in readers if isinstance(reader, RubricReads)]
        # A rubric that cannot be read may take a value from any key.
        if is_extra or any(change.name in reader.value_keys for reader in known):
            change = replace(change, rule=VALUE_RULE)
        if any(row.get("bundle") is not None for pair, _ in reading for row in pair):
            return change.with_reason("its bundle may read it")
        if reason := next((reader for reader in readers if isinstance(reader, str)), ""):
            return change.with_reason(reason)
        pairs = [pair for pair, _ in reading]
        return self._compare_readers(
            replace(change, question=pairs[0], other_questions=tuple(pairs[1:])), known[:2]
        )

    def _find_readers(self, pair: RowPair) -> list[RubricReads | str]:
        return [self._find_reader(row.get("rubric_ref")) for row in pair]

    def _compare_readers(self, change: Change, readers: list[RubricReads]) -> Change:
        before, after = change.question or ({}, {})
        moved = _find_moved_parts(readers[0], before, after)
        if readers[0].ref != readers[1].ref:
            return _prove_same_rubric(readers, change) or change.with_reason(
                "another rubric also grades it"
            )
        if ref := next(filter(None, map(readers[0].parts.__getitem__, moved)), ""):
            return change.with_reason(f"{ref} reads it")
        # The change of the reference becomes one of a rubric: its checks, filled from the question,
        # before and after. Of a default only those are filled that read it: what is claimed then
        # holds whatever else a question gives.
        key = change.name if change.other_questions else None
        if not all(
            _reads_alike(readers[0].value, key, (before, after), other)
            for other in change.other_questions
        ):
            return change.with_reason("its questions differ in what else the check reads")
        try:
            old, new = (_fill_rubric(readers[0].value, row, key) for row in (before, after))
        except UnreadableError:
            return change.with_reason("on one side it is not a value that checks can read")
        if _has_same_checks(old, new):
            return replace(
                change,
                proof=Proof(
                    "it is another spelling with the same meaning for the checks that read it"
                ),
            )
        self._comparisons += 1
        if self._comparisons > COMPARED.questions:
            return change.with_reason("too much changes to compare item by item")
        detail = (
            Detail.WITNESSES
            if self._comparisons <= COMPARED.question_witnesses
            else Detail.FINDINGS
        )
        imported = self.compare(old, new, detail)
        return replace(change.with_reason(f"{readers[0].ref} reads it"), imported_diff=imported)

    def _find_reader(self, ref: Any) -> RubricReads | str:
        if not isinstance(ref, str):
            return "it names no rubric, and any rubric may read it"
        if ref not in self._readers:
            try:
                self._readers[ref] = self._read_rubric_reads(ref, deep=False)
            except EvalstoreError as error:
                self._readers[ref] = error.message
        return self._readers[ref]

    def _read_rubric_reads(self, ref: str, *, deep: bool) -> RubricReads:
        """Return what a rubric reads of a question; raises `EvalstoreError` with the reason why it is unknown."""
        if self.load is None:
            raise EvalstoreError("its rubric is not available")
        if not is_pinned(parse_ref(ref)):
            raise EvalstoreError(f"{ref} floats")
        found = self.load(ref)
        value: dict[str, Any] = make_plain(found.value)
        rubric = read_rubric_state(value) if found.kind is Kind.RUBRIC else None
        if rubric is None or any(
            not is_cosmetic(key) for check in rubric.checks for key in check.extras
        ):
            raise EvalstoreError(f"{ref} cannot be read in full")
        found_parts = {
            part: ""
            for check in rubric.checks
            for part in KINDS[check.kind].question_parts(check.params)
        }
        for check in rubric.checks:
            if check.grading.holds_rubric and deep:
                raise EvalstoreError(f"{ref} is nested too deeply")
            for inner in _list_references(check):
                # Judges and nested rubrics are read one level deep, as scoring runs them.
                nests = check.grading.holds_rubric
                parts = (
                    self._read_rubric_reads(inner, deep=True).parts
                    if nests
                    else self._list_template_parts(inner)
                )
                found_parts |= dict.fromkeys(parts, inner)
        keys = (value.key for check in value["checks"] for value in list_question_values(check))
        return RubricReads(ref, value, found_parts, frozenset(keys))

    def _list_template_parts(self, ref: str) -> list[Pointer]:
        """Return the parts of a question that a judge's template reads; raises `EvalstoreError`."""
        found = self.load(ref) if self.load and is_pinned(parse_ref(ref)) else None
        names = (
            find_template_names(found.value.get("template"))
            if found and found.kind is Kind.JUDGE
            else None
        )
        if names is None:
            raise EvalstoreError(f"{ref} floats, or cannot be read")
        return [(name,) for name in names if name in BUILTIN_VARIABLES]


def _may_read(pair: RowPair, readers: Sequence[RubricReads | str], *, is_extra: bool) -> bool:
    """Whether what grades a question may read what differs between its two sides; a rubric not known may read all."""
    if is_extra and not any("rubric_ref" in row for row in pair):
        return False  # nothing grades it, so nothing reads what is not a reference
    if not is_extra and any(row.get("bundle") is not None for row in pair):
        return True
    return any(
        isinstance(reader, str) or bool(_find_moved_parts(reader, *pair)) for reader in readers
    )


def _prove_unread(change: Change, readers: Sequence[RubricReads | str]) -> Change:
    """Return the change with the proof that no rubric reads it, whatever the value is."""
    refs = " or ".join(
        sorted({reader.ref for reader in readers if isinstance(reader, RubricReads)})
    )
    proof = Proof(
        f"no check and no judge of {refs} reads the change", rule="question-reference-unread"
    )
    return replace(change, proof=proof)


def _prove_same_rubric(readers: Sequence[RubricReads | str], change: Change) -> Change | None:
    """Prove that two rubrics with the values of one question, before and after, are one and the same."""
    known = [reader for reader in readers if isinstance(reader, RubricReads)]
    rows = change.whole_question or ()
    if len(known) != len(rows) or any(row.get("bundle") is not None for row in rows):
        return None
    # What a judge or a nested rubric reads of the question is not written into the checks.
    read = {part for reader in known for part, ref in reader.parts.items() if ref}
    if any(not is_same(*(_view_part(row, part) for row in rows)) for part in read):
        return None
    try:
        filled = [_fill_rubric(reader.value, row) for reader, row in zip(known, rows, strict=True)]
    except UnreadableError:
        return None
    parts = [make_plain(select_scoring_part(Kind.RUBRIC, side)) for side in filled]
    proof = Proof("with the question's values it is the same rubric", Bump.MINOR)
    return replace(change, proof=proof) if is_same(*parts) else None


def _fill_rubric(rubric: Params, row: Row, key: str | None = None) -> dict[str, Any]:
    """Return a rubric with what its checks read of a question written into them; `UnreadableError` for a misfit.

    Where a `key` is given, only the checks that read it are filled, and the others left open.
    """
    checks = [
        _fill_check(check, row) if key is None or _reads(check, key) else check
        for check in rubric["checks"]
    ]
    return {
        **rubric,
        "checks": [
            {key: item for key, item in check.items() if item is not None} for check in checks
        ],
    }


def _fill_check(check: Params, row: Row) -> Params:
    plain = fill_from_question(check, list_question_values(check), Question("", "", row))
    if isinstance(plain, Grade):
        raise UnreadableError(plain.reason)
    return {**plain, **KINDS[plain["kind"]].fill_from_reference(plain, row)}


def _reads(check: Params, key: str) -> bool:
    return any(part[0] == key for part in _list_parts(check))


def _list_parts(check: Params) -> Iterator[Pointer]:
    """Yield the parts of a question that a check of a rubric's mapping reads, as far as its kind knows."""
    kind = find_compared_kind(check)
    yield from KINDS[kind].question_parts(read_params(kind, check))


def _reads_alike(
    rubric: Params, key: str | None, rows: tuple[Row, Row], others: tuple[Row, Row]
) -> bool:
    """Whether the checks that read a key read the same of two questions: then an edit does the same to both."""
    read = (
        part for check in rubric["checks"] if _reads(check, str(key)) for part in _list_parts(check)
    )
    return all(
        is_same(_view_part(one, part), _view_part(other, part))
        for part in [*read, ("rubric_ref",), ("bundle",)]
        for one, other in zip(rows, others, strict=True)
    )


def prove_readers_unmoved(change: Change) -> Proof | None:
    """Prove that the checks that read the reference ask for the same, or that their rubric does not count them."""
    if change.imported_diff is None or change.imported_diff.required_bump is Bump.MAJOR:
        return None
    level = max(change.imported_diff.required_bump, Bump.PATCH)
    return Proof("the checks that read it ask for the same, or do not count", level)


def _has_same_checks(old: Params, new: Params) -> bool:
    states = [read_rubric_state(side) for side in (old, new)]
    params = [[dict(check.params) for check in state.checks] for state in states if state]
    return len(params) == len(states) and is_same(*params)


def _find_moved_parts(reader: RubricReads, before: Row, after: Row) -> list[Pointer]:
    return [
        part
        for part in sorted(reader.parts)
        if not is_same(_view_part(before, part), _view_part(after, part))
    ]


def _view_part(row: Row, part: Pointer) -> Any:
    """Return the value at a part of a question; a value that is not a mapping as a whole."""
    value = row.get(str(part[0]))
    if len(part) == 1:
        return value
    if value is None or isinstance(value, dict):
        return [part[1] in (value or {}), (value or {}).get(part[1])]
    return value


def _list_references(check: CheckState) -> Iterator[str]:
    """Yield the judges that a check asks, and the rubric that it is."""
    for name in ("judge_prompt_ref", "rubric_ref"):
        if (ref := check.params.get(name)) is not None:
            yield ref
    for member in (check.params.get("jury") or {}).get("members", ()):
        yield member["judge_prompt_ref"]
