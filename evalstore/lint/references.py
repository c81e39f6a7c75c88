"""Lints an artifact's id, version and references, and looks up what they name, once a run."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.documents import Pointer, read_json
from evalstore.errors import EvalstoreError, LoadError, Place, RefError
from evalstore.files import SMALL_FILE, read_below
from evalstore.lint.notes import Mend, Note, describe_value, get_mapping, list_mappings, make_note, note_error
from evalstore.lint.sources import BUNDLE_FOLDER, BUNDLE_SUFFIX
from evalstore.model import Artifact, Kind, PinType, Ref, find_pins, is_id, parse_ref
from evalstore.model.artifact import RENAMED_FROM
from evalstore.versions import TWO_PART, find_version

if TYPE_CHECKING:
    from evalstore.languages.schemas import Schema


Load = Callable[[Ref], Artifact]
LookupResult = Artifact | EvalstoreError | None


class ArtifactFiles:
    """The artifacts among the files of this run, by name and by name without its case."""

    def __init__(self, artifacts: Iterable[Artifact]) -> None:
        self._by_name: defaultdict[tuple[Kind, str], list[Artifact]] = defaultdict(list)
        self._lower: defaultdict[tuple[Kind, str], set[str]] = defaultdict(set)
        for artifact in artifacts:
            self._by_name[artifact.kind, artifact.id].append(artifact)
            self._lower[artifact.kind, artifact.id.lower()].add(artifact.id)

    def list_named(self, kind: Kind, id_: str) -> list[Artifact]:
        """Return the files of one name; more than one when several folders were given."""
        return self._by_name.get((kind, id_), [])

    def list_case_twins(self, artifact: Artifact) -> list[str]:
        """Return the ids that differ from this artifact's only in case."""
        return sorted(self._lower[artifact.kind, artifact.id.lower()] - {artifact.id})


@dataclass(frozen=True, slots=True)
class ReferenceLookup:
    """References to artifacts; without `load` (no store) only the files of this run are known.

    `locked` are the references that evalstore.lock holds, as they are written: those do not float.
    """

    files: ArtifactFiles
    load: Load | None
    locked: Container[str] = ()
    _found: dict[str, LookupResult] = field(default_factory=dict)
    _floating: dict[str, str | None] = field(default_factory=dict)

    def find_floating_inside(self, ref: Ref) -> str | None:
        """Return a floating reference of what `ref` means, or of what that refers to, and who holds it; else None."""
        if str(ref) not in self._floating:
            self._floating[str(ref)] = None  # a circle of references leads nowhere new
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
            except RefError:  # a finding of the file that holds it
                continue
            if inner.is_floating and text not in self.locked:
                return f"{text} in {ref}"
            if found := self.find_floating_inside(inner):
                return found
        return None

    def find_artifact(self, ref: Ref) -> LookupResult:
        """Return the artifact, the error that says why there is none, or None where nobody can know."""
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
        # A first release of everything at once must be possible: the working file counts as its next release.
        return next((artifact for artifact in self._list_working(ref) if _fits_pin(ref, artifact)), error)

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


UNKNOWN = ReferenceLookup(ArtifactFiles(()), None)  # where no other artifact is looked at


class Bundle(NamedTuple):
    """A bundle's schema with the fields it names, or the note that says why it has none."""

    schema: Schema | None = None
    fields: frozenset[str] = frozenset()
    broken: Note | None = None


@dataclass(frozen=True, slots=True)
class Bundles:
    """The bundles of the stores of one run, read when first asked for."""

    settings: Any
    _read: dict[tuple[Path, str], Bundle | None] = field(default_factory=dict)
    _names: dict[Path, list[str]] = field(default_factory=dict)

    def find_bundle(self, root: Path, name: str) -> Bundle | None:
        """Return the bundle `name` of the store at `root`, or None when it has no schema."""
        if (root, name) not in self._read:
            self._read[root, name] = self._read_bundle(root, name)
        return self._read[root, name]

    def _read_bundle(self, root: Path, name: str) -> Bundle | None:
        path = locate_bundle(self.settings, name)
        if name not in get_mapping(self.settings, BUNDLE_FOLDER) and not os.path.lexists(root / path):
            return None
        return read_bundle(root, path, name)

    def list_names(self, root: Path) -> list[str]:
        """Return the bundles that the store at `root` has schemas of."""
        if root not in self._names:
            files = (root / BUNDLE_FOLDER).glob(f"*{BUNDLE_SUFFIX}")
            names = {
                *get_mapping(self.settings, BUNDLE_FOLDER),
                *(path.name.removesuffix(BUNDLE_SUFFIX) for path in files),
            }
            self._names[root] = sorted(names)
        return self._names[root]


