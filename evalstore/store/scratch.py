"""Makes repositories aside: an empty one in which git signs and pushes, a clone to try a merge in; and merges texts."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evalstore.errors import GitError
from evalstore.model.lock import LOCK_FILE
from evalstore.store.repository.environment import USER
from evalstore.store.repository.git import (
    NAME_ENCODING,
    CommandError,
    ConfigSetting,
    Git,
    find_global_settings,
    run_git,
)
from evalstore.store.repository.index import format_index_info, read_index
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.revisions import BRANCH_REFS

FORMATS = {40: "sha1", 64: "sha256"}  # digits of an object's id
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def init_like(common: Path, folder: Path, hex_digits: int, *, is_bare: bool) -> Path:
    """Make an empty repository without hooks, as shallow as that of `common`; return its git directory."""
    kind = ("--bare",) if is_bare else ()
    format_ = f"--object-format={FORMATS[hex_digits]}"
    run_git(("init", "--quiet", *kind, "--template=", format_, "--", os.fspath(folder)))
    directory = folder if is_bare else folder / ".git"
    # Without it git would look for the parents that a shallow clone lacks.
    with suppress(FileNotFoundError):
        shutil.copyfile(common / "shallow", directory / "shallow")
    return directory


@contextmanager
def open_scratch_repository(git: Git, hex_digits: int, settings: Iterable[ConfigSetting] = ()) -> Iterator[Git]:
    """Make an empty repository without hooks or refs, which reads and writes the objects of `git`'s repository.

    Its config holds what the user's global config has for the repository of `git` alone (`includeIf`), and `settings`.
    """
    common = git.common
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        init_like(common, Path(folder), hex_digits, is_bare=True)
        scratch = git._replace(directory=Path(folder), common=Path(folder))
        # What the global config sets for every repository holds there anyhow.
        conditional = Counter(find_global_settings(git)) - Counter(find_global_settings(scratch))
        with Path(folder, "config").open("a", encoding="utf-8", errors="surrogateescape") as config:
            config.writelines(_format_setting(setting) for setting in (*conditional.elements(), *settings))
        variables = {**USER.variables, "GIT_OBJECT_DIRECTORY": str(common / "objects")}
        yield scratch._replace(environment=USER._replace(variables=variables))


def _format_setting(setting: ConfigSetting) -> str:
    section, _, rest = setting.key.partition(".")
    name, dot, variable = rest.rpartition(".")
    head = f'{section} "{_escape_value(name)}"' if dot else section
    return f'[{head}]\n\t{variable} = "{_escape_value(setting.value)}"\n'


def _escape_value(text: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in text)
    if any(ord(character) < ord(" ") for character in escaped):
        raise GitError(
            "git's config contains a control character, which evalstore does not pass on", hint="git config --list"
        )
    return escaped


# Isolated: the clone's own files are in the folder that git starts it in.
DRIVER = f"{shlex.quote(sys.executable)} -I -m evalstore git-driver merge -- %O %A %B %P"
_KEEP = ("merge.evalstore-keep.driver", "true")  # git's own way to keep the side that is there


@dataclass(frozen=True, slots=True)
class ScratchClone:
    """The clone: its git, and its folder, in which a branch is checked out. No hook or filter runs there."""

    git: Git
    folder: Path
    signature: Mapping[str, str]

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return self.git.run("rev-parse", "--verify", "HEAD").decode().strip()

    def merge(self, commit: str, message: str) -> str | None:
        """Merge a commit, by a fast-forward where that goes; return the path of a file in conflict, or None."""
        return self._try("merge", "--quiet", "--ff", "--no-edit", "-m", message, commit)

    def pick(self, commit: str, *, is_committed: bool) -> str | None:
        """Repeat a commit here, or only its changes; return the path of a file in conflict, or None."""
        how = ["--allow-empty", "--keep-redundant-commits"] if is_committed else ["--no-commit"]
        return self._try("cherry-pick", *how, commit)

    def commit_rest(self, message: list[str], paths: list[str]) -> None:
        """Commit all that is not in `paths`, if there is anything; `message` are options of `git commit`."""
        self.git.run("reset", "--quiet")
        excluded = (f":(exclude,literal,top){path}" for path in paths)
        self.git.run("add", "--all", "--", ":(top)", *excluded, env={"GIT_LITERAL_PATHSPECS": None})
        if self.git.run("diff", "--cached", "--name-only"):
            self.git.run("commit", "--quiet", "--no-verify", *message, env=dict(self.signature))

    def write_variant(self, commit: str, parent: str, files: Mapping[str, TreeEntry | None]) -> str:
        """Write a commit on `parent` with the tree of another, in which files differ (None: are not there)."""
        index = {"GIT_INDEX_FILE": str(self.git.directory / "variant")}
        self.git.run("read-tree", commit, env=index)
        nothing = TreeEntry("0", "0" * len(commit))
        entries = {path: entry or nothing for path, entry in files.items()}
        self.git.run("update-index", "-z", "--index-info", stdin=format_index_info(entries), env=index)
        tree = self.git.run("write-tree", env=index).decode().strip()
        return (
            self.git.run("commit-tree", "-p", parent, "-m", "variant", tree, env=dict(self.signature)).decode().strip()
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
    """How a clone begins: a branch at a commit, tags (object by full ref name), the store's folder, who commits."""

    branch: str
    commit: str
    tags: Mapping[str, str]
    prefix: str
    signature: Mapping[str, str]


@contextmanager
def open_scratch_clone(git: Git, seed: CloneSeed) -> Iterator[ScratchClone]:
    """Make a clone that reads and writes the objects of `git`'s repository, and has nothing else of it but `seed`."""
    from evalstore.store.pipeline_files import write_attributes  # it writes YAML, too, which loads slowly

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
        # Both sides of a lock are merged by what they say, not by lines: until then one of them stands there whole.
        lock = f"{seed.prefix}{LOCK_FILE}".replace("\\", "\\\\").replace('"', '\\"')
        (inner / "info" / "attributes").write_bytes(attributes + f'"{lock}" merge=evalstore-keep\n'.encode())
        inner_git = git._replace(directory=inner, common=inner, timeout=600.0)
        for key, value in (("core.worktree", os.fspath(folder)), ("merge.evalstore.driver", DRIVER), _KEEP):
            inner_git.run("config", key, value)
        inner_git.run("update-ref", BRANCH_REFS + seed.branch, seed.commit)
        inner_git.run("symbolic-ref", "HEAD", BRANCH_REFS + seed.branch)
        inner_git.run("reset", "--quiet", "--hard")
        yield ScratchClone(inner_git, folder, seed.signature)


_MOST_CONFLICTS = 127  # `git merge-file` answers their number, and more for a failure


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Return `ours` with what changed from `base` to `theirs`; None where both changed the same lines."""
    merged = merge_texts_marked(base.encode(), ours.encode(), theirs.encode())
    return merged.data.decode() if merged.is_clean else None


class MergedText(NamedTuple):
    """Merged lines, with git's markers around those that both sides changed."""

    data: bytes
    is_clean: bool


def merge_texts_marked(base: bytes, ours: bytes, theirs: bytes) -> MergedText:
    """Merge two texts by lines, as git does."""
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(data)
        labels = (word for path in paths for word in ("-L", path.name))
        try:
            return MergedText(run_git(("merge-file", "-p", "-q", *labels, "--", *map(str, paths))), is_clean=True)
        except CommandError as failure:
            if 0 < failure.status <= _MOST_CONFLICTS:
                return MergedText(failure.stdout, is_clean=False)
            raise
