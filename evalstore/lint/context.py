"""What the linters of a run share: severity policies, other artifacts, bundles, and the day."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstore.errors import RefError
from evalstore.lint.notes import get_mapping
from evalstore.lint.reference_lookup import ArtifactFiles, ReferenceLookup
from evalstore.lint.rules import VALIDATION_RULES
from evalstore.model import Artifact, Kind, Severity, find_pins, parse_ref

if TYPE_CHECKING:  # `status` judges by policies alone
    from evalstore.checks import CheckContext
    from evalstore.lint.bundles import Bundles

MAX_AGE_DAYS = 90

# `unpinned` -> the severity of a reference without an exact version; ordered from lax to strict.
_UNPINNED = {"allow": None, "warn": Severity.WARNING, "forbid": Severity.ERROR}
_UNPINNED_RULES = frozenset(
    {"reference-unpinned", "reference-floating", "reference-floating-inside"}
)
_SEVERITIES = {"off": None, **{str(severity): severity for severity in Severity}}
# (artifact, release, fingerprint) -> whether a change since that release has it; older changes are
# not in here.
PendingAcceptances = Mapping[tuple[str, str, str], bool]


@dataclass(frozen=True, slots=True)
class SeverityPolicy:
    """How severe findings about one artifact are.

    `max_age` (of a judge's validation) is in days.
    """

    strict: bool = False
    unpinned: str = "warn"
    max_age: int = MAX_AGE_DAYS
    rules: Mapping[str, str] = field(default_factory=dict)

    def find_severity(self, rule: str, *, soft: bool = False) -> Severity | None:
        """Return the severity of a rule's findings, or None if the rule is off."""
        severity: Severity | None = VALIDATION_RULES[rule].severity
        # What cannot be graded stays an error, whatever the settings say.
        if severity is Severity.ERROR and not soft:
            return severity
        severity = Severity.WARNING if soft else severity
        if rule in _UNPINNED_RULES:
            severity = _UNPINNED[self.unpinned]
        severity = _SEVERITIES.get(self.rules.get(rule, ""), severity)
        return Severity.ERROR if self.strict and severity else severity

    def is_off(self, rule: str, *, soft: bool = False) -> bool:
        """Whether an entry in `rules` switches off what this rule finds."""
        return self.rules.get(rule) == "off" and self.find_severity(rule, soft=soft) is None


def read_policy(settings: Any, *, strict: bool) -> SeverityPolicy:
    """Read the store's own policy from its settings; the schema reports values of a wrong type."""
    levels = get_mapping(settings, "rules")
    rules = {rule: level for rule, level in levels.items() if isinstance(level, str)}
    policy = SeverityPolicy(rules=rules)
    if isinstance(settings, dict):
        policy = _apply_settings(policy, settings)
    return replace(policy, strict=policy.strict or strict)


def read_target_policies(
    policy: SeverityPolicy, settings: Any, files: ArtifactFiles
) -> dict[tuple[Kind, str], SeverityPolicy]:
    """Return the policies of what the targets reach; the strictest if several reach the same."""
    policies: dict[tuple[Kind, str], SeverityPolicy] = {}
    for target in get_mapping(settings, "targets").values():
        if isinstance(target, dict):
            for artifact in _list_reached(target.get("dataset"), files):
                name = (artifact.kind, artifact.id)
                policies[name] = _combine_strictest(
                    policies.get(name), _apply_settings(policy, target), policy
                )
    return policies


def _apply_settings(policy: SeverityPolicy, settings: Mapping[str, Any]) -> SeverityPolicy:
    strict, unpinned, age = (
        settings.get(key) for key in ("strict", "unpinned", "judge_max_age_days")
    )
    return replace(
        policy,
        strict=strict if isinstance(strict, bool) else policy.strict,
        unpinned=unpinned
        if isinstance(unpinned, str) and unpinned in _UNPINNED
        else policy.unpinned,
        max_age=age if isinstance(age, int) and not isinstance(age, bool) else policy.max_age,
    )


def _combine_strictest(
    one: SeverityPolicy | None, other: SeverityPolicy, base: SeverityPolicy
) -> SeverityPolicy:
    if one is None:
        return replace(other, strict=other.strict or base.strict)
    return replace(
        one,
        strict=one.strict or other.strict,
        unpinned=max(one.unpinned, other.unpinned, key=list(_UNPINNED).index),
        max_age=min(one.max_age, other.max_age),
    )


def _list_reached(dataset: Any, files: ArtifactFiles) -> Iterable[Artifact]:
    """Return the working files that a target's dataset reaches, itself first; no rows files."""
    reached: dict[tuple[Kind, str], Artifact] = {}
    pending = [dataset]
    while pending:
        try:
            ref = parse_ref(pending.pop())
        except (
            RefError,
            AttributeError,
            TypeError,
        ):  # not a text, or not a reference: another rule reports it
            continue
        for artifact in files.list_named(ref.kind, ref.id):
            if (artifact.kind, artifact.id) not in reached:
                reached[artifact.kind, artifact.id] = artifact
                pending += [text for _, text in find_pins(artifact.kind, artifact.document.value)]
    return reached.values()


@dataclass(frozen=True, slots=True)
class KnownRules:
    """What packages above this one know: diff rules and rule sets, acceptances, and renames.

    `pending` maps each acceptance of a change since the last release to whether a change needs it;
    None if that was not computed. `renames` are the names of deleted artifacts by those of new ones
    with the same content. What is not known is not judged.
    """

    rules: Collection[str] = ()
    rule_sets: Collection[int] = ()
    pending: PendingAcceptances | None = None
    renames: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """The other artifacts, bundles, policies, knowledge of packages above, and today's date.

    `cosmetic` are the extra keys that evalstore.yaml declares, `gold_names` the datasets that
    judges were validated against, by the root of their store, as far as anybody has asked. `whole`
    gives every finding its line of the file; `streamed` rows are forgotten once they are checked.
    """

    lookup: ReferenceLookup
    bundles: Bundles
    today: date
    base: SeverityPolicy
    target_policies: Mapping[tuple[Kind, str], SeverityPolicy]
    known: KnownRules
    cosmetic: frozenset[str] = frozenset()
    gold_names: dict[Path, frozenset[str]] = field(default_factory=dict)
    whole: bool = False
    streamed: bool = False
    grading: CheckContext | None = None

    def find_policy(self, artifact: Artifact) -> SeverityPolicy:
        """Return the policy of one artifact."""
        return self.target_policies.get((artifact.kind, artifact.id), self.base)
