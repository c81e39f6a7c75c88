"""Finds the settings of a store that allow more than earlier ones did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evalstore.diff.findings import write_setting
from evalstore.documents import Document, Pointer, follow_pointer, format_json_pointer
from evalstore.errors import Place
from evalstore.lint import VALIDATION_RULES
from evalstore.lint.context import MAX_AGE_DAYS
from evalstore.model import Finding
from evalstore.places import SETTINGS_FILE
from evalstore.release.changes.version_rules import RULES as VERSION_RULES
from evalstore.release.changes.version_rules import VersionRule

# Words from the most permissive to the strictest.
_LADDERS: Mapping[str, tuple[Any, ...]] = {
    "strict": (False, True),
    "profile": ("score", "headline"),
    "unpinned": ("allow", "warn", "forbid"),
    "signed": ("optional", "require"),
}
_DEFAULTS: Mapping[str, Any] = {
    "strict": False,
    "profile": "score",
    "unpinned": "warn",
    "signed": "optional",
}
_LEVELS = ("off", "info", "patch", "warning", "minor", "error", "major")
_MAX_AGE = "judge_max_age_days"


class Loosening(NamedTuple):
    """A setting that allows more: where it is, in words, and its old value."""

    pointer: Pointer
    now: str
    was: str


def find_loosenings(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Loosening]:
    """Yield the settings in `new` that allow more than those in `old`.

    Both are a parsed evalstore.yaml.
    """
    yield from _find_lower_words(old, new)
    yield from _find_lower_levels(_get_mapping(old, "rules"), _get_mapping(new, "rules"))
    for key in _list_words(new.get("cosmetic")):
        if key not in _list_words(old.get("cosmetic")):
            yield Loosening(("cosmetic",), f"cosmetic: {key}", "not declared")
    for dataset, names in _get_mapping(new, "renames").items():
        known = _get_mapping(_get_mapping(old, "renames"), dataset)
        for name, other in (names if isinstance(names, Mapping) else {}).items():
            if known.get(name) != other:
                yield Loosening(
                    ("renames", dataset, name),
                    f"renames: {dataset}: {name}: {other}",
                    "not declared",
                )
    yield from _find_looser_targets(old, new)


def make_loosening_finding(loosening: Loosening, document: Document, base: str) -> Finding:
    """Return the finding about a setting that was loosened since `base`.

    `base` is the name of a commit or a release.
    """
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
    """Return the level of `<rule>[:<direction>]`.

    It is the one written for it, else for its rule, else the rule's own.
    """
    id_ = name.partition(":")[0]
    written = levels.get(name, levels.get(id_))
    if isinstance(written, str):
        return written
    from evalstore.diff.rules import RULES

    if id_ in RULES:
        return str(RULES[id_].level)
    return str(VALIDATION_RULES[id_].severity) if id_ in VALIDATION_RULES else ""


def _find_looser_targets(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Loosening]:
    """Yield what a target's dataset is allowed by now.

    If no target has the dataset, what the store itself says counts.
    """
    before, after = _get_mapping(old, "targets"), _get_mapping(new, "targets")
    for name in (one for one in before if one in after):
        old_dataset, new_dataset = _name_dataset(before[name]), _name_dataset(after[name])
        if old_dataset and new_dataset != old_dataset:
            yield Loosening(
                ("targets", name, "dataset"),
                f"targets: {name}: dataset: {new_dataset}",
                old_dataset,
            )
    for name, was, now in _pair_targets(before, after):
        for at, lower, word in _find_lower_words({**old, **was}, {**new, **now}):
            if at[0] in {*was, *now}:  # else the store's own setting was loosened
                yield Loosening(("targets", name, *at), f"targets: {name}: {lower}", word)


def _pair_targets(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each target's name, and what was and is said about its dataset.

    It is {} if no target has the dataset.
    """
    known = {_name_dataset(target) for target in old.values()}
    for name, was in old.items():
        if isinstance(was, Mapping):
            dataset, targets = _name_dataset(was), filter(None, (new.get(name), *new.values()))
            yield name, was, next((one for one in targets if _name_dataset(one) == dataset), {})
    yield from ((name, {}, now) for name, now in new.items() if _name_dataset(now) not in known)


def _name_dataset(target: Any) -> str | None:
    ref = target.get("dataset") if isinstance(target, Mapping) else None
    return ref.partition("@")[0] if isinstance(ref, str) else None


def _get_mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def _list_words(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