def locate_bundle(settings: Any, name: str) -> str:
    """Return the path of a bundle's schema below the root of the store."""
    declared = get_mapping(settings, BUNDLE_FOLDER).get(name)
    return declared if isinstance(declared, str) else f"{BUNDLE_FOLDER}/{name}{BUNDLE_SUFFIX}"


def read_bundle(root: Path, path: str, name: str, shown: str = "") -> Bundle:
    """Read and compile one schema; `shown` is the name of its file in findings."""
    file = shown or path
    try:
        data = read_below(root, path, SMALL_FILE)
        value = read_json(data, file).value
        if not isinstance(value, dict):
            raise LoadError("a schema must be a mapping", place=Place(file, 1, 1))
        fields = get_mapping(value, "properties")
        from evalstore.languages.schemas import compile_untrusted

        return Bundle(compile_untrusted(value), frozenset(fields))
    except EvalstoreError as error:
        place = Place(file, error.place.line, error.place.column) if error.place else Place(file, 1, 1)
        return Bundle(broken=note_broken_bundle(name, error, place))


def note_broken_bundle(name: str, error: EvalstoreError, place: Place | None) -> Note:
    """Return the note of a schema that cannot be read or applied."""
    return make_note(
        "bundle-broken", ("bundle",), place=place, found=name, message=error.message, hint=error.hint or ""
    )


def lint_identity(artifact: Artifact) -> Iterator[Note]:
    """Yield what is wrong with the id (`artifact.id` is the file's name) and the version."""
    if isinstance(artifact.document.value, dict):
        yield from _lint_id(artifact)
        yield from _lint_version(artifact)


def lint_twins(artifact: Artifact, files: ArtifactFiles) -> Iterator[Note]:
    """Yield the ids of other files that differ from this one's only in case."""
    for twin in files.list_case_twins(artifact):
        yield make_note("id-twin", ("id",), twin=twin)


def _lint_id(artifact: Artifact) -> Iterator[Note]:
    id_ = artifact.value.get("id", artifact.id)
    if not isinstance(id_, str):
        return
    if not is_id(id_):
        yield make_note("id-malformed", ("id",), found=describe_value(id_))
    elif id_ != artifact.id:
        other = f", or write id: {artifact.id}" if is_id(artifact.id) else ""
        yield make_note("id-not-file-name", ("id",), found=id_, hint=f"name the file {id_}.yaml{other}")


def _lint_version(artifact: Artifact) -> Iterator[Note]:
    if "version" not in artifact.value:
        return
    version = artifact.value["version"]
    if not isinstance(version, str):
        number = isinstance(version, int | Decimal) and not isinstance(version, bool)
        mark = artifact.document.spans["version",]
        written = artifact.document.text[mark.start : mark.end]
        what = f"the number {written}" if number else describe_value(version)
        full = f"{written}.0.0" if written.isdecimal() else f"{written}.0" if TWO_PART.fullmatch(written) else ""
        mend = Mend(full, quoted=True) if number and find_version(full) else None
        yield make_note("version-not-text", ("version",), mend=mend, what=what, example=full or "1.0.0")
    elif TWO_PART.fullmatch(version):
        yield make_note("version-two-part", ("version",), mend=Mend(f"{version}.0"), found=version)
    elif find_version(version) is None:
        yield make_note("version-malformed", ("version",), found=describe_value(version))


