"""Compares a dataset's questions: the rubric of each, filled with the old row and the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from evalstore.diff.change import Change, Proof, QuestionEdit
from evalstore.diff.effects.totals import join_questions
from evalstore.diff.findings import Detail, Diff, DiffFinding, Direction, TotalEffect
from evalstore.diff.limits import COMPARED
from evalstore.diff.question_rubrics import FilledRubric, RubricReaders, RubricReads, fill_rubric
from evalstore.diff.references import ArtifactLoader
from evalstore.documents import compute_digest
from evalstore.model import Kind, Question, select_scoring_part
from evalstore.versions import Bump

VALUE_RULE = "question-value-changed"
_REFERENCE, _EXTRA, _NOTE = (
    "question-reference-changed",
    "extension-field-changed",
    "metadata-changed",
)
_REF_RULE, _REF_KEY = "question-rubric-ref-changed", "rubric_ref"
_SAME_MEANING = Proof("the checks that may read it ask for the same before and after")
_SAME_RUBRIC = Proof("with the question's values it is the same rubric", Bump.MINOR)
_OTHER_RUBRIC = Proof(
    "only one of the two rubrics reads it: its effect is part of the change of rubric",
    Bump.MINOR,
)
_SHOWN_IDS = 3  # of the questions of one finding
_ABSENT = "on one side it is not a value that checks can read"
_TOO_MUCH = "too much changes to compare item by item"

Comparer = Callable[[Mapping[str, Any], Mapping[str, Any], Detail], Diff]


class _ComparedPair(NamedTuple):
    """A question's comparison: what its rubrics read, what differs, and findings by key.

    `readers` are the rubrics before and after, or the reason why one is unknown. `moved` has the
    keys that differ, each with the judge or inner rubric that reads it, or "" for the rubric's own
    checks. `diff` is None if nothing differs for the checks, or if it is unknown, and then `why`
    says why. `totals` has what the edit of each key does alone.
    """

    readers: tuple[RubricReads | str, RubricReads | str]
    moved: Mapping[str, str]
    diff: Diff | None = None
    why: str = ""
    findings: Mapping[str, tuple[DiffFinding, ...]] = {}
    totals: Mapping[str, TotalEffect] = {}


@dataclass(slots=True)
class QuestionComparison:
    """Compares the questions of a dataset, and equal comparisons only once.

    `compare` compares two rubrics in the detail that its third argument says.
    """

    load: ArtifactLoader | None
    compare: Comparer
    readers: RubricReaders = field(init=False)
    _pairs: dict[QuestionEdit, _ComparedPair] = field(default_factory=dict)
    _diffs: dict[str, Diff] = field(default_factory=dict)
    # How many comparisons, after the first few, have a finding without a witness.
    _unshown: int = 0

    def __post_init__(self) -> None:
        self.readers = RubricReaders(self.load, {})

    def trace_change(self, change: Change) -> Change:
        """Return an edit with its effect on the checks of its questions, or why that is unknown."""
        if change.rule == _REF_RULE:
            return self._trace_rubric_ref(change)
        if change.rule not in {_REFERENCE, _EXTRA, _NOTE} or not change.questions:
            return change
        if change.rule != _REFERENCE and not any(
            self._may_take(pair, change.name) for pair in change.questions
        ):
            return change
        compared = {pair: self._find_pair(pair) for pair in change.questions}
        reading = [pair for pair, one in compared.items() if _may_read(change, pair, one)]
        if not reading:
            is_unread = change.rule == _REFERENCE
            return _prove_unread(change, compared.values()) if is_unread else change
        results = [compared[pair] for pair in reading]
        is_sent = any(_is_sent(compared[pair], pair, change.name) for pair in reading)
        change = replace(change, is_sent=is_sent)
        if change.rule != _REFERENCE or any(_takes_values(one, change.name) for one in results):
            change = replace(change, rule=VALUE_RULE)
        if any(row.get("bundle") is not None for pair in reading for row in pair.rows):
            return change.with_reason("its bundle may read it")
        if why := next(filter(None, (_explain_unknown(one, change.name) for one in results)), ""):
            return change.with_reason(why)
        change = replace(change, questions=tuple(reading))
        if not any(one.findings.get(change.name) for one in results):
            return self._judge_unmoved(change, results)
        readers = (one.readers[1] for one in results)
        refs = dict.fromkeys(side.ref for side in readers if isinstance(side, RubricReads))
        found, together = _merge_diffs(results, change.name)
        change = change.with_reason(f"{' and '.join(refs)} reads it")
        return replace(change, imported_diff=found, together=together)

    def _judge_unmoved(self, change: Change, results: Sequence[_ComparedPair]) -> Change:
        """Return an edit that causes no finding, with its proof, or with why it is undecided."""
        moved = [one for one in results if _find_bump(one, _REF_KEY) is Bump.MAJOR]
        mixed = [one for one in moved if _is_regraded(one)]
        if not mixed:
            proof = _SAME_RUBRIC if any(map(_is_regraded, results)) else _SAME_MEANING
            return replace(change, proof=proof)
        if any(_is_read_by_both(one, change.name) for one in mixed):
            # The score may move by this edit or by the change of rubric.
            return change.with_reason("another rubric also grades it")
        return replace(change, proof=_OTHER_RUBRIC)

    def _trace_rubric_ref(self, change: Change) -> Change:
        """Return a reference's edit with its effect on the questions, if that says more."""
        imported = change.imported_diff
        if not change.questions or (imported and imported.required_bump < Bump.MAJOR):
            return change
        compared: list[_ComparedPair] = []
        is_known = False
        for pair in change.questions:
            one = self._find_pair(pair)
            is_graded_elsewhere = any(row.get("bundle") is not None for row in pair.rows)
            if (
                one.why
                or is_graded_elsewhere
                or not all(isinstance(side, RubricReads) for side in one.readers)
            ):
                return change
            compared.append(one)
            # The difference of the two rubrics is already known. A question that nothing else moves
            # is enough to show it.
            if imported and len(change.questions) > 1 and _find_bump(one, _REF_KEY) is Bump.MAJOR:
                is_known = True
                if one.diff and one.findings.keys() == {_REF_KEY}:
                    witness = one.diff.total.witness or imported.total.witness
                    total = replace(imported.total, witness=witness)
                    return replace(change, imported_diff=replace(imported, total=total))
        if is_known:
            return change
        if not any(one.findings.get(_REF_KEY) for one in compared):
            return replace(change.with_words(why=""), proof=_SAME_RUBRIC, imported_diff=None)
        found, together = _merge_diffs(compared, _REF_KEY)
        change = replace(change.with_words(why=""), imported_diff=found, decision=None)
        return replace(change, together=together)

    def _may_take(self, pair: QuestionEdit, key: str) -> bool:
        """Whether some check of a question's rubrics may take a value from a key."""
        for own, defaults in zip(pair.own, pair.defaults, strict=True):
            reader = self.readers.read(own.get(_REF_KEY, defaults.get(_REF_KEY)))
            if isinstance(reader, str) or key in reader.value_keys:
                return True
        return False

    def _find_pair(self, pair: QuestionEdit) -> _ComparedPair:
        if pair not in self._pairs:
            self._pairs[pair] = self._compare_pair(pair)
        return self._pairs[pair]

    def _compare_pair(self, pair: QuestionEdit) -> _ComparedPair:
        rows = pair.rows
        old, new = (self.readers.read(row.get(_REF_KEY)) for row in rows)
        known = [side for side in (old, new) if isinstance(side, RubricReads)]
        moved: dict[str, str] = {}
        for side in known:
            for part in side.find_moved_parts(*rows):
                key = str(part[0])
                moved[key] = moved.get(key) or side.parts[part]
        if isinstance(old, str) or isinstance(new, str):
            return _ComparedPair((old, new), moved, why=old if isinstance(old, str) else str(new))
        if old.ref == new.ref and not any(not reader for reader in moved.values()):
            return _ComparedPair((old, new), moved)
        sides = fill_rubric(old.value, rows[0]), fill_rubric(new.value, rows[1])
        if sides[0].misfits or sides[1].misfits:
            return _ComparedPair((old, new), moved, why=_ABSENT)
        diff = self._compare_filled(*sides)
        if diff is None:
            return _ComparedPair((old, new), moved, why=_TOO_MUCH)
        keys = [key for key, reader in moved.items() if not reader]
        keys += [_REF_KEY] if old.ref != new.ref or not keys else []
        found: dict[str, list[DiffFinding]] = {}
        for finding in diff.findings:
            key = _find_edited_key(finding, (new, old), keys)
            is_sent = finding.is_sent and _keeps_outputs(pair)
            named = replace(finding, questions=1, question_ids=(pair.id,), is_sent=is_sent)
            found.setdefault(key, []).append(named)
        totals: dict[str, TotalEffect] = {}
        for key in found:
            rubric = new if key == _REF_KEY else old
            kept = {name: value for name, value in rows[0].items() if name != key}
            edited = kept | {name: value for name, value in rows[1].items() if name == key}
            alone = sides[0], fill_rubric(rubric.value, edited)
            totals[key] = diff.total if len(found) == 1 else self._find_total(alone)
        findings = {key: tuple(some) for key, some in found.items()}
        return _ComparedPair((old, new), moved, diff, findings=findings, totals=totals)

    def _find_total(self, sides: tuple[FilledRubric, FilledRubric]) -> TotalEffect:
        """Return what one edit of a question does, given its rubric without and with the edit."""
        diff = None if sides[1].misfits else self._compare_filled(*sides)
        return diff.total if diff else TotalEffect(Direction.EITHER, Direction.EITHER, None)

    def _compare_filled(self, old: FilledRubric, new: FilledRubric) -> Diff | None:
        """Return the diff of two filled rubrics; None if there are too many to compare."""
        parts = [select_scoring_part(Kind.RUBRIC, side.value) for side in (old, new)]
        name = compute_digest(parts)
        if name not in self._diffs:
            if len(self._diffs) >= COMPARED.questions:
                return None
            self._diffs[name] = diff = self.compare(old.value, new.value, self._choose_detail())
            if len(self._diffs) > COMPARED.question_witnesses:
                self._unshown += not all(finding.witness for finding in diff.findings)
        return self._diffs[name]

    def _choose_detail(self) -> Detail:
        """Return the detail of the next comparison: less after many comparisons, or slow ones."""
        if len(self._diffs) < COMPARED.question_witnesses:
            return Detail.WITNESSES
        return Detail.BUMP if self._unshown < COMPARED.question_effects else Detail.RULES


