"""The store may be untrusted (tables A, B, C and D of the threats): nothing stands in for a tag, nothing runs."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import EvalstoreError, GitError, LoadError, RefError, RefusedError
from evalstore.store import ArtifactStore

from .conftest import rubric

Save = Callable[..., str]
Git = Callable[..., str]
NAME = "rubric/tone@9.0.0"


@pytest.fixture
def evil(store: ArtifactStore, save: Save) -> str:
    """Return a commit that holds other content as version 9.0.0."""
    return save("rubrics/tone.yaml", rubric(version="9.0.0", word="evil"))


@pytest.mark.parametrize("ref", ["refs/heads/", "refs/remotes/", "refs/", "refs/notes/", "refs/tags/refs/tags/"])
def test_no_other_ref_stands_in_for_a_tag(store: ArtifactStore, git: Git, evil: str, ref: str) -> None:
    git("update-ref", ref + NAME, evil)
    with pytest.raises(RefError, match=r"has no version 9\.0\.0"):
        store.resolve(NAME)


def test_no_file_in_the_git_folder_stands_in_for_a_tag(store: ArtifactStore, repo: Path, evil: str) -> None:
    (repo / ".git/rubric").mkdir()
    (repo / ".git" / NAME).write_text(evil + "\n")
    with pytest.raises(RefError, match=r"has no version 9\.0\.0"):
        store.resolve(NAME)


@pytest.mark.parametrize("ref", ["refs/heads/", "refs/"])
def test_no_other_ref_shadows_a_tag(
    store: ArtifactStore, git: Git, commits: dict[str, str], evil: str, ref: str
) -> None:
    git("update-ref", f"{ref}rubric/tone@1.0.0", evil)
    assert store.resolve("rubric/tone@1.0.0").commit == commits["1.0.0"]


def test_missing_tag_that_looks_like_describe_is_missing(store: ArtifactStore, evil: str) -> None:
    with pytest.raises(RefError, match="has no version"):
        store.resolve(f"rubric/tone@9.0.0-g{evil[:7]}")


@pytest.mark.parametrize("what", ["commit", "blob", "tag"])
def test_replace_refs_change_nothing(store: ArtifactStore, git: Git, commits: dict[str, str], what: str) -> None:
    honest = store.resolve("rubric/tone@1.0.0")
    names = {"commit": "{}", "blob": "{}:rubrics/tone.yaml"}
    if what == "tag":
        git("replace", "-f", git("rev-parse", "rubric/tone@1.0.0"), git("rev-parse", "rubric/tone@2.0.0"))
    else:
        git("replace", "-f", *(names[what].format(commits[version]) for version in ("1.0.0", "2.0.0")))
    with ArtifactStore.open(store.root or "") as again:
        assert again.resolve("rubric/tone@1.0.0") == honest


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (("update-ref", f"refs/tags/{NAME}", "refs/tags/rubric/tone@1.0.0"), "contains a tag object made for"),
        (("tag", "-a", "-m", "x", NAME, "rubric/tone@1.0.0"), "names a tag, not a commit"),
        (("symbolic-ref", f"refs/tags/{NAME}", "refs/heads/main"), "is a symbolic ref"),
        (("tag", NAME, "HEAD^{tree}"), "names a tree, not a commit"),
        (("tag", NAME, "HEAD:rubrics/tone.yaml"), "names a blob, not a commit"),
        (("tag", "-a", "-m", "x", NAME, "HEAD:rubrics/tone.yaml"), "names a blob, not a commit"),
    ],
)
def test_tag_that_is_no_version_is_refused_and_never_the_latest(
    store: ArtifactStore, git: Git, evil: str, make: tuple[str, ...], reason: str
) -> None:
    git(*make)
    with pytest.raises(RefusedError, match=rf"the tag rubric/tone@9\.0\.0 is not valid: it {reason}"):
        store.resolve(NAME)
    assert store.resolve("rubric/tone").version == "2.0.0"


@pytest.mark.parametrize(
    ("mode", "what"), [("120000", "a symbolic link"), ("160000", "a submodule"), ("040000", "a folder")]
)
def test_only_a_file_is_read_as_a_file(store: ArtifactStore, git: Git, evil: str, mode: str, what: str) -> None:
    oids = {
        "120000": git("rev-parse", "HEAD:rubrics/tone.yaml"),
        "160000": evil,
        "040000": git("rev-parse", "HEAD^{tree}"),
    }
    folder = git(
        "mktree",
        stdin=f"{mode} {'tree' if mode == '040000' else 'commit' if mode == '160000' else 'blob'} {oids[mode]}\ttone.yaml\n",
    )
    tree = git("mktree", stdin=f"040000 tree {folder}\trubrics\n")
    git("tag", "-a", "-m", "x", NAME, git("commit-tree", "-m", "x", tree))
    with pytest.raises(RefusedError, match=f"is {what}, where a file should be"):
        store.resolve(NAME)


def test_linked_folder_in_a_tree_is_refused(store: ArtifactStore, git: Git, evil: str) -> None:
    blob = git("hash-object", "-w", "--stdin", stdin="elsewhere")
    tree = git("mktree", stdin=f"120000 blob {blob}\trubrics\n")
    git("tag", "-a", "-m", "x", NAME, git("commit-tree", "-m", "x", tree))
    with pytest.raises(RefusedError, match=r"rubrics at .* is a symbolic link, where a folder should be"):
        store.resolve(NAME)


@pytest.mark.parametrize(
    "what", ["rubric/tone@1.0.0", "{commit}^{{commit}}", "{commit}^{{tree}}", "{commit}:rubrics/tone.yaml"]
)
def test_forged_loose_objects_are_refused(
    store: ArtifactStore, git: Git, repo: Path, commits: dict[str, str], what: str
) -> None:
    oid = git("rev-parse", what.format(commit=commits["1.0.0"]))
    path = repo / ".git/objects" / oid[:2] / oid[2:]
    raw = zlib.decompress(path.read_bytes())
    path.chmod(0o644)
    path.write_bytes(zlib.compress(raw[:-2] + bytes([raw[-2] ^ 1]) + raw[-1:]))
    with pytest.raises(EvalstoreError, match=r"does not match its id|cannot read object|is not valid"):
        store.resolve("rubric/tone@1.0.0")


def test_a_bomb_is_refused_before_it_is_read(store: ArtifactStore, git: Git, save: Save) -> None:
    save("rubrics/tone.yaml", "\0" * (8 << 20), tag=NAME)
    with pytest.raises((LoadError, RefusedError), match="is larger than 4,194,304 bytes"):
        store.resolve(NAME)


def test_dangerous_names_in_packed_refs_stop_every_listing(
    store: ArtifactStore, git: Git, repo: Path, evil: str
) -> None:
    git("pack-refs", "--all")
    with (repo / ".git/packed-refs").open("a") as file:
        file.write(f"{evil} refs/tags/rubric/../../evil@1.0.0\n")
    with pytest.raises(GitError):
        store.releases()


@pytest.mark.parametrize(
    "ref",
    [
        "rubric/tone@-d",
        "rubric/--output=x@1.0.0",
        "rubric/../tone@1.0.0",
        "rubric/tone@1.0.0\n",
        "rubric/tone\n@1.0.0",
        "rubric/tone@git:--all",
        "rubric/tone@git:-n1",
        "rubric/tone@git:main..HEAD",
        "rubric/tone@git::/Change",
        "rubric/tone@git:HEAD:rubrics",
        "rubric/tone@git:main\nHEAD",
        "rubric/tone@git:*",
        "rubric/con@1.0.0",
        "rubric/" + "x" * 65,
        "rubric/tone@" + "1" * 5000,
        "",
        "@",
    ],
)
def test_refs_that_look_like_options_or_paths_are_refused(store: ArtifactStore, ref: str) -> None:
    with pytest.raises(RefError):
        store.resolve(ref)


@pytest.mark.parametrize("what", ["link", "folder link", "pipe", "folder", "missing"])
def test_working_files_are_regular_files_below_the_store(
    store: ArtifactStore, repo: Path, tmp_path: Path, what: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/tone.yaml").write_text(rubric(word="secret"))
    file = repo / "rubrics/tone.yaml"
    file.unlink()
    if what == "link":
        file.symlink_to(tmp_path / "outside/tone.yaml")
    elif what == "folder link":
        file.parent.rmdir()
        file.parent.symlink_to(tmp_path / "outside")
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    assert store.working() == []
    with pytest.raises(RefError if what == "missing" else LoadError):
        store.resolve("rubric/tone@worktree")


KEYS = [
    "core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass", "core.gitProxy", "core.hooksPath",
    "core.alternateRefsCommand", "gpg.program", "gpg.ssh.program", "credential.helper", "diff.external",
    "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
    "merge.evil.driver", "trailer.evil.command", "trailer.evil.cmd", "pager.for-each-ref", "pager.cat-file",
    "sequence.editor", "interactive.diffFilter", "alias.for-each-ref", "alias.cat-file", "alias.rev-parse",
    "uploadpack.packObjectsHook", "remote.origin.uploadpack", "tar.evil.command",
]  # fmt: skip


def booby_trap(repo: Path, git: Git, marker: Path) -> None:
    """Make everything in a repository that can name a program name one that leaves a marker."""
    trap = repo / ".git/trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\ncat\n')
    trap.chmod(0o755)
    for key in KEYS:
        git("config", key, str(trap) if not key.startswith("alias.") else f"!{trap}")
    git("config", "trailer.evil.key", "Evalstore-Bump")
    git("config", "log.showSignature", "true")
    git("config", "extensions.partialClone", "origin")
    git("config", "remote.origin.promisor", "true")
    git("config", "remote.origin.url", "ssh://example.invalid/x")
    git("config", "color.ui", "always")
    git("config", "i18n.logOutputEncoding", "UTF-16")
    git("config", "core.worktree", "/etc")
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/attributes").write_text("* filter=evil diff=evil merge=evil\n")
    (repo / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"):
        (hooks / name).write_text(trap.read_text())
        (hooks / name).chmod(0o755)


@pytest.fixture
def trapped(store: ArtifactStore, repo: Path, git: Git, tmp_path: Path) -> Path:
    marker = tmp_path / "marker"
    booby_trap(repo, git, marker)
    marker.unlink(missing_ok=True)
    return marker


def snapshot(repo: Path) -> dict[str, tuple[float, int, int]]:
    found = {str(path): path.lstat() for path in sorted(repo.rglob("*"))}
    return {path: (s.st_mtime_ns, s.st_size, s.st_ino) for path, s in found.items() if stat.S_ISREG(s.st_mode)}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("list", 0),
        ("log rubric/tone", 0),
        ("show rubric/tone@1.0.0", 0),
        ("show rubric/tone@worktree --raw", 0),
        ("resolve rubric/tone rubric/tone@worktree rubric/tone@git:HEAD~1 rubric/tone@git:main", 0),
        ("resolve rubric/tone@git:deadbeef", 3),
        ("resolve rubric/none@1.0.0", 3),
        ("verify", 1),  # its releases, made by hand, say less than they change
        ("lock --check", 1),
    ],
)
def test_reading_runs_nothing_and_writes_nothing(
    cli: Callable[..., Any], repo: Path, trapped: Path, command: str, code: int
) -> None:
    before = snapshot(repo)
    ran = cli("-C", repo, *command.split())
    assert ran.code == code, ran
    assert not trapped.exists(), trapped.read_text()
    assert snapshot(repo) == before


def test_the_traps_are_real(git: Git, repo: Path, trapped: Path) -> None:
    """Plain git falls into them; else the test above would prove nothing."""
    git("config", "--unset", "core.worktree")
    git("status")
    assert trapped.exists()


def test_lost_object_is_not_fetched(git: Git, repo: Path, store: ArtifactStore, trapped: Path) -> None:
    oid = git("rev-parse", "rubric/tone@1.0.0:rubrics/tone.yaml")
    (repo / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(GitError, match="is missing from this clone"):
        store.resolve("rubric/tone@1.0.0")
    assert not trapped.exists()


@pytest.mark.parametrize("stand_in", ["link", "fifo", "folder"])
def test_settings_that_are_no_file_are_an_error_and_no_empty_settings(
    cli: Callable[..., Any], store: ArtifactStore, repo: Path, tmp_path: Path, stand_in: str
) -> None:
    (tmp_path / "outside.yaml").write_text("unpinned: allow\n")
    settings = repo / "evalstore.yaml"
    make = {"link": lambda: settings.symlink_to(tmp_path / "outside.yaml"), "fifo": lambda: os.mkfifo(settings)}
    make.get(stand_in, settings.mkdir)()
    ran = cli("-C", repo, "list")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: evalstore.yaml: ")
    ran = cli("-C", repo, "validate")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("evalstore.yaml")
