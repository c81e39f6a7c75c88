"""The confusion matrix of a judge and people: rates, Cohen's kappa, the constant baseline, and its tally; pure.

Rates and kappa are exact fractions; an interval has a square root in it and is in floats. What a count of 0 leaves
undefined is None, never a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalstore.documents.edit_entries import Scalar
from evalstore.errors import LoadError, Place
from evalstore.model import CheckResult, Verdict, is_cosmetic
from evalstore.runs import UsedArtifact
from evalstore.runs.run_files import read_json_objects
from evalstore.statistics import ChangeEstimate, Conclusion, Interval, Rate, estimate_change
from evalstore.text import find_nearest, make_excerpt

# Fields of the question that a row may hold, where no dataset gives them.
QUESTION_KEYS = ("input", "expected", "context")
_KEYS = ("id", "output", "label", "verdict", *QUESTION_KEYS, "variables")
_SHAPE = 'a row is {"id", "output", "label": "pass" or "fail"}, with "verdict", "input", "expected", "context" if known'
_LABELS = {"pass": Verdict.PASS, "fail": Verdict.FAIL}
_VERDICTS = {**_LABELS, "unscored": Verdict.UNSCORED}


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One row: `verdict` None is still to be asked for; `question_fields` are those of the question in the row."""

    id: str
    line: int
    label: Verdict
    verdict: Verdict | None
    output: str
    question_fields: Mapping[str, Any]
    variables: Mapping[str, str]
    has_output: bool = True


def read_labels(path: Path) -> Iterator[LabelledRow]:
    """Yield the rows of a file in order; raises `LoadError` for an unclear row and for a repeated id."""
    lines: dict[str, int] = {}
    for line, row in read_json_objects(path):
        place = Place(str(path), line)
        label = _read_label(row, place)
        if label.id in lines:
            first = f"duplicate id '{make_excerpt(label.id, 60)}' (first on line {lines[label.id]})"
            raise LoadError(first, place=place, hint="keep one label for each output")
        lines[label.id] = line
        yield label
    if not lines:
        raise LoadError("has no labelled row", place=Place(str(path)), hint=_SHAPE)


def _read_label(row: Mapping[str, Any], place: Place) -> LabelledRow:
    _check_keys(row, place)
    # A row with a verdict needs no output: nothing is asked about it.
    for key in ("id", "label") if "verdict" in row else ("id", "output", "label"):
        if key not in row:
            raise LoadError(f"this row has no `{key}`", place=place, hint=_SHAPE)
    return LabelledRow(
        id=_read_text(row, "id", place),
        line=place.line or 0,
        label=_read_verdict(row, "label", _LABELS, place),
        verdict=_read_verdict(row, "verdict", _VERDICTS, place) if "verdict" in row else None,
        output=_read_text(row, "output", place) if "output" in row else "",
        question_fields={
            key: _read_text(row, key, place) if key == "input" else row[key] for key in QUESTION_KEYS if key in row
        },
        variables=_read_variables(row.get("variables", {}), place),
        has_output="output" in row,
    )


def _check_keys(row: Mapping[str, Any], place: Place) -> None:
    for key in row:
        if key not in _KEYS and not is_cosmetic(key):
            guess = find_nearest(key, _KEYS)
            hint = f"did you mean `{guess}`?" if guess else "put what is not for the judge into `metadata`"
            raise LoadError(f"a labelled row has no `{make_excerpt(key, 60)}`", place=place, hint=hint)


def _read_text(row: Mapping[str, Any], key: str, place: Place) -> str:
    if not isinstance(text := row[key], str):
        raise LoadError(f"the `{key}` of this row is not text", place=place, hint=_SHAPE)
    return text


def _read_verdict(row: Mapping[str, Any], key: str, words: Mapping[str, Verdict], place: Place) -> Verdict:
    word = row[key]
    if not isinstance(word, str) or word not in words:
        shown = f"'{make_excerpt(word, 60)}'" if isinstance(word, str) else "not text"
        raise LoadError(f"the `{key}` of this row is {shown}", place=place, hint=f"write {' or '.join(words)}")
    return words[word]


def _read_variables(value: Any, place: Place) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        hint = 'write {"<name>": "<text>"}'
        raise LoadError("the `variables` of this row are not texts by name", place=place, hint=hint)
    return value


