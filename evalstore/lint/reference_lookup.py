"""Looks up the artifacts that references name, once per run, in files and in releases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field

from evalstore.errors import EvalstoreError, RefError
from evalstore.model import Artifact, Kind, PinType, Ref, find_pins, parse_ref
from evalstore.versions import find_version

Load = Callable[[Ref], Artifact]
LookupResult = Artifact | EvalstoreError | None


class ArtifactFiles:
    """The artifacts among the files of this run, by name and by case-folded name."""

    def __init__(self, artifacts: Iterable[Artifact]) -> None:
        self._by_name: defaultdict[tuple[Kind, str], list[Artifact]] = defaultdict(list)
        self._lower: defaultdict[tuple[Kind, str], set[str]] = defaultdict(set)
        for artifact in artifacts:
            self._by_name[artifact.kind, artifact.id].append(artifact)
            self._lower[artifact.kind, artifact.id.lower()].add(artifact.id)

    def list_named(self, kind: Kind, id_: str) -> list[Artifact]:
        """Return the files with one name; several if several folders were given."""
        return self._by_name.get((kind, id_), [])

    def list_case_twins(self, artifact: Artifact) -> list[str]:
        """Return the ids that differ from this artifact's only in case."""
        return sorted(self._lower[artifact.kind, artifact.id.lower()] - {artifact.id})


@dataclass(frozen=True, slots=True)
class ReferenceLookup:
    """References to artifacts; without `load` (no store), only the files of this run are known.

    `locked` are the references in evalstore.lock, as written: those do not float.
    """

    files: ArtifactFiles
    load: Load | None
    locked: Container[str] = ()
    _found: dict[str, LookupResult] = field(default_factory=dict)
    _floating: dict[str, str | None] = field(default_factory=dict)

    def find_floating_inside(self, ref: Ref) -> str | None:
        """Return a floating reference within what `ref` means, and its owner.

        None if there is none.
        """
        if str(ref) not in self._floating:
            self._floating[str(ref)] = None  # a cycle of references leads nowhere new
            self._floating[str(ref)] = self._find_floating(ref)
        return self._floating[str(ref)]

    def _find_floating(self, ref: Ref) -> str | None:
        artifact = self.find_artifact(ref)
        if not isinstance(artifact, Artifact) or artifact.kind is Kind.JUDGE:
            return None
        pins = dict.fromkeys(text for _, text in find_pins(artifact.kind, artifact.document.value))
        for text in pins:
            try:
                inner = parse_ref(text)
            except RefError:  # a finding about the file that contains it
                continue
            if inner.is_floating and text not in self.locked:
                return f"{text} in {ref}"
            if found := self.find_floating_inside(inner):
                return found
        return None

    def find_artifact(self, ref: Ref) -> LookupResult:
        """Return the artifact, the error why there is none, or None if nobody can know."""
        if str(ref) not in self._found:
            self._found[str(ref)] = self._load_or_find(ref)
        return self._found[str(ref)]

    def _load_or_find(self, ref: Ref) -> LookupResult:
        error: LookupResult = None
        if self.load is not None:
            try:
                return self.load(ref)
            except EvalstoreError as failed:
                error = failed
            if not isinstance(error, RefError):
                return error
        # A first release of everything at once must be possible: the working file counts as its
        # next release.
        return next(
            (artifact for artifact in self._list_working(ref) if _fits_pin(ref, artifact)), error
        )

    def _list_working(self, ref: Ref) -> list[Artifact]:
        if self.files.list_named(ref.kind, ref.id) or self.load is None:
            return self.files.list_named(ref.kind, ref.id)
        try:
            return [self.load(ref.with_pin("worktree"))]
        except EvalstoreError:  # the missing release stays the answer
            return []


def _fits_pin(ref: Ref, artifact: Artifact) -> bool:
    version = find_version(artifact.version)
    if ref.type is PinType.EXACT:
        return version == ref.version
    if ref.type is PinType.RANGE:
        return ref.range is not None and version in ref.range
    return ref.type is not PinType.REVISION


UNKNOWN = ReferenceLookup(ArtifactFiles(()), None)  # if no other artifact is looked at
