"""Reads what another tool recorded about outputs as a run with rows; grades nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path

from evalstore.model import Output, Verdict
from evalstore.model.measures import NO_MEASURES
from evalstore.runs.formats import FileFormat
from evalstore.runs.graded_rows import BareRow
from evalstore.runs.imports.entry import FileFacts, MissingOutput, OutputEntry, RecordedMean, Series
from evalstore.runs.imports.grades import compute_average
from evalstore.runs.imports.series_filter import SeriesFilter, filter_entries
from evalstore.runs.question_mean import Outcome, compute_question_mean
from evalstore.runs.values import CheckSummary, GradedRow, Run, SeriesMean
from evalstore.text import count_noun, make_excerpt

_NEAR = Fraction(1, 100)  # how far an aggregate may differ from its rows: other tools round
_BASELINES = ("without_skill", "old_skill")  # what other configurations are compared with
_SHOWN = 5  # the most contradictory rows to name
_Names = tuple[tuple[str, str | None], ...]  # by part in which outputs differ


def open_recorded(
    path: Path, shape: FileFormat, choice: SeriesFilter | None
) -> tuple[Run, Iterable[BareRow]]:
    """Return the run that another tool's file records, and its rows, which can be read once.

    With a `choice`, only the outputs of one series; raises `RefusedError` if it leaves several.
    Without one, all outputs: if there are several series, a question's id includes its series, and
    each series has a mean, but the run has none.
    """
    read: Callable[[], Iterator[OutputEntry]] = partial(shape.require_reader(), path)
    if choice is not None:
        read = partial(filter_entries, read, choice, str(path))
    tally = _Tally()
    for entry in read():
        tally.add_series(entry)
    numbered = partial(_number_samples, read, tally.list_parts())
    for id_, sample, entry in numbered():
        tally.add_entry(id_, sample, entry)
    run = tally.build_run(path, shape, shape.read_facts(path))
    return run, (
        _make_row(id_, sample, entry) for id_, sample, entry in numbered() if not _is_absent(entry)
    )


def _is_absent(entry: OutputEntry) -> bool:
    """Whether an entry has neither an output nor a grade."""
    return entry.grade is None and isinstance(entry.output, MissingOutput)


def _number_samples(
    read: Callable[[], Iterable[OutputEntry]], parts: tuple[str, ...]
) -> Iterator[tuple[str, int, OutputEntry]]:
    """Yield entries with their questions and samples; samples without numbers get them in order."""
    seen: Counter[tuple[str, str | None]] = Counter()
    for entry in read():
        names = (getattr(entry.series, part) for part in parts)
        id_ = "/".join([entry.output.id, *filter(None, names)])
        recorded = entry.output.sample if not isinstance(entry.output, MissingOutput) else 0
        key = id_, entry.series.epoch
        sample = recorded if entry.series.epoch is not None else seen[key]
        seen[key] += 1
        yield id_, sample, entry


def _make_row(id_: str, sample: int, entry: OutputEntry) -> BareRow:
    grade = entry.grade
    found = None if isinstance(entry.output, MissingOutput) else entry.output
    # Without measures: they grade nothing here, and would make equal texts count as different.
    output = found.output._replace(measures=NO_MEASURES) if found else Output("")
    row = GradedRow(
        id=id_,
        input=found.asked[0] if found and found.asked else "",
        reference=grade.reference if grade else (),
        output=output,
        score=grade.score if grade else None,
        verdict=grade.verdict if grade else Verdict.UNSCORED,
        rubric="",
        rubric_digest="",
        checks=grade.checks if grade else (),
        reason=grade.reason if grade else "",
        sample=sample,
    )
    return BareRow(row, found is not None, "")


@dataclass(slots=True)
class _Tally:
    """The counts of a file's entries: outcomes by series and question, and scores of checks."""

    names: dict[str, dict[str, None]] = field(default_factory=dict)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    series: dict[str, Series] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    checks: dict[str, list[tuple[str, Fraction | None]]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    contradictions: list[str] = field(default_factory=list)
    outputs: int = 0
    unread: int = 0
    repeats: int = 0
    _answered: set[tuple[str, str | None]] = field(default_factory=set)

    def add_series(self, entry: OutputEntry) -> None:
        """Note the names of an entry's series."""
        for part, name in entry.series._asdict().items():
            if name is not None and entry.is_read:
                self.names.setdefault(part, {})[name] = None

    def list_parts(self) -> tuple[str, ...]:
        """Return the parts in which the outputs differ, except epochs, which are samples."""
        return tuple(
            part for part, names in self.names.items() if len(names) > 1 and part != "epoch"
        )

    def add_entry(self, id_: str, sample: int, entry: OutputEntry) -> None:
        """Count one entry of a question."""
        self.unread += not entry.is_read
        if _is_absent(entry):
            line = entry.output.line
            reason = entry.output.reason if isinstance(entry.output, MissingOutput) else ""
            self.missing[id_ or f"line {line}"] = reason
            return
        if not isinstance(entry.output, MissingOutput):
            answer = id_, entry.series.epoch
            self.repeats += answer in self._answered
            self._answered.add(answer)
        grade = entry.grade
        self.outputs += 1
        self.series[id_] = entry.series
        self.questions[id_] = entry.output.id
        score, verdict = (grade.score, grade.verdict) if grade else (None, Verdict.UNSCORED)
        self.outcomes.setdefault(id_, []).append((score, verdict))
        for check in grade.checks if grade else ():
            self.checks.setdefault(check.id, []).append((id_, check.score))
        if grade and _contradict(grade.stated, score):
            name = f"{id_} (sample {sample + 1})" if sample else id_
            words = f"{make_excerpt(name, 40)}: {_describe(grade.stated)}, its checks give"
            self.contradictions.append(f"{words} {_describe(score)}")

    def build_run(self, path: Path, shape: FileFormat, facts: FileFacts) -> Run:
        """Return the run; it has no mean if the outputs are of several series."""
        means = {id_: compute_question_mean(found) for id_, found in self.outcomes.items()}
        parts = self.list_parts()
        several: dict[_Names, dict[str, Fraction]] = {}
        for id_, mean in means.items():
            own = several.setdefault(
                tuple((part, getattr(self.series[id_], part)) for part in parts), {}
            )
            if mean.score is not None:
                own[self.questions[id_]] = mean.score
        known = [mean for mean in means.values() if mean.score is not None]
        return Run(
            path=path,
            samples=path,
            id=facts.name or path.stem,
            name=facts.name or shape.tool,
            at=facts.at,
            model=self._name_model(facts),
            dataset=None,
            rubrics=(),
            outputs_sha256="",
            score=None if parts else compute_average(mean.score for mean in known),
            pass_rate=None if parts else compute_average(mean.pass_share for mean in known),
            scored=len(known),
            unscored=len(means) - len(known),
            checks={id_: _sum_check(found) for id_, found in self.checks.items()},
            harness={},
            without_output=len(self.missing),
            outputs=self.outputs,
            missing_outputs=self.missing,
            notes=tuple(self._list_notes(shape, facts)),
            series=tuple(_list_series(several if parts else {})),
            unread_rows=self.unread,
            log_status=facts.status,
        )

    def _list_notes(self, shape: FileFormat, facts: FileFacts) -> Iterator[str]:
        yield from self.contradictions[:_SHOWN]
        if (more := len(self.contradictions) - _SHOWN) > 0:
            yield f"and {count_noun(more, 'more output')} whose aggregate contradicts its checks"
        for claim in facts.claims:
            given = self._find_mean(claim)
            if _contradict(claim.value, given):
                yield (
                    f"its {claim.name} says {_describe(claim.value)}, its rows give "
                    f"{_describe(given)}"
                )
        if self.repeats:
            yield (
                f"outputs that repeat a question, and no number tells apart: {self.repeats:,}; "
                "they count as its samples"
            )
        if facts.note:
            yield facts.note
        if self.outputs and shape.score_note:
            yield shape.score_note

    def _find_mean(self, claim: RecordedMean) -> Fraction | None:
        """Compute from the rows the mean that the file states; every output counts the same."""
        if claim.check:
            return compute_average(score for _, score in self.checks.get(claim.check, ()))
        wanted: list[Outcome] = []
        for id_, found in self.outcomes.items():
            if claim.configuration in {None, self.series[id_].configuration}:
                wanted += found
        if claim.is_pass_rate:
            verdicts = (verdict for _, verdict in wanted if verdict is not Verdict.UNSCORED)
            return compute_average(Fraction(verdict is Verdict.PASS) for verdict in verdicts)
        return compute_average(score for score, _ in wanted)

    def _name_model(self, facts: FileFacts) -> str:
        """Return the model of all outputs; empty if there are several."""
        models = self.names.get("model", {})
        if not models:
            return facts.model
        return next(iter(models)) if len(models) == 1 else ""


def _list_series(several: Mapping[_Names, Mapping[str, Fraction]]) -> Iterator[SeriesMean]:
    """Yield the mean of each series, and its difference from the baseline.

    If no series has a baseline's name, the first series of the file is the baseline.
    """
    titles = {"/".join(name for _, name in names if name): names for names in several}
    base = next((title for title in _BASELINES if title in titles), next(iter(titles), ""))
    for title, names in titles.items():
        scores = several[names]
        held = {} if title == base else several[titles[base]]
        changes = [score - held[id_] for id_, score in scores.items() if id_ in held]
        yield SeriesMean(
            title,
            compute_average(scores.values()),
            len(scores),
            compute_average(changes),
            len(changes),
            is_baseline=title == base,
            only={part: name for part, name in names if name is not None},
        )


def _contradict(stated: Fraction | None, given: Fraction | None) -> bool:
    return stated is not None and given is not None and abs(stated - given) > _NEAR


def _describe(score: Fraction | None) -> str:
    return "no score" if score is None else f"{float(score) * 100:.2f}"


def _sum_check(results: list[tuple[str, Fraction | None]]) -> CheckSummary:
    scores = [score for _, score in results if score is not None]
    unscored = len(results) - len(scores)
    lost = tuple(id_ for id_, score in results if score is None)
    return CheckSummary(
        compute_average(scores), len(scores), scores.count(Fraction(0)), unscored, unscored, lost
    )
