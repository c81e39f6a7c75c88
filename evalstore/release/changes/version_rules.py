"""Judges whether the version of a working file is high enough for its change."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from evalstore.model import Severity
from evalstore.model.findings import ValidationRule
from evalstore.release.changes.version_choice import find_free_version
from evalstore.versions import Bump, Version, compute_bump

MOVED_HINT = (
    "pin the version you mean, then bump; to keep it floating, write the next major version into "
    "the file"
)
_BUMP = "set the version that the change needs: evalstore bump REF"


class VersionRule(StrEnum):
    """The rules by id; each is judged after the diff, with overrides and acceptances applied."""

    NOT_BUMPED = "version-not-bumped"
    TOO_SMALL = "version-bump-too-small"
    DECREASED = "version-decreased"
    WITHOUT_CHANGE = "version-bump-without-change"
    REFERENCE_MOVED = "reference-moved"
    LOOSENED = "override-loosened"


_VERSION_ROWS = (
    ValidationRule(
        VersionRule.NOT_BUMPED,
        Severity.ERROR,
        "needs {needed}, but is still {version}",
        _BUMP,
        "Two different contents would have the same version.",
    ),
    ValidationRule(
        VersionRule.TOO_SMALL,
        Severity.ERROR,
        "needs {needed}, but {version} is too low",
        f"{_BUMP}; or lower the level, on record: evalstore accept, or rules in evalstore.yaml",
        "A minor version tells people that scores are comparable.",
    ),
    ValidationRule(
        VersionRule.DECREASED,
        Severity.ERROR,
        "{version} is below the released {released}",
        (
            "write a version above the last release; a release is undone by a new one: evalstore "
            "bump REF"
        ),
        "A released version never changes its content.",
    ),
    ValidationRule(
        VersionRule.WITHOUT_CHANGE,
        Severity.INFO,
        "{version} is higher than the change needs, or nothing changed",
        "nothing to do if it is intended: a version may always be higher",
        "A version that is too high makes people look for a change that did not happen.",
    ),
    ValidationRule(
        VersionRule.REFERENCE_MOVED,
        Severity.ERROR,
        "a floating reference now means another version, by a major change since the release",
        MOVED_HINT,
        "Scores move although the version stays the same.",
    ),
    ValidationRule(
        VersionRule.LOOSENED,
        Severity.WARNING,
        "{now} is less strict than {base} ({was})",
        (
            "a bump would use and record it; to use the reviewed settings of REV: evalstore gate "
            "--base REV"
        ),
        "A change must not relax the settings that judge it.",
    ),
)

RULES = {rule.id: rule for rule in _VERSION_ROWS}


class VersionJudgement(NamedTuple):
    """Whether a version is high enough, and in which words; `rule` is None if no rule applies."""

    rule: VersionRule | None
    ok: bool
    message: str


def judge_version(
    released: Version, working: Version, required: Bump, known: Collection[Version] = ()
) -> VersionJudgement:
    """Judge the version of a working file whose change since `released` needs `required`.

    `known` are all released versions. If the file's own is among them, its content is judged
    against that release.
    """
    # Precedence (SemVer 2.0.0, section 11) ignores build metadata.
    old, new = released.without_build, working.without_build
    others = {version for version in known if version != working}
    needed = find_free_version(old, required, others)
    if new < old:
        # If nothing else changed, bump has nothing to release.
        mend = "" if required else f", and nothing else changed: write {released} there again"
        return VersionJudgement(
            VersionRule.DECREASED, False, f"{working} is below the released {released}{mend}"
        )
    if required is Bump.NONE:
        return _judge_unneeded(released, working)
    if new == old:
        return VersionJudgement(
            VersionRule.NOT_BUMPED, False, f"needs {needed}, but is still {working}"
        )
    if new.prerelease and working in known and compute_bump(old, new.final) >= required:
        return VersionJudgement(None, True, f"{working} is a released candidate of {new.final}")
    if new.prerelease:
        message = (
            f"needs {needed}, but {working} is a pre-release; for the final version: bump --level "
            f"{required}"
        )
        return VersionJudgement(VersionRule.TOO_SMALL, False, message)
    if compute_bump(old, new) < required:
        return VersionJudgement(
            VersionRule.TOO_SMALL, False, f"needs {needed}, but {working} is too low"
        )
    if new > needed:
        return VersionJudgement(
            VersionRule.WITHOUT_CHANGE,
            True,
            f"{working} is higher than the {needed} it needs; not released yet",
        )
    return VersionJudgement(None, True, f"{working} is high enough; not released yet")


def _judge_unneeded(released: Version, working: Version) -> VersionJudgement:
    if working.without_build == released.without_build:
        return VersionJudgement(None, True, "no noticeable change")
    return VersionJudgement(
        VersionRule.WITHOUT_CHANGE, True, f"{working} is not released yet, and nothing changed"
    )
