"""Replays stored outputs check by check: the grader, what its checks load, and the drift from recorded results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalstore.audits.stored_run import QuestionVersion, RunRubric, StoredRun
from evalstore.audits.values import Drift
from evalstore.audits.version_path import VersionFinder
from evalstore.checks import CheckContext, combine_results, prepare_check
from evalstore.documents import read_row
from evalstore.errors import RefusedError, SchemaError
from evalstore.judging import NO_REPLY, JudgeSession
from evalstore.model import (
    Artifact,
    Check,
    CheckResult,
    JudgeCall,
    JudgeReply,
    PinType,
    RubricResult,
    Sample,
    UnscoredReason,
    Verdict,
    find_check_pins,
    parse_ref,
)
from evalstore.runs import GradedRow, Run, UsedArtifact

_ResultKey = tuple[str, str, str, str]
_STEADY = frozenset({PinType.EXACT, PinType.REVISION})


@dataclass(slots=True)
class Grader:
    """Grades checks; results under the runs' own rubrics are kept in memory, because hybrids hold the same checks.

    A check that asks judges is graded from cached replies. Where the cache lacks those that a run saw, the result that
    the run recorded for the same check on the same output is used (the `reuse_keys`); else its calls are noted as
    missing (`missing_count` counts them).
    """

    load: Callable[[str], Artifact]
    session: JudgeSession
    model: Mapping[str, Any]
    strict: bool
    reuse_keys: set[_ResultKey] = field(default_factory=set)
    missing_count: int = 0
    _missing_calls: list[JudgeCall] = field(default_factory=list)
    _wanted_replies: tuple[str, ...] = ()
    _run_results: dict[_ResultKey, CheckResult] = field(default_factory=dict)
    _results: dict[_ResultKey, CheckResult] = field(default_factory=dict)
    _graders: dict[str, Callable[[Sample], CheckResult]] = field(default_factory=dict)

    def add_recorded_results(self, stored: StoredRun) -> None:
        """Keep the results that a run recorded for checks that refer to judges or rubrics."""
        for id_, row in stored.rows.items():
            if row.rubric in stored.rubrics and id_ in stored.questions:
                question_key, results = _make_key(stored.questions[id_], row), {check.id: check for check in row.checks}
                for check, content in stored.rubrics[row.rubric].checks:
                    if check.id in results and any(find_check_pins((), check.params)):
                        self._run_results[content, *question_key] = results[check.id]

    def list_notes(self) -> Iterator[str]:
        """Yield a note about results that were not replayed."""
        if self.reuse_keys:
            count = len(self.reuse_keys)
            yield f"results of judges that were taken as recorded, because the replies they saw are not kept: {count:,}"

    def grade_rubric(self, rubric: RunRubric, question: QuestionVersion, row: GradedRow) -> RubricResult:
        """Return the result of one row under a rubric of its run, as `evaluate` gives it."""
        results = self.grade_checks(rubric.checks, question, row)
        question_key = _make_key(question, row)
        # Hybrids at both ends of the path are the rubrics of the runs, so these results are asked for again.
        self._results |= {
            (content, *question_key): result for (_, content), result in zip(rubric.checks, results, strict=True)
        }
        return combine_results(rubric.rubric.scoring, results)

    def grade_checks(
        self, checks: Sequence[tuple[Check, str]], question: QuestionVersion, row: GradedRow
    ) -> list[CheckResult]:
        """Return the result of each check; `checks` come with their contents, and results carry the check's id."""
        question_key, sample = _make_key(question, row), Sample(row.output, question.question)
        return [
            self._grade_check(check, (content, *question_key), sample)._replace(id=check.id)
            for check, content in checks
        ]

    def _grade_check(self, check: Check, key: _ResultKey, sample: Sample) -> CheckResult:
        if key in self._results:
            return self._results[key]
        try:
            if key[0] not in self._graders:
                self._graders[key[0]] = prepare_check(
                    check, CheckContext(self.load, self._find_reply, self.model, strict=self.strict)
                )
            return self._grade_or_reuse(key, sample)
        except SchemaError as error:  # a version in between may be malformed
            return CheckResult(check.id, check.kind, None, Verdict.UNSCORED, error.message, UnscoredReason.ERROR)

    def _grade_or_reuse(self, key: _ResultKey, sample: Sample) -> CheckResult:
        self._missing_calls.clear()
        recorded = self._run_results.get(key)
        # Of several replies to one call, the one that the run saw.
        self._wanted_replies = recorded.reply_digests if recorded else ()
        result = self._graders[key[0]](sample)
        # A recorded result stands in where its replies are lost, or were replaced by other ones.
        if recorded and (self._missing_calls or _has_other_replies(recorded, result)):
            self.reuse_keys.add(key)
            return recorded
        self.missing_count += len(self._missing_calls)
        for call in self._missing_calls:
            self.session.ask(call)
        return result

    def _find_reply(self, call: JudgeCall) -> JudgeReply:
        reply = self.session.find_reply(call, wanted=self._wanted_replies)
        # Calls are collected first: a recorded result may make asking them needless.
        if reply is None or reply.problem:
            self._missing_calls.append(call)
        return reply or NO_REPLY


