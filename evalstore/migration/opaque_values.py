"""Sets aside whatever is graded by values that no artifact can hold.

The rest of them is kept as data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.documents import Document, OpaqueValue
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.remainder import encode_value
from evalstore.migration.table import FormatTable
from evalstore.text import make_excerpt

# The fields of a question that scoring reads; a question need not contain the others, because its
# remainder does.
_GRADED = frozenset(
    {
        "id",
        "input",
        "criteria",
        "context",
        "expected",
        "expected_facts",
        "expected_tools",
        "also_valid",
    }
)
_READ = "{} is {}: nothing says how that is graded"
_KEPT = "{} is {}: kept as data"


def set_opaque_aside(extraction: Extraction, document: Document, table: FormatTable) -> Extraction:
    """Return an extraction without opaque values; a case that is graded by one is refused."""
    files = [document, *(case.document for case in extraction.cases if case.document)]
    if not any(file.opaque for file in files):
        return extraction
    drafts = tuple(_encode_extensions(draft) for draft in extraction.drafts)
    fields = {key: set((field or "").split("|")) for key, field in table.mirrors.items()}
    graded_keys = {key for key, names in fields.items() if names & _GRADED}
    return replace(
        extraction,
        cases=tuple(_read_case(case, graded_keys) for case in extraction.cases),
        drafts=drafts,
    )


def _read_case(case: LegacyCase, graded_keys: set[str]) -> LegacyCase:
    if case.is_set_aside:
        return case
    raw = case.raw if isinstance(case.raw, Mapping) else {}
    held_keys = {str(key): value for key, value in _find_held(raw).items()}
    question = dict(case.question)
    if "metadata" in question:
        hidden = _find_held(question["metadata"])
        metadata = question["metadata"].items()
        question["metadata"] = {key: item for key, item in metadata if key not in hidden}
    held = _find_held(question)
    graded = [*(case.rubric.value[key] for key in ("checks", "scoring") if case.rubric)]
    read = [(key, value) for key, value in held_keys.items() if key in graded_keys]
    read += [(key, value) for key, value in held.items() if key in _GRADED]
    read += [("a value of its checks", value) for value in _find_opaque(graded)]
    if read:
        name, value = read[0]
        problem = _READ.format(name, value.description)
        refused = MigrationOutcome.REFUSED
        return LegacyCase(case.pointer, case.raw, refused, (problem,), document=case.document)
    remarks = [
        _KEPT.format(make_excerpt(key), value.description) for key, value in held_keys.items()
    ]
    return replace(
        case,
        question={key: item for key, item in question.items() if key not in held},
        rubric=case.rubric and _encode_extensions(case.rubric),
        remarks=(*case.remarks, *remarks),
    )


def _find_held(mapping: Mapping[Any, Any]) -> dict[Any, OpaqueValue]:
    """Return the first opaque value of each key that has one."""
    found = ((key, next(_find_opaque(item), None)) for key, item in mapping.items())
    return {key: value for key, value in found if value}


def _encode_extensions(draft: ArtifactDraft) -> ArtifactDraft:
    """Return a draft whose extensions contain opaque values in a form that artifacts can hold."""
    extensions = {key: item for key, item in draft.value.items() if key.startswith("x_")}
    opaque = {key: item for key, item in extensions.items() if any(_find_opaque(item))}
    encoded = {key: encode_value(item) for key, item in opaque.items()}
    return replace(draft, value={**draft.value, **encoded})


def _find_opaque(value: Any) -> Iterator[OpaqueValue]:
    if isinstance(value, OpaqueValue):
        yield value
    items: Iterable[Any] = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = value.values()
    for item in items:
        yield from _find_opaque(item)
