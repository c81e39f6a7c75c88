"""`Store`, the public face of a store.

It has what programs need from a store, and leaves out what only the commands need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from evalstore.arguments import require_arguments, require_choice
from evalstore.model.artifact import Artifact
from evalstore.model.refs import Ref
from evalstore.notebook import format_repr
from evalstore.store import ArtifactStore, Resolved

if TYPE_CHECKING:
    from evalstore.model import Kind, Question
    from evalstore.release.changes.values import Released
    from evalstore.store.tags import Release
    from evalstore.versions import Bump


class Store:
    """A store of rubrics, judges and datasets: a folder in a git repository.

    Open it with `Store.open(path)`, best in a `with` block: it keeps a git process running until it
    is closed. References are texts such as `rubric/answer_style@1.0.0`, as on the command line.

    Examples:
        >>> from evalstore import Store
        >>> with Store.open(".") as store:
        ...     print(store.resolve("rubric/answer_style@^1").version)
        1.0.0
    """

    __slots__ = ("artifacts",)

    def __init__(self, artifacts: ArtifactStore) -> None:
        self.artifacts = artifacts

    def __repr__(self) -> str:
        return format_repr(self, self.artifacts.root or self.artifacts.repository.git.directory)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open the store around a folder.

        Its root is the folder here or above that evalstore.yaml marks, else the repository's root.

        Args:
            path: A folder in a git repository, or a bare repository.

        Returns:
            The store; close it, or use it in a `with` block.

        Raises:
            GitError: There is no git repository.
            LoadError: evalstore.yaml cannot be read.

        Examples:
            >>> Store.open(".").strict
            False
        """
        require_arguments(Store.open, locals())
        return cls(ArtifactStore.open(path))

    def close(self) -> None:
        """End the git process that reads objects; leaving the `with` block does the same.

        Examples:
            >>> store = Store.open(".")
            >>> store.close()
        """
        self.artifacts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        type_: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def root(self) -> Path | None:
        """The folder of the store on disk; None for a bare repository."""
        return self.artifacts.root

    @property
    def settings(self) -> Mapping[str, Any]:
        """The content of evalstore.yaml; empty if there is none."""
        return self.artifacts.settings

    @property
    def strict(self) -> bool:
        """Whether evalstore.yaml says `strict: true`: findings are then errors, not warnings."""
        return self.artifacts.strict

    def resolve(self, ref: str | Ref) -> Resolved:
        """Find what a reference means now; for locked references, evalstore.lock decides.

        Args:
            ref: A reference with any pin; without a pin, it means the last release.

        Returns:
            The version, tag, commit, blob and digests, and the artifact itself as `.artifact`.

        Raises:
            RefError: The reference is misspelt, or there is no such artifact or version; its `hint`
                names the nearest one, or the existing versions.
            RefusedError: The tag or the lock was tampered with.

        Examples:
            >>> store.resolve("rubric/answer_style").tag
            'rubric/answer_style@1.0.0'
        """
        require_arguments(Store.resolve, locals())
        return self.artifacts.resolve(ref)

    def resolve_all(self, refs: Iterable[str | Ref]) -> tuple[Resolved, ...]:
        """Find what many references mean, in half the time of calling `resolve` for each.

        Args:
            refs: The references; git reads ahead for all of them.

        Returns:
            What each means, in the given order.

        Raises:
            RefError: As for `resolve`, for the first bad one.
            RefusedError: As for `resolve`.

        Examples:
            >>> refs = ["rubric/answer_style", "dataset/help_desk"]
            >>> [found.version for found in store.resolve_all(refs)]
            ['1.0.0', '1.0.0']
        """
        require_arguments(Store.resolve_all, locals())
        return self.artifacts.resolve_all(refs)

    def load(self, ref: str | Ref) -> Artifact:
        """Read and validate an artifact.

        Each finding is a `FindingsWarning`, or an error if the settings are strict.

        Args:
            ref: A reference with any pin; without a pin, it means the last release.

        Returns:
            The artifact; `.value` is its mapping.

        Raises:
            RefError: As for `resolve`.
            SchemaError: The artifact cannot grade anything.
            FindingsError: The settings are strict, and validation finds something.

        Examples:
            >>> store.load("rubric/answer_style@1.0.0").value["scoring"]["combine"]
            'weighted_avg'
        """
        require_arguments(Store.load, locals())
        from evalstore.lint.use import check_usable

        resolved = self.artifacts.resolve(ref)
        check_usable(resolved.artifact, self.artifacts.read_artifact)
        what = f"{resolved.ref} was not loaded"
        warn_of_findings(self.artifacts, [resolved], what, self.artifacts.resolve)
        return resolved.artifact

    def read_questions(self, dataset: str | Ref | Resolved) -> Iterator[Question]:
        """Read the questions of a dataset one by one, from its file or from the rows next to it.

        Args:
            dataset: A reference to a dataset, or a result of `resolve`.

        Returns:
            Each question: `.id`, `.input`, and its whole row as `.row`; if it cannot be graded,
            `.broken` says why.

        Raises:
            RefError: As for `resolve`.
            RefusedError: It is not a dataset.
            LoadError: The rows cannot be read.

        Examples:
            >>> [question.id for question in store.read_questions("dataset/help_desk")][:2]
            ['forgot_password', 'slow_page']
        """
        require_arguments(Store.read_questions, locals())
        from evalstore.errors import RefusedError
        from evalstore.model import Kind

        resolved = dataset if isinstance(dataset, Resolved) else self.artifacts.resolve(dataset)
        if resolved.kind is not Kind.DATASET:
            raise RefusedError(f"{resolved.ref} is a {resolved.kind}, not a dataset")
        return self.artifacts.questions(resolved)

    def list_releases(
        self,
        kind: Kind | str | None = None,
        id: str | None = None,  # noqa: A002  # the word for it
    ) -> list[Release]:
        """List the releases of one artifact, of one kind, or of the whole store.

        Args:
            kind: `rubric`, `judge` or `dataset`.
            id: The id of an artifact of that kind.

        Returns:
            The releases, in ascending order: `.kind`, `.id`, `.version` and `.tag`.

        Raises:
            UsageError: There is no such kind.

        Examples:
            >>> [str(release.version) for release in store.list_releases("rubric", "answer_style")]
            ['1.0.0']
        """
        require_arguments(Store.list_releases, locals())
        from evalstore.model import Kind

        if kind is not None:
            require_choice("kind", kind, Kind)
        return self.artifacts.releases(None if kind is None else Kind(kind), id)

    def list_working_files(self) -> list[Ref]:
        """List the artifacts on disk.

        Returns:
            A reference to each file, pinned to `worktree`; links and misplaced files are left out.

        Examples:
            >>> [ref.name for ref in store.list_working_files()][:2]
            ['rubric/answer_style', 'rubric/reviewed_answer']
        """
        return self.artifacts.working()

    def with_worktree(self, pins: str | None = "unreleased") -> Store:
        """Return this store as it would be if its files were released.

        Args:
            pins: which references mean the file on disk. `"unreleased"`: those without a release;
                `"all"`: all of them; None: only those that say `@worktree`.

        Returns:
            The same store, seen that way; closing either closes both.

        Raises:
            UsageError: `pins` has another value.

        Examples:
            >>> store.with_worktree("all").resolve("rubric/answer_style").ref
            'rubric/answer_style@worktree'
        """
        require_arguments(Store.with_worktree, locals())
        return Store(self.artifacts.with_worktree(pins))

    def release(  # noqa: PLR0913  # the words of the command line
        self,
        *refs: str,
        level: Bump | str | None = None,
        pre: str | None = None,
        dependents: bool = False,
        sign: bool = False,
        push: bool | str = False,
        message: str | None = None,
        dry_run: bool = False,
        signature: Mapping[str, str] | None = None,
    ) -> Released:
        """Release working files in one commit with their tags, all or nothing.

        This is `evalstore bump`.

        Args:
            *refs: The artifacts, as `<kind>/<id>`; by default all that changed.
            level: The lowest bump to use.
            pre: The label of a pre-release, such as `rc`.
            dependents: Whether to move the pins of artifacts that refer to them, and release those,
                too.
            sign: Whether to sign with the key of git's global settings.
            push: Whether to push branch and tags to the branch's remote, or the name of another
                remote. A failed push undoes nothing here: see `.push.outcome` of the result.
            message: The message of the commit and tags.
            dry_run: Whether to write nothing.
            signature: Git's GIT_AUTHOR_* and GIT_COMMITTER_* variables, to override the user's
                settings.

        Returns:
            What was released: each with `.ref`, `.tag`, `.previous` and `.bump` in `.released`.

        Raises:
            RefusedError: It must not be released; nothing changed.
            ConflictError: Another release came first; nothing changed.

        Examples:
            >>> store.release(dry_run=True).released
            ()
        """
        require_arguments(Store.release, locals())
        from datetime import UTC, datetime

        from evalstore.release.publishing.bump import bump
        from evalstore.release.publishing.step import BumpOptions
        from evalstore.versions import Bump

        if level is not None:
            require_choice("level", level, [one for one in Bump if one])

        options = BumpOptions(
            refs,
            all_=not refs,
            level=None if level is None else Bump(level),
            pre=pre,
            dependents=dependents,
            sign=sign,
            push=push,
            message=message,
            dry_run=dry_run,
            signature=signature or {},
            today=datetime.now(UTC).date(),
        )
        return bump(self.artifacts, options)


def warn_of_findings(
    store: ArtifactStore, used: Sequence[Resolved], what: str, find: Callable[[str], Resolved]
) -> None:
    """Warn about findings of validation in an artifact that is about to be used.

    Raises `FindingsError` if the settings are strict.
    """
    import warnings
    from datetime import UTC, datetime

    from evalstore.errors import FindingsWarning
    from evalstore.lint.use import find_use_findings

    today = datetime.now(UTC).date()
    found = find_use_findings(store, used, today=today, load=lambda ref: find(ref).artifact)
    found.refuse_if_strict(what)
    for line in found.list_lines():
        warnings.warn(line, FindingsWarning, stacklevel=3)
