"""The oracle: one side of a pair as a function of samples, graded by the real scorer; only models are stood in for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.checks import CheckContext
from evalstore.checks.evaluate import prepare_rubric
from evalstore.documents import Document
from evalstore.errors import EvalstoreError, RefError
from evalstore.model import (
    Artifact,
    JudgeCall,
    JudgeReply,
    Kind,
    Rubric,
    RubricResult,
    Sample,
    UnscoredReason,
    Verdict,
    iterate_questions,
    read_judge,
    read_rubric,
)
from tests.diff.fuzz import judges
from tests.diff.fuzz.pair import Drawn, Pair, Value

_MISFITS = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError, EvalstoreError)
_RUN = {"id": "run"}
# How a judge that stands alone is asked: as a check, and of facts.
_ASKING = [
    {"kind": "llm_judge", "judge_prompt_ref": "judge/it@1.0.0", "variables": {"criterion": "a", "fact": "b"}},
    {"kind": "fact_match", "judge_prompt_ref": "judge/it@1.0.0", "facts": ["a", "b"]},
]


class Answer(NamedTuple):
    """What one question's output gets; `whole`: every check was scored, `erred`: one could not be graded.

    `checks` are their verdicts by id.
    """

    score: Fraction | None
    verdict: str
    whole: bool = True
    erred: bool = False
    checks: tuple[tuple[str, str], ...] = ()

    @property
    def seen(self) -> tuple[Fraction | None, str]:
        """What may not move."""
        return self.score, self.verdict


Answers = Mapping[str, Answer]
Grade = Callable[[Drawn], Answers]
REFUSED = Answer(None, "refused", whole=False, erred=True)
# A reference that leads nowhere: validation refuses it, and nothing is claimed of what cannot be run at all.
NOWHERE = Answer(None, "nowhere", whole=False, erred=True)


@dataclass(slots=True)
class Models:
    """All models of a pair; they answer as the current sample says."""

    pair: Pair
    drawn: Drawn

    def ask(self, call: JudgeCall) -> JudgeReply:
        """Answer one call."""
        return judges.ask(self.drawn)(call)

    def context(self, load: Callable[[str], Artifact] | None = None) -> CheckContext:
        """Return what checks may reach."""
        return CheckContext(load or self.load, self.ask, _RUN)

    def load(self, ref: str) -> Artifact:
        """Return what a reference names; `RefError` also where that can be read as nothing, and so be released."""
        artifact = self.pair.load(ref)
        try:
            (read_judge if artifact.kind is Kind.JUDGE else read_rubric)(artifact.value)
        except _MISFITS:
            raise RefError(f"{ref} cannot be read") from None
        return artifact


def graders(pair: Pair) -> tuple[Grade, Grade]:
    """Return both sides, prepared once."""
    models = Models(pair, Drawn(""))
    return grader(pair.old, models), grader(pair.new, models)


def grader(value: Value | Rubric, models: Models) -> Grade:
    """Return one side as a function of samples: answers by question, of which a rubric has one."""
    if isinstance(value, Rubric):
        return _one("", _prepared(lambda: prepare_rubric(value, models.context())), models)
    if "template" in value:
        asks = [_asking(value, check, models) for check in _ASKING]
        return _joined([_one(str(index), ask, models) for index, ask in enumerate(asks)])
    return _dataset(value, models) if "questions" in value else _one("", _rubric(value, models), models)


def _prepared(make: Callable[[], Callable[[Sample], RubricResult]]) -> Callable[[Sample], Answer]:
    try:
        grade = make()
    except RefError:
        return lambda _: NOWHERE
    except _MISFITS:
        return lambda _: REFUSED

    def answer(sample: Sample) -> Answer:
        try:
            return _answer(grade(sample))
        except _MISFITS:
            return REFUSED

    return answer


def _answer(result: RubricResult) -> Answer:
    # What was unscored within a composite is in the words of the outer check alone.
    whole = not any(check.score is None or " is unscored: " in check.reason for check in result.checks)
    erred = any(check.unscored is UnscoredReason.ERROR or " is unscored: " in check.reason for check in result.checks)
    verdicts = tuple(sorted((check.id, str(check.verdict)) for check in result.checks))
    return Answer(result.score, str(result.verdict), whole, erred, verdicts)


def _rubric(value: Value, models: Models) -> Callable[[Sample], Answer]:
    return _prepared(lambda: prepare_rubric(read_rubric(value), models.context()))


def _asking(value: Value, check: Value, models: Models) -> Callable[[Sample], Answer]:
    artifact = Artifact(Kind.JUDGE, str(value.get("id")), str(value.get("version")), Document("", "", value, {}, {}))
    rubric = {"checks": [{"id": "it", **check}], "scoring": {"combine": "weighted_avg", "threshold": 1}}
    return _prepared(lambda: prepare_rubric(read_rubric(rubric), models.context(lambda _: artifact)))


def _one(id_: str, answer: Callable[[Sample], Answer], models: Models) -> Grade:
    def grade(drawn: Drawn) -> Answers:
        models.drawn = drawn
        return {id_: answer(Sample(drawn.output(), drawn.asked()))}

    return grade


def _joined(grades: list[Grade]) -> Grade:
    return lambda drawn: {id_: answer for grade in grades for id_, answer in grade(drawn).items()}


def _dataset(value: Value, models: Models) -> Grade:
    try:
        questions = list(iterate_questions(value))
    except _MISFITS:
        return lambda _: {"": REFUSED}
    rulers: dict[Any, Callable[[Sample], Answer]] = {None: lambda _: Answer(None, str(Verdict.UNSCORED), whole=False)}
    for ref in {question.rubric_ref for question in questions} - {None}:
        rulers[ref] = _loaded(str(ref), models)

    def grade(drawn: Drawn) -> Answers:
        models.drawn = drawn
        return {one.id: rulers[one.rubric_ref](Sample(drawn.output(), one)) for one in questions}

    return grade


def _loaded(ref: str, models: Models) -> Callable[[Sample], Answer]:
    try:
        return _rubric(models.pair.load(ref).value, models)
    except EvalstoreError:
        return lambda _: NOWHERE
