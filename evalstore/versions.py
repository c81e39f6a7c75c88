"""Semantic versions (SemVer 2.0.0): parse, order, ranges and steps; the only user of `semver`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Self

import semver

from evalstore.errors import RefError

_MAX_DIGITS = 18  # fits into 64 bits; int() refuses thousands of digits
TWO_PART = re.compile(r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)")
_PART = rf"(0|[1-9]\d{{0,{_MAX_DIGITS - 1}}})"
# A pre-release follows three parts only, as in every other tool.
_COMPARATOR = re.compile(
    rf"(\^|~|>=|<=|>|<|=)\s*{_PART}(?:\.{_PART}(?:\.{_PART}(-[0-9a-zA-Z.-]+)?)?)?", re.ASCII
)

_OPERATORS = "^~<>="
_SATISFIES: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
# Without a patch: the first version that is meant, and the first one beyond.
_EXPANSIONS: Mapping[str, Callable[[Version, Version], list[tuple[str, Version]]]] = {
    ">": lambda _, beyond: [(">=", beyond)],
    ">=": lambda low, _: [(">=", low)],
    "<": lambda low, _: [("<", _end_before(low))],
    "<=": lambda _, beyond: [("<", _end_before(beyond))],
    "=": lambda low, beyond: [(">=", low), ("<", _end_before(beyond))],
}


class Bump(StrEnum):
    """The size of a step between two versions, ordered so that `max()` is the required one.

    The members are strings, too: `none`, `patch`, `minor` and `major`.

    Examples:
        >>> max(Bump.MINOR, Bump.PATCH) is Bump.MINOR, Bump.MAJOR == "major", bool(Bump.NONE)
        (True, True, False)
    """

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"

    rank: int  # the position in the order; as strings, members would sort alphabetically

    def __new__(cls, word: str) -> Self:
        """Give each member its position."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.rank = len(cls.__members__)
        return member

    def __bool__(self) -> bool:
        return self is not Bump.NONE

    def __lt__(self, other: str) -> bool:
        return self.rank < Bump(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Bump(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Bump(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Bump(other).rank


class Version(semver.Version):
    """A SemVer 2.0.0 version, ordered by precedence, then by build: a total order."""

    __slots__ = ("_text",)
    _text: str  # written once: a few versions are asked for their text again and again

    def __str__(self) -> str:
        if not hasattr(self, "_text"):
            self._text = super().__str__()
        return self._text

    def compare(self, other: Any) -> int:
        """Return -1, 0 or 1; versions that differ only in their build are not equal."""
        mine, theirs = self.build or "", other.build or ""
        return super().compare(other) or (mine > theirs) - (mine < theirs)

    @property
    def final(self) -> Version:
        """The release of this version: itself, or the one that it is a pre-release of."""
        is_final = self.prerelease is None and self.build is None
        return self if is_final else Version(self.major, self.minor, self.patch)

    @property
    def without_build(self) -> Version:
        """The version without build metadata: equal ones have the same precedence."""
        return self if self.build is None else self.with_prerelease(self.prerelease)

    def is_like(self, other: Version) -> bool:
        """Whether both have the same precedence; no order is found for it."""
        return self.to_tuple()[:4] == other.to_tuple()[:4]

    def with_prerelease(self, prerelease: str | None) -> Version:
        """Return the version without its build, and with this pre-release."""
        return Version(self.major, self.minor, self.patch, prerelease)


@lru_cache(4096)  # a store of thousands of artifacts has few versions
def find_version(text: str) -> Version | None:
    """Parse `X.Y.Z[-pre][+build]`, or `X.Y` as `X.Y.0`; None for anything else."""
    numbers, _, prerelease = text.partition("+")[0].partition("-")
    numerals = filter(str.isdigit, (*numbers.split("."), *prerelease.split(".")))
    # semver 3.0 accepts a version followed by a line feed.
    if text.endswith("\n") or any(len(numeral) > _MAX_DIGITS for numeral in numerals):
        return None
    try:
        return Version.parse(f"{text}.0" if TWO_PART.fullmatch(text) else text)
    except ValueError:
        return None


def parse_version(text: str) -> Version:
    """Parse a version; raises `RefError` for anything else."""
    if (version := find_version(text)) is None:
        raise RefError(f"{text!r} is not a version", hint="write MAJOR.MINOR.PATCH, as in 1.2.0")
    return version


def bump_version(version: Version, bump: Bump) -> Version:
    """Return the version one step up.

    In 0.y.z a major bump raises y, and any other z; a pre-release becomes final.
    """
    if bump is Bump.NONE:
        return version
    if version.prerelease:
        return version.final
    if version.major == 0:
        new = version.bump_minor() if bump is Bump.MAJOR else version.bump_patch()
    else:
        new = {
            Bump.MAJOR: version.bump_major,
            Bump.MINOR: version.bump_minor,
            Bump.PATCH: version.bump_patch,
        }[bump]()
    return Version(*new.to_tuple())


def compute_bump(old: Version, new: Version) -> Bump:
    """Return the bump from `old` to `new`; NONE if `new` is equal, lower or a pre-release."""
    if new <= old or new.prerelease:
        return Bump.NONE
    if new.major != old.major or (old.major == 0 and new.minor != old.minor):
        return Bump.MAJOR
    if new.minor != old.minor or old.major == 0:
        return Bump.MINOR
    return Bump.PATCH


@dataclass(frozen=True, slots=True)
class Range:
    """A floating pin: it contains a version for which every comparator holds.

    Build metadata does not matter.
    """

    comparators: tuple[tuple[str, Version], ...]

    def __contains__(self, version: object) -> bool:
        if not isinstance(version, Version):
            return False
        plain = version.without_build
        return self._allows_prerelease(plain) and all(
            _SATISFIES[op](plain, bound) for op, bound in self.comparators
        )

    def _allows_prerelease(self, version: Version) -> bool:
        # A range contains a pre-release only if it names a pre-release of the same release (npm,
        # cargo).
        named = {bound.final for _, bound in self.comparators if bound.prerelease}
        return not version.prerelease or version.final in named


def find_range(text: str) -> Range | None:
    """Parse `^1.2`, `~1.2`, `>1.2`, `>=1.2 <2` as npm and cargo do; None for anything else.

    A part that is left out means any: `>1.2` begins at 1.3.0, `<=1.2` includes all of 1.2, and
    `=1.2` is all of 1.2.
    """
    # Comparators are separated by spaces or commas, or not at all: `>=1.2<2`.
    comparators: list[tuple[str, Version]] = []
    rest = text.strip()
    while rest:
        match = _COMPARATOR.match(rest)
        expanded = _expand_comparator(match) if match else None
        if match is None or expanded is None:
            return None
        comparators += expanded
        rest = rest[match.end() :].lstrip(" ,")
        if rest and rest[0] not in _OPERATORS:
            return None
    return Range(tuple(comparators)) if comparators else None


def _expand_comparator(match: re.Match[str]) -> list[tuple[str, Version]] | None:
    """Return what one comparator asks for; None if its pre-release is not valid."""
    op, major, minor, patch, pre = match.groups()
    low = find_version(f"{major}.{minor or 0}.{patch or 0}{pre or ''}")
    if low is None:
        return None
    if op == "^":
        return [(">=", low), ("<", _end_before(_find_caret_limit(low, minor, patch)))]
    if op == "~":
        return [(">=", low), ("<", _end_before(_find_next(low, minor)))]
    return [(op, low)] if patch else _EXPANSIONS[op](low, _find_next(low, minor))


def _find_next(low: Version, minor: str | None) -> Version:
    """Return the first version after all of X.Y, or of X if there is no minor."""
    return Version(low.major, low.minor + 1, 0) if minor else Version(low.major + 1, 0, 0)


def _end_before(version: Version) -> Version:
    """Return the lowest pre-release of a version: an upper end that excludes all of them."""
    return version.with_prerelease("0")


def _find_caret_limit(low: Version, minor: str | None, patch: str | None) -> Version:
    """Return the version at which the first non-zero part goes up."""
    if low.major or minor is None:
        return Version(low.major + 1, 0, 0)
    if low.minor or patch is None:
        return Version(0, low.minor + 1, 0)
    return Version(0, 0, low.patch + 1)
