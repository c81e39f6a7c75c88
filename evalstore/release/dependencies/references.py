"""Reads the references of artifacts, including their rows.

They are those of one artifact, or all that can be reached from a store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evalstore.errors import Place, RefError
from evalstore.model import Artifact, Kind, PinType, Ref, find_pins, find_rows_path, parse_ref
from evalstore.places import SETTINGS_FILE
from evalstore.progress import Watch
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import list_committed_artifacts
from evalstore.store.resolve import expect_releases, resolve_unlocked
from evalstore.store.revisions import resolve_head
from evalstore.store.rows import RowBlock, may_name_rubric, parse_row, read_row_blocks

_RUBRIC_REF = "rubric_ref"
# Where a reference is written: computed on demand, because the position of a key costs a second
# parse of its file.
FindPlace = Callable[[], Place]
ReferenceResolver = Callable[[FindPlace, Ref], Resolved | None]


@dataclass(frozen=True, slots=True)
class ArtifactReference:
    """One reference in an artifact; equal ones count as one.

    `user` is its owner with its pin (`<kind>/<id>@<version or worktree>`), `place` the first of the
    `places` (a count) where the reference is written. `questions` counts the questions that it
    grades; `scores` is False if it only records what a judge was measured on, so that no score
    depends on it.
    """

    user: str
    ref: Ref
    place: Place
    places: int = 1
    questions: int = 0
    scores: bool = True

    @property
    def name(self) -> str:
        """The user's `<kind>/<id>`."""
        return self.user.partition("@")[0]


@dataclass(frozen=True, slots=True)
class FileReferences:
    """All references of one artifact, its version, and how many questions it has."""

    version: str
    questions: int
    references: tuple[ArtifactReference, ...]


def read_references(store: ArtifactStore, resolved: Resolved, user: str) -> FileReferences:
    """Return what an artifact refers to, each reference once, without malformed ones."""
    first: dict[str, Place] = {}
    places: Counter[str] = Counter()
    graded: Counter[str] = Counter()
    document, value = resolved.artifact.document, resolved.artifact.value
    # The place of a pointer is computed once per text: for a large dataset that is most of the
    # work.
    for pointer, text in find_pins(resolved.kind, value):
        if text not in first:
            first[text] = document.locate(pointer)
        places[text] += 1
        graded[text] += pointer[0] == "questions"
    inline = value.get("questions")
    questions = len(inline) if isinstance(inline, list) and "rows" not in value else 0
    rows = str(find_rows_path(resolved.artifact))
    for block in _read_row_blocks(store, resolved):
        questions += len(block.data)
        for line, ref in _list_row_refs(block):
            first.setdefault(ref, Place(rows, line))
            places[ref] += 1
            graded[ref] += 1
    # Questions that name no rubric are graded by the dataset's default.
    if default := _find_default_ref(value):
        graded[default] += questions - graded.total()
    scores = resolved.kind is not Kind.JUDGE  # it says only what the judge was measured on
    references: list[ArtifactReference] = []
    for text, place in first.items():
        if (parsed := _parse_ref_or_none(text)) is not None:
            uses, grades = places[text], graded[text]
            references.append(ArtifactReference(user, parsed, place, uses, grades, scores))
    return FileReferences(resolved.version, questions, tuple(references))


def _read_row_blocks(store: ArtifactStore, resolved: Resolved) -> Iterator[RowBlock]:
    return read_row_blocks(store, resolved.artifact, commit=resolved.commit, tag=resolved.tag)


def _list_row_refs(block: RowBlock) -> Iterator[tuple[int, str]]:
    """Yield the line of each row that names a rubric, and the rubric.

    Only what may name one is parsed.
    """
    if not may_name_rubric(b"\n".join(block.data)):  # as in most files: looked for at once
        return
    for line in block.list_lines():
        ref = parse_row(line).get(_RUBRIC_REF) if may_name_rubric(line.data) else None
        if isinstance(ref, str):
            yield line.number, ref


def _find_default_ref(value: Mapping[str, Any]) -> str | None:
    """Return the reference that grades those questions of a dataset that name none."""
    defaults = value.get("defaults")
    text = defaults.get("rubric_ref") if isinstance(defaults, dict) else None
    return text if isinstance(text, str) else None


def _parse_ref_or_none(text: str) -> Ref | None:
    try:
        return parse_ref(text)
    except RefError:
        return None