def _has_other_replies(recorded: CheckResult, result: CheckResult) -> bool:
    """Whether a recorded result rests on other replies than the cache has: they were lost and asked for replayed."""
    has_asked = bool(recorded.replies) or recorded.score is None
    return has_asked and recorded.replies != result.replies


def find_drift(stored: StoredRun, grader: Grader, name: str) -> Iterator[Drift]:
    """Yield each recorded result that replay does not reproduce; `name` is that of the run."""
    for id_, row in stored.rows.items():
        question = stored.questions.get(id_)
        if question is None:
            raise RefusedError(f"{stored.run.path} has a row for {id_}, which is no question of its dataset")
        # An empty digest is one that the run did not record.
        if row.reference_digest not in {"", question.reference_digest} or row.input_digest not in {
            "",
            question.input_digest,
        }:
            yield Drift(name, id_, "the question is another one than was recorded")
        elif (row.rubric or row.score is not None) and (
            what := _describe_difference(row, grader.grade_rubric(_find_run_rubric(stored, row), question, row))
        ):
            yield Drift(name, id_, what)


def _find_run_rubric(stored: StoredRun, row: GradedRow) -> RunRubric:
    if row.rubric not in stored.rubrics:
        raise RefusedError(f"{stored.run.path} does not say what {row.rubric or 'the rubric'} was that graded {row.id}")
    return stored.rubrics[row.rubric]


def _describe_difference(row: GradedRow, replayed: RubricResult) -> str:
    """Return the first difference in words; empty where there is none."""
    recorded = {check.id: check for check in row.checks}
    for check in replayed.checks:
        before = recorded.get(check.id)
        if before is None or (before.score, before.verdict) != (check.score, check.verdict):
            return f"{check.id} was {_describe_result(before)}, is {_describe_result(check)}"
    if len(recorded) != len(replayed.checks):
        return f"{len(recorded)} checks were recorded, the rubric has {len(replayed.checks)}"
    if (row.score, row.verdict) != (replayed.score, replayed.verdict):
        return f"the score was {_describe_result(row)}, is {_describe_result(replayed)}"
    return ""


def _describe_result(result: CheckResult | RubricResult | GradedRow | None) -> str:
    return "absent" if result is None else "unscored" if result.score is None else f"{result.score} ({result.verdict})"


def _make_key(question: QuestionVersion, row: GradedRow) -> tuple[str, str, str]:
    return question.input_digest, question.reference_digest, row.output_digest


@dataclass(frozen=True, slots=True)
class RunArtifactLoader:
    """Loads what checks refer to: the version that a run recorded, else the one in the store."""

    finder: VersionFinder
    recorded: tuple[UsedArtifact, ...]

    def __call__(self, ref: str) -> Artifact:
        """Return the artifact; refuses a floating reference that the two runs resolved to different content."""
        wanted = parse_ref(ref)
        # A floating reference is what the runs resolved it to, as far as they agree.
        alike = [pinned for pinned in self.recorded if pinned.ref == ref]
        if not alike and wanted.type not in _STEADY:
            alike = [pinned for pinned in self.recorded if parse_ref(pinned.ref).name == wanted.name]
        if len({pinned.digest for pinned in alike}) > 1:
            several = " and ".join(sorted(pinned.ref for pinned in alike))
            raise RefusedError(
                f"{ref} floats, and the runs used {several} for it, so its share cannot be told from the rubric's",
                hint="pin it in the rubric, and score the outputs again",
            )
        return self.finder.locate_pin(alike[0]).resolved.artifact if alike else self.finder.store.load(ref)


def build_grader(a: StoredRun, b: StoredRun, finder: VersionFinder, session: JudgeSession) -> Grader:
    """Return the grader that replays two runs, with their recorded results of judged checks."""
    load = RunArtifactLoader(finder, (*a.run.judges, *b.run.judges, *a.run.rubrics, *b.run.rubrics))
    grader = Grader(load, session, find_judge_model(a.run, b.run), strict=finder.store.strict)
    grader.add_recorded_results(a)
    grader.add_recorded_results(b)
    return grader


def find_judge_model(a: Run, b: Run) -> Mapping[str, Any]:
    """Return the judges' model that the runs themselves named; refuses two that named different ones."""
    models = {run.harness["judge_model"] for run in (a, b) if "judge_model" in run.harness}
    if len(models) > 1:
        raise RefusedError(
            f"the runs asked their judges by different models, {' and '.join(sorted(models))}",
            hint="name the model in the judge (`model:`), release it, and score both outputs again",
        )
    model: Mapping[str, Any] = read_row(models.pop().encode(), "the run's judge_model", 0) if models else {}
    return model
