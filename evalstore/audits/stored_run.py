"""Reads a stored run for replay.

It has the run's rows, questions and rubrics, and checks graded as in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from evalstore.audits.check_matching import EncodedCheck
from evalstore.audits.values import NO_PAIRS, PairsByInput
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.checks import CheckContext, prepare_check
from evalstore.documents import read_row
from evalstore.errors import ExitCode, RefusedError, SchemaError
from evalstore.model import (
    Artifact,
    CheckResult,
    JudgeCall,
    JudgeReply,
    PinType,
    Question,
    Ref,
    Rubric,
    Sample,
    UnscoredReason,
    Verdict,
    WorktreePins,
    find_check_pins,
    parse_ref,
    read_rubric,
)
from evalstore.model.judge import NO_REPLY
from evalstore.model.question_ids import build_names, match_contents, match_renames
from evalstore.runs import GradedRow, Run, UsedArtifact, read_rows
from evalstore.runs.aggregate_review import AggregateReview
from evalstore.runs.records import read_graded_run
from evalstore.runs.row_index import RowIndex, make_doubled_error
from evalstore.runs.values import merge_samples
from evalstore.scoring.judging import JudgeSession
from evalstore.store import ArtifactStore
from evalstore.store.rows import list_renames
from evalstore.versions import find_version

_Item = TypeVar("_Item")
_STEADY = frozenset({PinType.EXACT, PinType.REVISION})
RecordedResults = Mapping[str, CheckResult]


@dataclass(frozen=True, slots=True)
class RunRubric:
    """A rubric of a run: its version in the store, and the parsed rubric.

    `checks` are its checks, each with its content.
    """

    version: ArtifactVersion
    rubric: Rubric
    checks: tuple[EncodedCheck, ...]

    @classmethod
    def from_version(cls, located: ArtifactVersion) -> RunRubric:
        """Parse the rubric of a version."""
        rubric = read_rubric(located.resolved.artifact.value)
        return cls(located, rubric, tuple(map(EncodedCheck.from_check, rubric.checks)))


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run, ready for replay.

    It has its rows by id, its rubrics by reference, and all questions of its dataset by id. Rows
    and questions are read when they are asked for, so that only one of each needs to be in memory.
    `paired` are the questions that have the ids of the other run here, in place of their own.
    `is_inferred`: it recorded no versions, and these are the ones that give its scores again.
    """

    run: Run
    rows: Mapping[str, GradedRow]
    dataset: ArtifactVersion
    rubrics: Mapping[str, RunRubric]
    questions: Mapping[str, Question]
    paired: PairsByInput = NO_PAIRS
    is_inferred: bool = False

    def open_review(self) -> AggregateReview:
        """Return what holds its aggregate against its rows, to which none is added yet."""
        return AggregateReview(replace(self.run, dataset=None) if self.is_inferred else self.run)

    def find_rubric_name(self, id_: str) -> str:
        """Return `rubric/<id>` of what graded a question; empty where the run does not say."""
        rubric = (
            self.rows.find_rubric(id_) if isinstance(self.rows, RowIndex) else self.rows[id_].rubric
        )
        return rubric.partition("@")[0]


def read_stored_run(run: Run | Path | str, finder: VersionFinder) -> StoredRun:
    """Read a run and find its artifacts.

    Raises `RefusedError` with what is missing when it cannot be replayed.
    """
    found = run if isinstance(run, Run) else read_graded_run(Path(run))
    dataset = finder.locate_pin(_require_dataset(found))
    rubrics = {
        pinned.ref: RunRubric.from_version(finder.locate_pin(pinned)) for pinned in found.rubrics
    }
    return StoredRun(
        run=found,
        rows=index_rows(found),
        dataset=dataset,
        rubrics=rubrics,
        questions=finder.open_questions(dataset.resolved),
    )


def _require_dataset(run: Run) -> UsedArtifact:
    """Return the dataset of a run; raises `RefusedError` for one that evalstore did not score."""
    if run.dataset is None:
        raise RefusedError(
            f"{run.path} names no dataset version, so its rubrics cannot be found",
            hint=f"score its outputs here first: evalstore score DATASET {run.path}",
        )
    return run.dataset


def follow_renames(a: StoredRun, b: StoredRun, finder: VersionFinder) -> StoredRun:
    """Return run A with the ids that its questions have in run B, where they were renamed."""
    names = match_renames(
        list_renames(finder.store, b.dataset.resolved),
        a.questions.__contains__,
        b.questions.__contains__,
    )
    return (
        replace(a, rows=Renamed(a.rows, names), questions=Renamed(a.questions, names))
        if names
        else a
    )


