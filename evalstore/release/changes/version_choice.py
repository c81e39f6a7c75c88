"""Chooses the version of a release: high enough for its change and free, or a pre-release of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable

from evalstore.errors import RefusedError, UsageError
from evalstore.store import Release
from evalstore.text import make_excerpt
from evalstore.versions import Bump, Version, bump_version, compute_bump

# An option in its place is not a label: --pre --dry-run.
_LABEL = re.compile(r"(?![0-9]+\Z)[0-9A-Za-z][0-9A-Za-z-]{0,31}")


def choose_version(
    released: Version, working: Version, required: Bump, level: Bump | None
) -> tuple[Version, Bump]:
    """Return the version to release, and its bump.

    It is the file's version if that is high enough, else the lowest that is.
    """
    if level is not None and bump_version(released, level) < (
        needed := bump_version(released, required)
    ):
        raise RefusedError(
            f"--level {level} is too small: the change needs {needed}",
            hint=f"use --level {required}",
        )
    bump = max(required, level or Bump.NONE)
    least = bump_version(released, bump)
    if bump and (working == least or not _is_enough(released, working, bump)):
        return least, bump
    return working, compute_bump(released.without_build, working.final)


def find_free_version(released: Version, bump: Bump, known: Collection[Version]) -> Version:
    """Return the version that a change of `released` needs: the next, or one above all if taken.

    `known` are the released versions, including those that only other branches have.
    """
    version = bump_version(released, bump)
    is_taken = bump and any(map(version.is_like, known))
    return _step_over(known, bump) if is_taken else version


def _step_over(known: Iterable[Version], bump: Bump) -> Version:
    return bump_version(max(known), max(bump, Bump.PATCH))


def find_taken_release(
    released: Version, working: Version, required: Bump, releases: Iterable[Release]
) -> Release | None:
    """Return the release whose number a bump of a working file would take; None if it is free.

    `released` is the version that the file was edited from.
    """
    if required is Bump.NONE and working <= released:
        return None
    version, _ = choose_version(released, working, required, None)
    return next((one for one in releases if one.version.without_build == version), None)


def suggest_free_version(taken: Release, bump: Bump, releases: Iterable[Release]) -> str:
    """Say what to do if a bump would take the number of a release."""
    if taken.version.prerelease:
        return (
            "release the next pre-release with --pre, the final version with --level, or write a "
            "version into the file"
        )
    free = _step_over([release.version for release in releases], bump)
    return (
        f"write {free} into the file; or commit the edit, then git merge {shlex.quote(taken.tag)}"
    )


def check_prerelease_label(label: str | None) -> None:
    """Refuse a label that cannot name pre-releases (`UsageError`)."""
    if label is not None and not _LABEL.fullmatch(label):
        raise UsageError(
            f"'{make_excerpt(label)}' cannot name a pre-release",
            hint="use rc, beta or similar, as in --pre rc",
        )


def choose_prerelease(
    final: Version, label: str, known: Collection[Version], working: Version
) -> Version:
    """Return the next pre-release of a label before `final`.

    The first is `rc.1`. If the file's own is further, it is that.
    """
    others = [version for version in known if version.final == final.final]
    numbers = [number for version in others if (number := _prerelease_number(version, label))]
    version = final.with_prerelease(f"{label}.{max(numbers, default=0) + 1}")
    if (
        working.final == final.final
        and _prerelease_number(working, label)
        and working not in others
    ):
        version = max(version, working)
    if others and version < (last := max(others)):
        hint = "choose a later label, or release the final version"
        if not last.prerelease:
            hint = f"write a version above {max(known)} into the file"
        raise RefusedError(f"{version} would come before the released {last}", hint=hint)
    return version


def _prerelease_number(version: Version, label: str) -> int:
    head, _, number = (version.prerelease or "").partition(".")
    return int(number) if head == label and number.isdigit() else 0


def _is_enough(released: Version, version: Version, bump: Bump) -> bool:
    # A pre-release counts as the final version that it prepares; only the gate of `status` does not
    # accept it.
    old, final = released.without_build, version.final
    return final > old and compute_bump(old, final) >= bump
