"""Warns of keys that stand twice in a legacy file: graders take the last, so its value is the one that is migrated."""

from __future__ import annotations

from dataclasses import replace

from evalstore.documents import Document, DoubledKey, Pointer
from evalstore.migration.extraction import Extraction, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.text import make_excerpt


def add_doubled_keys(extraction: Extraction, document: Document) -> Extraction:
    """Return an extraction with a remark on each case that has a key twice, and a note on each such key elsewhere."""
    files = [document, *(case.document for case in extraction.cases if case.document)]
    if not any(file.doubled for file in files):
        return extraction
    # By identity: two companion files may have equal contents.
    places = {(id(case.document or document), case.pointer) for case in extraction.cases}
    remarks: dict[tuple[int, Pointer], list[str]] = {}
    notes: list[MigrationNote] = []
    for file in {id(file): file for file in files}.values():
        for key in file.doubled:
            steps = (key.pointer[:size] for size in range(len(key.pointer)))
            place = next(((id(file), at) for at in steps if (id(file), at) in places), None)
            if place:
                remarks.setdefault(place, []).append(_describe_key(key))
            else:
                beside = None if file is document else file
                notes.append(MigrationNote(key.pointer, MigrationOutcome.MIGRATED, _describe_key(key), document=beside))
    cases = (
        replace(case, remarks=(*case.remarks, *remarks.get((id(case.document or document), case.pointer), ())))
        for case in extraction.cases
    )
    return replace(extraction, cases=tuple(cases), notes=(*extraction.notes, *notes))


def _describe_key(key: DoubledKey) -> str:
    name = make_excerpt(str(key.pointer[-1]))
    lines = f"lines {key.first} and {key.last}" if key.first != key.last else f"line {key.last}"
    return f"the key {name!r} stands twice, on {lines}: the last counts"
