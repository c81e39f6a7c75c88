"""Finds remotes and the pages of commits, and pushes from a scratch repository."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evalstore.store.locate import Repository
from evalstore.store.repository.config import (
    ConfigSetting,
    find_extra_headers,
    find_remote,
    read_config,
)
from evalstore.store.repository.git import Git
from evalstore.store.repository.shallow import describe_missing_history
from evalstore.store.revisions import BRANCH_REFS, REMOTE_REFS
from evalstore.store.tags import TAG_REFS
from evalstore.text import LONG_DIGEST, make_excerpt

_PATHSPECS = {"GIT_LITERAL_PATHSPECS": None}

# What a commit's page has between the address of its repository and the commit, by host.
_PATHS = {
    "github.com": "commit",
    "gitlab.com": "-/commit",
    "git.drupalcode.org": "-/commit",
    "codeberg.org": "commit",
    "bitbucket.org": "commits",
}
_ADDRESS = re.compile(
    r"(?:(?:https|ssh|git)://)?(?:[^@/\s]*@)?(?P<host>[a-z.]+)(?::[0-9]+)?[:/]/?"
    r"(?P<path>[\w.~-]+(?:/[\w.~-]+)+)/?",
    re.ASCII,
)
# `host:path` of ssh; an address with a slash before its colon is a folder.
_HOST = re.compile(r"[^/:]+:")


@dataclass(frozen=True, slots=True)
class Remote:
    """One remote: its push addresses, and whether its branches are tracked here.

    They are tracked as `refs/remotes/<name>/*`.
    """

    name: str
    urls: tuple[str, ...]
    is_tracked: bool


@dataclass(frozen=True, slots=True)
class Remotes:
    """The remotes of a repository by name, and the settings that choose one for a branch."""

    by_name: Mapping[str, Remote]
    settings: Mapping[str, str]

    def find_for_branch(self, branch: str) -> Remote | None:
        """Return the remote that git pushes a branch to by default; None if that is unclear.

        It is unclear if there is no remote, or a choice of several.
        """
        # git's own order: git-config(1), `branch.<name>.pushRemote`.
        keys = (f"branch.{branch}.pushremote", "remote.pushdefault", f"branch.{branch}.remote")
        names = [*(self.settings.get(key, "") for key in keys), "origin"]
        chosen = next((self.by_name[name] for name in names if name in self.by_name), None)
        return chosen or (next(iter(self.by_name.values())) if len(self.by_name) == 1 else None)


class RecordedRelease(NamedTuple):
    """A release in a ledger: its tag, the ledger's path, and the file's hash ("" if unknown)."""

    tag: str
    ledger: str
    sha256: str
    is_signed: bool


class PushAnswer(NamedTuple):
    """A remote's answer for a ref: git's flag (`!` rejected, `=` up to date), and a message."""

    flag: str
    ref: str
    message: str


def list_remotes(config: Sequence[ConfigSetting]) -> Remotes:
    """Return the remotes in a repository's git config."""
    values: dict[str, dict[str, list[str]]] = {}
    for key, value in config:
        # A remote's name may have dots: the variable is after the last one.
        section, _, rest = key.partition(".")
        name, dot, variable = rest.rpartition(".")
        if section == "remote" and dot:
            values.setdefault(name, {}).setdefault(variable, []).append(value)
    remotes = {name: _build_remote(name, parts) for name, parts in values.items() if "url" in parts}
    return Remotes(remotes, dict(config))


def find_commit_pages(git: Git) -> str:
    """Return the beginning of every commit's page address; empty if the host is unknown."""
    remote = list_remotes(read_config(git)).find_for_branch("")
    return name_commit_pages(remote.urls[0]) if remote else ""


def name_commit_pages(url: str) -> str:
    """Return the same for the address of a remote."""
    found = _ADDRESS.fullmatch(url)
    if found is None or found["host"] not in _PATHS:
        return ""
    path = found["path"].removesuffix(".git")
    return f"https://{found['host']}/{path}/{_PATHS[found['host']]}/"


def push_refs(
    git: Git, repository: Repository, remote: Remote, refs: Mapping[str, str]
) -> list[PushAnswer]:
    """Push objects to full ref names, all or none.

    If it is none, `CommandError` has the answers in its stdout.
    """
    refspecs = [f"{oid}:{name}" for name, oid in refs.items()]
    options = ("--atomic", "--porcelain", "--no-verify")
    return parse_push_answers(_ask_remote(git, repository, remote, "push", *options, refs=refspecs))


def list_remote_tags(git: Git, repository: Repository, remote: Remote) -> dict[str, str]:
    """Return the object of each tag of a remote, by name.

    Raises `CommandError` without an answer.
    """
    refs = list_remote_refs(git, repository, remote, "--tags")
    return {name.removeprefix(TAG_REFS): oid for name, oid in refs.items()}


