"""Renders what references point at, an artifact's file, and the list of a store's artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.json_values import write_json_value
from evalstore.report.text_layout import PAPER, Part, Screen, wrap_columns
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.store.listing import ArtifactFile, ArtifactSummary, StoreListing
    from evalstore.store.resolve import Resolution, Resolved


_HEAD = ("ARTIFACT", "RELEASED", "RELEASES", "FILE", "")


_STATES = {"changed": Part.MINOR}
_WORDS = {True: "yes", False: "no", None: "-"}


def text_listing(listing: StoreListing, screen: Screen = PAPER) -> str:
    """Return a table of the artifacts."""
    if not listing.artifacts:
        return (
            "no artifacts here: evalstore init makes a store, evalstore new rubric ID a rubric, "
            "and evalstore migrate turns legacy files into artifacts"
        )
    head, *lines = wrap_columns([_HEAD, *map(_artifact_row, listing.artifacts)], screen.width)
    return "\n".join(
        [screen.paint(Part.QUIET, head), *(screen.paint_words(line, _STATES) for line in lines)]
    )


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


def text(resolution: Resolution | Resolved, screen: Screen = PAPER) -> str:
    """Return a block of names and values for each reference."""
    blocks: list[str] = []
    for resolved in _list_resolved(resolution):
        rows = [_format_value(*item) for item in write_json_value(resolved).items()]
        blocks.append("\n".join(wrap_columns(rows, screen.width)))
    return "\n\n".join(blocks)


def document(resolution: Resolution | Resolved) -> Any:
    """Return one JSON document: an object for one reference, a list for several."""
    several: list[Any] = write_json_value(_list_resolved(resolution))
    return several[0] if len(several) == 1 else several


def _list_resolved(resolution: Resolution | Resolved) -> list[Resolved]:
    return list(getattr(resolution, "resolved", [resolution]))


def _format_value(key: str, value: Any) -> tuple[str, str]:
    return key.replace("_", " "), value if isinstance(value, str) else _WORDS[value]


def text_file(file: ArtifactFile) -> str:
    """Return the file with control characters escaped; tabs and line feeds stay."""
    lines = file.data.decode("utf-8").split("\n")
    return "\n".join("\t".join(map(make_printable, line.split("\t"))) for line in lines)