def _index_words(stored: StoredRun, declared: Collection[str]) -> dict[str, str]:
    """Return the digests of the words of a run's questions by id, without those of `declared`."""
    ids = [id_ for id_ in stored.questions if id_ not in declared]
    return {id_: stored.questions[id_].words_digest for id_ in ids}


def pair_by_input(a: StoredRun, b: StoredRun, finder: VersionFinder) -> StoredRun:
    """Return run A with the ids that run B has for the same inputs.

    Its own ids name other questions there. Two versions of a dataset are compared by digests of
    their inputs, white space apart; a rename that is declared stands. A question whose id another
    one takes gets a name that B does not have.
    """
    if a.questions is b.questions:
        return a
    declared = {*list_renames(finder.store, b.dataset.resolved).values()}
    old, new = _index_words(a, declared), _index_words(b, declared)
    paired = match_contents(old, new)
    if not paired:
        return a
    names = build_names(paired, a.questions)
    renames = {
        id_: name for id_, name in paired.items() if id_ not in new and name not in a.questions
    }
    return replace(
        a,
        rows=Renamed(a.rows, names),
        questions=Renamed(a.questions, names),
        paired=PairsByInput(paired, renames),
    )


class Renamed(Mapping[str, _Item]):
    """A mapping in which some keys have other names: `names` are the new ones by the old.

    A name may be that of another key, if that has another name in turn.
    """

    def __init__(self, held: Mapping[str, _Item], names: Mapping[str, str]) -> None:
        self._held, self._names = held, names
        self._earlier = {new: old for old, new in names.items()}

    def __getitem__(self, key: str) -> _Item:
        if key in self._earlier:
            return self._held[self._earlier[key]]
        if key in self._names:
            raise KeyError(key)
        return self._held[key]

    def __iter__(self) -> Iterator[str]:
        return (self._names.get(key, key) for key in self._held)

    def __len__(self) -> int:
        return len(self._held)


def index_rows(run: Run, found: Iterable[GradedRow] | None = None) -> Mapping[str, GradedRow]:
    """Return the rows of a run by id, samples of a question in one.

    Raises `RefusedError` where nothing was scored. Rows of a file that can be sought in are read
    one by one; those that were graded just now, or stand in one document with the run, are in
    memory anyway.
    """
    is_held = found is not None or run.samples == run.path
    if is_held:
        rows: Mapping[str, GradedRow] = _hold_rows(run, read_rows(run) if found is None else found)
    else:
        rows = RowIndex(run)
    if not any(row.score is not None for row in rows.values()):
        if run.score is None and not run.series:
            raise UnscoredRunError(run)
        raise RefusedError(f"{run.samples} has no scored output, so there is nothing to explain")
    return rows


class UnscoredRunError(RefusedError):
    """A run has no score at all; `why` says what was not graded."""

    def __init__(self, run: Run) -> None:
        self.why = run.ungraded or "it has no scored output"
        super().__init__(f"{run.samples} has no score: {self.why}")


class IncomparableError(RefusedError):
    """One of two runs, A or B, has no score, so that nothing can be said of their difference."""

    exit_code = ExitCode.NO

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"Not comparable: {name} has no score ({why})")


def _hold_rows(run: Run, found: Iterable[GradedRow]) -> dict[str, GradedRow]:
    several: dict[str, list[GradedRow]] = {}
    for row in found:
        if any(row.sample == other.sample for other in several.setdefault(row.id, [])):
            raise make_doubled_error(run.samples, row.id)
        several[row.id].append(row)
    return {id_: merge_samples(samples) for id_, samples in several.items()}


def is_judged(a: StoredRun, b: StoredRun) -> bool:
    """Whether a judge may have a part in some score."""
    rubrics = (*a.rubrics.values(), *b.rubrics.values())
    checks = (check for one in rubrics for check, _ in one.checks)
    return any(True for check in checks for _ in find_check_pins((), check.params))


class ReplyChoice(NamedTuple):
    """Which replies count: those of the models `served`, or of all (None).

    Of several, those with `wanted` digests come first.
    """

    served: Collection[str] | None = None
    wanted: Collection[str] = ()


_ANY_REPLY = ReplyChoice()


