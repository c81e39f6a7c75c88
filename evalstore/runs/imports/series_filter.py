"""Chooses one of several series of outputs by the names that the user gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from evalstore.errors import Place, RefusedError, UsageError
from evalstore.runs.imports.entry import OutputEntry, Series
from evalstore.text import find_nearest, make_excerpt

NamesByPart = dict[str, list[str]]

_PARTS = Series._fields
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class SeriesFilter:
    """The wanted names by part of a `Series`, exact or ending in `*`.

    `any_model` treats all models as one. In the names in `exact`, `*` is an ordinary character.
    """

    only: Mapping[str, str] = field(default_factory=dict)
    any_model: bool = False
    exact: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for part in self.only:
            if part not in _PARTS:
                near = find_nearest(part, _PARTS)
                hint = f"did you mean `{near}`?" if near else f"use one of {', '.join(_PARTS)}"
                raise UsageError(f"--only does not know '{make_excerpt(part, 40)}'", hint=hint)

    def is_wanted(self, series: Series) -> bool:
        """Whether `series` is wanted."""
        return all(
            _matches_name(getattr(series, part), wanted) for part, wanted in self.only.items()
        ) and all(getattr(series, part) == name for part, name in self.exact.items())

    @property
    def single_parts(self) -> tuple[str, ...]:
        """The parts in which a run's outputs must agree: all except epochs, which are samples."""
        return tuple(
            part for part in _PARTS if part != "epoch" and not (part == "model" and self.any_model)
        )

    def describe(self) -> Iterator[str]:
        """Yield the run's note on which outputs were chosen."""
        if self.only:
            yield f"of the outputs, only those of {self}"

    def __str__(self) -> str:
        return " and ".join(
            f"{part} '{make_excerpt(name, 60)}'" for part, name in self.only.items()
        )


@dataclass(slots=True)
class SeriesNames:
    """The first name of each part among the wanted entries of a span.

    `wanted`: there is at least one wanted entry.
    """

    first: dict[str, str] = field(default_factory=dict)
    wanted: bool = False

    def join(self, other: SeriesNames, alike: tuple[str, ...]) -> bool:
        """Add another span's names; False if the two differ in a part of `alike`."""
        self.wanted |= other.wanted
        names = {part: name for part, name in other.first.items() if part in alike}
        return all(self.first.setdefault(part, name) == name for part, name in names.items())


def filter_entries(
    read: Callable[[], Iterator[OutputEntry]],
    choice: SeriesFilter,
    file: str,
    names: SeriesNames | None = None,
) -> Iterator[OutputEntry]:
    """Yield the wanted entries; raises `RefusedError`, with the names, for several series, or none.

    With `names`, the entries are a span of the file: their names are added to `names`, and it is no
    error if none is wanted.
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
    """Whether `series` differs in a part from the first name there; adds new parts to `first`."""
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
    options = "; ".join(
        f"--only {part}={_list_names(several)}" for part, several in differing.items()
    )
    is_model = list(differing) == ["model"]
    all_ = "; or evalstore score takes them for one with --model NAME" if is_model else ""
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
