"""The store: a folder in a git repository, opened once, and read without running what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evalstore.documents import write_canonical
from evalstore.errors import ArgumentError, RefError
from evalstore.model import Artifact, Ref, parse_ref
from evalstore.store.contents import StoreReader
from evalstore.store.resolve import Resolved, expect_releases, resolve_ref, suggest_refs

if TYPE_CHECKING:
    from evalstore.model import Question


@runtime_checkable
class OpenedStore(Protocol):
    """A store that somebody opened: an `ArtifactStore`, or the public `Store` around one."""

    @property
    def artifacts(self) -> ArtifactStore:
        """The store in the form that the use cases take."""


class ArtifactStore(StoreReader):
    """One store of artifacts.

    A context manager, because it keeps a git process until it is closed.
    """

    __slots__ = ()

    @property
    def artifacts(self) -> ArtifactStore:
        """The store in the form that the use cases take: itself."""
        return self

    def resolve(self, ref: str | Ref) -> Resolved:
        """Return what a reference means.

        `RefError` names the existing versions, `RefusedError` says what is wrong. A reference in
        evalstore.lock means what it meant when it was locked; raises `RefusedError` if its content
        differs.
        """
        if not isinstance(ref, str | Ref):
            raise ArgumentError.from_value("a reference", ref, (str, Ref))
        if isinstance(ref, Ref):
            return resolve_ref(self, ref)
        try:
            parsed = parse_ref(ref)
        except RefError as error:
            raise RefError(error.message, hint=suggest_refs(self, ref) or error.hint) from None
        return resolve_ref(self, parsed)

    def resolve_all(self, refs: Iterable[str | Ref]) -> tuple[Resolved, ...]:
        """Return what each of many references means, like `resolve`; git reads ahead."""
        parsed = [parse_ref(ref) if isinstance(ref, str) else ref for ref in refs]
        expect_releases(self, [ref for ref in parsed if isinstance(ref, Ref)])
        return tuple(map(self.resolve, parsed))

    def read_artifact(self, ref: str | Ref) -> Artifact:
        """Return the artifact that a reference means, without validating it."""
        return self.resolve(ref).artifact

    def rows(self, dataset: str | Ref | Resolved) -> Iterator[Mapping[str, Any]]:
        """Yield the rows in a dataset's file of rows, as of the same commit.

        Yields nothing without such a file.
        """
        resolved = dataset if isinstance(dataset, Resolved) else self.resolve(dataset)
        if "rows" not in resolved.artifact.value:
            return iter(())
        from evalstore.store.rows import read_rows

        return read_rows(self, resolved.artifact, commit=resolved.commit, tag=resolved.tag)

    def pair_rows(
        self, old: Resolved, new: Resolved, watch: Callable[[Iterable[Any]], Iterable[Any]] = iter
    ) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
        """Return the rows that differ between two versions of a dataset.

        All if their defaults differ. `watch` wraps the iteration over the blocks of lines of the
        new side (a progress bar).
        """
        from evalstore.store.rows import pair_row_lines, read_row_blocks

        before = partial(read_row_blocks, self, old.artifact, commit=old.commit, tag=old.tag)
        after = partial(read_row_blocks, self, new.artifact, commit=new.commit, tag=new.tag)
        defaults = {write_canonical(side.artifact.value.get("defaults")) for side in (old, new)}
        return pair_row_lines(before, lambda: watch(after()), keeps_whole=len(defaults) > 1)

    def questions(self, dataset: str | Ref | Resolved) -> Iterator[Question]:
        """Yield a dataset's questions, from its file or its rows, including broken rows."""
        resolved = dataset if isinstance(dataset, Resolved) else self.resolve(dataset)
        artifact = resolved.artifact
        if "rows" in artifact.value:
            from evalstore.store.rows import read_questions

            return read_questions(self, artifact, commit=resolved.commit, tag=resolved.tag)
        from evalstore.model import iterate_questions

        return iterate_questions(
            artifact.value,
            find_line=lambda number: artifact.document.locate(("questions", number)).line,
        )
