"""Finds the artifacts of a run in the store, proved by digest.

It also finds who made what differs between two.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import pairwise, product

from evalstore.audits.values import EditSource, Origin
from evalstore.documents import compute_document_digest
from evalstore.errors import EvalstoreError, GitError, LostGradersError, RefError
from evalstore.model import (
    INPUT_KEYS,
    MALFORMED_ERRORS,
    Kind,
    PinType,
    Question,
    Ref,
    find_rows_path,
    parse_ref,
    read_rubric,
)
from evalstore.model.question import read_defaults
from evalstore.release.history.artifact_parts import WHOLE, ArtifactPart
from evalstore.release.history.origins import OriginFinder, PartOrigin
from evalstore.runs import UsedArtifact
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.artifacts import require_blob
from evalstore.store.file_history import list_file_commits, read_file_history
from evalstore.store.lineage import list_former_names
from evalstore.store.question_index import open_question_index
from evalstore.store.rows import compute_rows_sha256, list_rows_paths
from evalstore.store.tags import list_patterns
from evalstore.text import SHORT_DIGEST


class DatasetQuestions(Mapping[str, Question]):
    """The questions of one version of a dataset by id.

    If the dataset has a file of rows, they stay on disk.
    """

    def __init__(self, resolved: Resolved, store: ArtifactStore) -> None:
        opened = ExitStack()
        self._index = opened.enter_context(open_question_index(resolved, store))
        weakref.finalize(self, opened.close)
        self._last: Question | None = None

    def __getitem__(self, id_: str) -> Question:
        if self._last is None or self._last.id != id_:
            if (found := self._index.find(id_)) is None:
                raise KeyError(id_)
            self._last = found[1]
        return self._last

    def __iter__(self) -> Iterator[str]:
        return iter(self._index.list_ids())

    def __len__(self) -> int:
        return self._index.count


def mix_questions(reference: Question, input_: Question) -> Question:
    """Return the question with the reference of one version and the input of another.

    Cells of an audit mix both.
    """
    if reference.input_digest == input_.input_digest:
        return reference
    reference_fields = {key: value for key, value in reference.row.items() if key not in INPUT_KEYS}
    input_fields = {key: input_.row[key] for key in INPUT_KEYS if key in input_.row}
    return Question(reference.id, input_.input, {**reference_fields, **input_fields})


@dataclass(frozen=True, slots=True)
class ArtifactVersion:
    """One version of an artifact with the content that a run recorded.

    `release` is the release with that content, if any.
    """

    resolved: Resolved
    release: Release | None

    @property
    def label(self) -> str:
        """The version number, or the whole pin if no release has the content."""
        return str(self.release.version) if self.release else self.resolved.ref.partition("@")[2]

    @property
    def commit(self) -> str | None:
        """The commit that contains this version."""
        return self.release.commit if self.release else self.resolved.commit


@dataclass(frozen=True, slots=True)
class VersionPath:
    """The versions from one content of an artifact to another, both included.

    `origins` are those of each step.
    """

    versions: tuple[ArtifactVersion, ...]
    origins: tuple[Origin, ...]


@dataclass(slots=True)
class VersionFinder:
    """Finds in one store the artifacts that runs were graded with.

    `notes` lists what was found elsewhere.
    """

    store: ArtifactStore
    notes: list[str] = field(default_factory=list)
    _origins: OriginFinder = field(init=False)
    _questions: dict[tuple[str, str | None, str], DatasetQuestions] = field(default_factory=dict)
    _former: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._origins = OriginFinder(self.store)

    def open_questions(self, dataset: Resolved) -> DatasetQuestions:
        """Return the questions of a dataset.

        Versions that differ only in the rubric that they name share one collection.
        """
        defaults = dict(read_defaults(dataset.artifact.value))
        defaults.pop("rubric_ref", None)
        digest = compute_document_digest(
            {**dataset.artifact.value, "version": None, "defaults": defaults}
        )
        rows = find_rows_path(dataset.artifact)
        blob = require_blob(self.store, dataset.commit, rows) if rows and dataset.commit else None
        key = dataset.name, blob, digest
        if key not in self._questions:
            self._questions[key] = DatasetQuestions(dataset, self.store)
        return self._questions[key]

    def list_names(self, name: str) -> list[str]:
        """Return the names of an artifact: `name`, then its former names, latest first."""
        if name not in self._former:
            self._former[name] = list_former_names(self.store, name)
        return [name, *self._former[name]]

    def find_first_name(self, name: str) -> str:
        """Return the first name that an artifact had, which is the same for all of its versions."""
        return self.list_names(name)[-1]

    def find_line(self, old: ArtifactVersion, new: ArtifactVersion) -> list[str]:
        """Return the names of the artifact that two versions belong to.

        There are none if they belong to two artifacts.
        """
        names = old.resolved.name, new.resolved.name
        lines = [self.list_names(name) for name in dict.fromkeys(names)]
        return next((line for line in lines if {*names} <= {*line}), [])

    def locate_pin(self, pinned: UsedArtifact) -> ArtifactVersion:
        """Return the artifact with exactly the recorded content.

        Raises `LostGradersError` if the store has none.
        """
        reasons: list[EvalstoreError] = []
        for ref in self._list_candidates(pinned):
            try:
                resolved = self.store.resolve(ref)
            except EvalstoreError as error:
                reasons.append(error)
                continue
            # The digest is the proof: a tag may have moved, and a working file may have been
            # released.
            if resolved.digest == pinned.digest and self._has_rows(resolved, pinned):
                self._note_move(pinned, ref, is_gone=bool(reasons))
                return self.find_release(resolved)
        raise _make_missing_error(pinned, reasons)

    def find_path(self, old: ArtifactVersion, new: ArtifactVersion) -> VersionPath:
        """Return the versions released on the way from `old` to `new`, in that order.

        The origin of each step comes with them. Releases on other branches are not steps.
        """
        versions = (old, *self._resolve_between(old, new), new)
        steps = pairwise(versions)
        return VersionPath(
            versions, tuple(self.find_origins(*step, [WHOLE])[WHOLE] for step in steps)
        )

    def find_origins(
        self, old: ArtifactVersion, new: ArtifactVersion, parts: Iterable[ArtifactPart]
    ) -> dict[ArtifactPart, Origin]:
        """Return the origin of each part that differs between two versions.

        It is a commit on the way to `new`. Parts are named as in `new`, or, if missing there, as in
        `old`. For two different artifacts, the second one's origins count.
        """
        if not self.find_line(old, new):
            found = self._origins.find_origins(None, new.resolved, parts)
            refs = old.resolved.ref, new.resolved.ref
            build = partial(_build_origin, new.resolved.name, refs)
            return {part: build(origin) for part, origin in found.items()}
        found = self._origins.find_origins(old.resolved, new.resolved, parts)
        labels = [
            old.label,
            *(version.label for version in self._resolve_between(old, new)),
            new.label,
        ]
        steps = {part: _find_step(labels, origin) for part, origin in found.items()}
        build = partial(_build_origin, new.resolved.name)
        return {part: build(steps[part], origin) for part, origin in found.items()}

    def _list_candidates(self, pinned: UsedArtifact) -> Iterator[str]:
        ref = parse_ref(pinned.ref)
        newest_first = reversed(self.store.releases(ref.kind, ref.id))
        releases = (f"{ref.name}@{release.version}" for release in newest_first)
        # The content recorded for a floating or working reference is most likely in a later
        # release, so look there first.
        if ref.type is not PinType.EXACT:
            yield from releases
            yield pinned.ref
            yield from self._list_commits(ref, has_rows=pinned.rows is not None)
            return
        yield pinned.ref
        if pinned.commit:
            yield f"{ref.name}@git:{pinned.commit}"
        yield from releases
        yield from self._list_commits(ref)

    def _has_rows(self, resolved: Resolved, pinned: UsedArtifact) -> bool:
        """Whether the rows next to a dataset are those that a run read from disk.

        No digest covers them.
        """
        if pinned.rows is None:
            return True
        try:
            found = compute_rows_sha256(self.store, resolved.artifact, commit=resolved.commit)
        except EvalstoreError:  # rows that cannot be read are different rows
            return False
        return found == pinned.rows

    def _list_commits(self, ref: Ref, *, has_rows: bool = False) -> Iterator[str]:
        """Yield a reference to every content that a file ever had in a commit, newest first.

        The content of its rows counts, too.
        """
        paths = [ref.path, *(list_rows_paths(self.store, ref) if has_rows else [])]
        commits = list_file_commits(self.store, paths)
        blobs = self.store.moves.find_blobs({file: file for file in product(commits, paths)})
        contents = (tuple(blobs[commit, path] for path in paths) for commit in commits)
        oldest_first = reversed([*zip(contents, commits, strict=True)])
        first = {content: commit for content, commit in oldest_first if content[0]}
        yield from (f"{ref.name}@git:{commit}" for commit in reversed(first.values()))

    def _note_move(self, pinned: UsedArtifact, found: str, *, is_gone: bool) -> None:
        if found == pinned.ref:
            return
        what = "can no longer be read" if is_gone else "has changed since the run"
        if parse_ref(pinned.ref).type is PinType.WORKTREE:
            what = "was an unreleased file"
        self.notes.append(f"{pinned.ref} {what}; its content is that of {found}")

    def find_release(self, resolved: Resolved) -> ArtifactVersion:
        """Return an artifact with the release that contains it, if any."""
        releases = self.store.releases(resolved.kind, resolved.id)
        return ArtifactVersion(
            resolved, next((one for one in releases if one.tag == resolved.tag), None)
        )

    def _resolve_between(
        self, old: ArtifactVersion, new: ArtifactVersion
    ) -> Iterator[ArtifactVersion]:
        names = [parse_ref(name) for name in self.find_line(old, new)]
        if not (old.commit and new.commit and names):
            return
        # On the way back from 3.0.0 to 1.0.0 the steps are those of the way there.
        steps = self._list_releases_between(old.commit, new.commit, names)
        steps = steps or [*reversed(self._list_releases_between(new.commit, old.commit, names))]
        for release in steps:
            try:
                resolved = self.store.resolve(f"{release.name}@{release.version}")
                _check_readable(resolved)
            except (EvalstoreError, *MALFORMED_ERRORS) as error:
                note = f"{release.tag} was skipped, because it cannot be read: {error}"
                self.notes += [note] if note not in self.notes else []
            else:
                yield ArtifactVersion(resolved, release)

    def _list_releases_between(self, base: str, tip: str, names: Sequence[Ref]) -> list[Release]:
        """Return the releases in the history of `tip` that are not in that of `base`.

        They come oldest first, without `tip`.
        """
        try:
            list_tags = partial(list_patterns, self.store.tags.grammar)
            tags = [one for ref in names for one in list_tags(ref.kind, ref.id)]
            history = read_file_history(
                self.store, [ref.path for ref in names], tip, base=base, tags=tags
            )
        except GitError:  # the history is not in this clone, so no steps are known
            return []
        releases = (release for ref in names for release in self.store.releases(ref.kind, ref.id))
        by_commit = {release.commit: release for release in releases if release.commit != tip}
        return [by_commit[commit] for commit in reversed([*history.commits]) if commit in by_commit]


def _find_step(labels: Sequence[str], origin: PartOrigin) -> tuple[str, str]:
    """Return the versions before and after a commit, among those on the way.

    They are both ends if no release has it.
    """
    pairs = [
        pair for pair in pairwise(labels) if pair[0 if origin.undoes else 1] == origin.released_in
    ]
    return pairs[0] if pairs else (labels[0], labels[-1])


def _build_origin(name: str, versions: tuple[str, str], origin: PartOrigin) -> Origin:
    made = {field.name: getattr(origin, field.name) for field in fields(origin)}
    return Origin(ref=name, old=versions[0], new=versions[1], **made)


def _check_readable(resolved: Resolved) -> None:
    """Raise what a broken rubric raises: a version that cannot grade is not a step of the path."""
    if resolved.kind is Kind.RUBRIC:
        read_rubric(resolved.artifact.value)


def _make_missing_error(pinned: UsedArtifact, reasons: list[EvalstoreError]) -> LostGradersError:
    ref = parse_ref(pinned.ref)
    digest = pinned.digest[:SHORT_DIGEST]
    way = "restore the file with that digest"
    if reasons and isinstance(reasons[0], RefError) and ref.type is PinType.EXACT:
        message = f"the run was graded with {pinned.ref}, and {reasons[0].message}"
        way = reasons[0].hint or way
    elif ref.type is PinType.EXACT:
        message = f"{pinned.ref}: the tag has changed since the run (digest {digest})"
    else:
        message = (
            f"no release, commit or file has {pinned.ref} with the content that the run used "
            f"(digest {digest})"
        )
    what = "outputs" if ref.kind is Kind.DATASET else "outputs with a released version"
    advice = (
        "; commit a file before you edit it, so that it can be found"
        if ref.type is PinType.WORKTREE
        else ""
    )
    return LostGradersError(message, hint=f"{way}, or score the {what} again{advice}")


def name_releases(steps: Sequence[EditSource]) -> list[EditSource]:
    """Return the releases that a floating reference went through.

    If there are several, each names its authors.
    """
    if len(steps) == 1:
        return [*steps]
    makers = [f"{step.origin.new} by {_name_people(step.origin)}" for step in steps]
    named = zip(steps, makers, strict=True)
    return [replace(step, message=f"{maker}, {step.message}") for step, maker in named]


def _name_people(origin: Origin) -> str:
    authors = " and ".join([str(origin.author or "unknown"), *origin.co_authors])
    return (
        authors
        if origin.released_by in {None, origin.author}
        else f"{authors}, released by {origin.released_by}"
    )


def join_sources(sources: Sequence[EditSource]) -> EditSource:
    """Return one source for edits that cannot be separated.

    It has what they share, and all their messages.
    """
    if len(sources) == 1:
        return sources[0]
    named = [source.origin for source in sources if source.origin.ref] or [sources[0].origin]
    first, last = named[0], named[-1]
    ref = " + ".join(dict.fromkeys(str(one.ref) for one in named)) if len(named) > 1 else first.ref
    old, new = (first.old, last.new) if ref == first.ref else ("A", "B")
    origin = Origin(ref=ref, old=old, new=new)
    if len({(one.commit, one.author) for one in named}) == 1:
        # One commit of one artifact: the last source names its version, and not what it pins.
        origin = replace(
            last, ref=ref, old=last.old if last.commit and ref == last.ref else old, new=new
        )
    rules = tuple(dict.fromkeys(rule for source in sources for rule in source.rules))
    message = "; ".join(dict.fromkeys(source.message or source.part for source in sources))
    findings = tuple(finding for source in sources for finding in source.findings)
    return EditSource(rules[0] if rules else None, origin, "", rules, message, findings)