@dataclass(slots=True)
class Grader:
    """Grades checks; those of equal content are prepared once.

    A check that asks judges is graded from kept replies. Where those that a run saw are not kept,
    what it recorded is used; else the calls that are missing are left in `lacking`. `reused` has
    hashes of those taken as recorded. `takes_failures`: a call that just failed is answered so, as
    in a run, and not missing. `repeats_errors`: a check that failed in the run is graded again, by
    replies that can be read.
    """

    load: Callable[[str], Artifact]
    session: JudgeSession
    model: Mapping[str, Any]
    strict: bool
    takes_failures: bool = False
    repeats_errors: bool = False
    reused: set[int] = field(default_factory=set)
    lacking: list[JudgeCall] = field(default_factory=list)
    _choice: ReplyChoice = _ANY_REPLY
    has_failure: bool = False
    _graders: dict[str, Callable[[Sample], CheckResult]] = field(default_factory=dict)

    def grade_check(
        self,
        encoded: EncodedCheck,
        sample: Sample,
        recorded: CheckResult | None = None,
        choice: ReplyChoice = _ANY_REPLY,
    ) -> CheckResult | None:
        """Return the result of a check; None where replies of judges are missing.

        `recorded` is what a run recorded of it on this very output.
        """
        check, content = encoded
        self.lacking.clear()
        self.has_failure = False
        if recorded and self.repeats_errors and recorded.unscored is UnscoredReason.ERROR:
            recorded = None
        # Of several replies to one call, the one that the run saw.
        self._choice = choice._replace(wanted=recorded.reply_digests) if recorded else choice
        try:
            result = self._prepare(encoded)(sample)
        except SchemaError as error:  # a version in between may be malformed
            return CheckResult(
                check.id, check.kind, None, Verdict.UNSCORED, error.message, UnscoredReason.ERROR
            )
        if result.id != check.id:
            result = result._replace(id=check.id)
        if recorded and (self.lacking or self.has_failure or not can_be_replayed(recorded, result)):
            self.lacking.clear()
            self.note_reuse(content, sample, recorded)
            return recorded._replace(id=check.id)
        return None if self.lacking else result

    def note_reuse(self, content: str, sample: Sample, recorded: CheckResult) -> None:
        """Note that a result is taken as recorded.

        Several cells of a question take the same one.
        """
        self.reused.add(
            hash((content, sample.question and sample.question.id, sample.output.text, recorded))
        )

    def _prepare(self, encoded: EncodedCheck) -> Callable[[Sample], CheckResult]:
        """Return a check as a function of samples.

        Raises `SchemaError` for one that is malformed.
        """
        if encoded.content not in self._graders:
            context = CheckContext(self.load, self._take_reply, self.model, strict=self.strict)
            self._graders[encoded.content] = prepare_check(encoded.check, context)
        return self._graders[encoded.content]

    def _take_reply(self, call: JudgeCall) -> JudgeReply:
        reply = self.session.use_reply(call, wanted=self._choice.wanted, served=self._choice.served)
        # Calls are collected: a recorded result may make asking them needless.
        if reply is not None and reply.problem and self.takes_failures:
            self.has_failure = True
        elif reply is None or reply.problem:
            self.lacking.append(call)
        return reply or NO_REPLY


def read_recorded_results(rubric: RunRubric, row: GradedRow) -> RecordedResults:
    """Return what a row recorded of checks that may not give the same again.

    It is by content. Such checks are judged, composed, or failed.
    """
    results = {check.id: check for check in row.checks}
    found: dict[str, CheckResult] = {}
    for check, content in rubric.checks:
        result = results.get(check.id)
        if result is None:
            continue
        if result.unscored is UnscoredReason.ERROR or any(find_check_pins((), check.params)):
            found[content] = result
    return found


def can_be_replayed(recorded: CheckResult, result: CheckResult) -> bool:
    """Whether a recorded result can be had again.

    It rests on no reply that is not kept, and on no engine that was not there.
    """
    if recorded.unscored is UnscoredReason.ERROR or recorded.inner_errors:
        return False
    return not recorded.replies or recorded.replies == result.replies


