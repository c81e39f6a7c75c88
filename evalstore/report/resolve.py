"""Renders what references point at, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import format_columns

if TYPE_CHECKING:
    from evalstore.store.resolve import Resolution, Resolved

_WORDS = {True: "yes", False: "no", None: "-"}


def text(resolution: Resolution) -> str:
    """Return one block of names and values a reference."""
    return "\n\n".join(
        format_columns([_format_value(key, value) for key, value in _document_resolved(resolved).items()])
        for resolved in resolution.resolved
    )


def document(resolution: Resolution | Resolved) -> Any:
    """Return one JSON document: an object for one reference, a list for several."""
    several: list[Any] = list(getattr(resolution, "resolved", [resolution]))
    documents = [_document_resolved(resolved) for resolved in several]
    return documents[0] if len(documents) == 1 else documents


def document_source(resolved: Resolved) -> dict[str, Any]:
    """Return the JSON of what a reference means and where it was read from."""
    return {
        "ref": resolved.ref,
        "kind": str(resolved.kind),
        "id": resolved.id,
        "version": resolved.version or None,
        "tag": resolved.tag,
        "commit": resolved.commit,
        "blob": resolved.blob,
    }


def _document_resolved(resolved: Resolved) -> dict[str, Any]:
    return {
        **document_source(resolved),
        "digest": resolved.digest,
        "scoring_digest": resolved.scoring_digest,
        "floating": resolved.floating,
        "locked": resolved.locked,
    }


def _format_value(key: str, value: Any) -> tuple[str, str]:
    return key.replace("_", " "), value if isinstance(value, str) else _WORDS[value]
