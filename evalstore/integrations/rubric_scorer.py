"""`scorer`: a rubric as a function of one output, for any harness.

It needs neither a store nor a harness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import Any

from evalstore.arguments import require_arguments
from evalstore.checks import CheckContext, prepare_rubric
from evalstore.errors import RefError
from evalstore.model import (
    Artifact,
    CheckResult,
    JudgeCall,
    JudgeReply,
    Kind,
    Output,
    Question,
    RubricResult,
    Sample,
    Verdict,
    format_score,
    has_failed_check,
    read_rubric,
)
from evalstore.model.question import REFERENCE_KEYS
from evalstore.model.question_params import list_value_keys
from evalstore.runs import UsedArtifact
from evalstore.scoring.grading import ArtifactResolver
from evalstore.scoring.judging import Judges, open_session
from evalstore.store import ArtifactStore, OpenedStore
from evalstore.text import make_printable

_PASSED = {Verdict.PASS: True, Verdict.FAIL: False, Verdict.UNSCORED: None}


def explain_result(result: RubricResult) -> str:
    """Return the verdict with its score, then each check that did not pass, with its reason.

    These checks failed or are unscored.
    """
    return "\n".join(_list_lines(result))


def _list_lines(result: RubricResult) -> Iterator[str]:
    score = "" if result.score is None else f" ({format_score(result.score)})"
    yield f"{result.verdict}{score}" + (
        f": {make_printable(result.reason)}" if result.reason else ""
    )
    for check in result.checks:
        if check.verdict is Verdict.FAIL and check.score is not None:
            yield (
                f"- {check.id} failed ({format_score(check.score)}): {make_printable(check.reason)}"
            )
        elif check.unscored:
            yield f"- {check.id} unscored ({check.unscored}): {make_printable(check.reason)}"


def convert_numbers(value: Any, number: Callable[[Any], Any]) -> Any:
    """Return plain data with every number converted by `number`."""
    if isinstance(value, Mapping):
        return {str(key): convert_numbers(item, number) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [convert_numbers(item, number) for item in value]
    return number(value)


def to_decimal(value: Any) -> Any:
    """Return a float as the decimal that it is written as; what is not data, as its text."""
    if isinstance(value, float) and isfinite(value):
        return Decimal(repr(value))
    return value if value is None or isinstance(value, str | int | float | Decimal) else str(value)


@dataclass(slots=True)
class ReplyLookup:
    """Answers the checks of one rubric from known replies.

    It notes the calls whose replies are missing.
    """

    replies: Mapping[str, JudgeReply] = field(default_factory=dict)
    missing: dict[str, JudgeCall] = field(default_factory=dict)

    def take_reply(self, call: JudgeCall) -> JudgeReply:
        """Return the reply to a call, or note the call."""
        key = call.key
        if key in self.replies:
            return self.replies[key]
        self.missing[key] = call
        return JudgeReply(problem="not asked yet")


class _Bench:
    """What one process makes of a rubric: prepared checks, and the lock under which they grade."""

    def __init__(self, released: ReleasedRubric) -> None:
        self.lock, self.lookup = Lock(), ReplyLookup()
        context = CheckContext(
            released.load, self.lookup.take_reply, released.model, strict=released.strict
        )
        self.grade: Callable[[Sample], RubricResult] = prepare_rubric(
            read_rubric(released.rubric.value), context
        )


@dataclass(frozen=True)
class ReleasedRubric:
    """One rubric: its pin, the artifact, and what its checks refer to.

    `judges` are those among what they refer to. `model` is the one for judges and checks that name
    none; `strict` accepts no approximate engine. Equal ones give equal results; pickling one keeps
    everything except what is prepared.
    """

    pin: UsedArtifact
    rubric: Artifact
    artifacts: Mapping[str, Artifact]
    judges: tuple[UsedArtifact, ...]
    model: Mapping[str, Any]
    strict: bool
    _bench: list[_Bench] = field(default_factory=list, compare=False, repr=False)

    @property
    def threshold(self) -> Fraction:
        """The score from which on the rubric passes."""
        return read_rubric(self.rubric.value).scoring.threshold

    @property
    def question_keys(self) -> frozenset[str]:
        """The keys of a question that checks read.

        They read them as a reference, or as a value that a rubric takes.
        """
        rubrics = [
            self.rubric,
            *(one for one in self.artifacts.values() if one.kind is Kind.RUBRIC),
        ]
        return frozenset(REFERENCE_KEYS) | list_value_keys(rubric.value for rubric in rubrics)

    def load(self, ref: str) -> Artifact:
        """Return what a check refers to."""
        if ref not in self.artifacts:
            raise RefError(f"{ref} is not part of {self.pin.ref}")
        return self.artifacts[ref]

    def grade(
        self, sample: Sample, replies: Mapping[str, JudgeReply]
    ) -> tuple[RubricResult, Mapping[str, JudgeCall]]:
        """Grade one sample with `replies`, which are by call key.

        Returns the result and the calls without a reply.
        """
        if not self._bench:
            self._bench.append(_Bench(self))
        bench = self._bench[0]
        # Parsers and patterns keep state while they work.
        with bench.lock:
            bench.lookup.replies, bench.lookup.missing = replies, {}
            return bench.grade(sample), bench.lookup.missing

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_bench": []}


def load_released_rubric(used: ArtifactResolver, ref: str) -> ReleasedRubric:
    """Return the rubric that `ref` names, with everything that it refers to."""
    prepared, resolved = used.prepare_rubric(ref), used.resolve(ref)
    return ReleasedRubric(
        prepared.pin,
        resolved.artifact,
        used.artifacts,
        used.list_pins(Kind.JUDGE),
        used.model,
        used.store.strict,
    )


@dataclass(frozen=True, slots=True)
class Graded:
    """The grade of one output.

    Attributes:
        score: An exact fraction of 1; None if nothing was graded.
        passed: Whether it passes; None if nothing was graded.
        reason: A few lines for people, with the score in points of 100.
        checks: The results of the checks, each with `.id`, `.score`, `.verdict` and `.reason`.
        ref: The rubric that graded, with its version.
        digest: The digest of that rubric.

    Examples:
        >>> graded = scorer("rubric/answer_style")("Run `export`.")
        >>> graded.score, graded.passed, graded.ref
        (Fraction(1, 2), False, 'rubric/answer_style@1.0.0')
    """

    score: Fraction | None
    passed: bool | None
    reason: str
    checks: tuple[CheckResult, ...]
    ref: str
    digest: str

    @property
    def is_complete(self) -> bool:
        """Whether every check could be graded.

        If a judge was not asked, a rubric may still pass by its other checks.
        """
        return not has_failed_check(self.checks)

    @property
    def surely_passed(self) -> bool:
        """Whether it passes, and every check could be graded."""
        return self.passed is True and self.is_complete


@dataclass(frozen=True, slots=True)
class RubricScorer:
    """A rubric as a function of outputs, made by `scorer`.

    It can be pickled, and called in many threads.

    Attributes:
        released: The rubric with everything that it refers to.
        judges: Who answers for its judges.
        common: The git directory whose kept replies answer first.

    Examples:
        >>> grade = scorer("rubric/answer_style", store=store)
        >>> grade("Run `export`, because it writes CSV.", input="How do I get my data out?").passed
        True
    """

    released: ReleasedRubric
    judges: Judges
    common: Path

    def __call__(
        self,
        output: str,
        *,
        input: str = "",  # noqa: A002  # the word of datasets
        expected: Any = None,
        tool_calls: Iterable[Mapping[str, Any]] | None = None,
        **question: Any,
    ) -> Graded:
        """Grade one output.

        `question` has further keys of its question, such as `expected_facts` or `criteria`.
        """
        keys = {"expected": expected} if expected is not None else {}
        return self.grade(output, {"input": input, **keys, **question}, tool_calls)

    def grade(
        self,
        output: str,
        question: Mapping[str, Any],
        tool_calls: Iterable[Mapping[str, Any]] | None = None,
    ) -> Graded:
        """Grade one output to a question.

        Args:
            output: The text.
            question: The keys of the question, such as `input`, `expected` or `expected_facts`.
            tool_calls: The tool calls, each `{name, args}`.

        Returns:
            The grade.

        Raises:
            ArgumentError: The output is not a text.

        Examples:
            >>> scorer("rubric/answer_style").grade("Run `export`.", {"input": "How?"}).score
            Fraction(1, 2)
        """
        require_arguments(RubricScorer.grade, locals())
        row = {"id": "", "input": "", **convert_numbers(question, to_decimal)}
        calls = None if tool_calls is None else tuple(convert_numbers(list(tool_calls), to_decimal))
        sample = Sample(Output(output, calls), Question(str(row["id"]), str(row["input"]), row))
        replies: Mapping[str, JudgeReply] = {}
        while True:
            result, missing = self.released.grade(sample, replies)
            if not missing:
                pin, reason = self.released.pin, explain_result(result)
                return Graded(
                    result.score,
                    _PASSED[result.verdict],
                    reason,
                    result.checks,
                    pin.ref,
                    pin.digest,
                )
            replies = {**replies, **self._ask_judges(missing)}

    def _ask_judges(self, missing: Mapping[str, JudgeCall]) -> dict[str, JudgeReply]:
        """Return the reply to each call: a kept one, or a new one if an endpoint is named."""
        with open_session(self.judges, self.common) as session:
            replies = {key: session.ask(call) for key, call in missing.items()}
            if not session.can_ask:
                return replies
            session.ask_missing()
            return {key: session.ask(call) for key, call in missing.items()}


def scorer(
    rubric: str, *, store: OpenedStore | Path | str = ".", judges: Judges | None = None
) -> RubricScorer:
    """Make a function of outputs from a rubric; the store is not needed afterwards.

    Args:
        rubric: A reference; a floating one is resolved now, and the grades name the result.
        store: The folder of a store, or an open store.
        judges: Who answers when no reply is kept, as for `evaluate`.

    Returns:
        The function: `grade(output, input=…, expected=…)`.

    Raises:
        RefError: There is no such rubric.
        RefusedError: It cannot be read.

    Examples:
        >>> scorer("rubric/answer_style")("I hope this helps!").passed
        False
    """
    require_arguments(scorer, locals())
    if isinstance(store, OpenedStore):
        return _load_scorer(rubric, store.artifacts, judges or Judges())
    with ArtifactStore.open(store) as opened:
        return _load_scorer(rubric, opened, judges or Judges())


def _load_scorer(rubric: str, store: ArtifactStore, judges: Judges) -> RubricScorer:
    used = ArtifactResolver(store, ReplyLookup().take_reply, judges.model)
    return RubricScorer(load_released_rubric(used, rubric), judges, store.git.common)
