"""The exceptions of evalstore, their places, and the exit codes; imports nothing of evalstore."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple


class ExitCode(IntEnum):
    """The six exit codes of the process."""

    DONE = 0
    NO = 1
    USAGE = 2
    FAILED = 3
    BUG = 4
    INTERRUPTED = 130


class Place(NamedTuple):
    """A position: a file, and a line and column counted from 1 where known."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(
            str(part) for part in (self.file, self.line, self.column) if part is not None
        )


class EvalstoreError(Exception):
    """An error that the user can fix: what happened, where, and what to do next (the hint).

    Attributes:
        message: What happened, in one sentence.
        place: The file, with line and column where known; None if there is no place.
        hint: What to do next; None if there is nothing to suggest.
        exit_code: The exit code of the command line.

    Examples:
        >>> try:
        ...     store.resolve("rubric/anser_style")
        ... except evalstore.EvalstoreError as error:
        ...     print(error.message, "-", error.hint)
        there is no rubric/anser_style - did you mean rubric/answer_style? released: 1.0.0
    """

    exit_code = ExitCode.FAILED

    def __init__(
        self, message: str, *, place: Place | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class UsageError(EvalstoreError):
    """The command line, or an argument of a public function, cannot be understood."""

    exit_code = ExitCode.USAGE


class ArgumentError(UsageError, TypeError):
    """An argument of a public function has the wrong type."""

    @classmethod
    def from_value(cls, what: str, value: object, expected: tuple[type, ...]) -> ArgumentError:
        """Word it as a sentence: `audit: store takes Store, not str`."""
        names = " or ".join(type_.__name__ for type_ in expected if type_ is not type(None))
        return cls(f"{what} takes {names}, not {type(value).__name__}")


class LoadError(EvalstoreError):
    """A file is not a document that evalstore can read."""


class AbsentError(LoadError):
    """Nothing exists at the path of a file."""


class LimitError(LoadError):
    """A text is larger, deeper or longer than evalstore reads."""


class SchemaError(EvalstoreError):
    """A value does not have the required shape, or a JSON Schema is itself broken."""


class RefError(EvalstoreError):
    """A reference is malformed, or names nothing."""


class UnreleasedError(RefError):
    """A reference has no release yet; it would mean the file on disk."""


class GitError(EvalstoreError):
    """The repository cannot be read or written."""


class RefusedError(EvalstoreError):
    """evalstore will not do this, and says why."""


class LostGradersError(RefusedError):
    """What graded a run is gone, so only what the run recorded is left."""


class FindingsError(RefusedError):
    """What was to be used has findings that forbid it, one per line in `lines`."""

    exit_code = ExitCode.NO

    def __init__(self, message: str, lines: Sequence[str]) -> None:
        super().__init__(message, hint="see each finding: evalstore validate")
        self.lines = tuple(lines)
        for line in lines:
            self.add_note(line)


class FindingsWarning(UserWarning):
    """What was used has a finding, which its settings allow."""


class ConflictError(RefusedError):
    """Somebody else changed the repository first."""