def lint_former_id(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the id that an artifact says it had, where that is its own, or was never released."""
    value, former = artifact.document.value, artifact.former_name
    if isinstance(value, dict) and value.get(RENAMED_FROM) in [artifact.id, artifact.name]:
        yield _note_former(f"{artifact.name} is this file", "remove the line")
    elif former and lookup.load is not None:
        try:
            lookup.load(parse_ref(former))
        except RefError as error:
            yield _note_former(error.message, error.hint or "")


def _note_former(message: str, hint: str) -> Note:
    return make_note("renamed-from-unknown", (RENAMED_FROM,), message=message, hint=hint)


_MEASURED_ON = "validated_against"  # a record of the past, through which no score goes
# Which kind each key wants; a pointer's last part is the key.
_KIND_BY_KEY = {
    "rubric_ref": Kind.RUBRIC,
    "judge_prompt_ref": Kind.JUDGE,
    _MEASURED_ON: Kind.DATASET,
    "dataset": Kind.DATASET,
}


def lint_references(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the findings of every reference that an artifact holds."""
    for pointer, text in find_pins(artifact.kind, artifact.document.value):
        yield from lint_pin(pointer, text, lookup)
    if artifact.kind is Kind.RUBRIC:
        yield from lint_composites(artifact, lookup)


def lint_targets(settings: Any, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the findings of the references in the settings."""
    for name, target in get_mapping(settings, "targets").items():
        if isinstance(target, dict) and isinstance(text := target.get("dataset"), str):
            yield from lint_pin(("targets", name, "dataset"), text, lookup, released=False)


def lint_pin(pointer: Pointer, text: str, lookup: ReferenceLookup, *, released: bool = True) -> Iterator[Note]:
    """Yield the findings of one reference; one that is not `released` with its artifact may be no release itself."""
    key = str(pointer[-1])
    try:
        ref = parse_ref(text)
    except RefError as error:
        yield note_error("reference-malformed", error, pointer)
        return
    if released and not ref.names_release:
        yield make_note("reference-unreleasable", pointer, found=text, hint=f"pin a release: {ref.name}@<version>")
    elif not ref.names_release:
        yield make_note("target-unreleased", pointer, found=text, name=ref.name)
    if ref.kind is not _KIND_BY_KEY[key]:
        yield make_note("reference-kind-wrong", pointer, name=f"`{key}`", wanted=_KIND_BY_KEY[key], found=text)
        return
    found = lookup.find_artifact(ref)
    if isinstance(found, RefError):
        yield note_error("reference-dangling", found, pointer)
    elif isinstance(found, EvalstoreError):
        yield make_note("reference-broken", pointer, found=text, message=found, hint=found.hint or "")
    elif found is None:
        yield make_note("references-unchecked", pointer, found=text)
    if ref.is_floating and text not in lookup.locked:
        rule = "reference-unpinned" if ref.type is PinType.NONE else "reference-floating"
        version = find_version(found.version) if isinstance(found, Artifact) else None
        hint = f"pin it: {ref.name}@{version}, or lock it: evalstore lock" if version else "pin a version"
        yield make_note(rule, pointer, found=text, hint=hint)
    elif ref.type is PinType.EXACT and key != _MEASURED_ON and (inner := lookup.find_floating_inside(ref)):
        yield make_note("reference-floating-inside", pointer, found=text, inner=inner.removesuffix(f" in {ref}"))


@dataclass(frozen=True, slots=True)
class LaggingPins:
    """The pins of a dataset to rubrics of its own source that have moved on since; each is told of once.

    `origin` is the format and the suite of its source; None where no migration has made it.
    """

    origin: tuple[Any, Any] | None
    lookup: ReferenceLookup
    _seen: set[str] = field(default_factory=set)

    @classmethod
    def from_dataset(cls, dataset: Artifact, lookup: ReferenceLookup) -> LaggingPins:
        """Return the pins of a dataset, none of them looked at."""
        return cls(read_origin(dataset.document.value), lookup)

    def lint_all(self, dataset: Artifact) -> Iterator[Note]:
        """Yield a note on each pin in the YAML of a dataset that lags behind."""
        for pointer, text in find_pins(dataset.kind, dataset.document.value) if self.origin else ():
            yield from self.lint(text, pointer)

    def lint(self, text: str, pointer: Pointer) -> Iterator[Note]:
        """Yield a note on a pin whose rubric has a later version, made of the same source."""
        if self.origin is None or text in self._seen:
            return
        self._seen.add(text)
        with suppress(RefError):
            ref = parse_ref(text)
            found = self.lookup.find_artifact(ref.with_pin("worktree")) if ref.type is PinType.EXACT else None
            if isinstance(found, Artifact) and is_behind(ref, found) and read_origin(found.value) == self.origin:
                yield make_note("pin-behind", pointer, found=text, name=ref.name, version=found.version)


def is_behind(ref: Ref, artifact: Artifact) -> bool:
    """Whether an exact pin is below the version that a file has."""
    version = find_version(artifact.version)
    return ref.version is not None and version is not None and version > ref.version


def read_origin(value: Any) -> tuple[Any, Any] | None:
    """Return the format and the suite that a migrated artifact came from; None where it came from none."""
    source = get_mapping(value, "x_source")
    return (source.get("format"), source["suite"]) if "suite" in source else None


def find_referenced(text: Any, lookup: ReferenceLookup) -> Artifact | None:
    """Return the artifact that a reference names, or None when there is none to be had."""
    if not isinstance(text, str):
        return None
    try:
        found = lookup.find_artifact(parse_ref(text))
    except RefError:
        return None
    return found if isinstance(found, Artifact) else None


def lint_composites(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the composites of a rubric that hold composites themselves."""
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
        if check.get("kind") == "composite" and isinstance(text := check.get("rubric_ref"), str):
            yield ("checks", index, "rubric_ref"), text


def _find_cycle(start: str, inner: Artifact, lookup: ReferenceLookup) -> list[str]:
    """Return the shortest path from `start` through `inner` back to `start`; empty when there is none."""
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
