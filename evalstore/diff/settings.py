"""The settings of a comparison: profile, overrides, acceptances, rule set; reads no file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.diff.findings import AcceptedLevel, Profile
from evalstore.errors import LoadError, Place
from evalstore.versions import Bump

# The verdicts of a published set never change: tests/cases/rule_sets keeps them. New verdicts need
# a set with the next number. Then a new row has `since` (and `replaces`, if another rule judged
# such edits before), and a new proof or decision has `since`. If evalstore.yaml pins no set, the
# last one is used.
RULE_SETS = (1,)
# The levels of an override: every edit changes the digest, so it needs at least a patch.
LEVELS: Mapping[str, Bump] = {str(level): level for level in (Bump.MAJOR, Bump.MINOR, Bump.PATCH)}
SETTINGS_FILE = "evalstore.yaml"
# The levels for the rules of `validate`.
_FILE_RULE_LEVELS = frozenset({"off", "info", "warning", "error"})
_SEE_VALIDATE = "see what is wrong: evalstore validate"


@dataclass(frozen=True, slots=True)
class ComparisonSettings:
    """The settings of one comparison.

    `renames` are by dataset (`dataset/<id>`), `overrides` by `rule[:direction]`, `accepted` by
    fingerprint; `locked` has the references in evalstore.lock, as they are written.
    """

    profile: Profile = Profile.SCORE
    cosmetic: frozenset[str] = frozenset()
    renames: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    overrides: Mapping[str, Bump] = field(default_factory=dict)
    accepted: Mapping[str, AcceptedLevel] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()
    rule_set: int = RULE_SETS[-1]

    @property
    def without_opinions(self) -> ComparisonSettings:
        """The same without overrides and acceptances, which do not count for what pins this."""
        return replace(self, overrides={}, accepted={})


def _read_renames(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declared renames of questions, by dataset."""
    renames = {}
    for name, pairs in _get_mapping("renames", settings).items():
        if name.startswith("dataset/") and isinstance(pairs, dict):
            renames[name] = _read_text_mapping(f"renames: {name}", pairs)
    return renames


def read_comparison_settings(
    settings: Mapping[str, Any], profile: Profile | None = None
) -> ComparisonSettings:
    """Read the settings of evalstore.yaml; `profile` replaces the one there.

    Raises `LoadError` for an unknown word, because an ignored word could be the one that raises a
    level.
    """
    return ComparisonSettings(
        profile=profile or _read_profile(settings.get("profile", Profile.SCORE)),
        cosmetic=frozenset(_read_text_list("cosmetic", settings.get("cosmetic", []))),
        renames=_read_renames(settings),
        overrides=_read_overrides(_read_text_mapping("rules", _get_mapping("rules", settings))),
        rule_set=_read_rule_set(settings.get("rule_set", RULE_SETS[-1])),
    )


def _read_profile(word: Any) -> Profile:
    if not isinstance(word, str) or word not in set(Profile):
        raise _make_settings_error(
            f"profile: {word} is not a profile", f"it is {' or '.join(Profile)}"
        )
    return Profile(word)


def _read_rule_set(number: Any) -> int:
    if isinstance(number, bool) or number not in RULE_SETS:
        known = ", ".join(map(str, RULE_SETS))
        raise _make_settings_error(
            f"rule_set: this version of evalstore has no rule set {number}",
            f"it has {known}; newer releases have more",
        )
    return int(number)


def _read_overrides(words: Mapping[str, str]) -> dict[str, Bump]:
    if not words:
        return {}
    from evalstore.diff.rules import RULES
    from evalstore.lint.rules import VALIDATION_RULES as FILES
    from evalstore.lint.settings import RULE_SETTING, lint_rule_levels

    for name, word in words.items():
        if word not in LEVELS and word not in _FILE_RULE_LEVELS:
            raise _make_settings_error(
                f"rules: {name}: {word} is not a level", f"a change is {', '.join(LEVELS)}"
            )
        if not RULE_SETTING.fullmatch(name):
            raise _make_settings_error(
                f"rules: {name} has no meaning",
                "write <rule>, or <rule>:stricter, :looser, :either or :none",
            )
    for note in lint_rule_levels(words, RULES):
        raise _make_settings_error(
            f"rules: {FILES[note.rule].message.format(**note.facts)}", note.facts["hint"]
        )
    return {name: LEVELS[word] for name, word in words.items() if word in LEVELS}


def _get_mapping(key: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    value = settings.get(key, {})
    if not isinstance(value, Mapping):
        raise _make_settings_error(f"{key} is not a mapping", _SEE_VALIDATE)
    return value


def _read_text_mapping(key: str, value: Any) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
        raise _make_settings_error(f"{key} is not a mapping of strings", _SEE_VALIDATE)
    return value


def _read_text_list(key: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _make_settings_error(f"{key} is not a list of strings", _SEE_VALIDATE)
    return value


def _make_settings_error(message: str, hint: str) -> LoadError:
    return LoadError(message, place=Place(SETTINGS_FILE), hint=hint)