def list_references(
    store: ArtifactStore, resolved: Resolved, moves: Mapping[str, str] | None = None
) -> Iterator[tuple[FindPlace, Ref]]:
    """Yield every reference of an artifact with a function that finds its place.

    `moves` (new texts by old ones) are applied first. Raises `RefError`, with the place, for a
    malformed one.
    """
    document, moved = resolved.artifact.document, moves or {}
    for pointer, text in find_pins(resolved.kind, resolved.artifact.value):
        yield _parse_at(partial(document.locate, pointer), moved.get(text, text))
    rows = str(find_rows_path(resolved.artifact))
    for block in _read_row_blocks(store, resolved):
        for line, ref in _list_row_refs(block):
            yield _parse_at(partial(Place, rows, line), moved.get(ref, ref))


def _parse_at(find_place: FindPlace, text: str) -> tuple[FindPlace, Ref]:
    try:
        return find_place, parse_ref(text)
    except RefError as error:
        raise RefError(error.message, place=find_place(), hint=error.hint) from None


def walk_references(
    store: ArtifactStore, resolve: ReferenceResolver, *, watch: Watch[Any] = iter
) -> Iterator[tuple[FindPlace, Ref, Resolved | None]]:
    """Yield each reference of a store once.

    With it come a function that finds the first place that has it, and what `resolve` says it
    means. The walk is breadth first, from the artifacts and the settings; what a reference resolves
    to is followed, because scoring by a released dataset reads the rubrics that *it* pins.
    References to working files (`@worktree`) are left out: a lock cannot hold them. `watch` wraps
    the iteration over the artifacts, then over the references of each level (a progress bar).
    Raises whatever reading the store's own files raises.
    """
    seen: set[str] = set()
    listed: set[str] = set()
    level = _keep_new(_walk_roots(store, watch, listed), seen)
    while level:
        expect_releases(store, (ref for _, ref in level))
        following: list[tuple[FindPlace, Ref]] = []
        for find_place, ref in watch(level):
            resolved = resolve(find_place, ref)
            yield find_place, ref, resolved
            if resolved and resolved.blob not in listed:
                following += list_references(store, resolved)
        level = _keep_new(following, seen)


def _keep_new(
    references: Iterable[tuple[FindPlace, Ref]], seen: set[str]
) -> list[tuple[FindPlace, Ref]]:
    """Return the first of equal references, without those in `seen`, to which they are added."""
    new: dict[str, tuple[FindPlace, Ref]] = {}
    for find_place, ref in references:
        if ref.type is not PinType.WORKTREE and (text := str(ref)) not in seen:
            new.setdefault(text, (find_place, ref))
    seen.update(new)
    return list(new.values())


def expect_references(store: ArtifactStore, artifacts: Sequence[Artifact]) -> None:
    """Announce that the references of these working files will be resolved, so git reads ahead."""
    pins = dict.fromkeys(
        text for artifact in artifacts for _, text in find_pins(artifact.kind, artifact.value)
    )
    expect_releases(store, [ref for text in pins if (ref := _parse_ref_or_none(text))])


def _walk_roots(
    store: ArtifactStore, watch: Watch[Any], listed: set[str]
) -> Iterator[tuple[FindPlace, Ref]]:
    """Yield the references of the store's own artifacts, and of the targets in its settings.

    `listed` collects the blobs whose references these are: most releases equal the working files.
    """
    for ref in watch(list_root_artifacts(store)):
        resolved = resolve_unlocked(store, ref)
        yield from list_references(store, resolved)
        if resolved.blob and "rows" not in resolved.artifact.value:
            listed.add(resolved.blob)
    targets = store.settings.get("targets")
    for target in targets.values() if isinstance(targets, dict) else ():
        if isinstance(target, dict) and isinstance(text := target.get("dataset"), str):
            yield _parse_at(partial(Place, SETTINGS_FILE), text)


def list_root_artifacts(store: ArtifactStore) -> list[Ref]:
    """Return the artifacts on disk, or, in a bare repository, those of HEAD."""
    if store.root is not None:
        return store.working()
    commit = resolve_head(store.git)
    pin, type_ = f"git:{commit}", PinType.REVISION
    names = list_committed_artifacts(store, commit)
    return [Ref(kind, id_, pin, type_, revision=commit) for kind, id_ in names]


def find_working_rows(store: ArtifactStore, ref: Ref, data: bytes) -> str | None:
    """Return where a working dataset with these bytes keeps its rows, like `find_rows_path`.

    A file that cannot have any is not parsed.
    """
    # The key is in the file as it is, unless an escape hides it.
    return find_rows_path(store.read_artifact(ref)) if b"rows" in data or b"\\" in data else None
