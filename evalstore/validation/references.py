"""References: their form, that they name something, that they are pinned, and that composites go one level deep."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from evalstore.documents import Pointer
from evalstore.errors import EvalstoreError, RefError
from evalstore.model import Artifact, Kind, PinType, parse_ref, find_pins
from evalstore.validation.lookup import Lookup
from evalstore.validation.notes import Note, failure, note
from evalstore.validation.parts import mapping, mappings
from evalstore.versions import find_version

# Which kind each key wants; a pointer's last part is the key.
_WANTED = {
    "rubric_ref": Kind.RUBRIC,
    "judge_prompt_ref": Kind.JUDGE,
    "validated_against": Kind.DATASET,
    "dataset": Kind.DATASET,
}


def reference_notes(artifact: Artifact, lookup: Lookup) -> Iterator[Note]:
    """Yield the findings of every reference that an artifact holds."""
    for pointer, text in find_pins(artifact.kind, artifact.document.value):
        yield from pin_notes(pointer, text, lookup)
    if artifact.kind is Kind.RUBRIC:
        yield from _composites(artifact, lookup)


def target_notes(settings: Any, lookup: Lookup) -> Iterator[Note]:
    """Yield the findings of the references in the settings."""
    for name, target in mapping(settings, "targets").items():
        if isinstance(target, dict) and isinstance(text := target.get("dataset"), str):
            yield from pin_notes(("targets", name, "dataset"), text, lookup)


def pin_notes(pointer: Pointer, text: str, lookup: Lookup) -> Iterator[Note]:
    """Yield the findings of one reference."""
    key = str(pointer[-1])
    try:
        ref = parse_ref(text)
    except RefError as error:
        yield failure("reference-malformed", error, pointer)
        return
    if ref.kind is not _WANTED[key]:
        yield note("reference-kind-wrong", pointer, name=f"`{key}`", wanted=_WANTED[key], found=text)
        return
    found = lookup.find(ref)
    if isinstance(found, RefError):
        yield failure("reference-dangling", found, pointer)
    elif isinstance(found, EvalstoreError):
        yield note("reference-broken", pointer, found=text, message=found, hint=found.hint or "")
    elif found is None:
        yield note("references-unchecked", pointer, found=text)
    if ref.is_floating and text not in lookup.locked:
        rule = "reference-unpinned" if ref.type is PinType.NONE else "reference-floating"
        version = find_version(found.version) if isinstance(found, Artifact) else None
        hint = f"pin it: {ref.name}@{version}, or hold it: evalstore lock" if version else "pin a version"
        yield note(rule, pointer, found=text, hint=hint)


def found_by(text: Any, lookup: Lookup) -> Artifact | None:
    """Return the artifact that a reference names, or None when there is none to be had."""
    if not isinstance(text, str):
        return None
    try:
        found = lookup.find(parse_ref(text))
    except RefError:
        return None
    return found if isinstance(found, Artifact) else None


def _composites(artifact: Artifact, lookup: Lookup) -> Iterator[Note]:
    for pointer, text in _inner(artifact):
        inner = found_by(text, lookup)
        if inner is None or not any(_inner(inner)):
            continue
        if path := _circle(artifact.name_with_version, inner, lookup):
            yield note("composite-cycle", pointer, path=" → ".join(path))
        else:
            yield note("composite-nested", pointer, found=text)


def _inner(rubric: Artifact) -> Iterator[tuple[Pointer, str]]:
    for index, check in mappings(rubric.document.value, "checks"):
        if check.get("kind") == "composite" and isinstance(text := check.get("rubric_ref"), str):
            yield ("checks", index, "rubric_ref"), text


def _circle(start: str, inner: Artifact, lookup: Lookup) -> list[str]:
    """Return the shortest path from `start` through `inner` back to `start`; empty when there is none."""
    paths = {inner.name_with_version: [start, inner.name_with_version]}
    queue = deque([inner])
    while queue and start not in paths:
        rubric = queue.popleft()
        for _, text in _inner(rubric):
            next_ = found_by(text, lookup)
            if next_ is not None and next_.name_with_version not in paths:
                paths[next_.name_with_version] = [*paths[rubric.name_with_version], next_.name_with_version]
                queue.append(next_)
    return paths.get(start, [])
