"""Which version a change needs, and whether a file's version says enough (RULES, part J); pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from evalstore.errors import RefusedError, UsageError
from evalstore.release.values import VersionRule
from evalstore.text import make_excerpt
from evalstore.versions import Bump, Version, compute_bump, bump_version

_LABEL = re.compile(r"(?![0-9]+\Z)[0-9A-Za-z][0-9A-Za-z-]{0,31}")  # an option in its place is none: --pre --dry-run


class VersionJudgement(NamedTuple):
    """A rule's answer on one version; no rule means that there is nothing to say against it."""

    rule: VersionRule | None
    ok: bool
    message: str


def judge_version(released: Version, working: Version, required: Bump) -> VersionJudgement:
    """Judge the version of a working file whose change since `released` needs `required`."""
    old, new = without_build(released), without_build(working)
    needed = bump_version(old, required)
    if new < old:
        return VersionJudgement(VersionRule.DECREASED, False, f"{working} is below the released {released}")
    if required is Bump.NONE:
        return _judge_unneeded(released, working)
    if new == old:
        return VersionJudgement(VersionRule.NOT_BUMPED, False, f"needs {needed}, and is still {working}")
    if new.prerelease:
        message = f"needs {needed}, and {working} is a pre-release; bump --level {required} makes the final version"
        return VersionJudgement(VersionRule.TOO_SMALL, False, message)
    if compute_bump(old, new) < required:
        return VersionJudgement(VersionRule.TOO_SMALL, False, f"needs {needed}, and {working} says too little")
    if new > needed:
        return VersionJudgement(
            VersionRule.WITHOUT_CHANGE, True, f"{working} says more than the {needed} it needs; not released yet"
        )
    return VersionJudgement(None, True, f"{working} says enough; not released yet")


def choose_version(released: Version, working: Version, required: Bump, level: Bump | None) -> tuple[Version, Bump]:
    """Return the version to release and the bump it says: the file's where that is enough, else the least that is."""
    if level is not None and bump_version(released, level) < (needed := bump_version(released, required)):
        raise RefusedError(f"--level {level} is too small: the change needs {needed}", hint=f"say --level {required}")
    wanted = max(required, level or Bump.NONE)
    least = bump_version(released, wanted)
    if wanted and (working == least or not _is_enough(released, working, wanted)):
        return least, wanted
    return working, compute_bump(without_build(released), Version(*working.final))


def check_prerelease_label(label: str | None) -> None:
    """Refuse a word that cannot name pre-releases."""
    if label is not None and not _LABEL.fullmatch(label):
        raise UsageError(
            f"'{make_excerpt(label)}' cannot name a pre-release", hint="say rc, beta or the like, as in --pre rc"
        )


def choose_prerelease(final: Version, label: str, known: Iterable[Version], working: Version) -> Version:
    """Return the next of a label before `final`: `rc.1` first, and the file's own where that is further."""
    others = [version for version in known if version.final == final.final]
    numbers = [number for version in others if (number := _prerelease_number(version, label))]
    version = replace(final, prerelease=f"{label}.{max(numbers, default=0) + 1}")
    if working.final == final.final and _prerelease_number(working, label) and working not in others:
        version = max(version, working)
    if others and version < max(others):
        raise RefusedError(
            f"{version} would come before the released {max(others)}", hint="choose a later label, or release the final"
        )
    return version


def _prerelease_number(version: Version, label: str) -> int:
    head, _, number = version.prerelease.partition(".")
    return int(number) if head == label and number.isdigit() else 0


def _is_enough(released: Version, version: Version, wanted: Bump) -> bool:
    # A pre-release is let through as what it prepares; only the gate of `status` does not count it.
    old, final = without_build(released), Version(*version.final)
    return final > old and compute_bump(old, final) >= wanted


def _judge_unneeded(released: Version, working: Version) -> VersionJudgement:
    if without_build(working) == without_build(released):
        return VersionJudgement(None, True, "nothing that anyone could notice")
    return VersionJudgement(VersionRule.WITHOUT_CHANGE, True, f"{working} is not released yet, and nothing changed")


def without_build(version: Version) -> Version:
    return replace(version, build="")
