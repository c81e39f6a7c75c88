"""What references mean, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.text_layout import format_columns

if TYPE_CHECKING:
    from evalstore.store.resolve import Resolution, Resolved

_WORDS = {True: "yes", False: "no", None: "-"}


def text(resolution: Resolution) -> str:
    """Return one block of names and values a reference."""
    return "\n\n".join(
        format_columns([_format_value(key, value) for key, value in _document_resolved(one).items()])
        for one in resolution.resolved
    )


def document(resolution: Resolution) -> Any:
    """Return one JSON document: an object for one reference, a list for several."""
    documents = [_document_resolved(one) for one in resolution.resolved]
    return documents[0] if len(documents) == 1 else documents


def document_source(one: Resolved) -> dict[str, Any]:
    """Return the JSON of what a reference means and where it was read from."""
    return {
        "ref": one.ref,
        "kind": str(one.kind),
        "id": one.id,
        "version": one.version or None,
        "tag": one.tag,
        "commit": one.commit,
        "blob": one.blob,
    }


def _document_resolved(one: Resolved) -> dict[str, Any]:
    return {
        **document_source(one),
        "digest": one.digest,
        "scoring_digest": one.scoring_digest,
        "floating": one.floating,
        "locked": one.locked,
    }


def _format_value(key: str, value: Any) -> tuple[str, str]:
    return key.replace("_", " "), value if isinstance(value, str) else _WORDS[value]
