"""The values between readers and plans: a legacy source, and its extracted cases and drafts."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Document, Pointer, format_json_pointer
from evalstore.migration.legacy_files import BrokenLine
from evalstore.migration.outcome import OUR_JUDGE, JudgeFacts, MigrationEntry, MigrationOutcome
from evalstore.migration.prompts.prompt_frame import PromptFrame
from evalstore.model import Kind

VERSION = "1.0.0"


@dataclass(frozen=True, slots=True)
class ArtifactDraft:
    """An artifact without its `x_source`.

    `id` distinguishes the drafts of one source; the plan assigns the final one. `name` is what the
    final id may be made from: the name that a suite gives itself, or a few words on what a rubric
    or judge asks. `is_common` says that it is in the table of the format, and the same for all
    suites; `is_shape`, that its values are those of the questions. `facts` compare a judge with the
    legacy grader's.
    """

    kind: Kind
    id: str
    value: dict[str, Any]
    pointer: Pointer = ()
    version: str = VERSION
    facts: JudgeFacts = OUR_JUDGE
    name: str = ""
    is_common: bool = False
    is_shape: bool = False

    @property
    def ref(self) -> str:
        """The reference by which other drafts of the same source pin it."""
        return f"{self.kind}/{self.id}@{self.version}"


def make_judge_draft(judge: Mapping[str, Any], facts: JudgeFacts = OUR_JUDGE) -> ArtifactDraft:
    """Return the draft of a judge in a table."""
    value = {key: item for key, item in judge.items() if key != "id"}
    return ArtifactDraft(Kind.JUDGE, judge["id"], value, facts=facts, is_common=True)


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """The judges that ask in the program's own words, by their id in the table.

    If there are none, it says why. `problems` says so for single judges and `problem` for all
    others, each as a clause after "as". `frame` has the texts of a prompt that the reader assembles
    like the program.
    """

    judges: Mapping[str, ArtifactDraft] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    frame: PromptFrame | None = None

    def draft_judge(self, judge: Mapping[str, Any]) -> ArtifactDraft:
        """Return the draft of a judge in a table, in the program's words if they are known."""
        return self.judges.get(judge["id"]) or make_judge_draft(judge)

    def put_words(self, draft: ArtifactDraft) -> ArtifactDraft:
        """Return a draft in the program's words, or one that says why the words are evalstore's."""
        if draft.is_common and draft.id in self.judges:
            return self.judges[draft.id]
        why = self.problems.get(draft.id, self.problem)
        if draft.facts.prompt != OUR_JUDGE.prompt or not why:
            return draft
        return replace(draft, facts=replace(draft.facts, prompt=f"{OUR_JUDGE.prompt}, as {why}"))


NO_PROMPTS = JudgePrompts()


@dataclass(frozen=True, slots=True)
class LegacySource:
    """One source file: its document, and access to its companion files.

    `file` is relative and the same on every machine. `read_companion` reads a file by its path
    relative to this one, or, with a leading /, relative to the folder that the user named; None for
    a URL, a missing file, and outside that folder. Companions that were read are part of the
    remainder. `list_companions` returns the paths that a pattern names. `dialect` is the user's
    choice, and `last_dialect` the one of an earlier migration: it decides where the file does not
    show which it is. `broken_lines` are lines of JSON Lines that the document lacks. `prompts` are
    the judges that ask in the program's own words.
    """

    document: Document
    file: str
    sha256: str
    read_companion: Callable[[str], Document | None]
    dialect: str | None = None
    broken_lines: tuple[BrokenLine, ...] = ()
    prompts: JudgePrompts = NO_PROMPTS
    list_companions: Callable[[str], list[str]] = lambda path: [path]
    last_dialect: str = ""


@dataclass(frozen=True, slots=True)
class MigrationNote:
    """A part of a source with a separate outcome.

    It may be a check without a kind, or a key that nobody reads. `question` is the id of the
    question that has it. `in_run` says that the stored run has it. `document` is the companion file
    that the pointer refers to, if it is not the file of the case. `cases` is how many cases it
    represents, if several.
    """

    pointer: Pointer
    outcome: MigrationOutcome
    reason: str
    question: str = ""
    in_run: bool = False
    document: Document | None = field(default=None, compare=False)
    cases: int | None = None


