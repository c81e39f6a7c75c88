"""The rules on versions (RULES, part J): whether a file's version says enough for its change; pure."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from evalstore.model import Severity
from evalstore.validation.rules import ValidationRule
from evalstore.versions import Bump, Version, bump_version, compute_bump


class VersionRule(StrEnum):
    """The rules by id; each is judged after the diff, with overrides and acceptances applied."""

    NOT_BUMPED = "version-not-bumped"
    TOO_SMALL = "version-bump-too-small"
    DECREASED = "version-decreased"
    WITHOUT_CHANGE = "version-bump-without-change"
    REFERENCE_MOVED = "reference-moved"
    LOOSENED = "override-loosened"


MOVED_HINT = "pin the version that is meant, and bump; to go on floating, write the next major version into the file"
_BUMP = "evalstore bump REF sets the version that the change needs"

_ROWS = (
    ValidationRule(
        VersionRule.NOT_BUMPED,
        Severity.ERROR,
        "needs {needed}, and is still {version}",
        _BUMP,
        "Two contents under one version are two rulers of one name.",
    ),
    ValidationRule(
        VersionRule.TOO_SMALL,
        Severity.ERROR,
        "needs {needed}, and {version} says too little",
        f"{_BUMP}; what may count less is accepted (evalstore accept) or overridden (evalstore.yaml), and shown so",
        "Who reads a minor version compares scores across it.",
    ),
    ValidationRule(
        VersionRule.DECREASED,
        Severity.ERROR,
        "{version} is below the released {released}",
        "write a version above the last release, or take the release's own",
        "What is released is never released again as something else.",
    ),
    ValidationRule(
        VersionRule.WITHOUT_CHANGE,
        Severity.INFO,
        "{version} says more than the change needs, or nothing changed",
        "nothing, if it is meant: a version may always say more",
        "A number that says more than it needs makes readers look for what moved.",
    ),
    ValidationRule(
        VersionRule.REFERENCE_MOVED,
        Severity.ERROR,
        "a floating reference means another version than at the release, by a major change",
        MOVED_HINT,
        "Scores move under a version that stays the same.",
    ),
    ValidationRule(
        VersionRule.LOOSENED,
        Severity.WARNING,
        "{now} lets more through than {base} did ({was})",
        "a bump would count it, and its tag say so; where REV has it, reviewed: evalstore status --check --base REV",
        "A change that brings its own measure is measured by nobody.",
    ),
)

RULES = {rule.id: rule for rule in _ROWS}


class VersionJudgement(NamedTuple):
    """Whether a version is enough, and in which words; `rule` is None where no rule applies."""

    rule: VersionRule | None
    ok: bool
    message: str


def judge_version(released: Version, working: Version, required: Bump) -> VersionJudgement:
    """Judge the version of a working file whose change since `released` needs `required`."""
    # Precedence (SemVer 2.0.0, section 11) ignores build metadata.
    old, new = drop_build(released), drop_build(working)
    needed = bump_version(old, required)
    if new < old:
        # Where nothing else changed, bump has nothing to release.
        mend = "" if required else f", and nothing else changed: write {released} there again"
        return VersionJudgement(VersionRule.DECREASED, False, f"{working} is below the released {released}{mend}")
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


def _judge_unneeded(released: Version, working: Version) -> VersionJudgement:
    if drop_build(working) == drop_build(released):
        return VersionJudgement(None, True, "nothing that anyone could notice")
    return VersionJudgement(VersionRule.WITHOUT_CHANGE, True, f"{working} is not released yet, and nothing changed")


def drop_build(version: Version) -> Version:
    """Return a version without build metadata: equal ones have the same precedence."""
    return replace(version, build="")
