"""Sets aside what is graded by values that no artifact can hold, and keeps the rest of them as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.documents import Document, OpaqueValue
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.remainder import encode_value
from evalstore.migration.table import FormatTable
from evalstore.text import make_excerpt

# The fields of a question that scoring reads; a question need not hold the others, as its remainder
# does.
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
    """Return an extraction without opaque values in questions and rubrics; a case that is graded by one is refused."""
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
    items = case.raw.items() if isinstance(case.raw, Mapping) else ()
    held_keys = {
        str(key): value for key, item in items if (value := next(_find_opaque(item), None))
    }
    question = dict(case.question)
    if "metadata" in question:
        kept = {
            key: item for key, item in question["metadata"].items() if not any(_find_opaque(item))
        }
        question["metadata"] = kept
    held = {
        key: value for key, item in question.items() if (value := next(_find_opaque(item), None))
    }
    graded = [*(case.rubric.value[key] for key in ("checks", "scoring") if case.rubric)]
    problems = [
        _READ.format(key, value.description)
        for key, value in held_keys.items()
        if key in graded_keys
    ]
    problems += [
        _READ.format(key, value.description) for key, value in held.items() if key in _GRADED
    ]
    problems += [
        _READ.format("a value of its checks", value.description) for value in _find_opaque(graded)
    ]
    if problems:
        return LegacyCase(
            case.pointer,
            case.raw,
            MigrationOutcome.REFUSED,
            tuple(problems[:1]),
            document=case.document,
        )
    remarks = [
        _KEPT.format(make_excerpt(key), value.description) for key, value in held_keys.items()
    ]
    return replace(
        case,
        question={key: item for key, item in question.items() if key not in held},
        rubric=case.rubric and _encode_extensions(case.rubric),
        remarks=(*case.remarks, *remarks),
    )


def _encode_extensions(draft: ArtifactDraft) -> ArtifactDraft:
    """Return a draft whose extensions hold opaque values as an artifact can."""
    value = {
        key: encode_value(item) if key.startswith("x_") and any(_find_opaque(item)) else item
        for key, item in draft.value.items()
    }
    return replace(draft, value=value)


def _find_opaque(value: Any) -> Iterator[OpaqueValue]:
    if isinstance(value, OpaqueValue):
        yield value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _find_opaque(item)
