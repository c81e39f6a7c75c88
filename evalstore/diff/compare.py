"""Compares two documents: the facts, judged one by one, and the bump that they need together; knows nothing of git."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalstore.diff.findings import Certainty, Diff, DiffFinding, Direction, Side
from evalstore.diff.plain import plain, same
from evalstore.documents import canonical, digest
from evalstore.model import Artifact
from evalstore.versions import Bump, find_version, next_version

Load = Callable[[str], Artifact]


def compare(
    old: Artifact | Mapping[str, Any],
    new: Artifact | Mapping[str, Any],
    *,
    load: Load | None = None,  # noqa: ARG001
) -> Diff:
    """Return what changed between two artifacts (or plain mappings), and which bump that needs."""
    before, after = _value(old), _value(new)
    findings: tuple[DiffFinding, ...] = ()
    if not same(_content(before), _content(after)):
        findings = (
            DiffFinding(
                "unclassified-change",
                Bump.MAJOR,
                Direction.EITHER,
                Direction.EITHER,
                Certainty.ASSUMED,
                "",
                None,
                None,
                "something changed",
                "what no rule knows may move a score",
                None,
                None,
                digest([canonical(before), canonical(after)])[:16],
            ),
        )
    bump = max((finding.level for finding in findings), default=Bump.NONE)
    return Diff(_side(old, before), _side(new, after), bump, _next(before, bump), findings)


def _value(side: Artifact | Mapping[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = plain(side.value if isinstance(side, Artifact) else side)
    return value


def _content(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != "version"}


def _side(side: Artifact | Mapping[str, Any], value: dict[str, Any]) -> Side:
    ref = f"{side.kind}/{side.id}@{side.version}" if isinstance(side, Artifact) else None
    return Side(ref, digest(_content(value)))


def _next(old: dict[str, Any], bump: Bump) -> str | None:
    version = find_version(str(old.get("version", "")))
    return str(next_version(version, bump)) if version and bump else None
