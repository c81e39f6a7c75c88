"""Resolves and pins a run's artifacts, prepares its rubrics, and grades single outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from evalstore.checks import CheckContext, find_check_kind, find_inner_ref, prepare_rubric
from evalstore.documents import write_canonical
from evalstore.errors import EvalstoreError, RefError, RefusedError, SchemaError
from evalstore.lint.use import check_usable
from evalstore.model import (
    MALFORMED_ERRORS,
    Artifact,
    CheckResult,
    JudgeCall,
    JudgeReply,
    Kind,
    Output,
    PinType,
    Question,
    RubricResult,
    Sample,
    UnscoredReason,
    Verdict,
    WorktreePins,
    describe_misfit,
    find_rows_path,
    parse_ref,
    read_rubric,
)
from evalstore.model.measures import NO_MEASURES
from evalstore.model.outcome import QUESTION_BROKEN
from evalstore.model.question import compute_asked_digest
from evalstore.runs import GradedRow, UsedArtifact
from evalstore.scoring.judging import Judges, JudgeSession, open_session
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.working_files import is_blob

_NO_RUBRIC = RubricResult(None, Verdict.UNSCORED, reason="the question names no rubric")


@dataclass(frozen=True, slots=True)
class PreparedRubric:
    """A rubric ready to grade, and the pin that the run records for it.

    `reads_measures`: one of its checks reads numbers about an output, so the run keeps them.
    """

    pin: UsedArtifact
    grade: Callable[[Sample], RubricResult]
    reads_measures: bool = False


class FloatingRefs(Enum):
    """Whether the store's settings note or refuse floating references, or all are allowed."""

    BY_SETTINGS = "by settings"
    TAKEN = "taken"


