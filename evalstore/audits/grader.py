"""Replays single checks on stored outputs: judged ones from kept replies, else as the run recorded them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalstore.audits.stored_run import RunRubric
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.checks import CheckContext, prepare_check
from evalstore.documents import read_row
from evalstore.errors import SchemaError
from evalstore.judging import NO_REPLY, JudgeSession
from evalstore.model import (
    Artifact,
    Check,
    CheckResult,
    JudgeCall,
    JudgeReply,
    PinType,
    Sample,
    UnscoredReason,
    Verdict,
    find_check_pins,
    parse_ref,
)
from evalstore.runs import GradedRow, Run, UsedArtifact
from evalstore.store import ArtifactStore

_STEADY = frozenset({PinType.EXACT, PinType.REVISION})
RecordedResults = Mapping[str, CheckResult]


@dataclass(slots=True)
class Grader:
    """Grades checks; those of equal content are prepared once.

    A check that asks judges is graded from kept replies. Where those that a run saw are not kept, what it recorded is
    used; else the calls that are missing are left in `lacking`. `reused` has hashes of those taken as recorded.
    """

    load: Callable[[str], Artifact]
    session: JudgeSession
    model: Mapping[str, Any]
    strict: bool
    reused: set[int] = field(default_factory=set)
    lacking: list[JudgeCall] = field(default_factory=list)
    _wanted: Collection[str] = ()
    _served: Collection[str] | None = None
    _graders: dict[str, Callable[[Sample], CheckResult]] = field(default_factory=dict)

    def grade_check(
        self,
        check: Check,
        content: str,
        sample: Sample,
        recorded: CheckResult | None = None,
        served: Collection[str] | None = None,
    ) -> CheckResult | None:
        """Return the result of a check; None where replies of judges are missing.

        `content` is that of the check as one text, `recorded` what a run recorded of it on this very output, `served`
        the models whose replies count (None: all).
        """
        self.lacking.clear()
        # Of several replies to one call, the one that the run saw.
        self._wanted, self._served = recorded.reply_digests if recorded else (), served
        try:
            result = self.prepare(check, content)(sample)
        except SchemaError as error:  # a version in between may be malformed
            return CheckResult(check.id, check.kind, None, Verdict.UNSCORED, error.message, UnscoredReason.ERROR)
        if result.id != check.id:
            result = result._replace(id=check.id)
        if recorded and (self.lacking or _rests_on_others(recorded, result)):
            self.lacking.clear()
            # Several cells of a question take the same one.
            self.reused.add(hash((content, sample.question and sample.question.id, sample.output.text, recorded)))
            return recorded._replace(id=check.id)
        return None if self.lacking else result

    def prepare(self, check: Check, content: str) -> Callable[[Sample], CheckResult]:
        """Return a check as a function of samples; raises `SchemaError` for one that is malformed."""
        if content not in self._graders:
            context = CheckContext(self.load, self._find_reply, self.model, strict=self.strict)
            self._graders[content] = prepare_check(check, context)
        return self._graders[content]

    def _find_reply(self, call: JudgeCall) -> JudgeReply:
        reply = self.session.find_reply(call, wanted=self._wanted, served=self._served)
        # Calls are collected: a recorded result may make asking them needless.
        if reply is None or reply.problem:
            self.lacking.append(call)
        return reply or NO_REPLY


def read_recorded_results(rubric: RunRubric, row: GradedRow) -> RecordedResults:
    """Return by content what a row recorded of checks that may not give the same again: judged, composed or failed."""
    results = {check.id: check for check in row.checks}
    found = ((content, check, results[check.id]) for check, content in rubric.checks if check.id in results)
    return {
        content: result
        for content, check, result in found
        if result.unscored is UnscoredReason.ERROR or any(find_check_pins((), check.params))
    }


def _rests_on_others(recorded: CheckResult, result: CheckResult) -> bool:
    """Whether a recorded result rests on replies that are not kept, or on an engine that was not there."""
    if recorded.unscored is UnscoredReason.ERROR or recorded.inner_errors:
        return True
    return bool(recorded.replies) and recorded.replies != result.replies


@dataclass(frozen=True, slots=True)
class RunArtifactLoader:
    """Loads what the checks of one run refer to: the version that the run recorded, else the one in the store."""

    finder: VersionFinder
    recorded: tuple[UsedArtifact, ...]

    def __call__(self, ref: str) -> Artifact:
        """Return the artifact."""
        pinned = self._find_pin(ref)
        return self.finder.locate_pin(pinned).resolved.artifact if pinned else self.finder.store.load(ref)

    def locate(self, ref: str) -> ArtifactVersion | None:
        """Return the version that a reference means in the run; None where the run does not say."""
        pinned = self._find_pin(ref)
        return self.finder.locate_pin(pinned) if pinned else None

    def _find_pin(self, ref: str) -> UsedArtifact | None:
        wanted = parse_ref(ref)
        alike = [pinned for pinned in self.recorded if pinned.ref == ref]
        # A floating reference is what the run resolved it to.
        if not alike and wanted.type not in _STEADY:
            alike = [pinned for pinned in self.recorded if parse_ref(pinned.ref).name == wanted.name]
        elif not alike and wanted.version is not None:
            alike = [
                pinned
                for pinned in self.recorded
                if parse_ref(pinned.ref) == parse_ref(f"{wanted.name}@{wanted.version}")
            ]
        return alike[-1] if alike else None


def list_run_pins(run: Run) -> tuple[UsedArtifact, ...]:
    """Return everything that the checks of a run may refer to."""
    return (*run.judges, *run.rubrics)


def read_judge_model(run: Run) -> Mapping[str, Any]:
    """Return the judges' model that the run itself named; empty where it named none."""
    text = run.harness.get("judge_model")
    return read_row(text.encode(), "the run's judge_model", 0) if text else {}


def read_strictness(run: Run, store: ArtifactStore) -> bool:
    """Return whether a run was graded under `strict`: as it records, else as the store has it today."""
    recorded = run.harness.get("strict")
    return store.strict if recorded is None else recorded == "true"


def list_reuse_notes(*graders: Grader) -> Iterator[str]:
    """Yield a note about results that were not replayed."""
    if count := len(set[int]().union(*(grader.reused for grader in graders))):
        yield f"results taken as recorded, because the replies or engines that they rest on are not here: {count:,}"


def list_strictness_notes(*strict: bool) -> Iterator[str]:
    """Yield a note where runs A and B were graded under another `strict`.

    That is no player: `strict` makes an error of what an engine only approximates, and a check that one run graded and
    the other could not has a line of its own. All else is graded without it, and what was an error stays as recorded.
    """
    if len({*strict}) > 1:
        one, other = ("A", "B") if strict[0] else ("B", "A")
        yield (
            f"{one} was graded under strict and {other} was not: what an engine only approximates is an error in "
            f"{one}, and its questions count among those with checks that failed"
        )
