"""Renders the list of a store's artifacts, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report.text_layout import format_columns

if TYPE_CHECKING:
    from evalstore.store.listing import ArtifactSummary, StoreListing

_HEAD = ("ARTIFACT", "RELEASED", "RELEASES", "FILE", "")


def text(listing: StoreListing) -> str:
    """Return a table of the artifacts."""
    if not listing.artifacts:
        return "no artifacts here: evalstore new rubric ID begins one, evalstore migrate takes legacy files"
    return format_columns([_HEAD, *map(_artifact_row, listing.artifacts)])


def _artifact_row(artifact: ArtifactSummary) -> tuple[str, ...]:
    return (
        artifact.name,
        artifact.latest or "-",
        str(artifact.releases),
        artifact.working or "-",
        _artifact_state(artifact),
    )


def _artifact_state(artifact: ArtifactSummary) -> str:
    if artifact.problem:
        return artifact.problem
    if artifact.changed is None:
        return "" if artifact.releases else "not released"
    return "changed" if artifact.changed else ""
