"""The settings of a store that belong to the ruler: what changed between two commits, and what that moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalstore.diff.findings import Direction, SettingChange
from evalstore.errors import EvalstoreError
from evalstore.model import Artifact, Kind
from evalstore.validation.notes import list_mappings
from evalstore.versions import Bump

# A setting that moves scores -> the kind of check whose scores it moves, its default, and how it moves them.
_SETTINGS: Mapping[str, tuple[str, Any, Mapping[Any, str]]] = {
    "strict": (
        "php_lint",
        False,
        {
            True: "where PHP is not installed, php_lint checks are unscored from now on",
            False: "where PHP is not installed, an approximation answers for php_lint checks from now on",
        },
    )
}


def find_setting_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], artifact: Artifact, load: Callable[[str], Artifact]
) -> Iterator[SettingChange]:
    """Yield the settings (evalstore.yaml, parsed) that changed and can move a score that `artifact` takes part in."""
    for name, (kind, default, effects) in _SETTINGS.items():
        was, now = old.get(name, default), new.get(name, default)
        if was != now and now in effects and _uses_kind(artifact, kind, load):
            yield SettingChange(name, _write(was), _write(now), Bump.MAJOR, Direction.EITHER, effects[now])


def _uses_kind(artifact: Artifact, kind: str, load: Callable[[str], Artifact]) -> bool:
    """Whether an artifact, or what it refers to, has a check of a kind; what cannot be read counts as one that has."""
    if artifact.kind is Kind.JUDGE:
        return False
    if "rows" in artifact.value:
        return True
    checks = [check for _, check in list_mappings(artifact.value, "checks")]
    if any(check.get("kind") == kind for check in checks):
        return True
    questions = [question for _, question in list_mappings(artifact.value, "questions")]
    defaults = artifact.value.get("defaults")
    holders = [*checks, *questions, *([defaults] if isinstance(defaults, dict) else [])]
    refs = dict.fromkeys(ref for holder in holders if isinstance(ref := holder.get("rubric_ref"), str))
    return any(_names_kind(ref, kind, load) for ref in refs)


def _names_kind(ref: str, kind: str, load: Callable[[str], Artifact]) -> bool:
    try:
        return _uses_kind(load(ref), kind, load)
    except EvalstoreError:
        return True


def _write(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
