"""What a reader takes from one legacy file: its cases, and the artifacts that they need, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalstore.documents import Document, Pointer
from evalstore.migration.opened import BrokenLine
from evalstore.migration.outcome import MigrationOutcome
from evalstore.model import Kind

VERSION = "1.0.0"


@dataclass(frozen=True, slots=True)
class LegacySource:
    """One source file: its document, and what lies beside it.

    `file` is relative and the same on every machine. `beside` reads a file by its path from the folder of this one, or
    with a leading / from what the user named: None for a URL, where there is none, and outside of what was named. What
    was read so is kept for an export. `dialect` is what the user says. `broken` are lines that are in no document.
    """

    document: Document
    file: str
    sha256: str
    beside: Callable[[str], Document | None]
    dialect: str | None = None
    broken: tuple[BrokenLine, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactDraft:
    """An artifact to be: everything but its source. `id` is its natural one; a taken one is numbered in the plan."""

    kind: Kind
    id: str
    value: dict[str, Any]
    pointer: Pointer = ()
    version: str = VERSION

    @property
    def ref(self) -> str:
        """What other drafts of the same source call it."""
        return f"{self.kind}/{self.id}@{self.version}"


def judge_draft(judge: Mapping[str, Any]) -> ArtifactDraft:
    """Return the draft of a judge that a table has."""
    return ArtifactDraft(Kind.JUDGE, judge["id"], {key: item for key, item in judge.items() if key != "id"})


@dataclass(frozen=True, slots=True)
class MigrationNote:
    """A part of a source that has its own outcome: a check that no kind can say, a key that nobody reads.

    `question` is the one that stands for it. `kept` says that its part of the run does, which is kept as it is.
    `document` is where the pointer leads, if that is a file beside the source, and not that of the case.
    """

    pointer: Pointer
    outcome: MigrationOutcome
    reason: str
    question: str = ""
    kept: bool = False
    document: Document | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LegacyCase:
    """One case as read: its question, and the rubric; a refused one has neither.

    `rubric` is one to be made; a question of another file's rubric names that itself. `raw` is the case as the file has
    it. `outcome` is that of the case itself; `notes` are on its parts. `document` is where the pointer leads, if that
    is a file beside the source.
    """

    pointer: Pointer
    raw: Any
    outcome: MigrationOutcome = MigrationOutcome.MIGRATED
    reasons: tuple[str, ...] = ()
    question: dict[str, Any] = field(default_factory=dict)
    rubric: ArtifactDraft | None = None
    notes: tuple[MigrationNote, ...] = ()
    document: Document | None = None

    @property
    def refused(self) -> bool:
        """Whether nothing is made of it."""
        return not self.question and self.rubric is None


@dataclass(frozen=True, slots=True)
class Extraction:
    """One file as read: its dialect, and the head of a dataset with its cases.

    Without a dataset the cases are rubrics without a question, and the first of them keeps the file. `drafts` are
    judges and inner rubrics, each before what refers to it. A head, or a question, that brings its own `x_source` says
    by that how its reader gives the source back; for others it is kept what they do not say of it. A `run` is a file
    that the store keeps as it is, so that nothing else need be kept of it.
    """

    dialect: str
    dataset: ArtifactDraft | None = None
    cases: tuple[LegacyCase, ...] = ()
    drafts: tuple[ArtifactDraft, ...] = ()
    notes: tuple[MigrationNote, ...] = ()
    run: bool = False