# Reports show the first cases; the counts have all rows.
_CASE_LIMIT = 100
_MOST_UNJUDGED = Fraction(2, 100)
# label, verdict -> the count; "true" is a judge that agrees with the label.
COUNT_NAMES = {
    (Verdict.PASS, Verdict.PASS): "true_pass",
    (Verdict.PASS, Verdict.FAIL): "false_fail",
    (Verdict.FAIL, Verdict.PASS): "false_pass",
    (Verdict.FAIL, Verdict.FAIL): "true_fail",
}


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often a label met a verdict: `false_pass` counts the truly bad outputs that the judge passed."""

    true_pass: int = 0
    false_fail: int = 0
    false_pass: int = 0
    true_fail: int = 0

    @property
    def rows(self) -> int:
        """How many rows have both a label and a verdict."""
        return self.good + self.bad

    @property
    def good(self) -> int:
        """How many outputs are truly good."""
        return self.true_pass + self.false_fail

    @property
    def bad(self) -> int:
        """How many outputs are truly bad."""
        return self.true_fail + self.false_pass

    @property
    def apart(self) -> int:
        """On how many outputs the judge and the label differ."""
        return self.false_fail + self.false_pass

    @property
    def tpr(self) -> Rate:
        """Of the truly good outputs, those that the judge passes."""
        return Rate(self.true_pass, self.good)

    @property
    def tnr(self) -> Rate:
        """Of the truly bad outputs, those that the judge fails."""
        return Rate(self.true_fail, self.bad)

    @property
    def accuracy(self) -> Rate:
        """Of all outputs, those on which the judge and the label agree."""
        return Rate(self.true_pass + self.true_fail, self.rows)

    @property
    def kappa(self) -> Fraction | None:
        """Cohen's kappa: the agreement beyond chance, as a share of what chance leaves open.

        None without rows, and where chance leaves nothing open because all labels and verdicts are the same.
        """
        by_chance = self._by_chance
        open_ = self.rows**2 - by_chance
        return Fraction(self.accuracy.hits * self.rows - by_chance, open_) if open_ else None

    @property
    def _by_chance(self) -> int:
        """How often both would agree by chance (Cohen 1960), times the rows squared, so that all counts stay whole."""
        passed, failed = self.true_pass + self.false_pass, self.true_fail + self.false_fail
        return self.good * passed + self.bad * failed

    @property
    def kappa_interval(self) -> Interval | None:
        """The 95 % interval of kappa: that of the agreement, with what chance gives taken as it is (Cohen 1960)."""
        by_chance, agreement = self._by_chance, self.accuracy.interval
        open_ = self.rows**2 - by_chance
        if not open_ or agreement is None:
            return None
        low, high = (max(-1.0, (end * self.rows**2 - by_chance) / open_) for end in agreement)
        return low, high

    @property
    def constant(self) -> Verdict:
        """The answer that is right most often when it is always given; `pass` where both are."""
        return Verdict.PASS if self.good >= self.bad else Verdict.FAIL

    @property
    def baseline(self) -> Rate:
        """The accuracy of always giving that answer."""
        return Rate(max(self.good, self.bad), self.rows)

    @property
    def beats_baseline(self) -> bool:
        """Whether the judge is right more often than a constant answer."""
        return self.accuracy.hits > self.baseline.hits

    @property
    def advantage(self) -> ChangeEstimate:
        """What may be concluded from the rows on which either of the two is right: over other rows of this sort."""
        is_pass = self.constant is Verdict.PASS
        won, lost = (self.true_fail, self.false_fail) if is_pass else (self.true_pass, self.false_pass)
        shares = {Fraction(1): won, Fraction(-1): lost, Fraction(0): self.rows - won - lost}
        return estimate_change(Counter({(share, 1): count for share, count in shares.items()}))

    @property
    def surely_beats_baseline(self) -> bool:
        """Whether the judge is right more often by more than these rows could show by chance."""
        return self.beats_baseline and self.advantage.conclusion is Conclusion.SIGNIFICANT


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """One row worth a look: its label, the judge's verdict, and the reason."""

    id: str
    line: int
    label: Verdict
    verdict: Verdict
    score: Fraction | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result of measuring a judge on labelled rows, and the entries that its file gets.

    `read` counts the verdicts that stood in the labels, `unjudged` the rows that no number counts, `engines` are the
    models that answered. `apart` and `left_out` are the first rows on which judge and label differ, and the first
    without a verdict. `retires` is the day on which the endpoint switches the judge's model off, where it says so. An
    entry that is None is not in the file afterwards; `written` is the file, None where nothing was written.
    """

    judge: UsedArtifact
    labels: str
    labels_sha256: str
    threshold: Fraction
    confusion: Confusion
    against: UsedArtifact | None = None
    read: int = 0
    unjudged: int = 0
    engines: tuple[str, ...] = ()
    apart: tuple[LabelledCase, ...] = ()
    left_out: tuple[LabelledCase, ...] = ()
    retires: date | None = None
    notes: tuple[str, ...] = ()
    entries: Mapping[str, Scalar | None] = field(default_factory=dict)
    diff: str = ""
    written: str | None = None

    @property
    def misses_many(self) -> bool:
        """Whether so many rows could not be judged that the others say little of the judge."""
        return self.unjudged > _MOST_UNJUDGED * (self.unjudged + self.confusion.rows)


@dataclass(slots=True)
class LabelTally:
    """The counts so far, and the first rows worth a look."""

    counts: Counter[str] = field(default_factory=Counter)
    read: int = 0
    unjudged_count: int = 0
    engines: set[str] = field(default_factory=set)
    apart: list[LabelledCase] = field(default_factory=list)
    left_out: list[LabelledCase] = field(default_factory=list)

    def add_recorded_verdict(self, label: LabelledRow) -> LabelledCase:
        """Count a row with the verdict in its file, and return it as a case."""
        verdict = label.verdict or Verdict.UNSCORED
        self.read += verdict is not Verdict.UNSCORED
        return self._count_case(LabelledCase(label.id, label.line, label.label, verdict, reason="so say the labels"))

    def add_judged_verdict(self, label: LabelledRow, result: CheckResult) -> LabelledCase:
        """Count a row with the verdict of the judge, and return it as a case."""
        if result.verdict is not Verdict.UNSCORED:
            self.engines.add(result.engine)
        case = LabelledCase(label.id, label.line, label.label, result.verdict, result.score, result.reason)
        return self._count_case(case)

    @property
    def confusion(self) -> Confusion:
        """The confusion matrix so far."""
        return Confusion(**self.counts)

    def _count_case(self, case: LabelledCase) -> LabelledCase:
        if case.verdict is Verdict.UNSCORED:
            self.unjudged_count += 1
            self.left_out += [case][: _CASE_LIMIT - len(self.left_out)]
            return case
        self.counts[COUNT_NAMES[case.label, case.verdict]] += 1
        if case.label is not case.verdict:
            self.apart += [case][: _CASE_LIMIT - len(self.apart)]
        return case
