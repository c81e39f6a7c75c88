"""The value that every reader yields: one entry of a file of outputs; opens no file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.errors import LoadError, Place
from evalstore.model import CheckResult, Output, Verdict
from evalstore.runs.values import StoredOutput
from evalstore.text import EXCERPT, make_excerpt

_EPOCH = re.compile("[1-9][0-9]{0,8}", re.ASCII)


class Series(NamedTuple):
    """The names that distinguish several outputs to one question; None if a file has none."""

    model: str | None = None
    prompt: str | None = None
    epoch: str | None = None
    configuration: str | None = None


@dataclass(frozen=True, slots=True)
class MissingOutput:
    """A question without an output, and the reason; without an id, an unreadable row.

    `asked` is what the record says was asked.
    """

    id: str
    line: int
    reason: str
    asked: tuple[str, ...] = ()


class RecordedGrade(NamedTuple):
    """What the tool that wrote a file recorded about an output: score, verdict, and checks.

    `stated` is a second score for the same output elsewhere in the file, or None.
    """

    score: Fraction | None
    verdict: Verdict
    checks: tuple[CheckResult, ...] = ()
    reason: str = ""
    reference: tuple[str, ...] = ()
    stated: Fraction | None = None


class RecordedMean(NamedTuple):
    """A mean of scores or passes that a file states: for a check, a configuration, or all rows."""

    name: str
    value: Fraction
    configuration: str | None = None
    check: str = ""
    is_pass_rate: bool = False


class FileFacts(NamedTuple):
    """What a file says about itself; `status` is what ended its log early, or empty.

    `note` is what to know before its numbers are used.
    """

    name: str = ""
    model: str = ""
    at: str = ""
    status: str = ""
    claims: tuple[RecordedMean, ...] = ()
    note: str = ""


class OutputEntry(NamedTuple):
    """One output of a file, or its absence, with its series (unknown for an unreadable row).

    `grade` is what the file recorded about it, or None.
    """

    series: Series
    output: StoredOutput | MissingOutput
    is_read: bool = True
    grade: RecordedGrade | None = None


def make_entry(  # noqa: PLR0913  # what a row records
    series: Series,
    id_: str,
    line: int,
    answer: Output | str,
    asked: tuple[str, ...] = (),
    *,
    grade: RecordedGrade | None = None,
) -> OutputEntry:
    """Return an entry; if `answer` is a text, it is the reason why there is no output."""
    if isinstance(answer, str):
        return OutputEntry(series, MissingOutput(id_, line, answer, asked), grade=grade)
    # Epochs are counted from 1, samples from 0.
    sample = int(series.epoch) - 1 if series.epoch and _EPOCH.fullmatch(series.epoch) else 0
    return OutputEntry(
        series,
        StoredOutput(
            id_, answer, line, series.model, sample=sample, asked=asked, prompt=series.prompt
        ),
        grade=grade,
    )


def make_unread_entry(error: LoadError, id_: Any = None) -> OutputEntry:
    """Return the entry of an unreadable row: its question, if known, has no output."""
    place = error.place or Place("")
    line = place.line or 0
    where = f"line {line}" if line else make_excerpt(place.file.rpartition("/")[2], EXCERPT)
    reason = f"{where} cannot be read: {error.message}" + (f" ({error.hint})" if error.hint else "")
    return OutputEntry(Series(), MissingOutput(read_id(id_) or "", line, reason), is_read=False)


def read_id(value: Any) -> str | None:
    """Return an id as text: a text, or a whole number's digits; None for anything else."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def read_asked(value: Any) -> str:
    """Return what was asked as one text, from a text or messages; empty for anything else.

    Messages may also be the text of a JSON list, as in chat templates.
    """
    if isinstance(value, str):
        return _read_chat_text(value) if value.lstrip()[:1] == "[" else value
    turns = value if isinstance(value, list) else [value]
    contents = [turn.get("content", turn.get("text")) for turn in turns if isinstance(turn, dict)]
    texts = map(_read_content, contents)
    return "\n".join(filter(None, texts))


def _read_chat_text(text: str) -> str:
    try:
        turns = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return (read_asked(turns) if isinstance(turns, list) else "") or text


def _read_content(content: Any) -> str:
    """Return the text of a message; its content is a text, or parts of which some are text."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def shorten_reason(reason: Any, otherwise: str) -> str:
    """Return the first line of a stored reason for display, or `otherwise` if there is none."""
    lines = reason.strip().splitlines() if isinstance(reason, str) else ()
    return make_excerpt(lines[0], EXCERPT) if lines else otherwise


def describe_unexpected_shape(part: str, place: Place) -> LoadError:
    """Return the error for a part whose shape is not what its tool writes."""
    return LoadError(f"{part} has another shape than its tool writes", place=place)
