"""How severe a finding is: its rule's severity, as the settings, their targets and --strict change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.errors import RefError
from evalstore.model import Artifact, Kind, Severity, parse_ref, find_pins
from evalstore.validation.lookup import Files
from evalstore.validation.parts import mapping
from evalstore.validation.rules import RULES

MAX_AGE_DAYS = 90

# `unpinned` -> the severity of a reference without an exact version; ordered from lax to strict.
_UNPINNED = {"allow": None, "warn": Severity.WARNING, "forbid": Severity.ERROR}
_UNPINNED_RULES = frozenset({"reference-unpinned", "reference-floating"})
_SEVERITIES = {"off": None, **{str(severity): severity for severity in Severity}}


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for one artifact; `max_age` is in days."""

    strict: bool = False
    unpinned: str = "warn"
    max_age: int = MAX_AGE_DAYS
    rules: Mapping[str, str] = field(default_factory=dict)

    def severity(self, rule: str) -> Severity | None:
        """Return the severity of a rule's findings, or None when there are to be none."""
        severity: Severity | None = RULES[rule].severity
        if severity is Severity.ERROR:  # what could not be read stays unread, whatever the settings say
            return severity
        if rule in _UNPINNED_RULES:
            severity = _UNPINNED[self.unpinned]
        severity = _SEVERITIES.get(self.rules.get(rule, ""), severity)
        return Severity.ERROR if self.strict and severity else severity


def policy_of(settings: Any, *, strict: bool) -> Policy:
    """Read the store's own policy from its settings; values of a wrong type are left to the schema's findings."""
    rules = {rule: level for rule, level in mapping(settings, "rules").items() if isinstance(level, str)}
    policy = _changed(Policy(rules=rules), settings if isinstance(settings, dict) else {})
    return replace(policy, strict=policy.strict or strict)


def target_policies(policy: Policy, settings: Any, files: Files) -> dict[tuple[Kind, str], Policy]:
    """Return the policies of what the targets reach; where several reach one artifact, the strictest holds."""
    policies: dict[tuple[Kind, str], Policy] = {}
    for target in mapping(settings, "targets").values():
        if isinstance(target, dict):
            for artifact in _reached(target.get("dataset"), files):
                name = (artifact.kind, artifact.id)
                policies[name] = _stricter(policies.get(name), _changed(policy, target), policy)
    return policies


def _changed(policy: Policy, settings: Mapping[str, Any]) -> Policy:
    strict, unpinned, age = (settings.get(key) for key in ("strict", "unpinned", "judge_max_age_days"))
    return replace(
        policy,
        strict=strict if isinstance(strict, bool) else policy.strict,
        unpinned=unpinned if isinstance(unpinned, str) and unpinned in _UNPINNED else policy.unpinned,
        max_age=age if isinstance(age, int) and not isinstance(age, bool) else policy.max_age,
    )


def _stricter(one: Policy | None, other: Policy, base: Policy) -> Policy:
    if one is None:
        return replace(other, strict=other.strict or base.strict)
    return replace(
        one,
        strict=one.strict or other.strict,
        unpinned=max(one.unpinned, other.unpinned, key=list(_UNPINNED).index),
        max_age=min(one.max_age, other.max_age),
    )


def _reached(dataset: Any, files: Files) -> Iterable[Artifact]:
    """Return the working files that a target's dataset leads to, itself first; a file of rows leads nowhere."""
    reached: dict[tuple[Kind, str], Artifact] = {}
    open_ = [dataset]
    while open_:
        try:
            ref = parse_ref(open_.pop())
        except (RefError, AttributeError):  # a finding of its own
            continue
        for artifact in files.named(ref.kind, ref.id):
            if (artifact.kind, artifact.id) not in reached:
                reached[artifact.kind, artifact.id] = artifact
                open_ += [text for _, text in find_pins(artifact.kind, artifact.document.value)]
    return reached.values()
