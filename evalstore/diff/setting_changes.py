"""Finds the settings that changed and can change a score in which an artifact takes part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalstore.checks import KINDS, find_check_kind
from evalstore.diff.findings import Direction, SettingChange, write_setting
from evalstore.errors import EvalstoreError
from evalstore.lint.notes import list_mappings
from evalstore.model import Artifact, Kind
from evalstore.versions import Bump

# The only setting that changes scores, those of checks that a program may grade; and the effect of
# each value.
_STRICT = "strict"
_STRICT_EFFECTS: Mapping[Any, str] = {
    True: "without {engine}, {kinds} checks are now unscored",
    False: "without {engine}, an approximation now grades {kinds} checks",
}


def find_setting_changes(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    artifact: Artifact,
    load: Callable[[str], Artifact],
) -> Iterator[SettingChange]:
    """Yield the settings that changed and can change a score of `artifact`.

    `old` and `new` are evalstore.yaml, parsed.
    """
    was, now = (settings.get(_STRICT, False) for settings in (old, new))
    if was != now and now in _STRICT_EFFECTS and _uses_engine(artifact, load):
        sides = write_setting(was), write_setting(now)
        engines = {name: kind.exact_engine for name, kind in KINDS.items() if kind.exact_engine}
        effect = _STRICT_EFFECTS[now].format(
            engine=" or ".join(dict.fromkeys(engines.values())), kinds=" and ".join(engines)
        )
        yield SettingChange(_STRICT, *sides, Bump.MAJOR, Direction.EITHER, effect)


def _uses_engine(artifact: Artifact, load: Callable[[str], Artifact]) -> bool:
    """Whether an artifact or its references need a program to grade; unreadable ones count too."""
    if artifact.kind is Kind.JUDGE:
        return False
    if "rows" in artifact.value:
        return True
    checks = [check for _, check in list_mappings(artifact.value, "checks")]
    if any(find_check_kind(str(check.get("kind"))).exact_engine for check in checks):
        return True
    questions = [question for _, question in list_mappings(artifact.value, "questions")]
    defaults = artifact.value.get("defaults")
    holders = [*checks, *questions, *([defaults] if isinstance(defaults, dict) else [])]
    refs = dict.fromkeys(
        ref for holder in holders if isinstance(ref := holder.get("rubric_ref"), str)
    )
    return any(_names_engine(ref, load) for ref in refs)


def _names_engine(ref: str, load: Callable[[str], Artifact]) -> bool:
    try:
        return _uses_engine(load(ref), load)
    except EvalstoreError:
        return True
