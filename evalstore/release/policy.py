"""Which version a change needs, and whether a file's version says enough (RULES, part J); pure."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from evalstore.errors import RefusedError
from evalstore.release.values import Policy
from evalstore.versions import Bump, Version, bump_between, next_version


class Judgement(NamedTuple):
    """A rule's answer on one version; no rule means that there is nothing to say against it."""

    rule: Policy | None
    ok: bool
    message: str


def judge_version(released: Version, working: Version, required: Bump) -> Judgement:
    """Judge the version of a working file whose change since `released` needs `required`."""
    old, new = _precedence(released), _precedence(working)
    needed = next_version(old, required)
    if new < old:
        return Judgement(Policy.DECREASED, False, f"{working} is below the released {released}")
    if required is Bump.NONE:
        return _unneeded(released, working)
    if new == old:
        return Judgement(Policy.NOT_BUMPED, False, f"needs {needed}, and is still {working}")
    if new.prerelease:
        return Judgement(Policy.TOO_SMALL, False, f"needs {needed}, and {working} is a pre-release")
    if bump_between(old, new) < required:
        return Judgement(Policy.TOO_SMALL, False, f"needs {needed}, and {working} says too little")
    if new > needed:
        return Judgement(
            Policy.WITHOUT_CHANGE, True, f"{working} says more than the {needed} it needs; not released yet"
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


def _covers(released: Version, version: Version, wanted: Bump) -> bool:
    # A pre-release is let through as what it prepares; only the gate of `status` does not count it.
    old, final = _precedence(released), Version(*version.final)
    return final > old and bump_between(old, final) >= wanted


def _unneeded(released: Version, working: Version) -> Judgement:
    if _precedence(working) == _precedence(released):
        return Judgement(None, True, "nothing that a score or a reader of it could notice")
    return Judgement(Policy.WITHOUT_CHANGE, True, f"{working} is not released yet, and nothing changed")


def _precedence(version: Version) -> Version:
    return replace(version, build="")
