"""Lints an artifact's references: they exist, are pinned as the policy asks, and form no cycle."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from evalstore.checks import find_inner_ref
from evalstore.documents import Pointer
from evalstore.errors import EvalstoreError, RefError
from evalstore.lint.notes import Note, get_mapping, list_mappings, make_note, note_error
from evalstore.lint.reference_lookup import ReferenceLookup
from evalstore.model import Artifact, Kind, PinType, Ref, find_pins, parse_ref
from evalstore.model.artifact import read_origin
from evalstore.versions import find_version

_MEASURED_ON = "validated_against"  # a record of the past, on which no score depends
# Which kind each key wants; a pointer's last part is the key.
_KIND_BY_KEY = {
    "rubric_ref": Kind.RUBRIC,
    "judge_prompt_ref": Kind.JUDGE,
    _MEASURED_ON: Kind.DATASET,
    "dataset": Kind.DATASET,
}


def lint_references(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the findings about every reference in an artifact."""
    for pointer, text in find_pins(artifact.kind, artifact.document.value):
        yield from lint_pin(pointer, text, lookup)
    if artifact.kind is Kind.RUBRIC:
        yield from lint_composites(artifact, lookup)


def lint_targets(settings: Any, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the findings about the references in the settings."""
    for name, target in get_mapping(settings, "targets").items():
        if isinstance(target, dict) and isinstance(text := target.get("dataset"), str):
            yield from lint_pin(("targets", name, "dataset"), text, lookup, released=False)


def lint_pin(
    pointer: Pointer, text: str, lookup: ReferenceLookup, *, released: bool = True
) -> Iterator[Note]:
    """Yield the findings about one reference.

    In an unreleased artifact it may be unreleased, too.
    """
    key = str(pointer[-1])
    try:
        ref = parse_ref(text)
    except RefError as error:
        yield note_error("reference-malformed", error, pointer)
        return
    if released and not ref.names_release:
        yield make_note(
            "reference-unreleasable",
            pointer,
            found=text,
            hint=f"pin a release: {ref.name}@<version>",
        )
    elif not ref.names_release:
        yield make_note("target-unreleased", pointer, found=text, name=ref.name)
    if ref.kind is not _KIND_BY_KEY[key]:
        yield make_note(
            "reference-kind-wrong", pointer, name=f"`{key}`", wanted=_KIND_BY_KEY[key], found=text
        )
        return
    found = lookup.find_artifact(ref)
    if isinstance(found, RefError):
        yield note_error("reference-dangling", found, pointer)
    elif isinstance(found, EvalstoreError):
        yield make_note(
            "reference-broken", pointer, found=text, message=found, hint=found.hint or ""
        )
    elif found is None:
        yield make_note("references-unchecked", pointer, found=text)
    if ref.is_floating and text not in lookup.locked:
        rule = "reference-unpinned" if ref.type is PinType.NONE else "reference-floating"
        version = find_version(found.version) if isinstance(found, Artifact) else None
        hint = (
            f"pin it: {ref.name}@{version}, or lock it: evalstore lock"
            if version
            else "pin a version"
        )
        yield make_note(rule, pointer, found=text, hint=hint)
    elif (
        ref.type is PinType.EXACT
        and key != _MEASURED_ON
        and (inner := lookup.find_floating_inside(ref))
    ):
        yield make_note(
            "reference-floating-inside", pointer, found=text, inner=inner.removesuffix(f" in {ref}")
        )


@dataclass(frozen=True, slots=True)
class LaggingPins:
    """A dataset's outdated pins to rubrics of its own source, each reported once.

    `origin` is the format and the suite of its source; None if it was not migrated.
    """

    origin: tuple[Any, Any] | None
    lookup: ReferenceLookup
    _seen: set[str] = field(default_factory=set)

    @classmethod
    def from_dataset(cls, dataset: Artifact, lookup: ReferenceLookup) -> LaggingPins:
        """Return the pins of a dataset, none of them checked yet."""
        return cls(read_origin(dataset.document.value), lookup)

    def lint_all(self, dataset: Artifact) -> Iterator[Note]:
        """Yield a note on each pin in a dataset's YAML that lags behind."""
        for pointer, text in find_pins(dataset.kind, dataset.document.value) if self.origin else ():
            yield from self.lint(text, pointer)

    def lint(self, text: str, pointer: Pointer) -> Iterator[Note]:
        """Yield a note on a pin whose rubric has a later version from the same source."""
        if self.origin is None or text in self._seen:
            return
        self._seen.add(text)
        with suppress(RefError):
            ref = parse_ref(text)
            found = (
                self.lookup.find_artifact(ref.with_pin("worktree"))
                if ref.type is PinType.EXACT
                else None
            )
            if (
                isinstance(found, Artifact)
                and is_behind(ref, found)
                and read_origin(found.value) == self.origin
            ):
                yield make_note(
                    "pin-behind", pointer, found=text, name=ref.name, version=found.version
                )


def is_behind(ref: Ref, artifact: Artifact) -> bool:
    """Whether an exact pin is below the version in a file."""
    version = find_version(artifact.version)
    return ref.version is not None and version is not None and version > ref.version


def find_referenced(text: Any, lookup: ReferenceLookup) -> Artifact | None:
    """Return the artifact that a reference names; None if there is none."""
    if not isinstance(text, str):
        return None
    try:
        found = lookup.find_artifact(parse_ref(text))
    except RefError:
        return None
    return found if isinstance(found, Artifact) else None


def lint_composites(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the composites of a rubric that contain composites themselves."""
    for pointer, text in _list_inner_rubrics(artifact):
        inner = find_referenced(text, lookup)
        if inner is None or not any(_list_inner_rubrics(inner)):
            continue
        if path := _find_cycle(artifact.versioned, inner, lookup):
            yield make_note("composite-cycle", pointer, path=" → ".join(path))
        else:
            yield make_note("composite-nested", pointer, found=text)


def _list_inner_rubrics(rubric: Artifact) -> Iterator[tuple[Pointer, str]]:
    for index, check in list_mappings(rubric.document.value, "checks"):
        if ref := find_inner_ref(check):
            yield ("checks", index, "rubric_ref"), ref


def _find_cycle(start: str, inner: Artifact, lookup: ReferenceLookup) -> list[str]:
    """Return the shortest path from `start` through `inner` back to `start`.

    Empty if there is none.
    """
    paths = {inner.versioned: [start, inner.versioned]}
    queue = deque([inner])
    while queue and start not in paths:
        rubric = queue.popleft()
        for _, text in _list_inner_rubrics(rubric):
            next_ = find_referenced(text, lookup)
            if next_ is not None and next_.versioned not in paths:
                paths[next_.versioned] = [*paths[rubric.versioned], next_.versioned]
                queue.append(next_)
    return paths.get(start, [])
