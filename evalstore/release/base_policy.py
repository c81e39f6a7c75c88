"""Judges by the settings of an earlier commit, and finds what the store's own have let through since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from evalstore.diff import ComparisonSettings, Profile
from evalstore.diff.settings import write_setting
from evalstore.documents import Document, Pointer, follow_pointer, format_json_pointer
from evalstore.errors import Place
from evalstore.lint import VALIDATION_RULES
from evalstore.lint.context import MAX_AGE_DAYS
from evalstore.model import Finding, Findings, Severity
from evalstore.places import SETTINGS_FILE
from evalstore.release.acceptances import ChangePolicy, read_change_policy_at, read_settings_at
from evalstore.release.base_store import BaseReleases
from evalstore.release.values import RULES as VERSION_RULES
from evalstore.release.values import VersionRule
from evalstore.store import ArtifactStore, Release
from evalstore.store.revisions import resolve_revision
from evalstore.text import SHORT_DIGEST

# Words from the one that lets everything through to the one that lets the least through.
_LADDERS: Mapping[str, tuple[Any, ...]] = {
    "strict": (False, True),
    "profile": ("score", "headline"),
    "unpinned": ("allow", "warn", "forbid"),
    "signed": ("optional", "require"),
}
_DEFAULTS: Mapping[str, Any] = {"strict": False, "profile": "score", "unpinned": "warn", "signed": "optional"}
_LEVELS = ("off", "info", "patch", "warning", "minor", "error", "major")
_MAX_AGE = "judge_max_age_days"


class Loosening(NamedTuple):
    """A setting that lets more through: where it stands, in words, and what it was."""

    pointer: Pointer
    now: str
    was: str


def find_loosenings(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Loosening]:
    """Yield the settings of `new` (evalstore.yaml, parsed) that let more through than those of `old`."""
    yield from _find_lower_words(old, new)
    yield from _find_lower_levels(_get_mapping(old, "rules"), _get_mapping(new, "rules"))
    for key in _list_words(new.get("cosmetic")):
        if key not in _list_words(old.get("cosmetic")):
            yield Loosening(("cosmetic",), f"cosmetic: {key}", "not declared")
    for dataset, names in _get_mapping(new, "renames").items():
        known = _get_mapping(_get_mapping(old, "renames"), dataset)
        for name, other in (names if isinstance(names, Mapping) else {}).items():
            if known.get(name) != other:
                yield Loosening(("renames", dataset, name), f"renames: {dataset}: {name}: {other}", "not declared")
    yield from _find_looser_targets(old, new)


def make_loosening_finding(loosening: Loosening, document: Document, base: str) -> Finding:
    """Return the finding of a setting that was loosened since `base`, the name of a commit or a release."""
    place = document.locate(follow_pointer(document.value, loosening.pointer)[0])
    place = place if document.value else Place(SETTINGS_FILE)
    pointer = format_json_pointer(loosening.pointer)
    row = VERSION_RULES[VersionRule.LOOSENED]
    facts = {"now": loosening.now, "was": loosening.was, "base": base}
    return row.make_finding(place, facts, pointer)


def _find_lower_words(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Loosening]:
    for key, ladder in _LADDERS.items():
        was, now = old.get(key, _DEFAULTS[key]), new.get(key, _DEFAULTS[key])
        if was in ladder and now in ladder and ladder.index(now) < ladder.index(was):
            yield Loosening((key,), f"{key}: {write_setting(now)}", write_setting(was))
    ages = [settings.get(_MAX_AGE, MAX_AGE_DAYS) for settings in (old, new)]
    if all(isinstance(age, int) for age in ages) and ages[1] > ages[0]:
        yield Loosening((_MAX_AGE,), f"{_MAX_AGE}: {ages[1]}", str(ages[0]))


def _find_lower_levels(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Loosening]:
    for name in dict.fromkeys([*new, *old]):
        was, now = _find_level(old, name), _find_level(new, name)
        if was in _LEVELS and now in _LEVELS and _LEVELS.index(now) < _LEVELS.index(was):
            yield Loosening(("rules", name), f"rules: {name}: {now}", was)


def _find_level(levels: Mapping[str, Any], name: str) -> str:
    """Return the level of `<rule>[:<direction>]`: as written, else as written of the rule, else the rule's own."""
    id_ = name.partition(":")[0]
    written = levels.get(name, levels.get(id_))
    if isinstance(written, str):
        return written
    from evalstore.diff.rules import RULES

    if id_ in RULES:
        return str(RULES[id_].level)
    return str(VALIDATION_RULES[id_].severity) if id_ in VALIDATION_RULES else ""