@dataclass(slots=True)
class ArtifactResolver:
    """Resolves each reference of one run once; `notes` lists what a reader of the run should know.

    `find` resolves a reference; by default it is `store.resolve`.
    """

    store: ArtifactStore
    ask: Callable[[JudgeCall], JudgeReply]
    model: Mapping[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    find: Callable[[str], Resolved] | None = None
    floating: FloatingRefs = FloatingRefs.BY_SETTINGS
    _resolved: dict[str, Resolved] = field(default_factory=dict)
    _rubrics: dict[str, PreparedRubric] = field(default_factory=dict)

    def resolve(self, ref: str) -> Resolved:
        """Resolve a reference once; a floating one is noted, or refused by the settings."""
        # Resolve once: while a long run is graded, a branch may move and a file may be edited.
        if ref not in self._resolved:
            resolved = (self.find or self.store.resolve)(ref)
            if resolved.floating and self.floating is FloatingRefs.BY_SETTINGS:
                self._note_floating(ref, format_exact_ref(resolved))
            self._resolved[ref] = resolved = self._resolved.get(resolved.ref, resolved)
            if resolved.ref != ref and parse_ref(resolved.ref).type is PinType.WORKTREE:
                self._resolved[resolved.ref] = resolved  # one file, whatever pins mean it
            elif self.store.worktree is WorktreePins.UNRELEASED:
                self._note_edited_file(resolved)
        return self._resolved[ref]

    def load(self, ref: str) -> Artifact:
        """Return the artifact that a check refers to."""
        return self.resolve(ref).artifact

    def prepare_rubric(self, ref: str) -> PreparedRubric:
        """Return the rubric that a question names, ready to grade."""
        if ref not in self._rubrics:
            self._rubrics[ref] = self._prepare_rubric(ref)
        return self._rubrics[ref]

    @property
    def context(self) -> CheckContext:
        """What checks need to grade: artifacts, judges, and how strict the store is."""
        return CheckContext(self.load, self.ask, self.model, strict=self.store.strict)

    @property
    def resolved(self) -> Mapping[str, Resolved]:
        """Every reference so far and what it resolved to, in the order of first use."""
        return self._resolved

    @property
    def artifacts(self) -> dict[str, Artifact]:
        """Every artifact loaded so far, by the reference that named it."""
        return {ref: resolved.artifact for ref, resolved in self._resolved.items()}

    def list_pins(self, kind: Kind) -> tuple[UsedArtifact, ...]:
        """Return the pins of all artifacts of one kind so far, sorted by reference."""
        pins = {
            pin_resolved(resolved) for resolved in self._resolved.values() if resolved.kind is kind
        }
        return tuple(sorted(pins, key=lambda pinned: pinned.ref))

    def _prepare_rubric(self, ref: str) -> PreparedRubric:
        resolved = self.resolve(ref)
        if resolved.kind is not Kind.RUBRIC:
            raise RefusedError(
                f"{ref} is a {resolved.kind}, not a rubric", hint="rubric_ref names a rubric"
            )
        if unmapped := resolved.artifact.value.get("x_unmapped"):
            self.notes.append(
                f"{format_exact_ref(resolved)} is incomplete: it lacks {len(unmapped)} of "
                "its source's checks"
            )
        grade = _prepare_resolved(resolved, self.context, self.load)
        reads_measures = _reads_measures(resolved.artifact, self.load)
        return PreparedRubric(pin_resolved(resolved), grade, reads_measures)

    def _note_edited_file(self, released: Resolved) -> None:
        """Note a working file that differs from the release used to grade."""
        # A file that is gone or unreadable was not edited in order to try it.
        with suppress(EvalstoreError):
            file = self.store.read_artifact(f"{released.name}@worktree")
            edited = [released.path] if file.scoring_digest != released.scoring_digest else []
            rows = find_rows_path(file)
            blob = find_rows_blob(self.store, released.artifact, released.commit)
            if rows and blob and self.store.root and not is_blob(self.store.root, rows, blob):
                edited.append(rows)
            what = (
                f"{format_exact_ref(released)}, which graded: --worktree=all grades with the file"
            )
            self.notes += [f"{path} differs from {what}" for path in edited]

    def _note_floating(self, ref: str, found: str) -> None:
        policy = self.store.settings.get("unpinned", "warn")
        if policy == "forbid" or self.store.strict:
            raise RefusedError(
                f"{ref} floats, and this store's settings forbid that", hint=f"pin it: {found}"
            )
        if policy != "allow":
            self.notes.append(f"{ref} floats: today it is {found}")


@dataclass(frozen=True, slots=True)
class Grading:
    """What grades outputs: a store's artifacts, and the judges of one session.

    Each artifact is resolved once. Every job opens one with `open_grading`. Grading without a
    session needs only a resolver; a replay, which uses the artifacts and replies that runs
    recorded, has its own `Grader`.
    """

    artifacts: ArtifactResolver
    session: JudgeSession

    @property
    def context(self) -> CheckContext:
        """What checks need to grade."""
        return self.artifacts.context


@contextmanager
def open_grading(
    store: ArtifactStore,
    judges: Judges,
    *,
    floating: FloatingRefs,
    find: Callable[[str], Resolved] | None = None,
) -> Iterator[Grading]:
    """Open what grades outputs; the cache of replies is opened at the first look-up.

    `find` resolves a reference; by default it is `store.resolve`.
    """
    with open_session(judges, store.git.common) as session:
        yield Grading(
            ArtifactResolver(store, session.ask, judges.model, find=find, floating=floating),
            session,
        )


def pin_resolved(resolved: Resolved) -> UsedArtifact:
    """Return the pin that a run records for a resolved artifact."""
    in_git = parse_ref(resolved.ref).type is not PinType.WORKTREE
    return UsedArtifact(
        ref=format_exact_ref(resolved),
        version=resolved.version,
        digest=resolved.digest,
        scoring_digest=resolved.scoring_digest,
        commit=resolved.commit if in_git else None,
        tag=resolved.tag,
    )


def format_exact_ref(resolved: Resolved) -> str:
    """Return the reference that will name the same content tomorrow.

    A working file has only its name, a revision its commit, everything else its version.
    """
    pins = {PinType.WORKTREE: "worktree", PinType.REVISION: f"git:{resolved.commit}"}
    type_ = parse_ref(resolved.ref).type
    return f"{resolved.name}@{pins.get(type_, resolved.version)}"


def _prepare_resolved(
    resolved: Resolved, context: CheckContext, load: Callable[[str], Artifact]
) -> Callable[[Sample], RubricResult]:
    try:
        return prepare_rubric(read_rubric(resolved.artifact.value), context)
    except SchemaError as error:
        raise SchemaError(
            f"{format_exact_ref(resolved)}: {error.message}", hint=error.hint
        ) from None
    except RefError as error:
        raise RefError(
            f"{format_exact_ref(resolved)}: {error.message}", place=error.place, hint=error.hint
        ) from None
    except MALFORMED_ERRORS as error:
        check_usable(resolved.artifact, load)
        raise SchemaError(
            f"{format_exact_ref(resolved)} is not a valid rubric: {describe_misfit(error)}",
            hint="see where: evalstore validate",
        ) from None


def _reads_measures(rubric: Artifact, load: Callable[[str], Artifact]) -> bool:
    """Whether a check of a rubric, or a check nested in it, reads numbers about an output."""
    checks = list(rubric.value["checks"])
    for ref in filter(None, map(find_inner_ref, rubric.value["checks"])):
        checks += load(ref).value["checks"]
    return any(find_check_kind(str(check["kind"])).reads_measures for check in checks)


def grade_output(  # noqa: PLR0913  # what a row of a run holds
    output: Output,
    question: Question,
    rubric: PreparedRubric | None,
    *,
    sample: int = 0,
    asked: str | None = None,
    is_other: bool = False,
) -> GradedRow:
    """Grade one output into a row; without a rubric it is unscored.

    `asked` is what the output's record says was asked; `is_other`: that is not the question.
    Raises `SchemaError` for a broken rubric.
    """
    result = (
        _explain_no_rubric(question)
        if rubric is None
        else _grade_sample(Sample(output, question), rubric)
    )
    if not (rubric and rubric.reads_measures) and output.measures != NO_MEASURES:
        output = output._replace(measures=NO_MEASURES)
    group = question.row.get("group")
    return GradedRow(
        id=question.id,
        input=question.input,
        reference=_list_reference_texts(question.row),
        output=output,
        score=result.score,
        verdict=result.verdict,
        rubric=rubric.pin.ref if rubric else "",
        rubric_digest=rubric.pin.digest if rubric else "",
        checks=result.checks,
        reason=result.reason,
        input_digest=compute_asked_digest(asked) if asked and is_other else question.input_digest,
        reference_digest=question.reference_digest,
        group=group if isinstance(group, str) else None,
        sample=sample,
        asked=asked if asked != question.input else None,
    )


def _explain_no_rubric(question: Question) -> RubricResult:
    """Return the result of a question without a rubric; for a broken row, a failed grading."""
    if not question.broken:
        return _NO_RUBRIC
    reason = f"{QUESTION_BROKEN}{question.broken}"
    failed = CheckResult(
        "question", "question", None, Verdict.UNSCORED, reason, UnscoredReason.ERROR
    )
    return RubricResult(None, Verdict.UNSCORED, (failed,), reason)


def _grade_sample(sample: Sample, rubric: PreparedRubric) -> RubricResult:
    try:
        return rubric.grade(sample)
    except SchemaError as error:
        raise SchemaError(f"{rubric.pin.ref}: {error.message}", hint=error.hint) from None


def _list_reference_texts(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the expected answers as texts, or the expected facts if there is no answer."""
    # The row format allows only texts as references, so structures become canonical JSON.
    wanted = row.get("expected", row.get("expected_facts"))
    if wanted is None:
        return ()
    several = wanted if isinstance(wanted, list) else [wanted]
    return tuple(item if isinstance(item, str) else write_canonical(item) for item in several)