def _may_read(change: Change, pair: QuestionEdit, compared: _ComparedPair) -> bool:
    """Whether a question's rubric or bundle may read what an edit changes; an unknown one may."""
    if change.rule == _NOTE:
        return _takes_values(compared, change.name) and change.name in compared.moved
    rows = pair.rows
    is_reference = change.rule == _REFERENCE
    if not is_reference and not any(_REF_KEY in row for row in rows):
        return False  # no rubric grades the question, so nothing reads this key
    if is_reference and any(row.get("bundle") is not None for row in rows):
        return True
    is_unknown = any(isinstance(side, str) for side in compared.readers)
    return change.name in compared.moved or is_unknown


def _takes_values(compared: _ComparedPair, key: str) -> bool:
    return any(
        isinstance(side, RubricReads) and key in side.value_keys for side in compared.readers
    )


def _is_sent(compared: _ComparedPair, pair: QuestionEdit, key: str) -> bool:
    """Whether a key is sent to judges on both sides, and stored outputs answer both questions."""
    sides = compared.readers
    is_judged = all(isinstance(side, RubricReads) and key in side.judged_keys for side in sides)
    return is_judged and _keeps_outputs(pair)


def _keeps_outputs(pair: QuestionEdit) -> bool:
    """Whether the stored outputs of a question also answer the new one."""
    old, new = (Question(str(row.get("id")), "", row) for row in pair.rows)
    return (old.id, old.input_digest) == (new.id, new.input_digest)