def make_entry(
    document: Document,
    pointer: Pointer,
    outcome: MigrationOutcome,
    *reasons: str,
    cases: int | None = None,
) -> MigrationEntry:
    """Return an entry about a place that became no artifact; `cases` is how many it represents."""
    remarks = tuple(filter(None, reasons)) if outcome is MigrationOutcome.MIGRATED else ()
    line, place = document.locate(pointer).line, format_json_pointer(pointer)
    return MigrationEntry(
        document.file, place, line, outcome, reasons=reasons, remarks=remarks, cases=cases
    )


@dataclass(frozen=True, slots=True)
class LegacyCase:
    """One extracted case: its question and its rubric; a case that is set aside has neither.

    `rubric` is a draft; a question that pins a rubric in another file has the reference itself.
    `raw` is the case as in the file. `outcome` is that of the case itself, with `reasons` for it;
    `remarks` say what changes no verdict, `notes` are about its parts. `unseen` are inputs that the
    legacy grader shows its judge and no template here does. `document` is the companion file that
    the pointer refers to, if it is not the source. `why_unscored` says why everything that grades
    it is set aside; empty if something is not.
    """

    pointer: Pointer
    raw: Any
    outcome: MigrationOutcome = MigrationOutcome.MIGRATED
    reasons: tuple[str, ...] = ()
    question: dict[str, Any] = field(default_factory=dict)
    rubric: ArtifactDraft | None = None
    notes: tuple[MigrationNote, ...] = ()
    document: Document | None = None
    remarks: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    why_unscored: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything there is to say about it: why it has its outcome, then the rest."""
        return (*self.reasons, *self.remarks)

    @property
    def is_set_aside(self) -> bool:
        """Whether it becomes neither a question nor a rubric."""
        return not self.question and self.rubric is None


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a reader extracts from one file: its dialect, the head of a dataset, and its cases.

    Without a dataset, the cases are rubrics without a question, and the first rubric stores the
    remainder of the file. `drafts` are judges and inner rubrics, each before the drafts that refer
    to it. A head or a question with its own `x_source` is restored by its reader; for all others
    the remainder is stored. `is_run`: the store keeps the file unchanged as a run, so no remainder
    is needed.
    """

    dialect: str
    dataset: ArtifactDraft | None = None
    cases: tuple[LegacyCase, ...] = ()
    drafts: tuple[ArtifactDraft, ...] = ()
    notes: tuple[MigrationNote, ...] = ()
    is_run: bool = False

    @property
    def name(self) -> str:
        """The name that the suite gives itself, or empty.

        A file of runs has none and is named after its file.
        """
        main = self.dataset or next(
            (case.rubric for case in self.usable_cases if case.rubric), None
        )
        return main.name if main and not self.is_run else ""

    @property
    def usable_cases(self) -> list[LegacyCase]:
        """The cases that become a question or a rubric."""
        return [case for case in self.cases if not case.is_set_aside]

    @property
    def is_refused(self) -> bool:
        """Whether nothing of it is kept: all of it is refused, or every case is."""
        outcomes = {part.outcome for part in self.notes} | {case.outcome for case in self.cases}
        return not self.is_run and not self.usable_cases and MigrationOutcome.REFUSED in outcomes


def find_companion_files(
    extraction: Extraction, companions: Mapping[str, Document], file: str
) -> dict[str, str]:
    """Return the companion files that contain cases of a source, each with its path in the source.

    Paths that begin with / are left out: they start at the folder that the user named, which is
    known only while sources are read.
    """
    # Compared by identity: two companion files may have equal contents.
    holders = {id(case.document) for case in extraction.cases if case.document}
    paths = [path for path, document in companions.items() if id(document) in holders]
    paths = [path for path in paths if not path.startswith("/")]
    folder = PurePosixPath(file).parent
    return {os.path.normpath(folder / path.removeprefix("file://")): path for path in paths}