def list_remote_refs(
    git: Git, repository: Repository, remote: Remote, *kinds: str
) -> dict[str, str]:
    """Return the object of each ref of a remote by full name: `--tags`, `--heads` or all."""
    out = _ask_remote(git, repository, remote, "ls-remote", *kinds, "--refs")
    lines = (line.split("\t", 1) for line in out.decode("utf-8", "surrogateescape").split("\n"))
    return {parts[1]: parts[0] for parts in lines if len(parts) == 2}  # noqa: PLR2004


def fetch_objects(
    git: Git, repository: Repository, remote: Remote, names: Iterable[str], known: Iterable[str]
) -> None:
    """Fetch what a remote's refs point at, but no ref; `known` commits need not be sent again."""
    options = (
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        *(f"--negotiation-tip={oid}" for oid in known),
    )
    _ask_remote(git, repository, remote, "fetch", *options, refs=names)


def _ask_remote(
    git: Git,
    repository: Repository,
    remote: Remote,
    command: str,
    *options: str,
    refs: Iterable[str] = (),
) -> bytes:
    from evalstore.store.repository.scratch import open_scratch_repository

    (url,) = remote.urls
    # A folder is relative to the repository, and the scratch repository is elsewhere.
    address = (
        url if "://" in url or _HOST.match(url) else str((repository.top or git.directory) / url)
    )
    with open_scratch_repository(
        # Ten minutes: for a slow line, or until a password is typed.
        git._replace(timeout=600.0),
        repository.hex_digits,
        find_extra_headers(git),
    ) as scratch:
        return scratch.run(command, *options, "--", address, *refs)


def describe_fetch(
    git: Git,
    repository: Repository,
    releases: Sequence[RecordedRelease] = (),
    *,
    holds_file: Callable[[RecordedRelease, str], bool] = lambda _, __: False,
) -> str:
    """Say how a clone gets tags of releases: from where, from whom, or of which commit.

    It is "" if there is no remote and no such commit is known; `holds_file` says whether the clone
    has the file that was released.
    """
    name, source = find_remote(git)
    if repository.shallow:
        return describe_missing_history(git) if name else ""
    steps = [f"git fetch {source}--tags"] if name else []
    if name and name != "upstream":
        steps.append("in a fork: git fetch <address of the original> --tags")
    commits = [commit for release in releases if (commit := _find_release_commit(git, release))]
    who = " and ".join(dict.fromkeys(commit.author for commit in commits))
    if who and name and len(releases) > 1:
        steps.append(f"if nobody has them, {who} released them: evalstore verify --remote there")
    elif who and name:
        steps.append(
            f"if nobody has it, {who} pushes it: git push origin "
            f"{shlex.quote(TAG_REFS + releases[0].tag)}"
        )
    if len(commits) == len(releases) == 1 and holds_file(releases[0], commits[0].oid):
        tag, kind = shlex.quote(releases[0].tag), "-s" if releases[0].is_signed else "-a"
        again = (
            f"git tag {kind} -m {shlex.quote(f'Release {releases[0].tag}')} {tag} "
            f"{commits[0].oid[:LONG_DIGEST]}"
        )
        steps.append(f"if it is lost, make it again: {again}")
    return "; ".join(steps)


class _ReleaseCommit(NamedTuple):
    oid: str
    author: str


def _find_release_commit(git: Git, release: RecordedRelease) -> _ReleaseCommit | None:
    """Return the first commit whose ledger lists a release; None if its line is on disk only."""
    if not release.sha256:
        return None
    search = (
        "log",
        "--reverse",
        "--format=%H %an",
        f"-S{release.sha256}",
        "--",
        f":(top,literal){release.ledger}",
    )
    first = git.run(*search, env=_PATHSPECS).decode("utf-8", "replace").partition("\n")[0]
    oid, _, author = first.partition(" ")
    return _ReleaseCommit(oid, make_excerpt(author.strip()) or "its author") if oid else None


def parse_push_answers(porcelain: bytes) -> list[PushAnswer]:
    """Parse the output of `git push --porcelain`."""
    lines = (line.split("\t") for line in porcelain.decode("utf-8", "replace").split("\n"))
    answers = [parts for parts in lines if len(parts) == 3]  # noqa: PLR2004
    return [PushAnswer(flag, refs.partition(":")[2], words) for flag, refs, words in answers]


def find_tracking_refs(remote: Remote, refs: Mapping[str, str]) -> dict[str, str]:
    """Return the remote-tracking branches of pushed refs, and the objects that they name now."""
    if not remote.is_tracked:
        return {}
    branches = [name for name in refs if name.startswith(BRANCH_REFS)]
    place = f"{REMOTE_REFS}{remote.name}/"
    return {f"{place}{name.removeprefix(BRANCH_REFS)}": refs[name] for name in branches}


def _build_remote(name: str, parts: Mapping[str, list[str]]) -> Remote:
    tracked = f"+{BRANCH_REFS}*:{REMOTE_REFS}{name}/*" in parts.get("fetch", ())
    return Remote(name, tuple(parts.get("pushurl") or parts["url"]), tracked)
