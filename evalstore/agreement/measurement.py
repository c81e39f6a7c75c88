"""Measures a judge against people: judges labelled rows and counts agreement.

No clock or writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path

from evalstore.agreement.confusion import Agreement, LabelledCase, LabelTally
from evalstore.agreement.labels import QUESTION_KEYS, LabelledRow, read_labels
from evalstore.checks import CheckContext, prepare_check
from evalstore.checks.judges import prepare_judge
from evalstore.checks.kinds.llm_judge import make_judge_check
from evalstore.errors import LoadError, Place, RefusedError, UsageError
from evalstore.model import (
    Check,
    CheckResult,
    Grade,
    Kind,
    Output,
    PinType,
    Question,
    Sample,
    Verdict,
    parse_ref,
)
from evalstore.model.rubric import JUDGED_THRESHOLD
from evalstore.runs import compute_file_sha256
from evalstore.scoring.grading import (
    FloatingRefs,
    Grading,
    format_exact_ref,
    open_grading,
    pin_resolved,
)
from evalstore.scoring.judging import CallPlan, Judges
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import QuestionIndex, open_question_index
from evalstore.text import count_noun, find_nearest, make_excerpt

_Items = tuple[tuple[str, str], ...]
_NO_ENDPOINT_HINT = (
    "name an endpoint (EVALSTORE_JUDGE_URL, --judge-url), or write each row's `verdict` next to "
    "its label"
)


@dataclass(frozen=True, slots=True)
class JudgeUnderTest:
    """A judge that grades labelled rows: its template's names, its variables and their values.

    `model` is the name of the model that it asks.
    """

    ref: str
    model: str
    template_names: Sequence[str]
    variables: Sequence[str]
    variable_values: Mapping[str, str]
    prepare: Callable[[_Items], Callable[[Sample], CheckResult]]

    def grade_row(self, label: LabelledRow, question: Question, file: str) -> CheckResult:
        """Judge one row.

        Raises `LoadError` at its line if it lacks something that the template reads.
        """
        values = {**self.variable_values, **label.variables}
        self._check_row(question, values, Place(file, label.line))
        return self.prepare(tuple(sorted(values.items())))(Sample(Output(label.output), question))

    def _check_row(self, question: Question, values: Mapping[str, str], place: Place) -> None:
        if unknown := _find_unknown(values, self.variables):
            raise LoadError(
                f"{self.ref} has no variable `{make_excerpt(unknown, 60)}`", place=place
            )
        if "input" in self.template_names and "input" not in question.row:
            hint = "write it into the row, or name the dataset of the rows with --against"
            raise LoadError(
                f"{self.ref} needs the input, but this row has none", place=place, hint=hint
            )
        for name in self.variables:
            if name in self.template_names and name not in values:
                hint = f"say --var {name}=TEXT, or write `variables` into the row"
                raise LoadError(
                    f"nothing fills {{{{ {name} }}}} of {self.ref}", place=place, hint=hint
                )


def open_judge(
    ref: str, context: CheckContext, threshold: Fraction, values: Mapping[str, str]
) -> JudgeUnderTest:
    """Return the judge that `ref` names, with `values` for its variables.

    Refuses an unusable one.
    """
    # Fill every declared variable, so that the judge can be prepared before the first row supplies
    # values.
    declared = context.load_artifact(ref, Kind.JUDGE).value.get("variables", ())
    juror = prepare_judge(ref, context, model={}, variable_names=declared)
    if isinstance(juror, Grade):
        raise RefusedError(juror.reason)
    if unknown := _find_unknown(values, juror.definition.variables):
        near = find_nearest(unknown, juror.definition.variables)
        known = (
            f"did you mean {near}?"
            if near
            else f"its variables: {', '.join(juror.definition.variables) or 'none'}"
        )
        raise UsageError(f"{ref} has no variable {make_excerpt(unknown, 60)!r}", hint=known)

    @lru_cache(64)  # sets of variables that are kept ready
    def prepare(items: _Items) -> Callable[[Sample], CheckResult]:
        check = make_judge_check(ref, dict(items))
        return prepare_check(Check(check["id"], check["kind"], check, threshold), context)

    return JudgeUnderTest(
        ref,
        str(juror.model["id"]),
        juror.names,
        juror.definition.variables,
        values,
        prepare,
    )


def _find_unknown(values: Mapping[str, str], variables: Sequence[str]) -> str | None:
    return next((name for name in values if name not in variables), None)


@dataclass(frozen=True, slots=True)
class MeasurementRequest:
    """What to measure: a judge (without a pin, the working tree's), labelled rows, their dataset.

    The judge passes an output if its score is at least `threshold`; `variables` fill its template
    in every row.
    """

    judge: str
    labels: Path
    against: str | None = None
    threshold: Fraction = JUDGED_THRESHOLD
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """All parts of a measurement before the first row is judged; `against` is its dataset.

    `trusts_rows`: a verdict in a row is this judge's.
    """

    request: MeasurementRequest
    judge: Resolved
    against: Resolved | None
    questions: QuestionIndex | None
    grading: Grading
    trusts_rows: bool = True

    def plan_calls(self) -> CallPlan:
        """Return the judge calls that measuring would make, without making any."""
        self._count_rows()
        return self.grading.session.plan_calls()

    def measure_agreement(self) -> Agreement:
        """Judge, and ask for replies until none is missing; refuses if no row is left."""
        tally = self.grading.session.repeat_until_answered(self._count_rows)
        self.grading.session.refuse_missing(_NO_ENDPOINT_HINT)
        agreement = self.build_agreement(tally)
        # If labels supplied all verdicts, nothing is known about a model.
        retires = (
            self.grading.session.find_retirement(self._judge_under_test.model)
            if agreement.engines
            else None
        )
        return replace(agreement, retires=retires)

    @property
    def _file(self) -> str:
        return str(self.request.labels)

    @cached_property
    def _judge_under_test(self) -> JudgeUnderTest:
        request = self.request
        return open_judge(
            self.judge.ref, self.grading.context, request.threshold, request.variables
        )

    def _count_rows(self) -> LabelTally:
        tally = LabelTally()
        for _ in self.judge_rows(tally):
            pass
        return tally

    def judge_rows(self, tally: LabelTally) -> Iterator[LabelledCase]:
        """Yield every row with its verdict, counted in `tally`; a call without a reply is noted."""
        for label in read_labels(self.request.labels):
            question = self._find_question(label)
            if label.verdict is not None and self.trusts_rows:
                yield tally.add_recorded_verdict(label)
                continue
            if not label.has_output:
                raise LoadError(
                    "this row has no `output` to judge", place=Place(self._file, label.line)
                )
            yield tally.add_judged_verdict(
                label, self._judge_under_test.grade_row(label, question, self._file)
            )

    def _find_question(self, label: LabelledRow) -> Question:
        """Return a row's question: the dataset's, which the row must not contradict, or its own."""
        if self.questions is None or self.against is None:
            return Question(
                label.id, str(label.question_fields.get("input", "")), label.question_fields
            )
        name, place = format_exact_ref(self.against), Place(self._file, label.line)
        found = self.questions.find(label.id)
        if found is None:
            message = f"there is no question '{make_excerpt(label.id, 60)}' in {name}"
            raise LoadError(message, place=place, hint="rows and questions are matched by id")
        question = found[1]
        for key in QUESTION_KEYS:
            # A row that contradicts the dataset was labelled for another question.
            if key in label.question_fields and label.question_fields[key] != question.row.get(key):
                message = f"the `{key}` of this row differs from the one in {name}"
                raise LoadError(message, place=place, hint="remove it: the dataset has it")
        return question

    def build_agreement(self, tally: LabelTally) -> Agreement:
        """Return the counts; raises `RefusedError` if no row has a verdict."""
        if not tally.confusion.rows:
            first = tally.left_out[0]
            raise RefusedError(
                f"none of {tally.unjudged_count:,} rows could be judged; the first: {first.reason}",
                place=Place(self._file, first.line),
            )
        return Agreement(
            judge=pin_resolved(self.judge),
            labels=self._file,
            labels_sha256=compute_file_sha256(self.request.labels),
            threshold=self.request.threshold,
            confusion=tally.confusion,
            against=pin_resolved(self.against) if self.against else None,
            read=tally.read,
            unjudged=tally.unjudged_count,
            engines=tuple(sorted(tally.engines)),
            apart=tuple(tally.apart),
            left_out=tuple(tally.left_out),
            notes=(
                *self.grading.artifacts.notes,
                *self.grading.session.list_notes(),
                *self.grading.session.list_usage_notes(),
                *self._list_notes(tally),
            ),
        )

    def _list_notes(self, tally: LabelTally) -> Iterator[str]:
        found = tally.confusion
        if (
            self.questions
            and self.against
            and (left := self.questions.count - len(tally.questions))
        ):
            yield (
                f"questions of {format_exact_ref(self.against)} without a label: {left:,} of "
                f"{self.questions.count:,}"
            )
        rows = found.rows + tally.unjudged_count
        if len(tally.questions) < rows:
            yield (
                f"{rows:,} rows are of {count_noun(len(tally.questions), 'question')}: the "
                "intervals take them for as many questions, and are too narrow where answers "
                "to one are alike"
            )
        for rate, name, word in (
            (found.tpr, "TPR", Verdict.PASS),
            (found.tnr, "TNR", Verdict.FAIL),
        ):
            if not rate.of:
                yield f"{name} is undefined: no judged row is labelled {word}"


@contextmanager
def open_measurement(
    request: MeasurementRequest, *, store: ArtifactStore, judges: Judges
) -> Iterator[Measurement]:
    """Open a measurement with its judge, dataset, questions and cache of replies."""
    with open_grading(store, judges, floating=FloatingRefs.BY_SETTINGS) as grading:
        judge = resolve_kind(grading, request.judge, Kind.JUDGE)
        against = resolve_kind(grading, request.against, Kind.DATASET) if request.against else None
        with open_question_index(against, store) if against else nullcontext() as questions:
            yield Measurement(request, judge, against, questions, grading)


def resolve_kind(grading: Grading, ref: str, kind: Kind) -> Resolved:
    """Resolve a reference that must have one kind; a judge without a pin is the working file."""
    parsed = parse_ref(ref)
    if parsed.kind is not kind:
        raise RefusedError(f"{ref} is a {parsed.kind}, not a {kind}", hint=f"{kind}/<id> names one")
    # A judge is measured before its release, so a reference without a pin is the working file.
    working = kind is Kind.JUDGE and parsed.type is PinType.NONE
    return grading.artifacts.resolve(f"{parsed.name}@worktree" if working else ref)
