"""Semantic versions (SemVer 2.0.0): parse, order, ranges, and the step to the next; the only user of `semver`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache, total_ordering

from evalstore.errors import RefError

_MAX_DIGITS = 17  # after the first: fits a 64-bit integer; int() refuses to read thousands
_IDENTIFIER = rf"(?:0|[1-9]\d{{0,{_MAX_DIGITS}}}|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_NUMBER = rf"(?:0|[1-9]\d{{0,{_MAX_DIGITS}}})"
VERSION_PATTERN = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?",
    re.ASCII,
)
TWO_PART = re.compile(rf"({_NUMBER})\.({_NUMBER})", re.ASCII)
_PART = rf"(\d{{1,{_MAX_DIGITS + 1}}})"
_COMPARATOR = re.compile(
    rf"(\^|~|>=|<=|>|<|=)\s*{_PART}(?:\.{_PART})?(?:\.{_PART})?(-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?", re.ASCII
)


class Bump(StrEnum):
    """The size of a step between two versions, ordered, so that `max()` of several is the one required."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"

    @property
    def rank(self) -> int:
        """The position in the order; as texts the members would sort by the alphabet."""
        return tuple(Bump).index(self)

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


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A SemVer 2.0.0 version; ordered by precedence, then by its text, so that the order is total."""

    major: int
    minor: int
    patch: int
    prerelease: str = ""
    build: str = ""
    # Thousands of releases share a few versions, and each is written ten times.
    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += f"-{self.prerelease}"
        object.__setattr__(self, "_text", f"{text}+{self.build}" if self.build else text)

    def __str__(self) -> str:
        return self._text

    @property
    def final(self) -> tuple[int, int, int]:
        """The release that this version is, or is a pre-release of."""
        return (self.major, self.minor, self.patch)

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key < other.key

    @property
    def key(self) -> tuple[object, ...]:
        """The sort key: precedence by SemVer 11 (a pre-release is before its release), then the build."""
        # Integer tuples: `semver` compares twenty times slower, and a store has thousands of tags.
        parts = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in self.prerelease.split(".") if p)
        return (*self.final, not self.prerelease, parts, self.build)


@lru_cache(4096)  # a store of thousands has few versions
def find_version(text: str) -> Version | None:
    """Parse `X.Y.Z[-pre][+build]`, or `X.Y` as `X.Y.0`; None for anything else."""
    if match := VERSION_PATTERN.fullmatch(text):
        major, minor, patch, prerelease, build = match.groups()
        return Version(int(major), int(minor), int(patch), prerelease or "", build or "")
    if match := TWO_PART.fullmatch(text):
        return Version(int(match[1]), int(match[2]), 0)
    return None


def parse_version(text: str) -> Version:
    """Parse a version; `RefError` for anything else."""
    if (version := find_version(text)) is None:
        raise RefError(f"{text!r} is not a version", hint="write MAJOR.MINOR.PATCH, as in 1.2.0")
    return version


def bump_version(version: Version, bump: Bump) -> Version:
    """Return the version one step up: in 0.y.z a major bump raises y, any other z; a pre-release becomes final."""
    import semver

    if bump is Bump.NONE:
        return version
    old = semver.Version.parse(str(version))
    if version.prerelease:
        new = old.finalize_version()
    elif version.major == 0:
        new = old.bump_minor() if bump is Bump.MAJOR else old.bump_patch()
    else:
        new = {Bump.MAJOR: old.bump_major, Bump.MINOR: old.bump_minor, Bump.PATCH: old.bump_patch}[bump]()
    return Version(new.major, new.minor, new.patch)


def compute_bump(old: Version, new: Version) -> Bump:
    """Return the bump that the step from `old` to `new` makes; NONE when it goes nowhere, back or to a pre-release."""
    if new <= old or new.prerelease:
        return Bump.NONE
    if new.major != old.major or (old.major == 0 and new.minor != old.minor):
        return Bump.MAJOR
    if new.minor != old.minor or old.major == 0:
        return Bump.MINOR
    return Bump.PATCH


@dataclass(frozen=True, slots=True)
class Range:
    """A floating pin: a version is in it when every comparator holds."""

    comparators: tuple[tuple[str, Version], ...]

    def __contains__(self, version: object) -> bool:
        return (
            isinstance(version, Version)
            and self._allows_prerelease(version)
            and all(_satisfies(op, version, bound) for op, bound in self.comparators)
        )

    def _allows_prerelease(self, version: Version) -> bool:
        # A pre-release is in a range only when the range names a pre-release of the same release (npm).
        named = {bound.final for _, bound in self.comparators if bound.prerelease}
        return not version.prerelease or version.final in named


def find_range(text: str) -> Range | None:
    """Parse `^1.2`, `~1.2`, `>=1.2 <2` (as npm and cargo read them); None for anything else."""
    # Comparators are separated by spaces or commas, and stand together too: `>=1.2<2`.
    comparators: list[tuple[str, Version]] = []
    rest = text.strip()
    while rest:
        match = _COMPARATOR.match(rest)
        if match is None:
            return None
        comparators += _expand_comparator(match)
        rest = rest[match.end() :].lstrip(" ,")
    return Range(tuple(comparators)) if comparators else None


def _expand_comparator(match: re.Match[str]) -> list[tuple[str, Version]]:
    # Missing parts are zero; `~` fixes the minor, `^` the first part that is not zero.
    op, major, minor, patch, pre = match.groups()
    low = Version(int(major), int(minor or 0), int(patch or 0), (pre or "")[1:])
    if op == "~":
        high = Version(low.major, low.minor + 1, 0) if minor else Version(low.major + 1, 0, 0)
        return [(">=", low), ("<", high)]
    if op == "^":
        return [(">=", low), ("<", _find_caret_limit(low, minor, patch))]
    return [(op, low)]


def _find_caret_limit(low: Version, minor: str | None, patch: str | None) -> Version:
    if low.major or minor is None:
        return Version(low.major + 1, 0, 0)
    if low.minor or patch is None:
        return Version(0, low.minor + 1, 0)
    return Version(0, 0, low.patch + 1)


def _satisfies(op: str, version: Version, bound: Version) -> bool:
    return {
        ">=": version >= bound,
        "<=": version <= bound,
        ">": version > bound,
        "<": version < bound,
        "=": version == bound,
    }[op]
