"""Reads logs of openai/evals: a first line with the `spec`, then events of samples.

The output and the grade of a sample are on different lines: a sample is put together from its
`sampling` and its `match` or `metrics` events, in the order in which the samples first appear.
Tried with evals 3.0.1.post1 (Match, Includes, FuzzyMatch).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalstore.errors import LoadError
from evalstore.model import CheckResult, Output
from evalstore.runs.imports.containers import iterate_rows
from evalstore.runs.imports.entry import (
    FileFacts,
    OutputEntry,
    RecordedGrade,
    RecordedMean,
    Series,
    make_entry,
    make_unread_entry,
    read_asked,
    read_id,
)
from evalstore.runs.imports.grades import (
    grade_by_checks,
    make_check,
    name_apart,
    read_passed,
    read_score,
)
from evalstore.runs.imports.messages import read_last_question
from evalstore.runs.record_fields import get_mapping

_UNFINISHED, _MATCH = "started", "match"


@dataclass(slots=True)
class _Sample:
    """What the events of one sample say."""

    line: int
    asked: str = ""
    output: str | None = None
    reference: tuple[str, ...] = ()
    checks: list[CheckResult] = field(default_factory=list)

    def add_event(self, type_: str, data: Mapping[str, Any]) -> None:
        """Add an event; the output of the last `sampling` is the answer."""
        sampled = data.get("sampled", data.get("picked") if self.output is None else None)
        text = sampled[0] if isinstance(sampled, list) and sampled else sampled
        if isinstance(text, str):
            self.output = text
        self.asked = (
            read_last_question(data.get("prompt")) or read_asked(data.get("prompt")) or self.asked
        )
        if type_ == "match":
            expected = data.get("expected")
            several = expected if isinstance(expected, list) else [expected]
            self.reference = tuple(one for one in several if isinstance(one, str))
            passed = read_passed(data.get("correct"))
            self.checks.append(make_check(_MATCH, None, passed, engine="openai/evals"))
        elif type_ == "metrics":
            for name, value in data.items():
                score = read_score(value)
                if score is not None or read_passed(value) is not None:
                    self.checks.append(
                        make_check(name, score, read_passed(value), engine="openai/evals")
                    )

    def build_grade(self) -> RecordedGrade | None:
        """Return the grade that the events give; None if they give none."""
        if not self.checks:
            return None
        # A match is the verdict; metrics beside it, as in FuzzyMatch, repeat and refine it.
        verdicts = [check for check in self.checks if check.id == _MATCH]
        grade = grade_by_checks(verdicts or self.checks, reference=self.reference)
        return grade._replace(checks=name_apart(self.checks))


def is_log(names: AbstractSet[str]) -> bool:
    """Whether a file whose first line has these keys is a log."""
    return (
        "spec.completion_fns" in names
        or "spec.eval_name" in names
        or {"event_id", "sample_id", "type"} <= names
    )


def read_log(path: Path) -> Iterator[OutputEntry]:
    """Yield the samples of a log."""
    samples: dict[str, _Sample] = {}
    model: str | None = None
    for place, row in iterate_rows(path):
        if isinstance(row, LoadError):
            yield make_unread_entry(row)
            continue
        if "spec" in row:
            model = _read_model(row["spec"])
        id_ = read_id(row.get("sample_id"))
        if id_ is not None and isinstance(row.get("type"), str):
            sample = samples.setdefault(id_, _Sample(place.line or 0))
            sample.add_event(row["type"], get_mapping(row, "data"))
    for id_, sample in samples.items():
        answer = Output(sample.output) if sample.output is not None else "no event holds its output"
        asked = (sample.asked,) if sample.asked else ()
        grade = sample.build_grade()
        yield make_entry(Series(model), id_, sample.line, answer, asked, grade=grade)


def read_log_facts(path: Path) -> FileFacts:
    """Return what a log says about itself; without a final report it was never finished."""
    name, model, at, claims, finished = "", None, "", list[RecordedMean](), False
    for _, row in iterate_rows(path):
        if isinstance(row, LoadError):
            continue
        if isinstance(spec := row.get("spec"), dict):
            name, at = read_id(spec.get("eval_name")) or "", read_id(spec.get("created_at")) or ""
            model = _read_model(spec)
        if isinstance(report := row.get("final_report"), dict):
            finished = True
            if (accuracy := read_score(report.get("accuracy"))) is not None:
                claims.append(RecordedMean("accuracy", accuracy, check=_MATCH))
    return FileFacts(name, model or "", at, "" if finished else _UNFINISHED, tuple(claims))


def _read_model(spec: Any) -> str | None:
    several = get_mapping({"spec": spec}, "spec").get("completion_fns")
    return ", ".join(map(str, several)) if isinstance(several, list) and several else None
