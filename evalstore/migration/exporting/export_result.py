"""The values that `export` returns.

It also has the refusal of a rubric that was edited since its migration.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.errors import RefusedError
from evalstore.migration.outcome import PinBehind

EDITED = "it was edited since it was migrated"
EDIT_HINT = "export an earlier version, or take the edit back"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One exported file: its path, its origin, and its text.

    `ref` is the artifact or run that it comes from. `left_out` is what the text lacks. `behind` are
    pins of its dataset to rubrics that have a later version since their source changed.
    """

    file: str
    ref: str
    text: str
    left_out: tuple[str, ...] = ()
    behind: tuple[PinBehind, ...] = ()


class EditedRubricError(RefusedError):
    """A rubric has changed since its migration: its question cannot be exported."""

    def __init__(
        self, question: str, rubric: str, reason: str = EDITED, *, hint: str = EDIT_HINT
    ) -> None:
        """Name the question and the reference of its rubric.

        `reason` says what is wrong with the rubric.
        """
        # If the values of one question are filled into a rubric, the message names that question.
        self.rubric = rubric.partition("#")[0]
        super().__init__(f"{question}, graded by {self.rubric}: {reason}", hint=hint)


@dataclass(frozen=True, slots=True)
class UnexportedFile:
    """A file that could not be exported, its artifact, the rubric responsible, and the reason."""

    file: str
    ref: str
    rubric: str | None
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The files of one export.

    `out` is the folder they were written to, None if nothing was written. `refused` are the files
    that could not be exported.
    """

    format: str
    files: tuple[ExportedFile, ...]
    out: str | None = None
    refused: tuple[UnexportedFile, ...] = ()
