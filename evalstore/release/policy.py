"""Which version a change needs, and whether a file's version says enough (RULES, part J); pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from evalstore.errors import RefusedError, UsageError
from evalstore.release.values import VersionRule
from evalstore.text import excerpt
from evalstore.versions import Bump, Version, bump_between, next_version

_LABEL = re.compile(r"(?![0-9]+\Z)[0-9A-Za-z][0-9A-Za-z-]{0,31}")  # an option in its place is none: --pre --dry-run


class Judgement(NamedTuple):
    """A rule's answer on one version; no rule means that there is nothing to say against it."""

    rule: VersionRule | None
    ok: bool
    message: str


def judge_version(released: Version, working: Version, required: Bump) -> Judgement:
    """Judge the version of a working file whose change since `released` needs `required`."""
    old, new = _precedence(released), _precedence(working)
    needed = next_version(old, required)
    if new < old:
        return Judgement(VersionRule.DECREASED, False, f"{working} is below the released {released}")
    if required is Bump.NONE:
        return _unneeded(released, working)
    if new == old:
        return Judgement(VersionRule.NOT_BUMPED, False, f"needs {needed}, and is still {working}")
    if new.prerelease:
        message = f"needs {needed}, and {working} is a pre-release; bump --level {required} makes the final version"
        return Judgement(VersionRule.TOO_SMALL, False, message)
    if bump_between(old, new) < required:
        return Judgement(VersionRule.TOO_SMALL, False, f"needs {needed}, and {working} says too little")
    if new > needed:
        return Judgement(
            VersionRule.WITHOUT_CHANGE, True, f"{working} says more than the {needed} it needs; not released yet"
        )
    return Judgement(None, True, f"{working} says enough; not released yet")


def choose_version(released: Version, working: Version, required: Bump, level: Bump | None) -> tuple[Version, Bump]:
    """Return the version to release and the bump it says: the file's where that is enough, else the least that is."""
    if level is not None and next_version(released, level) < (needed := next_version(released, required)):
        raise RefusedError(f"--level {level} is too small: the change needs {needed}", hint=f"say --level {required}")
    wanted = max(required, level or Bump.NONE)
    least = next_version(released, wanted)
    if wanted and (working == least or not _covers(released, working, wanted)):
        return least, wanted
    return working, bump_between(_precedence(released), Version(*working.final))


def check_label(label: str | None) -> None:
    """Refuse a word that cannot name pre-releases."""
    if label is not None and not _LABEL.fullmatch(label):
        raise UsageError(
            f"'{excerpt(label)}' cannot name a pre-release", hint="say rc, beta or the like, as in --pre rc"
        )


def next_prerelease(final: Version, label: str, known: Iterable[Version], working: Version) -> Version:
    """Return the next of a label before `final`: `rc.1` first, and the file's own where that is further."""
    others = [version for version in known if version.final == final.final]
    numbers = [number for version in others if (number := _number(version, label))]
    version = replace(final, prerelease=f"{label}.{max(numbers, default=0) + 1}")
    if working.final == final.final and _number(working, label) and working not in others:
        version = max(version, working)
    if others and version < max(others):
        raise RefusedError(
            f"{version} would come before the released {max(others)}", hint="choose a later label, or release the final"
        )
    return version


def _number(version: Version, label: str) -> int:
    head, _, number = version.prerelease.partition(".")
    return int(number) if head == label and number.isdigit() else 0


def _covers(released: Version, version: Version, wanted: Bump) -> bool:
    # A pre-release is let through as what it prepares; only the gate of `status` does not count it.
    old, final = _precedence(released), Version(*version.final)
    return final > old and bump_between(old, final) >= wanted


def _unneeded(released: Version, working: Version) -> Judgement:
    if _precedence(working) == _precedence(released):
        return Judgement(None, True, "nothing that anyone could notice")
    return Judgement(VersionRule.WITHOUT_CHANGE, True, f"{working} is not released yet, and nothing changed")


def _precedence(version: Version) -> Version:
    return replace(version, build="")
