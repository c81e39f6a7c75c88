"""Makes a separate clone, in which a merge is tried without any hook or filter of the user."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evalstore.model.lock import LOCK_FILE
from evalstore.store.repository.git import NAME_ENCODING, CommandError, Git
from evalstore.store.repository.index import format_index_info, read_index
from evalstore.store.repository.scratch import init_like
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.revisions import BRANCH_REFS

# Isolated: the clone's own files are in the folder that git starts it in.
DRIVER = f"{shlex.quote(sys.executable)} -I -m evalstore git-driver merge -- %O %A %B %P"
_KEEP = ("merge.evalstore-keep.driver", "true")  # git's own way to keep the present side


@dataclass(frozen=True, slots=True)
class ScratchClone:
    """The clone: its git, and its folder with a branch checked out.

    No hook or filter runs there.
    """

    git: Git
    folder: Path
    signature: Mapping[str, str]

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return self.git.run("rev-parse", "--verify", "HEAD").decode().strip()

    def merge(self, commit: str, message: str) -> str | None:
        """Merge a commit, fast-forward if possible.

        Returns the path of a conflicting file, or None.
        """
        return self._try("merge", "--quiet", "--ff", "--no-edit", "-m", message, commit)

    def pick(self, commit: str, *, is_committed: bool) -> str | None:
        """Repeat a commit here, or only its changes; return a conflicting file's path, or None."""
        how = ["--allow-empty", "--keep-redundant-commits"] if is_committed else ["--no-commit"]
        return self._try("cherry-pick", *how, commit)

    def commit_rest(self, message: list[str], paths: list[str]) -> None:
        """Commit everything that is not in `paths`, if anything.

        `message` has options of `git commit`.
        """
        self.git.run("reset", "--quiet")
        excluded = (f":(exclude,literal,top){path}" for path in paths)
        self.git.run("add", "--all", "--", ":(top)", *excluded, env={"GIT_LITERAL_PATHSPECS": None})
        if self.git.run("diff", "--cached", "--name-only"):
            self.git.run("commit", "--quiet", "--no-verify", *message, env=dict(self.signature))

    def write_variant(self, commit: str, parent: str, files: Mapping[str, TreeEntry | None]) -> str:
        """Write a commit on `parent` with another's tree, changed in `files` (None: absent)."""
        index = {"GIT_INDEX_FILE": str(self.git.directory / "variant")}
        self.git.run("read-tree", commit, env=index)
        nothing = TreeEntry("0", "0" * len(commit))
        entries = {path: entry or nothing for path, entry in files.items()}
        self.git.run(
            "update-index", "-z", "--index-info", stdin=format_index_info(entries), env=index
        )
        tree = self.git.run("write-tree", env=index).decode().strip()
        return (
            self.git.run(
                "commit-tree", "-p", parent, "-m", "variant", tree, env=dict(self.signature)
            )
            .decode()
            .strip()
        )

    def _try(self, *argv: str) -> str | None:
        try:
            self.git.run(*argv, env=dict(self.signature))
        except CommandError:
            if (path := read_index(self.git).conflict) is None:
                raise
            return path
        return None


@dataclass(frozen=True, slots=True)
class CloneSeed:
    """How a clone begins: a branch at a commit, tags, the store's folder, the committer.

    The tags are objects by full ref name.
    """

    branch: str
    commit: str
    tags: Mapping[str, str]
    prefix: str
    signature: Mapping[str, str]


@contextmanager
def open_scratch_clone(git: Git, seed: CloneSeed) -> Iterator[ScratchClone]:
    """Make a clone that shares the objects of `git`'s repository.

    Its refs are those of `seed`.
    """
    # It writes YAML, too, which loads slowly.
    from evalstore.store.pipeline_files import (
        write_attributes,
    )

    common = git.common
    with tempfile.TemporaryDirectory(prefix="evalstore-") as name:
        folder = Path(name).resolve()
        inner = init_like(common, folder, len(seed.commit), is_bare=False)
        shutil.rmtree(inner / "objects")
        (inner / "objects").symlink_to(common / "objects")
        lines = "".join(f"{oid} {ref}\n" for ref, oid in sorted(seed.tags.items()))
        (inner / "packed-refs").write_bytes(lines.encode(*NAME_ENCODING))
        (inner / "info").mkdir(exist_ok=True)
        attributes = write_attributes(None, seed.prefix, diff=False, merge=True)
        # Both sides of a lock are merged by content, not by lines: until then one of them is there
        # in full.
        lock = f"{seed.prefix}{LOCK_FILE}".replace("\\", "\\\\").replace('"', '\\"')
        (inner / "info" / "attributes").write_bytes(
            attributes + f'"{lock}" merge=evalstore-keep\n'.encode()
        )
        inner_git = git._replace(directory=inner, common=inner, timeout=600.0)
        for key, value in (
            ("core.worktree", os.fspath(folder)),
            ("merge.evalstore.driver", DRIVER),
            _KEEP,
        ):
            inner_git.run("config", key, value)
        inner_git.run("update-ref", BRANCH_REFS + seed.branch, seed.commit)
        inner_git.run("symbolic-ref", "HEAD", BRANCH_REFS + seed.branch)
        inner_git.run("reset", "--quiet", "--hard")
        yield ScratchClone(inner_git, folder, seed.signature)
