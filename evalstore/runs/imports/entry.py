"""One entry of a file of outputs, of any format, and the choice of one series among several; opens no file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalstore.errors import LoadError, Place, RefusedError, UsageError
from evalstore.model import Output
from evalstore.runs.values import StoredOutput
from evalstore.text import EXCERPT, find_nearest, make_excerpt

_EPOCH = re.compile("[1-9][0-9]{0,8}", re.ASCII)


class Series(NamedTuple):
    """The names that tell several outputs to one question apart; None where the file has no such name."""

    model: str | None = None
    prompt: str | None = None
    epoch: str | None = None


@dataclass(frozen=True, slots=True)
class MissingOutput:
    """A question without an output, and the reason; without an id it is a row that could not be read."""

    id: str
    line: int
    reason: str


class OutputEntry(NamedTuple):
    """One output of a file, or its absence, with the series that it belongs to; of an unread one nobody knows it."""

    series: Series
    output: StoredOutput | MissingOutput
    is_read: bool = True


def make_entry(series: Series, id_: str, line: int, answer: Output | str, asked: tuple[str, ...] = ()) -> OutputEntry:
    """Return an entry; a text as `answer` is the reason why there is no output."""
    if isinstance(answer, str):
        return OutputEntry(series, MissingOutput(id_, line, answer))
    # Epochs are counted from 1, samples from 0.
    sample = int(series.epoch) - 1 if series.epoch and _EPOCH.fullmatch(series.epoch) else 0
    return OutputEntry(series, StoredOutput(id_, answer, line, series.model, sample=sample, asked=asked))


def make_unread_entry(error: LoadError, id_: Any = None) -> OutputEntry:
    """Return the entry of a row that cannot be read: its question, as far as it says, has no output."""
    place = error.place or Place("")
    line = place.line or 0
    where = f"line {line}" if line else make_excerpt(place.file.rpartition("/")[2], EXCERPT)
    reason = f"{where} cannot be read: {error.message}" + (f" ({error.hint})" if error.hint else "")
    return OutputEntry(Series(), MissingOutput(read_id(id_) or "", line, reason), is_read=False)


def read_id(value: Any) -> str | None:
    """Return an id as text: texts as they are, whole numbers as their digits, None for anything else."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def read_asked(value: Any) -> str:
    """Return what was asked as one text: a text, or messages, of which the content is taken; empty for anything else.

    Messages may be written as the text of a JSON list, as templates of chats are.
    """
    if isinstance(value, str):
        return _read_chat_text(value) if value.lstrip()[:1] == "[" else value
    turns = value if isinstance(value, list) else [value]
    texts = [_read_content(turn.get("content", turn.get("text"))) for turn in turns if isinstance(turn, dict)]
    return "\n".join(filter(None, texts))


def _read_chat_text(text: str) -> str:
    try:
        turns = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return (read_asked(turns) if isinstance(turns, list) else "") or text


def _read_content(content: Any) -> str:
    """Return the text of a message, whose content is a text or parts of which some are text."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def shorten_reason(reason: Any, otherwise: str) -> str:
    """Return the first line of a stored reason, to be shown."""
    lines = reason.strip().splitlines() if isinstance(reason, str) else ()
    return make_excerpt(lines[0], EXCERPT) if lines else otherwise


def describe_unexpected_shape(part: str, place: Place) -> LoadError:
    """Return the error for a part that has another shape than its tool writes."""
    return LoadError(f"{part} has another shape than its tool writes", place=place)


NamesByPart = dict[str, list[str]]

_PARTS = Series._fields
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class SeriesFilter:
    """The wanted names by part of a `Series`, exact or ending in `*`; `any_model` treats all models as one."""

    only: Mapping[str, str] = field(default_factory=dict)
    any_model: bool = False

    def __post_init__(self) -> None:
        for part in self.only:
            if part not in _PARTS:
                near = find_nearest(part, _PARTS)
                hint = f"did you mean `{near}`?" if near else f"use one of {', '.join(_PARTS)}"
                raise UsageError(f"--only does not know '{make_excerpt(part, 40)}'", hint=hint)

    def is_wanted(self, series: Series) -> bool:
        """Whether `series` is wanted."""
        return all(_matches_name(getattr(series, part), wanted) for part, wanted in self.only.items())

    @property
    def single_parts(self) -> tuple[str, ...]:
        """The parts in which all outputs of a run must agree: all but the epochs, which are samples."""
        return tuple(part for part in _PARTS if part != "epoch" and not (part == "model" and self.any_model))

    def describe(self) -> Iterator[str]:
        """Yield the note for the run's record that says which outputs were taken."""
        if self.only:
            yield f"of the outputs, only those of {self}"

    def __str__(self) -> str:
        return " and ".join(f"{part} '{make_excerpt(name, 60)}'" for part, name in self.only.items())


