"""One entry of a file of outputs, of any format: an output, or the reason why there is none; opens no file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalstore.errors import LoadError, Place
from evalstore.model import Output
from evalstore.runs.values import StoredOutput
from evalstore.text import make_excerpt

_REASON_LIMIT = 80
_EPOCH = re.compile("[1-9][0-9]{0,8}", re.ASCII)


class Series(NamedTuple):
    """The names that tell several outputs to one question apart; None where the file has no such name."""

    model: str | None = None
    prompt: str | None = None
    epoch: str | None = None


@dataclass(frozen=True, slots=True)
class MissingOutput:
    """A question without an output, and the reason."""

    id: str
    line: int
    reason: str


class OutputEntry(NamedTuple):
    """One output of a file, or its absence, with the series that it belongs to."""

    series: Series
    output: StoredOutput | MissingOutput


def make_entry(series: Series, id_: str, line: int, answer: Output | str) -> OutputEntry:
    """Return an entry; a text as `answer` is the reason why there is no output."""
    if isinstance(answer, str):
        return OutputEntry(series, MissingOutput(id_, line, answer))
    # Epochs are counted from 1, samples from 0.
    sample = int(series.epoch) - 1 if series.epoch and _EPOCH.fullmatch(series.epoch) else 0
    return OutputEntry(series, StoredOutput(id_, answer, line, series.model, sample=sample))


def read_id(value: Any) -> str | None:
    """Return an id as text: texts as they are, whole numbers as their digits, None for anything else."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def shorten_reason(reason: Any, otherwise: str) -> str:
    """Return the first line of a stored reason, to be shown."""
    lines = reason.strip().splitlines() if isinstance(reason, str) else ()
    return make_excerpt(lines[0], _REASON_LIMIT) if lines else otherwise


def describe_unexpected_shape(part: str, place: Place) -> LoadError:
    """Return the error for a part that has another shape than its tool writes."""
    return LoadError(f"{part} has another shape than its tool writes", place=place)