@dataclass(frozen=True, slots=True)
class RunArtifactLoader:
    """Loads what the checks of some runs refer to.

    It is the version that they recorded, else the one in the store. `reads_files`: a reference
    meant the file on disk, whatever its pin said (`score --worktree=all`).
    """

    finder: VersionFinder
    recorded: tuple[UsedArtifact, ...]
    reads_files: bool

    @classmethod
    def from_runs(cls, finder: VersionFinder, *runs: Run) -> RunArtifactLoader:
        """Return the loader of one run, or of several together."""
        pins = tuple(pinned for run in runs for pinned in list_run_pins(run))
        return cls(
            finder, pins, any(run.harness.get("worktree") == WorktreePins.ALL for run in runs)
        )

    def __call__(self, ref: str) -> Artifact:
        """Return the artifact."""
        pinned = self._find_pin(ref)
        return (
            self.finder.locate_pin(pinned).resolved.artifact
            if pinned
            else self.finder.store.read_artifact(ref)
        )

    def locate(self, ref: str) -> ArtifactVersion | None:
        """Return the version that a reference means in the run; None where the run does not say."""
        pinned = self._find_pin(ref)
        return self.finder.locate_pin(pinned) if pinned else None

    def _find_pin(self, ref: str) -> UsedArtifact | None:
        wanted = parse_ref(ref)
        alike = [pinned for pinned in self.recorded if pinned.ref == ref]
        # A floating reference is what the run resolved it to.
        if not alike and wanted.type not in _STEADY:
            alike = [
                pinned for pinned in self.recorded if parse_ref(pinned.ref).name == wanted.name
            ]
            # A release, where the run had both.
            alike.sort(key=lambda pinned: pinned.tag is not None)
        elif not alike and wanted.version is not None:
            exact = parse_ref(f"{wanted.name}@{wanted.version}")
            alike = [pinned for pinned in self.recorded if parse_ref(pinned.ref) == exact]
        # A run that read a file in place of a release names the file, not the pin that meant it.
        on_disk = (pinned for pinned in self.recorded if pinned.ref == f"{wanted.name}@worktree")
        alike = alike or [pinned for pinned in on_disk if self._reads(pinned, wanted)]
        return alike[-1] if alike else None

    def _reads(self, pinned: UsedArtifact, wanted: Ref) -> bool:
        """Whether a file that a run read may stand for a reference."""
        return self.reads_files or find_version(pinned.version) == wanted.version


def list_run_pins(run: Run) -> tuple[UsedArtifact, ...]:
    """Return everything that the checks of a run may refer to."""
    return (*run.judges, *run.rubrics)


def read_judge_model(run: Run) -> Mapping[str, Any]:
    """Return the judges' model that the run itself named; empty where it named none."""
    text = run.harness.get("judge_model")
    return read_row(text.encode(), "the run's judge_model", 0) if text else {}


def read_strictness(run: Run, store: ArtifactStore) -> bool:
    """Return whether a run was graded under `strict`.

    It is as the run records, else as the store has it today.
    """
    recorded = run.harness.get("strict")
    return store.strict if recorded is None else recorded == "true"


def list_reuse_notes(*graders: Grader) -> Iterator[str]:
    """Yield a note about results that were not replayed."""
    if count := len(set[int]().union(*(grader.reused for grader in graders))):
        yield (
            "results taken as recorded, because their replies or engines are not available: "
            f"{count:,}"
        )


def make_disjoint_error(*runs: Run) -> RefusedError:
    """Return the error for two runs that have no scored question in common.

    It says what they graded, or did not.
    """
    named = [*zip("AB", runs, strict=True)]
    failed = [f"run {name} {run.ungraded}" for name, run in named if run.ungraded]
    asked = [f"run {name} is of {run.dataset.ref}" for name, run in named if run.dataset]
    message = "the runs have no scored question in common"
    if failed or not asked:
        return RefusedError(
            message, hint=f"{', '.join(failed)}: score it again" if failed else None
        )
    return RefusedError(message, hint=f"{', '.join(asked)}: compare two runs of the same questions")


def list_score_notes(*runs: Run) -> Iterator[str]:
    """Yield which of two runs has no score of its own, because gradings failed."""
    for name, run in zip("AB", runs, strict=True):
        if run.is_withheld:
            yield (
                f"run {name} has no score, because gradings failed: {run.ungraded}; its mean here "
                "is that of the rest"
            )


def list_strictness_notes(*strict: bool) -> Iterator[str]:
    """Yield a note where runs A and B were graded under another `strict`.

    That is not a factor: `strict` makes an error of what an engine only approximates, and a check
    that one run graded and the other could not has a line of its own. All else is graded without
    it, and an error stays as recorded.
    """
    if len({*strict}) > 1:
        one, other = ("A", "B") if strict[0] else ("B", "A")
        yield (
            f"{one} was graded under strict and {other} was not: what an engine only "
            f"approximates is an error in {one}, and its questions count among those with "
            "checks that failed"
        )
