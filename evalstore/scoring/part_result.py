"""What one part of the outputs comes to: what is counted of each of its rows, exactly, in JSON and back.

Parts that follow one another are joined by counting their rows in order, so no sum depends on where a file was cut.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.identity_cache import IdentityCache
from evalstore.model import CheckResult, UnscoredReason, Verdict, has_failed_check
from evalstore.runs import GradedRow, SeriesNames, UsedArtifact
from evalstore.runs.eee_format import format_exact_score
from evalstore.runs.record_fields import parse_exact_score, read_count, require_text
from evalstore.scoring.matching import OddOutputs, OutputMatch
from evalstore.scoring.run_record import UsedRulers

_COLUMNS = ("numbers", "samples", "lines", "hashes", "results")


class RowGrade(NamedTuple):
    """The grade of a row, as many rows have it; `id` is the question's where a check or the row has no score."""

    id: str
    score: Fraction | None
    verdict: Verdict
    rubric: str
    checks: tuple[CheckResult, ...]
    reason: str


class PartRecord(NamedTuple):
    """One graded output of a part: the sample of a question, its line, its hash as in `OutputMatch`, and its grade."""

    number: int
    sample: int
    line: int
    output_hash: int
    result: RowGrade


@dataclass(slots=True)
class PartResult:
    """The rows of a part in columns, the grades that they have, and what else joining them needs."""

    numbers: array[int] = field(default_factory=lambda: array("Q"))
    samples: array[int] = field(default_factory=lambda: array("Q"))
    lines: array[int] = field(default_factory=lambda: array("Q"))
    hashes: array[int] = field(default_factory=lambda: array("Q"))
    results: array[int] = field(default_factory=lambda: array("Q"))
    grades: list[RowGrade] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)
    odd: OddOutputs = field(default_factory=OddOutputs)
    series: SeriesNames = field(default_factory=SeriesNames)
    rulers: UsedRulers = field(default_factory=UsedRulers)
    # The rows repeated within the part, which joining cannot see.
    repeats: int = 0
    _numbered: IdentityCache[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._numbered = IdentityCache(self._add_grade)

    def add(self, row: GradedRow, match: OutputMatch) -> None:
        """Add one graded output."""
        number = self._numbered.find(row.checks, row.rubric, row.score, row.verdict, row.reason)
        # An id is needed only where something is to be told about its question.
        if row.score is None or has_failed_check(row.checks):
            self.ids[len(self.results)] = row.id
        self.numbers.append(match.number)
        self.samples.append(match.recorded.sample)
        self.lines.append(match.recorded.line)
        self.hashes.append(match.output_hash)
        self.results.append(number)

    def list_records(self) -> Iterator[PartRecord]:
        """Yield the rows in their order."""
        columns = zip(self.numbers, self.samples, self.lines, self.hashes, self.results, strict=True)
        for position, (number, sample, line, output_hash, result) in enumerate(columns):
            grade = self.grades[result]
            id_ = self.ids.get(position)
            yield PartRecord(number, sample, line, output_hash, grade if id_ is None else grade._replace(id=id_))

    def _add_grade(
        self, checks: tuple[CheckResult, ...], rubric: str, score: Fraction | None, verdict: Verdict, reason: str
    ) -> int:
        self.grades.append(RowGrade("", score, verdict, rubric, checks, reason))
        return len(self.grades) - 1


def format_part(result: PartResult) -> dict[str, Any]:
    """Return a part's result as plain JSON values: scores as `2/3`, columns as lists of numbers."""
    return {
        "columns": {name: getattr(result, name).tolist() for name in _COLUMNS},
        "grades": [_format_grade(grade) for grade in result.grades],
        "ids": [[position, id_] for position, id_ in result.ids.items()],
        "odd": asdict(result.odd),
        "repeats": result.repeats,
        "series": asdict(result.series),
        "rulers": asdict(result.rulers),
    }


def parse_part(value: Mapping[str, Any]) -> PartResult:
    """Read what `format_part` wrote; raises one of `MALFORMED_ERRORS` for anything else."""
    columns, odd, series, rulers = (value[key] for key in ("columns", "odd", "series", "rulers"))
    grades = [_parse_grade(*grade) for grade in value["grades"]]
    found = PartResult(
        **{name: array("Q", columns[name]) for name in _COLUMNS},
        grades=grades,
        ids={int(position): str(id_) for position, id_ in value["ids"]},
        odd=OddOutputs(
            read_count(odd["strays"]),
            require_text(odd, "first_stray"),
            read_count(odd["doubts"]),
            require_text(odd, "first_doubt"),
            {str(id_): str(reason) for id_, reason in odd["reasons"].items()},
        ),
        series=SeriesNames({str(part): str(name) for part, name in series["first"].items()}, bool(series["wanted"])),
        rulers=UsedRulers(
            tuple(parse_pin(pin) for pin in rulers["rubrics"]),
            tuple(parse_pin(pin) for pin in rulers["judges"]),
            tuple(str(note) for note in rulers["notes"]),
        ),
        repeats=read_count(value["repeats"]),
    )
    if len({len(getattr(found, name)) for name in _COLUMNS}) != 1 or max(found.results, default=-1) >= len(grades):
        raise ValueError("its columns do not fit together")
    return found


def parse_pin(value: Mapping[str, Any]) -> UsedArtifact:
    """Read the pin of an artifact; raises one of `MALFORMED_ERRORS` for anything else."""
    commit, tag = (None if value[key] is None else require_text(value, key) for key in ("commit", "tag"))
    ref, version, digest, scoring_digest = (
        require_text(value, key) for key in ("ref", "version", "digest", "scoring_digest")
    )
    return UsedArtifact(ref, version, digest, scoring_digest, commit, tag)


def _format_grade(grade: RowGrade) -> list[Any]:
    checks = [_format_check(check) for check in grade.checks]
    return [grade.rubric, format_exact_score(grade.score), grade.verdict, grade.reason, checks]


def _format_check(check: CheckResult) -> list[Any]:
    return [*check[:2], format_exact_score(check.score), *check[3:]]


def _parse_grade(rubric: str, score: str, verdict: str, reason: str, checks: list[list[Any]]) -> RowGrade:
    if not (isinstance(rubric, str) and isinstance(reason, str)):
        raise TypeError("a grade names its rubric and its reason")
    found = tuple(_parse_check(*check) for check in checks)
    return RowGrade("", parse_exact_score(score), Verdict(verdict), rubric, found, reason)


def _parse_check(*fields: Any) -> CheckResult:
    id_, kind, score, verdict, reason, unscored, engine, replies, digests, inner = fields
    texts = (id_, kind, reason, engine, replies, *digests, *inner)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a check is told in texts")
    return CheckResult(
        id_,
        kind,
        parse_exact_score(score),
        Verdict(verdict),
        reason,
        None if unscored is None else UnscoredReason(unscored),
        engine,
        replies,
        tuple(digests),
        tuple(inner),
    )
