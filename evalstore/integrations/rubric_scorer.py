"""`scorer`: a rubric as a function of one output, for any harness; it needs neither its store nor a harness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalstore.integrations.explanation import explain_result
from evalstore.integrations.numbers import convert_numbers, to_decimal
from evalstore.integrations.ruler import ReplyLookup, Ruler, load_ruler
from evalstore.judging import Judges, open_session
from evalstore.model import CheckResult, JudgeCall, JudgeReply, Output, Question, Sample, Verdict, has_failed_check
from evalstore.scoring.grading import ArtifactResolver
from evalstore.store import ArtifactStore

_PASSED = {Verdict.PASS: True, Verdict.FAIL: False, Verdict.UNSCORED: None}


@dataclass(frozen=True, slots=True)
class Graded:
    """The grade of one output: an exact score in [0, 1] and whether it passed, both None where nothing was graded.

    `reason` is a few lines for people; `ref` and `digest` name the rubric that graded.
    """

    score: Fraction | None
    passed: bool | None
    reason: str
    checks: tuple[CheckResult, ...]
    ref: str
    digest: str

    @property
    def is_complete(self) -> bool:
        """Whether no check failed: without a judge that was not asked, a rubric may pass by its other checks."""
        return not has_failed_check(self.checks)

    @property
    def surely_passed(self) -> bool:
        """Whether it passes, and no check failed."""
        return self.passed is True and self.is_complete


@dataclass(frozen=True, slots=True)
class RubricScorer:
    """A rubric as a function of outputs: can be pickled, and called from many threads.

    Judges answer from the replies in the git directory `common` that the store had, or as `judges` says.
    """

    ruler: Ruler
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
        """Grade one output; `question` are further keys of its question, such as `expected_facts` or `criteria`."""
        keys = {"expected": expected} if expected is not None else {}
        row = {"id": "", "input": input, **convert_numbers({**keys, **question}, to_decimal)}
        calls = None if tool_calls is None else tuple(convert_numbers(list(tool_calls), to_decimal))
        sample = Sample(Output(output, calls), Question(str(row["id"]), input, row))
        replies: Mapping[str, JudgeReply] = {}
        while True:
            result, missing = self.ruler.grade(sample, replies)
            if not missing:
                pin, reason = self.ruler.pin, explain_result(result)
                return Graded(result.score, _PASSED[result.verdict], reason, result.checks, pin.ref, pin.digest)
            replies = {**replies, **self._find_replies(missing)}

    def _find_replies(self, missing: Mapping[str, JudgeCall]) -> dict[str, JudgeReply]:
        """Return the reply to each call: kept, or asked for now where an endpoint is named."""
        with open_session(self.judges, lambda: self.common) as session:
            replies = {key: session.ask(call) for key, call in missing.items()}
            if not session.can_ask:
                return replies
            session.ask_missing()
            return {key: session.ask(call) for key, call in missing.items()}


def scorer(rubric: str, *, store: ArtifactStore | Path | str = ".", judges: Judges | None = None) -> RubricScorer:
    """Return the rubric that a reference names as a function of outputs, with all that it refers to.

    `store` is the folder of a store, or an opened one; it is not needed any more afterwards. A reference that floats
    is resolved now, and the grades say as what. Raises `EvalstoreError` for a rubric that is not there or unreadable.
    """
    if isinstance(store, ArtifactStore):
        return _load_scorer(rubric, store, judges or Judges())
    with ArtifactStore.open(store) as opened:
        return _load_scorer(rubric, opened, judges or Judges())


def _load_scorer(rubric: str, store: ArtifactStore, judges: Judges) -> RubricScorer:
    used = ArtifactResolver(store, ReplyLookup().find_reply, judges.model)
    return RubricScorer(load_ruler(used, rubric), judges, store.git.find_common_directory())