@dataclass(slots=True)
class SeriesNames:
    """The first name of each part among the wanted entries of a stretch of a file; `wanted`: there is such an entry."""

    first: dict[str, str] = field(default_factory=dict)
    wanted: bool = False

    def join(self, other: SeriesNames, alike: tuple[str, ...]) -> bool:
        """Add the names of another stretch; False where the two differ in one of the parts `alike`."""
        self.wanted |= other.wanted
        return all(self.first.setdefault(part, name) == name for part, name in other.first.items() if part in alike)


def filter_entries(
    read: Callable[[], Iterator[OutputEntry]], choice: SeriesFilter, file: str, names: SeriesNames | None = None
) -> Iterator[OutputEntry]:
    """Yield the wanted entries; raises `RefusedError`, listing the names, when they form several series or none.

    With `names`, the entries are a stretch of the file: `names` collects theirs, and none of them need be wanted.
    """
    found = names or SeriesNames()
    matching: dict[Series, bool] = {}
    for entry in read():
        if not entry.is_read:
            yield entry
            continue
        wanted = matching.get(entry.series)
        if wanted is None:
            wanted = matching[entry.series] = choice.is_wanted(entry.series)
            found.wanted |= wanted
            if wanted and _is_another_series(entry.series, found.first, choice.single_parts):
                raise _several_series_error(_collect_names(read(), choice), choice, file)
        if wanted:
            yield entry
    if names is None and choice.only and not found.wanted:
        raise _no_series_error(_collect_names(read(), SeriesFilter()), choice, file)


def _is_another_series(series: Series, first: dict[str, str], alike: tuple[str, ...]) -> bool:
    """Whether `series` differs in a part from the first name seen there, which `first` collects."""
    names = ((part, getattr(series, part)) for part in alike)
    return any(name is not None and first.setdefault(part, name) != name for part, name in names)


def _matches_name(name: str | None, wanted: str) -> bool:
    if name is None or not wanted.endswith("*"):
        return name == wanted
    return name.startswith(wanted[:-1])


def _collect_names(entries: Iterable[OutputEntry], choice: SeriesFilter) -> NamesByPart:
    found: dict[str, dict[str, None]] = {part: {} for part in _PARTS}
    for entry in entries:
        for part in _PARTS if choice.is_wanted(entry.series) else ():
            name = getattr(entry.series, part)
            if name is not None:
                found[part][name] = None
    return {part: list(names) for part, names in found.items()}


def _several_series_error(names: NamesByPart, choice: SeriesFilter, file: str) -> RefusedError:
    differing = {part: names[part] for part in choice.single_parts if len(names[part]) > 1}
    counted = " and ".join(f"{len(several):,} {part}s" for part, several in differing.items())
    options = "; ".join(f"--only {part}={_list_names(several)}" for part, several in differing.items())
    all_ = "; or take them for one with --model NAME" if list(differing) == ["model"] else ""
    return RefusedError(
        f"contains outputs of {counted}, but a run can have only one",
        place=Place(file),
        hint=f"choose with {options}{all_}",
    )


def _no_series_error(names: NamesByPart, choice: SeriesFilter, file: str) -> RefusedError:
    there = "; ".join(f"{part} {_list_names(names[part])}" for part in choice.only if names[part])
    unnamed = " or ".join(part for part in choice.only if not names[part])
    hint = f"there is {there}" if there else f"its outputs name no {unnamed}"
    return RefusedError(f"holds no output of {choice}", place=Place(file), hint=hint)


def _list_names(names: list[str]) -> str:
    listing = " | ".join(f"'{make_excerpt(name, 60)}'" for name in names[:_SHOWN])
    return listing if len(names) <= _SHOWN else f"{listing} | … ({len(names):,} in all)"
