"""What a store holds, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import format_columns

if TYPE_CHECKING:
    from evalstore.store.listing import ArtifactSummary, StoreListing

_HEAD = ("ARTIFACT", "RELEASED", "RELEASES", "FILE", "")


def text(listing: StoreListing) -> str:
    """Return a table of the artifacts."""
    if not listing.artifacts:
        return "no artifacts yet: write rubrics/<id>.yaml, or evalstore migrate legacy files"
    return format_columns([_HEAD, *map(_artifact_row, listing.artifacts)])


def document(listing: StoreListing) -> Any:
    """Return the JSON document."""
    return {
        "artifacts": [
            {
                "ref": one.name,
                "kind": str(one.kind),
                "id": one.id,
                "latest": one.latest,
                "releases": one.releases,
                "working": one.working or None,
                "changed": one.changed,
                "problem": one.problem,
            }
            for one in listing.artifacts
        ],
        "ignored": [{"tag": name, "reason": reason} for name, reason in listing.ignored],
    }


def _artifact_row(one: ArtifactSummary) -> tuple[str, ...]:
    return (one.name, one.latest or "-", str(one.releases), one.working or "-", _artifact_state(one))


def _artifact_state(one: ArtifactSummary) -> str:
    if one.problem:
        return one.problem
    if one.changed is None:
        return "" if one.releases else "not released"
    return "changed" if one.changed else ""