def _explain_unknown(compared: _ComparedPair, key: str) -> str:
    """Return why the effect of a key's edit on a question is unknown; empty if it is known."""
    if compared.why:
        return compared.why
    reader = compared.moved.get(key)
    return f"{reader} reads it" if reader else ""


def _prove_unread(change: Change, compared: Iterable[_ComparedPair]) -> Change:
    """Return the change with the proof that no rubric reads it, whatever the value is."""
    sides = (side for one in compared for side in one.readers)
    refs = " or ".join(sorted({side.ref for side in sides if isinstance(side, RubricReads)}))
    proof = Proof(
        f"no check and no judge of {refs} reads the change", rule="question-reference-unread"
    )
    return replace(change, proof=proof)


def _find_edited_key(
    finding: DiffFinding, rubrics: Sequence[RubricReads], keys: Sequence[str]
) -> str:
    """Return the edited key of a question that caused a finding on its filled rubric."""
    _, area, *steps = f"{finding.pointer}//".split("/")
    if area == "checks" and steps[0].isdigit():
        index, path = int(steps[0]), "/".join(steps[1:]).strip("/")
        behind = (key for side in rubrics for key in side.list_sources(index, path))
        if key := next((key for key in behind if key in keys), None):
            return key
    return _REF_KEY if _REF_KEY in keys else keys[0]