def _find_looser_targets(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Loosening]:
    """Yield what a target's dataset may do by now; where no target has it, then or now, that is what the store says."""
    before, after = _get_mapping(old, "targets"), _get_mapping(new, "targets")
    for name in (one for one in before if one in after):
        old_dataset, new_dataset = _name_dataset(before[name]), _name_dataset(after[name])
        if old_dataset and new_dataset != old_dataset:
            yield Loosening(("targets", name, "dataset"), f"targets: {name}: dataset: {new_dataset}", old_dataset)
    for name, was, now in _pair_targets(before, after):
        for at, lower, word in _find_lower_words({**old, **was}, {**new, **now}):
            if at[0] in {*was, *now}:  # else the store's own setting was loosened
                yield Loosening(("targets", name, *at), f"targets: {name}: {lower}", word)


def _pair_targets(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each target's name, and what was and is said of its dataset; {} where no target has it."""
    known = {_name_dataset(target) for target in old.values()}
    for name, was in old.items():
        if isinstance(was, Mapping):
            same: Iterator[Mapping[str, Any]] = (
                one for one in (new.get(name), *new.values()) if one and _name_dataset(one) == _name_dataset(was)
            )
            yield name, was, next(same, {})
    yield from ((name, {}, now) for name, now in new.items() if _name_dataset(now) not in known)


def _name_dataset(target: Any) -> str | None:
    ref = target.get("dataset") if isinstance(target, Mapping) else None
    return ref.partition("@")[0] if isinstance(ref, str) else None


def _get_mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _list_words(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


_SEVERITIES = list(Severity)


@dataclass(slots=True)
class BasePolicies:
    """How changes are judged: by the settings of a base as well as by today's (`now`), of which the stricter count.

    The base is `commit` with its acceptances; without one it is the last release of each artifact, and acceptances are
    today's: an entry names one change and is of no other, so that no release can have it. Locks are today's.
    """

    store: ArtifactStore
    now: ChangePolicy
    commit: str | None = None
    profile: Profile | None = None
    _by_commit: dict[str, ChangePolicy] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _known: BaseReleases | None = None

    def list_policies(self, base: Release) -> Sequence[ChangePolicy]:
        """Return the policies that judge a change since a release: today's, and the base's where it is another."""
        commit = self.commit or base.commit
        if commit not in self._by_commit:
            self._by_commit[commit] = self._read_policy(commit)
            self._names[commit] = self.commit[:SHORT_DIGEST] if self.commit else f"{base.name}@{base.version}"
        policy = self._by_commit[commit]
        return [self.now] if policy == self.now else [self.now, policy]

    def keep_known(self, releases: Sequence[Release]) -> Sequence[Release]:
        """Return the releases that had reached the base: every other one is part of the change, wherever it is."""
        if self.commit is None:
            return releases
        if self._known is None:
            self._known = BaseReleases(self.store, self.commit)
        return [one for one in releases if self._known.has(one.name, str(one.version), one.tag)]

    def find_loosenings(self) -> Iterator[Finding]:
        """Yield what evalstore.yaml lets through and the bases that were asked for did not; each setting once."""
        bases = dict.fromkeys([*([self.commit] if self.commit else []), *self._by_commit])
        yield from find_loosening_findings(self.store, {one: self._names.get(one, one[:SHORT_DIGEST]) for one in bases})

    def _read_policy(self, commit: str) -> ChangePolicy:
        policy = read_change_policy_at(self.store, commit, self.now.today, self.profile)
        settings: ComparisonSettings = replace(policy.settings, locked=self.now.settings.locked)
        acceptances = policy.acceptances if self.commit else self.now.acceptances
        return replace(policy, settings=settings, acceptances=acceptances)


def find_loosening_findings(store: ArtifactStore, bases: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what evalstore.yaml lets through and some commits (with their names) did not; each setting once."""
    document = store.read_settings()
    seen: set[Any] = set()
    for commit, name in bases.items():
        for loosening in find_loosenings(read_settings_at(store, commit), store.settings):
            if (known := (loosening.pointer, loosening.now)) not in seen:
                seen.add(known)
                yield make_loosening_finding(loosening, document, name)


def judge_by_base(
    store: ArtifactStore, base: str, found: Findings, validate_by: Callable[[Mapping[str, Any]], Findings]
) -> Findings:
    """Return findings at the levels of today's settings or those of a revision, whichever are higher.

    What the settings let through since then is among them. `validate_by` returns the findings by other settings.
    """
    commit = resolve_revision(store.git, store.objects, base)
    settings = read_settings_at(store, commit)
    if settings == store.settings:
        return found
    loosened = find_loosening_findings(store, {commit: commit[:SHORT_DIGEST]})
    then = validate_by(settings)
    highest: dict[Finding, Finding] = {}
    for finding in (*then.findings, *found.findings):
        # Errors first: a finding of both stands at the level that says more.
        at = replace(finding, severity=Severity.ERROR)
        if at not in highest or _SEVERITIES.index(finding.severity) < _SEVERITIES.index(highest[at].severity):
            highest[at] = finding
    off = tuple(pair for pair in found.off if pair[0] in dict(then.off))
    return replace(found, findings=(*loosened, *highest.values()), off=off)
