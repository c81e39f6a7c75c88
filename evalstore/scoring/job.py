"""Scores stored outputs by a dataset's rubrics in one pass, and writes the run; reads no clock."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from evalstore.about import VERSION
from evalstore.errors import LoadError, Place, RefError, RefusedError
from evalstore.files import refuse_links_below
from evalstore.lint.use import find_use_findings, list_used
from evalstore.model import Kind, Question, WorktreePins
from evalstore.model.outcome import MAX_UNGRADED, MissingSetting
from evalstore.runs import (
    GradedRow,
    Run,
    SeriesFilter,
    StoredOutput,
    UsedArtifact,
    compute_file_sha256,
    find_label_doubts,
    find_log_status,
    find_row_format,
    find_samples,
    get_row_format,
    make_run_name,
    read_output_ids,
    read_outputs,
    write_run,
)
from evalstore.runs.tally import RunTally
from evalstore.runs.values import withhold_score
from evalstore.scoring.grading import (
    ArtifactResolver,
    FloatingRefs,
    Grading,
    PreparedRubric,
    grade_output,
    open_grading,
    pin_resolved,
)
from evalstore.scoring.judging import CallPlan
from evalstore.scoring.matching import OutputMatch, OutputMatcher
from evalstore.scoring.options import ScoringOptions
from evalstore.scoring.run_record import JudgeRecord, UsedReferences, finish_run
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import QuestionIndex, open_question_index
from evalstore.store.revisions import find_head
from evalstore.store.rows import compute_rows_sha256
from evalstore.text import find_nearest, make_excerpt

# Rules that the resolver itself notes, with what each reference means today.
_NOTED = frozenset({"reference-floating", "reference-unpinned", "rubric-partial"})
# Rules that do not affect a score: whether something could be released and, where a rubric is
# given, the questions' own rubrics.
_OF_RELEASES = frozenset({"reference-unreleasable"})
_OF_OWN_RUBRICS = frozenset({"dataset-unscored", "question-unscored"})
# Ignored where working files grade whatever a pin says, or a rubric from the command line does.
_OF_PINS = frozenset({"pin-behind"})
# Ignored where a dataset has questions and none of them is asked.
_OF_NO_QUESTIONS = frozenset({"dataset-empty"})


@dataclass(frozen=True, slots=True)
class ScoringJob:
    """Everything that one run needs before the first output is graded; `run` has no sums yet."""

    run: Run
    samples: Path
    choice: SeriesFilter
    questions: QuestionIndex
    grading: Grading
    options: ScoringOptions

    def write_run(self, out: Path) -> Run:
        """Grade, and ask for missing replies, until none is missing; then publish in `out`."""
        self.refuse_links(out)
        # A pass that lacks replies leaves no file behind: its draft is dropped, and everything is
        # graded again after asking.
        while True:
            with write_run(out, choose_file_name(self.run)) as draft:
                run = self.grade_outputs(draft.write_row)
                if not self.grading.session.can_ask:
                    return draft.publish(run)
            self.grading.session.ask_missing()

    def find_question(self, id_: str) -> Question:
        """Return the question with an id; raises `RefError` if the dataset has none."""
        found = self.questions.find(id_)
        if found is None:
            near = find_nearest(id_, self.questions.list_ids())
            hint = f"did you mean {make_excerpt(near)}?" if near else ""
            raise RefError(f"no question has the id {make_excerpt(id_)}", hint=hint)
        return found[1]

    def refuse_links(self, out: Path) -> None:
        """Raise `RefusedError` if a link in the repository leads `out` somewhere else."""
        if top := self.grading.artifacts.store.repository.top:
            refuse_links_below(top, out)

    def plan_calls(self) -> tuple[CallPlan, tuple[str, ...]]:
        """Return the judge calls that scoring would make, and the notes so far.

        It makes no call and writes nothing. Raises `UnmetSettingError` if it cannot be known what
        would be asked of which model.
        """
        run = self.grade_outputs(
            lambda *_: None, optional=frozenset(MissingSetting) - {MissingSetting.MODEL}
        )
        # Missing replies are the plan itself, so their notes are left out.
        waiting = set(self.grading.session.list_notes())
        return self.grading.session.plan_calls(), tuple(
            note for note in run.notes if note not in waiting
        )

    def grade_outputs(
        self,
        keep: Callable[[GradedRow, Run], None],
        *,
        optional: frozenset[MissingSetting] | None = None,
    ) -> Run:
        """Grade every output once, pass each row to `keep`, and return the run with its sums.

        `optional` are the settings that may be missing; None: decided by the judges' session.
        """
        pairs, tally = self.open_counts()
        matches = pairs.match_outputs(read_outputs(self.samples, self.choice))
        for match in self.grading.session.judges.watch(matches, self.questions.count):
            row = grade_match(match, self.grading.artifacts, self.options.rubric)
            tally.add(row, match.number)
            keep(row, self.run)
        judges = JudgeRecord.from_session(self.grading.session)
        judges = judges if optional is None else replace(judges, optional=optional)
        return self.finish_run(
            tally, pairs, UsedReferences.from_resolver(self.grading.artifacts), judges
        )

    def finish_run(
        self, tally: RunTally, pairs: OutputMatcher, used: UsedReferences, judges: JudgeRecord
    ) -> Run:
        """Return the finished run, but without a score where too many gradings failed."""
        most = self.options.max_ungraded
        run = withhold_score(finish_run(self.run, tally, pairs, used, judges), most)
        if most == MAX_UNGRADED:
            return run
        return replace(run, harness={**run.harness, "max_ungraded": f"{float(most):g}"})

    def open_counts(self) -> tuple[OutputMatcher, RunTally]:
        """Return a new matcher of outputs and questions, and a tally with no rows."""
        matcher = OutputMatcher(str(self.samples), self.questions, by_input=self.options.by_input)
        return matcher, RunTally()


def grade_match(match: OutputMatch, resolver: ArtifactResolver, rubric: str | None) -> GradedRow:
    """Grade an output by the rubric of its question, or by `rubric` if given."""
    prepared = (
        resolver.prepare_rubric(rubric)
        if rubric is not None
        else _find_own_rubric(match.question, resolver)
    )
    recorded = match.recorded
    return grade_output(
        recorded.output,
        match.question,
        prepared,
        sample=recorded.sample,
        asked=next(iter(recorded.asked), None),
        is_other=bool(match.other),
    )


def _find_own_rubric(question: Question, resolver: ArtifactResolver) -> PreparedRubric | None:
    ref = question.rubric_ref
    if ref is None:
        return None
    try:
        resolver.resolve(ref)
    except RefError as error:
        message = (
            f"the question {question.id!r}{question.place} names {make_excerpt(ref)}: "
            f"{error.message}"
        )
        raise RefError(message, place=error.place, hint=error.hint) from None
    return resolver.prepare_rubric(ref)


@contextmanager
def open_job(
    dataset: str, outputs: Path, store: ArtifactStore, options: ScoringOptions
) -> Iterator[ScoringJob]:
    """Open a scoring job: artifacts resolved and validated, questions indexed, replies cached.

    `outputs` is a file in any format that evalstore.runs reads, such as JSONL of
    `{id, output, tool_calls?}`. Raises `FindingsError` for findings if the settings are strict.
    """
    find = cache(store.resolve)  # so that grading uses exactly what was validated
    with open_grading(
        store, options.judges, floating=FloatingRefs.BY_SETTINGS, find=find
    ) as grading:
        resolved = grading.artifacts.resolve(dataset)
        if resolved.kind is not Kind.DATASET:
            hint = "name a dataset: dataset/<id>@<version>"
            raise RefusedError(f"{dataset} is a {resolved.kind}, not a dataset", hint=hint)
        # Without a given name, the model is named by the outputs, or by their file.
        samples, choice = (
            find_samples(outputs),
            SeriesFilter(options.only, any_model=options.model is not None),
        )
        first = _read_first_output(samples, choice)
        run = _start_run(
            resolved,
            samples,
            store=store,
            at=options.at,
            model=_escape_name(options.model or first.model or samples.stem),
        )
        format_ = find_row_format(samples)
        if options.rows_format:
            format_ = get_row_format(options.rows_format)
        format_.require()
        run = replace(
            run,
            samples=Path(f"samples{format_.suffix}"),
            eee_version=options.eee_version,
            harness={
                **run.harness,
                **({"prompt": _escape_name(first.prompt)} if first.prompt else {}),
            },
        )
        status = find_log_status(outputs)
        notes = (
            *_note_joining(status, by_input=options.by_input),
            *find_label_doubts(outputs),
            *choice.describe(),
        )
        run = replace(run, log_status=status, notes=notes)
        asked = None if options.by_input else read_output_ids(samples, choice)
        with open_question_index(resolved, store, asked) as questions:
            refs = questions.rubric_refs if options.rubric is None else (options.rubric,)
            used = list_used(refs, find, [resolved])
            ignored = (
                _OF_RELEASES
                if options.rubric is None
                else _OF_RELEASES | _OF_OWN_RUBRICS | _OF_PINS
            )
            ignored |= _OF_PINS if store.worktree is WorktreePins.ALL else frozenset()
            ignored |= _OF_NO_QUESTIONS if questions.count else frozenset()
            day, target = options.today or options.at.date(), resolved.artifact
            found = find_use_findings(
                store,
                used,
                today=day,
                ignored=ignored,
                load=lambda ref: find(ref).artifact,
                dataset=target,
                lines=questions.list_lines,
            )
            found.refuse_if_strict("nothing was graded")
            run = replace(run, notes=(*run.notes, *found.list_lines(without=_NOTED)))
            yield ScoringJob(run, samples, choice, questions, grading, options)


def _note_joining(status: str, *, by_input: bool) -> Iterator[str]:
    if status:
        yield f"the log of the outputs is incomplete: its status is '{status}'"
    if by_input:
        yield "outputs and questions were joined by what was asked, and not by id"


def _read_first_output(samples: Path, choice: SeriesFilter) -> StoredOutput:
    """Return the first output; it says what all of them share. Raises `LoadError` if none."""
    missing = ""
    for found in read_outputs(samples, choice):
        if isinstance(found, StoredOutput):
            return found
        missing = missing or found.reason
    raise LoadError("holds no output", place=Place(str(samples)), hint=missing or None)


def _escape_name(name: str) -> str:
    """Escape bytes in a name that are not UTF-8, which file names and arguments may contain."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _start_run(
    resolved: Resolved, samples: Path, *, store: ArtifactStore, at: datetime, model: str
) -> Run:
    # Every Eval Ever writes times as seconds since 1970, as text.
    stamp = f"{at.timestamp():.6f}"
    return Run(
        path=Path(),
        samples=Path(),
        id=f"{resolved.id}/{model.replace('/', '_')}/{stamp}",
        name=resolved.id,
        at=stamp,
        model=model,
        dataset=pin_dataset(resolved, store),
        rubrics=(),
        outputs_sha256=compute_file_sha256(samples),
        score=None,
        pass_rate=None,
        scored=0,
        unscored=0,
        checks={},
        harness=describe_harness(store),
        commit=find_head(store.git),
    )


def pin_dataset(resolved: Resolved, store: ArtifactStore) -> UsedArtifact:
    """Return the dataset's pin; for uncommitted rows it also says which they are."""
    pinned = pin_resolved(resolved)
    if pinned.commit is not None or "rows" not in resolved.artifact.value:
        return pinned
    return replace(pinned, rows=compute_rows_sha256(store, resolved.artifact, commit=None))


def describe_harness(store: ArtifactStore) -> dict[str, str]:
    """Return the versions and settings that can change a score.

    The engines of checks are added after they have graded.
    """
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {
        "evalstore": VERSION,
        "python": python,
        "strict": "true" if store.strict else "false",
    } | ({"worktree": str(store.worktree)} if store.worktree else {})


def choose_file_name(run: Run) -> str:
    """Return the stem of the files of a run."""
    pin_ = run.dataset.ref.partition("@")[2] if run.dataset else ""
    return make_run_name(run.name, pin_, run.model)