def _is_regraded(compared: _ComparedPair) -> bool:
    refs = {side.ref for side in compared.readers if isinstance(side, RubricReads)}
    return len(refs) > 1


def _is_read_by_both(compared: _ComparedPair, key: str) -> bool:
    return all(isinstance(side, str) or side.is_key_read(key) for side in compared.readers)


def _find_bump(compared: _ComparedPair, key: str) -> Bump:
    return max((one.level for one in compared.findings.get(key, ())), default=Bump.NONE)


def _merge_diffs(compared: Sequence[_ComparedPair], key: str) -> tuple[Diff, TotalEffect]:
    """Return what one edit does to several questions, and what all edits together do to them.

    Equal findings become one.
    """
    changed = [one for one in compared if one.findings.get(key)]
    diffs = list({id(one.diff): one.diff for one in changed if one.diff}.values())
    findings = merge_findings(found for one in changed for found in one.findings[key])
    merged = replace(
        diffs[0],
        findings=findings,
        required_bump=max((one.level for one in findings), default=Bump.PATCH),
        total=join_questions([one.totals[key] for one in changed]),
    )
    return merged, join_questions([diff.total for diff in diffs])


def merge_findings(findings: Iterable[DiffFinding]) -> tuple[DiffFinding, ...]:
    """Return findings of several questions; equal ones become one, with a count and first ids."""
    merged: dict[object, DiffFinding] = {}
    for finding in findings:
        key = identify_finding(finding)
        first = merged.get(key)
        merged[key] = finding if first is None else add_questions(first, finding)
    return tuple(merged.values())


def identify_finding(finding: DiffFinding) -> object:
    """Return a key; findings of different questions with equal keys are shown as one."""
    return (
        finding.rule,
        finding.level,
        finding.message,
        finding.directions,
        finding.certainty,
        finding.max_shift,
        finding.max_shift_scored,
        finding.reason,
    )


def add_questions(finding: DiffFinding, other: DiffFinding) -> DiffFinding:
    """Return a finding that also includes the questions of an equal one."""
    ids = (*finding.question_ids, *other.question_ids)[:_SHOWN_IDS]
    return replace(
        finding,
        questions=finding.questions + other.questions,
        question_ids=ids,
        witness=finding.witness or other.witness,
        is_sent=finding.is_sent or other.is_sent,
    )


def name_questions(finding: DiffFinding) -> str:
    """Return the first questions of a finding, and how many more: `q1, q2, q3 and 47 more`."""
    more = finding.questions - len(finding.question_ids)
    return ", ".join(finding.question_ids) + (f" and {more:,} more" if more else "")
