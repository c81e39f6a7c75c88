"""The rules on versions in words, one row each; they are judged in policy.py, after overrides and acceptances."""

from __future__ import annotations

from evalstore.model import Severity
from evalstore.release.values import VersionRule
from evalstore.validation.rules import Rule

_BUMP = "evalstore bump REF sets the version that the change needs"

_ROWS = (
    Rule(
        VersionRule.NOT_BUMPED,
        Severity.ERROR,
        "needs {needed}, and is still {version}",
        _BUMP,
        "Two contents under one version are two rulers of one name.",
    ),
    Rule(
        VersionRule.TOO_SMALL,
        Severity.ERROR,
        "needs {needed}, and {version} says too little",
        f"{_BUMP}; what may count less is accepted (evalstore accept) or overridden (evalstore.yaml), and shown so",
        "Who reads a minor version compares scores across it.",
    ),
    Rule(
        VersionRule.DECREASED,
        Severity.ERROR,
        "{version} is below the released {released}",
        "write a version above the last release, or take the release's own",
        "What is released is never released again as something else.",
    ),
    Rule(
        VersionRule.WITHOUT_CHANGE,
        Severity.INFO,
        "{version} says more than the change needs, or nothing changed",
        "nothing, if it is meant: a version may always say more",
        "A number that says more than it needs makes readers look for what moved.",
    ),
)

RULES = {rule.id: rule for rule in _ROWS}
